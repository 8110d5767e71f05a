//! Caches results of read-only, idempotent tools.

use std::time::{Duration, Instant};

use moka::{Expiry, future::Cache};

/// Maximum bytes of all results.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes counted for each entry in addition to its text.
const ENTRY_BYTES: usize = 200;
/// Maximum age of a result.
const MAX_AGE: Duration = Duration::from_hours(24);

/// Key of a cached call. The generation changes when a toolkit restarts or lists other tools, so that earlier
/// results are no longer found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ToolResultKey {
    /// Connection of the toolkit.
    pub(super) client: String,
    pub(super) generation: u64,
    pub(super) tool: String,
    /// JSON with sorted members.
    pub(super) arguments: String,
}

#[derive(Debug, Clone)]
struct CachedToolResult {
    text: String,
    keep: Duration,
}

struct CachedResultExpiry;

impl Expiry<ToolResultKey, CachedToolResult> for CachedResultExpiry {
    fn expire_after_create(
        &self,
        _: &ToolResultKey,
        entry: &CachedToolResult,
        _: Instant,
    ) -> Option<Duration> {
        Some(entry.keep)
    }
}

/// Cache of tool results. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct ToolResultCache(Cache<ToolResultKey, CachedToolResult>);

impl ToolResultCache {
    pub(super) fn new() -> Self {
        let bytes = |key: &ToolResultKey, entry: &CachedToolResult| {
            let bytes = key.tool.len() + key.arguments.len() + entry.text.len() + ENTRY_BYTES;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(
            Cache::builder()
                .max_capacity(MAX_BYTES)
                .weigher(bytes)
                .expire_after(CachedResultExpiry)
                .build(),
        )
    }

    pub(super) async fn get(&self, key: &ToolResultKey) -> Option<String> {
        self.0.get(key).await.map(|entry| entry.text)
    }

    pub(super) async fn insert(&self, key: ToolResultKey, text: String, keep: Duration) {
        if !keep.is_zero() {
            self.0.insert(key, CachedToolResult { text, keep: keep.min(MAX_AGE) }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(generation: u64) -> ToolResultKey {
        ToolResultKey {
            client: "c".to_owned(),
            generation,
            tool: "t".to_owned(),
            arguments: "{}".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_result_is_kept_as_long_as_it_may_be_and_never_across_generations() {
        let results = ToolResultCache::new();
        results.insert(key(1), "a".to_owned(), Duration::from_mins(1)).await;
        results.insert(key(2), "b".to_owned(), Duration::ZERO).await;
        assert_eq!(results.get(&key(1)).await.as_deref(), Some("a"));
        assert_eq!(results.get(&key(2)).await, None);
        results.insert(key(3), "c".to_owned(), Duration::from_nanos(1)).await;
        assert_eq!(results.get(&key(3)).await, None);
    }

    #[tokio::test]
    async fn the_results_are_bounded() {
        let results = ToolResultCache::new();
        for generation in 0..100 {
            results.insert(key(generation), "x".repeat(1 << 20), MAX_AGE).await;
        }
        results.0.run_pending_tasks().await;
        assert!(results.0.weighted_size() <= MAX_BYTES, "{}", results.0.weighted_size());
    }
}

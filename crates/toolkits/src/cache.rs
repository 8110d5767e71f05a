//! Results that need not be asked for again: of tools that only read and give the same when repeated.

use std::time::{Duration, Instant};

use moka::{Expiry, future::Cache};

/// Most bytes of all results.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// What an entry costs beside its text.
const ENTRY_BYTES: usize = 200;
/// No result is kept longer.
const MAX_AGE: Duration = Duration::from_hours(24);

/// Which call a result is of. A toolkit that is started again, or lists other tools, has another generation,
/// so that its former results are never found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Which connection.
    pub(super) client: String,
    pub(super) generation: u64,
    pub(super) tool: String,
    /// As JSON, with members in order of their names.
    pub(super) arguments: String,
}

#[derive(Debug, Clone)]
struct Entry {
    text: String,
    keep: Duration,
}

struct ByEntry;

impl Expiry<Key, Entry> for ByEntry {
    fn expire_after_create(&self, _: &Key, entry: &Entry, _: Instant) -> Option<Duration> {
        Some(entry.keep)
    }
}

/// The results that are kept. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Results(Cache<Key, Entry>);

impl Results {
    pub(super) fn new() -> Self {
        let bytes = |key: &Key, entry: &Entry| {
            let bytes = key.tool.len() + key.arguments.len() + entry.text.len() + ENTRY_BYTES;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(MAX_BYTES).weigher(bytes).expire_after(ByEntry).build())
    }

    pub(super) async fn get(&self, key: &Key) -> Option<String> {
        self.0.get(key).await.map(|entry| entry.text)
    }

    pub(super) async fn put(&self, key: Key, text: String, keep: Duration) {
        if !keep.is_zero() {
            self.0.insert(key, Entry { text, keep: keep.min(MAX_AGE) }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(generation: u64) -> Key {
        Key { client: "c".to_owned(), generation, tool: "t".to_owned(), arguments: "{}".to_owned() }
    }

    #[tokio::test]
    async fn a_result_is_kept_as_long_as_it_may_be_and_never_across_generations() {
        let results = Results::new();
        results.put(key(1), "a".to_owned(), Duration::from_mins(1)).await;
        results.put(key(2), "b".to_owned(), Duration::ZERO).await;
        assert_eq!(results.get(&key(1)).await.as_deref(), Some("a"));
        assert_eq!(results.get(&key(2)).await, None);
        results.put(key(3), "c".to_owned(), Duration::from_nanos(1)).await;
        assert_eq!(results.get(&key(3)).await, None);
    }

    #[tokio::test]
    async fn the_results_are_bounded() {
        let results = Results::new();
        for generation in 0..100 {
            results.put(key(generation), "x".repeat(1 << 20), MAX_AGE).await;
        }
        results.0.run_pending_tasks().await;
        assert!(results.0.weighted_size() <= MAX_BYTES, "{}", results.0.weighted_size());
    }
}

//! Executes one call of a toolkit's tool, and caches results of read-only, idempotent tools.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::{
    Principal,
    telemetry::{OutcomeLabel, REQUEST_TOOLKIT, ToolCallLabel, to_milliseconds},
};
use codeinfo_mcp::McpToolResult;
use moka::{Expiry, future::Cache};
use serde_json::{Map, Value};
use tokio::time::timeout;
use tracing::{debug, info};

use super::{
    ToolkitGateway,
    discovery::nearest_names,
    grants::Grant,
    handle::{OfferedTool, ToolOffers, ToolkitHandle},
    layers::ToolkitOrigin,
    paths, quote,
};
use crate::{
    connection::ToolkitError,
    spec::{ToolkitSandbox, ToolkitTransport},
};

/// Maximum time to validate arguments against a schema; it takes microseconds.
const MAX_VALIDATION: Duration = Duration::from_secs(5);
/// Maximum characters of reported faults, because they contain names that the toolkit chose.
const MAX_FAULTS_CHARS: usize = 2000;
/// Time that a whole call may exceed its limit. Codex waits slightly longer.
const MARGIN: Duration = Duration::from_secs(10);
const STEPS_USED_UP: &str = "step limit reached; answer with what you have";

pub(super) struct CallOutcome {
    /// `ok`, or the reason for having no result; used as a metrics label.
    outcome: &'static str,
    text: String,
}

impl CallOutcome {
    fn new(outcome: &'static str, text: impl Into<String>) -> Self {
        Self { outcome, text: text.into() }
    }
}

impl ToolkitGateway {
    /// Calls a tool of `handle` for a turn. A failure becomes an error result that tells the model what to do.
    pub async fn call_tool(
        &self,
        grant: &Grant,
        handle: &ToolkitHandle,
        tool: &str,
        arguments: Value,
    ) -> McpToolResult {
        let ended = if grant.take_step() {
            tokio::select! {
                biased;
                () = grant.cancellation_token().cancelled() => CallOutcome::new("cancelled", "the turn has ended"),
                ended = self.call_with_metrics(handle, tool, arguments) => ended,
            }
        } else {
            self.record_call(handle, tool, CallOutcome::new("limit", STEPS_USED_UP), Instant::now())
        };
        match ended.outcome {
            "ok" | "cached" => McpToolResult::text(ended.text),
            _ => McpToolResult::error(ended.text),
        }
    }

    /// Calls a tool for a person, with the same checks as for a turn.
    pub async fn try_call(
        &self,
        handle: &ToolkitHandle,
        tool: &str,
        arguments: Value,
    ) -> Result<String, String> {
        let ended = self.call_with_metrics(handle, tool, arguments).await;
        match ended.outcome {
            "ok" | "cached" => Ok(ended.text),
            _ => Err(ended.text),
        }
    }

    async fn call_with_metrics(
        &self,
        handle: &ToolkitHandle,
        tool: &str,
        arguments: Value,
    ) -> CallOutcome {
        let began = Instant::now();
        debug!(toolkit.name = %handle.name(), tool.name = tool, %arguments, "tool of a toolkit called");
        let ended = self.call_with_checks(handle, tool, arguments).await;
        self.record_call(handle, tool, ended, began)
    }

    fn record_call(
        &self,
        handle: &ToolkitHandle,
        tool: &str,
        ended: CallOutcome,
        began: Instant,
    ) -> CallOutcome {
        let elapsed = began.elapsed();
        let toolkit = Self::metrics_label(handle);
        let label = ToolCallLabel { source: "mcp", toolkit, outcome: ended.outcome };
        self.0.parts.metrics.tool_calls.record_duration(&label, elapsed);
        let shown_tool: String = tool.chars().take(100).collect();
        info!(
            toolkit.name = %handle.name(), tool.name = shown_tool, outcome = ended.outcome,
            result.bytes = ended.text.len(), elapsed_ms = to_milliseconds(elapsed),
            "tool of a toolkit answered"
        );
        debug!(result.text = ended.text, "result of a toolkit");
        ended
    }

    pub(super) fn metrics_label(handle: &ToolkitHandle) -> String {
        // Token holders choose the names of the toolkits that they send or store.
        let owner = Principal::owner();
        let is_chosen = handle.origin() == ToolkitOrigin::Request
            || handle.client().owner().is_some_and(|other| other != owner.as_str());
        if is_chosen { REQUEST_TOOLKIT.to_owned() } else { handle.name().to_string() }
    }

    async fn call_with_checks(
        &self,
        handle: &ToolkitHandle,
        tool: &str,
        arguments: Value,
    ) -> CallOutcome {
        let offers = match handle.load_offers().await {
            Ok(offers) => offers,
            Err(error) => return failed_outcome(&error),
        };
        let Some(offer) = offers.tools.get(tool) else {
            return match offers.refused.get(tool) {
                Some(reason) => CallOutcome::new(
                    "refused",
                    format!("the tool `{tool}` of {} cannot be called: {reason}", handle.name()),
                ),
                None => CallOutcome::new("invalid", describe_unknown_tool(handle, &offers, tool)),
            };
        };
        let arguments = match self.validate_arguments(handle, offer, arguments).await {
            Ok(arguments) => arguments,
            Err(refused) => return refused,
        };
        let key = is_repeatable(offer).then(|| ToolResultKey {
            client: handle.connection_key().to_owned(),
            generation: offers.generation,
            tool: tool.to_owned(),
            arguments: to_sorted_json(&arguments),
        });
        if let Some(key) = &key {
            let known = self.0.results.get(key).await;
            let outcome = if known.is_some() { "hit" } else { "miss" };
            self.0.parts.metrics.tool_cache.increment(&OutcomeLabel { outcome });
            if let Some(text) = known {
                return CallOutcome::new("cached", text);
            }
        }
        let (text, ttl) = match self.request_result(handle, tool, arguments).await {
            Ok(answered) => answered,
            Err(ended) => return ended,
        };
        if let Some(key) = key {
            let keep = ttl.unwrap_or(handle.spec().cache);
            self.0.results.insert(key, text.clone(), keep).await;
        }
        CallOutcome::new("ok", text)
    }

    /// Validates arguments against the schema of the tool, and checks their paths.
    async fn validate_arguments(
        &self,
        handle: &ToolkitHandle,
        offer: &Arc<OfferedTool>,
        arguments: Value,
    ) -> Result<Map<String, Value>, CallOutcome> {
        let tool = Arc::clone(offer);
        let validating = move || tool.listed.arguments().validate_and_parse(arguments);
        // A third party's schema may take long; the thread then runs on until it is done.
        let validated =
            timeout(MAX_VALIDATION, self.0.parts.tasks.spawn_blocking(validating)).await;
        let Ok(Ok(validated)) = validated else {
            let reason = format!("the schema of `{}` takes too long to check", offer.tool.name);
            return Err(CallOutcome::new("refused", reason));
        };
        let parsed: Map<String, Value> = match validated {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => {
                return Err(CallOutcome::new(
                    "invalid",
                    "Invalid arguments: they must be an object",
                ));
            }
            Err(faults) => {
                let quoted = quote::sanitize_quotation(&faults.join("; "), MAX_FAULTS_CHARS);
                let message = format!("Invalid arguments; by the schema of the tool: \"{quoted}\"");
                return Err(CallOutcome::new("invalid", message));
            }
        };
        match self.check_paths(handle, &parsed).await {
            Some(reason) => Err(CallOutcome::new("refused", reason)),
            None => Ok(parsed),
        }
    }

    /// Calls the tool. Returns the text for the model and the server's time to live for it.
    async fn request_result(
        &self,
        handle: &ToolkitHandle,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<(String, Option<Duration>), CallOutcome> {
        // Waiting for a slot, a start and a retry could exceed the time that Codex waits.
        let limit = handle.spec().timeout + MARGIN;
        let result = match timeout(limit, handle.client().call_tool(tool, arguments)).await {
            Ok(Ok(result)) => result,
            Ok(Err(error)) => return Err(failed_outcome(&error)),
            Err(_) => {
                let reason = format!(
                    "toolkit {} did not answer within {} s; ask for less, or go on without it",
                    handle.name(),
                    limit.as_secs()
                );
                return Err(CallOutcome::new("failed", reason));
            }
        };
        let ttl = result.ttl;
        let is_error = result.is_error;
        let Ok(text) =
            self.0.parts.tasks.spawn_blocking(move || quote::render_result(&result)).await
        else {
            return Err(CallOutcome::new("cancelled", "the server is stopping"));
        };
        if is_error { Err(CallOutcome::new("error", text)) } else { Ok((text, ttl)) }
    }

    /// Returns the reason if paths in `arguments` are refused.
    async fn check_paths(
        &self,
        handle: &ToolkitHandle,
        arguments: &Map<String, Value>,
    ) -> Option<String> {
        let ToolkitTransport::Stdio { working_dir, .. } = &handle.spec().transport else {
            return None;
        };
        if handle.spec().sandbox == ToolkitSandbox::Off {
            return None;
        }
        let mut folders = self.list_root_folders().await;
        folders.extend(working_dir.clone());
        let checked_arguments = arguments.clone();
        let check = move || {
            let canonical: Vec<PathBuf> =
                folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
            paths::check_argument_paths(&checked_arguments, &canonical)
        };
        self.0
            .parts
            .tasks
            .spawn_blocking(check)
            .await
            .unwrap_or_else(|_| Some("the server is stopping".to_owned()))
    }
}

fn describe_unknown_tool(handle: &ToolkitHandle, offers: &ToolOffers, tool: &str) -> String {
    let tool = quote::sanitize_name(tool);
    let name = handle.name();
    match nearest_names(&tool, offers.tools.keys().map(String::as_str)).as_slice() {
        [] => format!("toolkit {name} has no tool `{tool}`, nor one of a similar name"),
        near => format!("toolkit {name} has no tool `{tool}`; nearest: {}", near.join(", ")),
    }
}

fn is_repeatable(offer: &OfferedTool) -> bool {
    offer.tool.read_only && offer.tool.idempotent
}

fn failed_outcome(error: &ToolkitError) -> CallOutcome {
    CallOutcome::new("failed", format!("{error}; {}", error.advice()))
}

/// Serializes arguments with sorted members, so that equal arguments give equal texts.
fn to_sorted_json(arguments: &Map<String, Value>) -> String {
    let mut sorted = Value::Object(arguments.clone());
    sorted.sort_all_objects();
    sorted.to_string()
}

/// Maximum bytes of all results.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes counted for each entry in addition to its text.
const ENTRY_BYTES: usize = 200;
const MAX_AGE: Duration = Duration::from_hours(24);

/// Key of a cached call. Its generation changes when a toolkit restarts or lists other tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ToolResultKey {
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

//! Recent failures reported to clients, for operators of a server.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Serialize;
use uuid::Uuid;

use crate::Timestamp;

const MAX_FAILURES: usize = 100;
/// Maximum characters of a recorded message and of a recorded path.
const MAX_MESSAGE: usize = 500;
const MAX_PATH: usize = 200;

const UUID_BYTES: usize = 36;

/// A failure, or several equal ones in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureRecord {
    /// Time of the latest occurrence.
    #[serde(serialize_with = "Timestamp::serialize_text")]
    pub at: Timestamp,
    /// `main`, `mcp`, or `runs` for a failure that no client waited for.
    pub listener: &'static str,
    /// Error code sent to the client.
    pub code: String,
    /// Message sent to the client.
    pub message: String,
    /// Requested path, without its query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Number of occurrences in a row.
    pub times: u64,
}

/// Bounded in-memory list of failures. Clones share it. It never contains questions.
#[derive(Debug, Clone, Default)]
pub struct FailureLog(Arc<Mutex<VecDeque<FailureRecord>>>);

impl FailureLog {
    /// Records a failure that was reported to a client.
    pub fn record_failure(
        &self,
        listener: &'static str,
        code: &str,
        message: &str,
        path: Option<&str>,
    ) {
        let message = sanitize_text(message, MAX_MESSAGE);
        let path = path.map(|path| sanitize_text(path, MAX_PATH));
        let at = Timestamp::now();
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |last: &&mut FailureRecord| {
            last.listener == listener
                && last.code == code
                && last.message == message
                && last.path == path
        };
        // A client that retries again and again must not displace other failures.
        if let Some(last) = failures.back_mut().filter(is_same) {
            last.at = at;
            last.times = last.times.saturating_add(1);
            return;
        }
        failures.push_back(FailureRecord {
            at,
            listener,
            code: code.to_owned(),
            message,
            path,
            times: 1,
        });
        if failures.len() > MAX_FAILURES {
            failures.pop_front();
        }
    }

    /// Returns the failures, latest first.
    pub fn list_latest(&self) -> Vec<FailureRecord> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.iter().rev().cloned().collect()
    }
}

/// Message recorded for a failed turn. The text of the model service could repeat the question.
pub const TURN_FAILED: &str = "the turn failed; its client received the reason";

/// Redacts secrets and ids, by which others could continue a conversation. Keeps `limit` characters.
fn sanitize_text(text: &str, limit: usize) -> String {
    let text = without_ids(&codeinfo_secrets::redact_secrets("", None, text).text);
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn without_ids(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let id = rest.get(..UUID_BYTES).filter(|id| Uuid::try_parse(id).is_ok());
        let (next, bytes) = id.map_or((first, first.len_utf8()), |_| ('…', UUID_BYTES));
        out.push(next);
        rest = rest.get(bytes..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_failures_are_kept_and_repeats_are_merged() {
        let failures = FailureLog::default();
        for number in 0..=MAX_FAILURES {
            let message = number.to_string();
            failures.record_failure("main", "INTERNAL", &message, Some("/chat"));
            failures.record_failure("main", "INTERNAL", &message, Some("/chat"));
        }
        let latest = failures.list_latest();
        assert_eq!(latest.len(), MAX_FAILURES);
        assert_eq!((latest[0].message.as_str(), latest[0].times), ("100", 2));
        assert_eq!(latest[99].message, "1");
        failures.record_failure("mcp", "INTERNAL", "100", Some("/chat"));
        failures.record_failure("main", "BUSY", "100", Some("/chat"));
        failures.record_failure("main", "BUSY", "100", None);
        let times: u64 = failures.list_latest()[..3].iter().map(|failure| failure.times).sum();
        assert_eq!(times, 3);
    }

    #[test]
    fn ids_are_left_out() {
        let failures = FailureLog::default();
        let id = "0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17";
        let message = format!("cannot use `/ä/{id}.jsonl`");
        failures.record_failure(
            "main",
            "INTERNAL",
            &message,
            Some(&format!("/conversations/{id}/export")),
        );
        let latest = &failures.list_latest()[0];
        assert_eq!(latest.message, "cannot use `/ä/….jsonl`");
        assert_eq!(latest.path.as_deref(), Some("/conversations/…/export"));
    }

    #[test]
    fn recorded_failures_are_short_and_have_no_secrets() {
        let failures = FailureLog::default();
        let key = "ghp_u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8d";
        let message = format!("refused: {key} {}", "ä".repeat(600));
        failures.record_failure("main", "INTERNAL", &message, Some(&"/x".repeat(300)));
        let latest = &failures.list_latest()[0];
        assert!(!latest.message.contains(key), "{latest:?}");
        assert_eq!(latest.message.chars().count(), MAX_MESSAGE + 1);
        assert_eq!(latest.path.as_ref().unwrap().chars().count(), MAX_PATH + 1);
    }
}

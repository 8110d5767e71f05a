//! The last failures that clients were told of, for people who look at a server.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use uuid::Uuid;

use crate::Timestamp;

/// How many failures are kept.
const MAX_FAILURES: usize = 100;
/// The most characters that are kept of a message and of a path.
const MAX_MESSAGE: usize = 500;
const MAX_PATH: usize = 200;

/// A UUID in its hyphenated form.
const UUID_BYTES: usize = 36;

/// One failure, or several in a row that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureRecord {
    /// When it happened last.
    pub at: Timestamp,
    /// `main`, `mcp`, or `runs` for what no client waited for.
    pub listener: &'static str,
    /// The code that the client got.
    pub code: String,
    /// The message that the client got.
    pub message: String,
    /// What was asked for, without its query.
    pub path: Option<String>,
    /// How often it happened in a row.
    pub times: u64,
}

/// A bounded list of failures, in memory alone. Clones share it. What somebody asked is never in it.
#[derive(Debug, Clone, Default)]
pub struct FailureLog(Arc<Mutex<VecDeque<FailureRecord>>>);

impl FailureLog {
    /// Notes what a client was told.
    pub fn record_failure(
        &self,
        listener: &'static str,
        (code, message): (&str, &str),
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
        // Who asks again and again leaves room for other failures.
        if let Some(last) = failures.back_mut().filter(is_same) {
            (last.at, last.times) = (at, last.times.saturating_add(1));
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
        if MAX_FAILURES < failures.len() {
            failures.pop_front();
        }
    }

    /// Returns the failures, the latest first.
    pub fn list_latest(&self) -> Vec<FailureRecord> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        failures.iter().rev().cloned().collect()
    }
}

/// What is noted of a turn that failed: what the model service says may repeat the question.
pub const TURN_FAILED: &str = "the turn failed; who asked was given the reason";

/// Returns the start of a text, without what looks like a secret and without ids: who knows that of a conversation
/// may continue it.
fn sanitize_text(text: &str, limit: usize) -> String {
    let text = without_ids(&codeinfo_secrets::redact_secrets("", None, text).text);
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Puts `…` in the place of each UUID.
fn without_ids(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let id = rest.get(..UUID_BYTES).filter(|id| Uuid::try_parse(id).is_ok());
        let (shown, bytes) = id.map_or((first, first.len_utf8()), |_| ('…', UUID_BYTES));
        out.push(shown);
        rest = rest.get(bytes..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_failures_are_kept_and_those_alike_are_one() {
        let failures = FailureLog::default();
        for number in 0..=MAX_FAILURES {
            let message = number.to_string();
            failures.record_failure("main", ("INTERNAL", &message), Some("/chat"));
            failures.record_failure("main", ("INTERNAL", &message), Some("/chat"));
        }
        let latest = failures.list_latest();
        assert_eq!(latest.len(), MAX_FAILURES);
        assert_eq!((latest[0].message.as_str(), latest[0].times), ("100", 2));
        assert_eq!(latest[99].message, "1");
        failures.record_failure("mcp", ("INTERNAL", "100"), Some("/chat"));
        failures.record_failure("main", ("BUSY", "100"), Some("/chat"));
        failures.record_failure("main", ("BUSY", "100"), None);
        assert_eq!(failures.list_latest()[..3].iter().map(|one| one.times).sum::<u64>(), 3);
    }

    #[test]
    fn ids_are_left_out() {
        let failures = FailureLog::default();
        let id = "0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17";
        let message = format!("cannot use `/ä/{id}.jsonl`");
        failures.record_failure(
            "main",
            ("INTERNAL", &message),
            Some(&format!("/conversations/{id}/export")),
        );
        let latest = &failures.list_latest()[0];
        assert_eq!(latest.message, "cannot use `/ä/….jsonl`");
        assert_eq!(latest.path.as_deref(), Some("/conversations/…/export"));
    }

    #[test]
    fn what_is_kept_is_short_and_holds_no_secret() {
        let failures = FailureLog::default();
        let key = "ghp_u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8d";
        let message = format!("refused: {key} {}", "ä".repeat(600));
        failures.record_failure("main", ("INTERNAL", &message), Some(&"/x".repeat(300)));
        let latest = &failures.list_latest()[0];
        assert!(!latest.message.contains(key), "{latest:?}");
        assert_eq!(latest.message.chars().count(), MAX_MESSAGE + 1);
        assert_eq!(latest.path.as_ref().unwrap().chars().count(), MAX_PATH + 1);
    }
}

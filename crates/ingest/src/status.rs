//! Status of a run as clients see it, the sender that reports it, and the last run of each root.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_core::{RootId, RunId, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{scope::PathScope, skip::MissingFiles};

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Waits for earlier runs.
    Queued,
    /// Discovers files and compares them with the store.
    Scanning,
    /// Reads, embeds and writes.
    Embedding,
    /// Ended; the store matches the folder.
    Completed,
    /// Ended without any change.
    Skipped,
    /// Cancelled. The former index remains.
    Cancelled,
    /// Failed. The former index remains.
    Error,
}

impl fmt::Display for RunState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Queued => "queued",
            Self::Scanning => "scanning",
            Self::Embedding => "embedding",
            Self::Completed => "completed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        })
    }
}

impl RunState {
    /// Returns true if the run has ended.
    pub fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Scanning | Self::Embedding => false,
            Self::Completed | Self::Skipped | Self::Cancelled | Self::Error => true,
        }
    }
}

/// Counts of a run. Field names are part of the API of `GET /ingest/status`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunCounts {
    /// Files of the root with at least one chunk in the store.
    pub files: u64,
    /// Chunks of the root in the store.
    pub chunks: u64,
    /// Chunks that this run embedded and wrote.
    pub embedded: u64,
    /// Files that could not be indexed: unreadable, too large, or full of secrets.
    pub skipped: u64,
    /// Files deleted from the store because they are gone or now skipped.
    pub deleted: u64,
}

/// Status of a run for clients. Field names are part of the API of `GET /ingest/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    pub run_id: RunId,
    pub state: RunState,
    /// Name of the root.
    pub root: String,
    pub counts: RunCounts,
    /// Path below the root of the file read last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_file: Option<String>,
    /// Number of files done.
    pub file_index: u64,
    /// Number of files to read.
    pub file_total: u64,
    /// Percentage done, 0 to 100.
    pub percent: u8,
    /// Estimated milliseconds until the end, from the average pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta_ms: Option<u64>,
    /// Remarks on the run, such as the skipped files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Reason why the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

impl RunStatus {
    pub(super) fn new_queued(run_id: RunId, root: String) -> Self {
        Self {
            run_id,
            state: RunState::Queued,
            root,
            counts: RunCounts::default(),
            current_file: None,
            file_index: 0,
            file_total: 0,
            percent: 0,
            eta_ms: None,
            message: None,
            last_error: None,
        }
    }

    pub(super) fn set_final_state(&mut self, state: RunState) {
        self.state = state;
        self.current_file = None;
        self.eta_ms = None;
        if matches!(state, RunState::Completed | RunState::Skipped) {
            self.percent = 100;
        }
    }
}

/// Reporting end of a status. Clones report to the same status.
#[derive(Debug, Clone)]
pub(super) struct RunProgress {
    sender: watch::Sender<RunStatus>,
    started: Instant,
    bytes: ByteProgress,
    findings: Arc<Mutex<RunFindings>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct RunFindings {
    pub(super) missing: MissingFiles,
    /// Part of the root that the run covered; `None` for the whole root.
    pub(super) part: Option<Arc<PathScope>>,
}

/// Bytes done and to do, which estimate time better than files, whose sizes differ a thousandfold.
#[derive(Debug, Clone, Copy, Default)]
struct ByteProgress {
    done: u64,
    total: u64,
}

impl RunProgress {
    pub(super) fn new(sender: watch::Sender<RunStatus>) -> Self {
        let findings = Arc::default();
        Self { sender, started: Instant::now(), bytes: ByteProgress::default(), findings }
    }

    pub(super) fn record_findings(&self, findings: RunFindings) {
        *self.findings.lock().unwrap_or_else(PoisonError::into_inner) = findings;
    }

    pub(super) fn findings(&self) -> RunFindings {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn update_status(&self, change: impl FnOnce(&mut RunStatus)) {
        self.sender.send_modify(change);
    }

    /// Sets the state to embedding and resets the clock.
    pub(super) fn start_embedding(&mut self, files: usize, bytes: u64) {
        self.started = Instant::now();
        self.bytes = ByteProgress { done: 0, total: bytes };
        self.update_status(|status| {
            status.state = RunState::Embedding;
            status.file_total = files as u64;
        });
    }

    /// Reports the file being read, except after the end, when a stuck reader may still call this.
    pub(super) fn set_current_file(&self, path: &str) {
        self.sender.send_if_modified(|status| {
            let is_at_work = !status.state.is_final();
            if is_at_work {
                status.current_file = Some(path.to_owned());
            }
            is_at_work
        });
    }

    pub(super) fn add_done_files(&mut self, files: u64, bytes: u64, counts: RunCounts) {
        let elapsed = self.started.elapsed();
        self.bytes.done = self.bytes.done.saturating_add(bytes);
        let ByteProgress { done, total } = self.bytes;
        self.update_status(|status| {
            status.counts = counts;
            status.file_index += files;
            // 100 is reserved for the end.
            let percent = compute_percent(status.file_index, status.file_total).min(99);
            status.percent = u8::try_from(percent).unwrap_or(99);
            status.eta_ms = estimate_remaining_ms(elapsed, done, total);
        });
    }
}

fn compute_percent(index: u64, total: u64) -> u64 {
    (index * 100).checked_div(total).unwrap_or(0)
}

/// Estimates the remaining time from the average pace of the run, steadier than the current pace.
fn estimate_remaining_ms(elapsed: Duration, done: u64, total: u64) -> Option<u64> {
    let elapsed_ms = elapsed.as_millis();
    let left = u128::from(total.saturating_sub(done));
    let left_ms = elapsed_ms.saturating_mul(left).checked_div(u128::from(done))?;
    u64::try_from(left_ms).ok()
}

/// Maximum number of roots with a result.
const MAX_ROOTS: usize = 256;

/// A run that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRun {
    pub state: RunState,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub counts: RunCounts,
    /// Reason of the failure, or remarks.
    pub message: Option<String>,
    /// Missing files of the whole root, even if the run covered a part of it.
    pub missing: MissingFiles,
}

/// Last run of each root, excluding runs of former processes.
#[derive(Debug, Default)]
pub(super) struct RunHistory {
    runs: HashMap<RootId, PastRun>,
}

impl RunHistory {
    /// Records the result of a run that covered only `scope`, or the whole root if `None`.
    pub(super) fn record_run(&mut self, root: RootId, run: PastRun, scope: Option<&PathScope>) {
        let missing = match (self.runs.get(&root), scope) {
            (Some(before), Some(scope)) => run.missing.with_rest(&before.missing, scope),
            _ => run.missing,
        };
        self.runs.insert(root, PastRun { missing, ..run });
        if MAX_ROOTS < self.runs.len() {
            let oldest = self.runs.iter().min_by_key(|(_, run)| run.ended_at);
            if let Some(oldest) = oldest.map(|(root, _)| *root) {
                self.runs.remove(&oldest);
            }
        }
    }

    pub(super) fn forget_root(&mut self, root: RootId) {
        self.runs.remove(&root);
    }

    pub(super) fn last_run(&self, root: RootId) -> Option<&PastRun> {
        self.runs.get(&root)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_remaining_time_follows_the_bytes() {
        let second = Duration::from_secs(1);
        assert_eq!(estimate_remaining_ms(second, 0, 100), None);
        assert_eq!(estimate_remaining_ms(second, 25, 100), Some(3000));
        assert_eq!(estimate_remaining_ms(4 * second, 100, 100), Some(0));
        // A file may have grown since it was measured.
        assert_eq!(estimate_remaining_ms(second, 101, 100), Some(0));
    }

    fn run(named: &[&str], total: u64) -> PastRun {
        let named = named.iter().map(|path| ((*path).to_owned(), "too large".to_owned()));
        let ended_at = Timestamp::EPOCH;
        PastRun {
            state: RunState::Completed,
            started_at: ended_at,
            ended_at,
            counts: RunCounts::default(),
            message: None,
            missing: MissingFiles { named: named.collect(), total },
        }
    }

    #[test]
    fn a_partial_run_keeps_missing_files_of_the_rest() {
        let (mut history, root) = (RunHistory::default(), RootId::from_path(Path::new("/a")));
        let scope = PathScope::new(["src".to_owned()].into());
        let missing = |history: &RunHistory| {
            let missing = history.last_run(root).unwrap().missing.clone();
            let paths: Vec<String> = missing.named.into_iter().map(|(path, _)| path).collect();
            (paths.join(" "), missing.total)
        };
        history.record_run(root, run(&["a", "src/b", "src/c", "z"], 7), None);
        history.record_run(root, run(&["src/d"], 1), Some(&scope));
        assert_eq!(missing(&history), ("a src/d z".to_owned(), 6));
        history.record_run(root, run(&["src/e"], 1), None);
        assert_eq!(missing(&history), ("src/e".to_owned(), 1));
        history.forget_root(root);
        history.record_run(root, run(&["src/e"], 1), Some(&scope));
        assert_eq!(missing(&history), ("src/e".to_owned(), 1));
    }

    #[test]
    fn the_oldest_runs_are_dropped() {
        let mut history = RunHistory::default();
        let root = |number: usize| RootId::from_path(Path::new(&format!("/{number}")));
        for number in 0..=MAX_ROOTS {
            let ended_at = Timestamp::EPOCH.to_system_time() + Duration::from_secs(number as u64);
            history.record_run(
                root(number),
                PastRun { ended_at: ended_at.into(), ..run(&[], 0) },
                None,
            );
        }
        assert!(history.last_run(root(0)).is_none() && history.last_run(root(1)).is_some());
    }
}

//! Results of the last run of each root that ended in this process, with the skipped files.

use std::collections::HashMap;

use codeinfo_core::{RootId, Timestamp};

use super::{
    scope::PathScope,
    skip::MissingFiles,
    status::{RunCounts, RunState},
};

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
    fn a_partial_run_keeps_the_omissions_that_it_did_not_cover() {
        let (mut past, root) = (RunHistory::default(), RootId::from_path(Path::new("/a")));
        let scope = PathScope::new(["src".to_owned()].into());
        let missing = |past: &RunHistory| {
            let missing = past.last_run(root).unwrap().missing.clone();
            let paths: Vec<String> = missing.named.into_iter().map(|(path, _)| path).collect();
            (paths.join(" "), missing.total)
        };
        past.record_run(root, run(&["a", "src/b", "src/c", "z"], 7), None);
        past.record_run(root, run(&["src/d"], 1), Some(&scope));
        assert_eq!(missing(&past), ("a src/d z".to_owned(), 6));
        past.record_run(root, run(&["src/e"], 1), None);
        assert_eq!(missing(&past), ("src/e".to_owned(), 1));
        past.forget_root(root);
        past.record_run(root, run(&["src/e"], 1), Some(&scope));
        assert_eq!(missing(&past), ("src/e".to_owned(), 1));
    }

    #[test]
    fn the_oldest_runs_are_forgotten() {
        let mut past = RunHistory::default();
        let root = |number: usize| RootId::from_path(Path::new(&format!("/{number}")));
        for number in 0..=MAX_ROOTS {
            let ended_at =
                Timestamp::EPOCH.to_system_time() + std::time::Duration::from_secs(number as u64);
            past.record_run(
                root(number),
                PastRun { ended_at: ended_at.into(), ..run(&[], 0) },
                None,
            );
        }
        assert!(past.last_run(root(0)).is_none() && past.last_run(root(1)).is_some());
    }
}

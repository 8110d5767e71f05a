//! Lists commits as `git log` does, without those that are known.

use std::collections::{HashMap, HashSet};

use crate::{
    CommitDetails, CommitId, HistoryBudget, HistoryError, HistoryReader, HistoryStop, StopReason,
    budget::WalkResult, commit_diff::stop_error, walk::WalkQueue,
};

/// Number of known commits looked at that are older than all listed ones; git looks at five.
const MAX_OLDER: usize = 100;

/// Commits, newest first.
#[derive(Debug)]
pub struct CommitList {
    pub commits: Vec<CommitDetails>,
    /// Reason for which earlier commits are not in the list. `None` if the list is complete.
    pub stop: Option<HistoryStop>,
}

/// Ids of commits, newest first.
#[derive(Debug)]
pub struct CommitIdList {
    pub ids: Vec<CommitId>,
    /// Reason for which earlier commits are not in the list. `None` if the list is complete.
    pub stop: Option<HistoryStop>,
}

/// Progress of a walk that leaves out what is known.
#[derive(Default)]
struct ListProgress {
    /// Commits that wait. Known ones have no details.
    queue: WalkQueue<Option<CommitDetails>>,
    /// Commits that were added to the queue, and whether they are known.
    is_known: HashMap<CommitId, bool>,
    /// Commits in the queue that are not known.
    waiting: usize,
    commits: Vec<CommitDetails>,
}

impl HistoryReader {
    /// Lists the commits that are reachable from `tip` and not from any of `known`, newest first.
    pub fn list_commits(
        &mut self,
        tip: &CommitId,
        known: &[CommitId],
        budget: &HistoryBudget,
    ) -> CommitList {
        self.start_question(budget);
        let mut progress = ListProgress::default();
        let result = self.walk_commits(tip, known, &mut progress);
        let ListProgress { is_known, mut commits, .. } = progress;
        // A commit with a wrong time may turn out to be known after it was listed.
        commits.retain(|commit| is_known.get(&commit.id) == Some(&false));
        CommitList { commits, stop: self.find_stop(result) }
    }

    /// Lists the ids of the commits that are reachable from any of `tips`, newest first.
    pub fn list_ids(&mut self, tips: &[CommitId], budget: &HistoryBudget) -> CommitIdList {
        self.start_question(budget);
        let mut ids = Vec::new();
        let result = self.walk_ids(tips, &mut ids);
        CommitIdList { ids, stop: self.find_stop(result) }
    }

    /// Reads the author, the time and the message of a commit.
    pub fn read_commit(
        &mut self,
        id: &CommitId,
        budget: &HistoryBudget,
    ) -> Result<CommitDetails, HistoryError> {
        self.start_question(budget);
        self.read_details(id).map_err(|reason| stop_error(reason, id))
    }

    fn walk_ids(&mut self, tips: &[CommitId], ids: &mut Vec<CommitId>) -> WalkResult {
        let mut queue = WalkQueue::default();
        let mut known = HashSet::new();
        let mut open = tips.to_vec();
        loop {
            for id in open.drain(..).filter(|id| known.insert(*id)) {
                queue.push(self.load_commit(&id)?.seconds, id, ());
            }
            let Some((id, _)) = queue.pop() else { return Ok(()) };
            self.check_results(ids.len())?;
            open.extend(&self.visit_commit(&id)?.parents);
            ids.push(id);
        }
    }

    fn walk_commits(
        &mut self,
        tip: &CommitId,
        known: &[CommitId],
        progress: &mut ListProgress,
    ) -> WalkResult {
        for id in known {
            match self.add_known(*id, progress) {
                // A branch was rewritten, and the commits that it had are gone.
                Err(StopReason::Missing(missing)) if missing == *id => {}
                other => other?,
            }
        }
        self.add_commit(*tip, progress)?;
        let (mut oldest, mut older) = (i64::MAX, 0);
        while let Some((id, items)) = progress.queue.pop() {
            let is_known = progress.is_known.get(&id) == Some(&true);
            let details = items.into_iter().flatten().next();
            progress.waiting -= usize::from(details.is_some());
            let node = if is_known { self.load_commit(&id)? } else { self.visit_commit(&id)? };
            if is_known && progress.waiting == 0 && node.seconds < oldest {
                older += 1;
                if older > MAX_OLDER {
                    break;
                }
            }
            if let Some(details) = details.filter(|_| !is_known) {
                self.check_results(progress.commits.len())?;
                oldest = oldest.min(node.seconds);
                progress.commits.push(details);
            }
            for parent in &node.parents {
                if is_known {
                    self.add_known(*parent, progress)?;
                } else {
                    self.add_commit(*parent, progress)?;
                }
            }
        }
        Ok(())
    }

    fn add_commit(&mut self, id: CommitId, progress: &mut ListProgress) -> WalkResult {
        if progress.is_known.contains_key(&id) {
            return Ok(());
        }
        let (details, seconds) =
            self.parse_commit(&id, |parsed| (CommitDetails::from(parsed), parsed.node.seconds))?;
        progress.is_known.insert(id, false);
        progress.waiting += 1;
        progress.queue.push(seconds, id, Some(details));
        Ok(())
    }

    /// Adds a known commit; again if it was added before it was found to be known.
    fn add_known(&mut self, id: CommitId, progress: &mut ListProgress) -> WalkResult {
        if progress.is_known.get(&id) == Some(&true) {
            return Ok(());
        }
        let seconds = self.load_commit(&id)?.seconds;
        progress.is_known.insert(id, true);
        progress.queue.push(seconds, id, None);
        Ok(())
    }
}

//! Changes of one root that wait for a pause.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// Time without changes that counts as a pause; saving a file causes several changes within
/// milliseconds.
const PAUSE: Duration = Duration::from_millis(150);
/// Maximum delay of changes that do not pause.
const MAX_DELAY: Duration = Duration::from_millis(600);
/// Maximum number of paths to check one by one; beyond it, comparing the whole root is cheaper.
const MAX_PATHS: usize = 200;

/// Changes to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChangeSet {
    /// Paths below the root, including everything below them.
    Paths(BTreeSet<String>),
    Everything,
}

/// Waiting changes.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    what: Option<ChangeSet>,
    /// Time of the first waiting change.
    first: Option<Instant>,
    due: Option<Instant>,
}

impl PendingChanges {
    /// Adds a change of a path below the root.
    pub(super) fn add_path(&mut self, path: String, now: Instant) {
        match self.what.get_or_insert_with(|| ChangeSet::Paths(BTreeSet::new())) {
            ChangeSet::Everything => {}
            ChangeSet::Paths(paths) => {
                paths.insert(path);
                if paths.len() > MAX_PATHS {
                    self.what = Some(ChangeSet::Everything);
                }
            }
        }
        self.schedule_check(now);
    }

    /// Marks the whole root as changed.
    pub(super) fn note_all(&mut self, now: Instant) {
        self.what = Some(ChangeSet::Everything);
        self.schedule_check(now);
    }

    /// Returns the time of the next check, if changes wait.
    pub(super) fn due_at(&self) -> Option<Instant> {
        self.due
    }

    /// Postpones the check.
    pub(super) fn postpone_until(&mut self, until: Instant) {
        self.due = self.due.map(|_| until);
    }

    /// Removes and returns all changes; without changes, an empty set of paths.
    pub(super) fn take_changes(&mut self) -> ChangeSet {
        (self.first, self.due) = (None, None);
        self.what.take().unwrap_or_else(|| ChangeSet::Paths(BTreeSet::new()))
    }

    /// Puts back changes that could not be checked.
    pub(super) fn put_back(&mut self, what: ChangeSet, until: Instant) {
        match what {
            ChangeSet::Everything => self.note_all(until),
            ChangeSet::Paths(paths) => {
                for path in paths {
                    self.add_path(path, until);
                }
            }
        }
        self.postpone_until(until);
    }

    fn schedule_check(&mut self, now: Instant) {
        let first = *self.first.get_or_insert(now);
        self.due = Some((now + PAUSE).min(first + MAX_DELAY));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(paths: &[&str]) -> ChangeSet {
        ChangeSet::Paths(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn changes_wait_for_a_pause_but_not_for_ever() {
        let (start, mut pending) = (Instant::now(), PendingChanges::default());
        assert_eq!(pending.due_at(), None);
        pending.add_path("a".to_owned(), start);
        assert_eq!(pending.due_at(), Some(start + PAUSE));
        for step in 1..20 {
            pending.add_path("b".to_owned(), start + PAUSE / 2 * step);
        }
        assert_eq!(pending.due_at(), Some(start + MAX_DELAY));
        assert_eq!(pending.take_changes(), paths(&["a", "b"]));
        assert_eq!((pending.due_at(), pending.take_changes()), (None, paths(&[])));
    }

    #[test]
    fn many_changes_are_all() {
        let (now, mut pending) = (Instant::now(), PendingChanges::default());
        for number in 0..=MAX_PATHS {
            pending.add_path(number.to_string(), now);
        }
        assert_eq!(pending.take_changes(), ChangeSet::Everything);
    }

    #[test]
    fn what_is_put_back_joins_what_came_meanwhile() {
        let (now, mut pending) = (Instant::now(), PendingChanges::default());
        pending.add_path("new".to_owned(), now);
        pending.put_back(paths(&["old"]), now + MAX_DELAY);
        assert_eq!(pending.due_at(), Some(now + MAX_DELAY));
        assert_eq!(pending.take_changes(), paths(&["new", "old"]));
    }
}

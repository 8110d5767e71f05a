//! Changes of one root that wait until they pause.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// Changes have paused when none came for so long; saving a file makes several within a few
/// milliseconds.
const PAUSE: Duration = Duration::from_millis(150);
/// Changes that do not pause are taken up after so long.
const MAX_DELAY: Duration = Duration::from_millis(600);
/// With more paths than this, comparing the whole root costs less than looking at each.
const MAX_PATHS: usize = 200;

/// What is to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Paths below the root, with everything below them.
    Paths(BTreeSet<String>),
    Everything,
}

/// Changes that wait.
#[derive(Debug, Default)]
pub(super) struct Pending {
    what: Option<What>,
    /// When the first of them came.
    first: Option<Instant>,
    due: Option<Instant>,
}

impl Pending {
    /// Notes a change of a path below the root.
    pub(super) fn note(&mut self, path: String, now: Instant) {
        match self.what.get_or_insert_with(|| What::Paths(BTreeSet::new())) {
            What::Everything => {}
            What::Paths(paths) => {
                paths.insert(path);
                if paths.len() > MAX_PATHS {
                    self.what = Some(What::Everything);
                }
            }
        }
        self.wait(now);
    }

    /// Notes changes that nothing more is known of.
    pub(super) fn note_all(&mut self, now: Instant) {
        self.what = Some(What::Everything);
        self.wait(now);
    }

    /// When to check the changes, if there are any.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Waits longer.
    pub(super) fn postpone(&mut self, until: Instant) {
        self.due = self.due.map(|_| until);
    }

    /// Takes all changes; without any, an empty set of paths.
    pub(super) fn take(&mut self) -> What {
        (self.first, self.due) = (None, None);
        self.what.take().unwrap_or_else(|| What::Paths(BTreeSet::new()))
    }

    /// Puts changes back that could not be checked.
    pub(super) fn put_back(&mut self, what: What, until: Instant) {
        match what {
            What::Everything => self.note_all(until),
            What::Paths(paths) => paths.into_iter().for_each(|path| self.note(path, until)),
        }
        self.postpone(until);
    }

    fn wait(&mut self, now: Instant) {
        let first = *self.first.get_or_insert(now);
        self.due = Some((now + PAUSE).min(first + MAX_DELAY));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(paths: &[&str]) -> What {
        What::Paths(paths.iter().map(|path| (*path).to_owned()).collect())
    }

    #[test]
    fn changes_wait_for_a_pause_but_not_for_ever() {
        let (start, mut pending) = (Instant::now(), Pending::default());
        assert_eq!(pending.due(), None);
        pending.note("a".to_owned(), start);
        assert_eq!(pending.due(), Some(start + PAUSE));
        for step in 1..20 {
            pending.note("b".to_owned(), start + PAUSE / 2 * step);
        }
        assert_eq!(pending.due(), Some(start + MAX_DELAY));
        assert_eq!(pending.take(), paths(&["a", "b"]));
        assert_eq!((pending.due(), pending.take()), (None, paths(&[])));
    }

    #[test]
    fn many_changes_are_all() {
        let (now, mut pending) = (Instant::now(), Pending::default());
        for number in 0..=MAX_PATHS {
            pending.note(number.to_string(), now);
        }
        assert_eq!(pending.take(), What::Everything);
    }

    #[test]
    fn what_is_put_back_joins_what_came_meanwhile() {
        let (now, mut pending) = (Instant::now(), Pending::default());
        pending.note("new".to_owned(), now);
        pending.put_back(paths(&["old"]), now + MAX_DELAY);
        assert_eq!(pending.due(), Some(now + MAX_DELAY));
        assert_eq!(pending.take(), paths(&["new", "old"]));
    }
}

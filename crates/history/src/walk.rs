//! Queue of commits, newest first, in the order of `git log`.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use crate::CommitId;

/// Commits that wait to be looked at, each with what is asked about it.
pub(crate) struct WalkQueue<T> {
    heap: BinaryHeap<(i64, Reverse<usize>, CommitId)>,
    pending: HashMap<CommitId, Vec<T>>,
    number: usize,
}

impl<T> Default for WalkQueue<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), pending: HashMap::new(), number: 0 }
    }
}

impl<T> WalkQueue<T> {
    /// Adds a commit. Of commits of the same second, the one added first is looked at first.
    pub(crate) fn push(&mut self, seconds: i64, id: CommitId, item: T) {
        let items = self.pending.entry(id).or_default();
        if items.is_empty() {
            self.number += 1;
            self.heap.push((seconds, Reverse(self.number), id));
        }
        items.push(item);
    }

    pub(crate) fn pop(&mut self) -> Option<(CommitId, Vec<T>)> {
        let (.., id) = self.heap.pop()?;
        Some((id, self.pending.remove(&id).unwrap_or_default()))
    }

    pub(crate) fn pending_items(&mut self, id: &CommitId) -> Option<&mut Vec<T>> {
        self.pending.get_mut(id)
    }
}

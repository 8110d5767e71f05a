//! A chunk on its way to become a hit.

use std::{cmp::Ordering, collections::HashMap, path::Path};

use uuid::Uuid;

use crate::domain::{ChunkRecord, Parts, RootId};

/// A found chunk with its score so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) id: Uuid,
    pub(super) record: ChunkRecord,
    pub(super) score: f32,
    /// What the score is made of.
    pub(super) parts: Parts,
}

impl Candidate {
    /// Orders candidates best first; equal scores by path, line and id, so that the same search
    /// always gives the same order.
    pub(super) fn best_first(&self, other: &Self) -> Ordering {
        fn place(of: &Candidate) -> (RootId, &str, u32, Uuid) {
            (of.record.root, &of.record.path, of.record.start_line, of.id)
        }
        other.score.total_cmp(&self.score).then_with(|| place(self).cmp(&place(other)))
    }
}

/// Keeps, of each file, only chunks of the version that was indexed last: while a file is being
/// replaced, chunks of two versions are in the store. Chunks of one version all count, whenever they
/// were written: embedding a file again writes them one after the other.
pub(super) fn drop_stale(candidates: &mut Vec<Candidate>) {
    fn version(candidate: &Candidate) -> (u64, &str) {
        (candidate.record.indexed_at_ms, &candidate.record.version)
    }
    let mut latest: HashMap<(RootId, &str), (u64, &str)> = HashMap::new();
    for candidate in candidates.iter() {
        let file = (candidate.record.root, candidate.record.path.as_str());
        let known = latest.entry(file).or_insert_with(|| version(candidate));
        *known = (*known).max(version(candidate));
    }
    let current = candidates.iter().map(|candidate| {
        let file = (candidate.record.root, candidate.record.path.as_str());
        latest.get(&file).is_some_and(|(_, version)| *version == candidate.record.version)
    });
    let current = current.collect();
    keep(candidates, current);
}

/// Keeps each piece of a file once, the best: roots inside one another hold the same files. What is
/// of a root that is not among `folders` goes too: that root is being removed, and has no name.
pub(super) fn drop_duplicates(candidates: &mut Vec<Candidate>, folders: &HashMap<RootId, &Path>) {
    candidates.sort_by(Candidate::best_first);
    let mut seen: HashMap<(u32, usize), Vec<(&Path, &ChunkRecord)>> = HashMap::new();
    let first = candidates.iter().map(|Candidate { record, .. }| {
        folders.get(&record.root).is_some_and(|folder| {
            let alike = seen.entry((record.start_line, record.text.len())).or_default();
            let is_same = |(other, of_other): &(&Path, &ChunkRecord)| {
                record.text == of_other.text
                    && folder.join(&record.path) == other.join(&of_other.path)
            };
            let is_first = !alike.iter().any(is_same);
            alike.push((folder, record));
            is_first
        })
    });
    let first = first.collect();
    keep(candidates, first);
}

/// Keeps the candidates whose flag is set; there is one for each.
fn keep(candidates: &mut Vec<Candidate>, flags: Vec<bool>) {
    let mut flags = flags.into_iter();
    candidates.retain(|_| flags.next().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::record, *};

    fn candidate(id: u128, path: &str, indexed_at_ms: u64, version: &str) -> Candidate {
        let record = ChunkRecord {
            indexed_at_ms,
            version: version.to_owned(),
            ..record(path, None, "text")
        };
        Candidate { id: Uuid::from_u128(id), record, score: 0.5, parts: Parts::default() }
    }

    #[test]
    fn only_the_latest_version_of_a_file_is_kept() {
        let mut candidates = vec![
            candidate(1, "a.rs", 10, "old"),
            candidate(2, "a.rs", 20, "new"),
            candidate(3, "b.rs", 10, "old"),
            candidate(4, "a.rs", 20, "new"),
            candidate(5, "a.rs", 20, "more"),
            candidate(6, "a.rs", 15, "new"),
        ];
        drop_stale(&mut candidates);
        let kept: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(kept, [2, 3, 4, 6]);
    }

    #[test]
    fn roots_inside_one_another_give_each_piece_once() {
        let [outer, inner, gone] = [1, 2, 3].map(|id| RootId(Uuid::from_u128(id)));
        let of = |id: u128, root: RootId, path: &str, score: f32| {
            let mut candidate = candidate(id, path, 1, "v");
            candidate.record.root = root;
            candidate.score = score;
            candidate
        };
        let mut candidates = vec![
            of(1, outer, "in/a.rs", 0.4),
            of(2, inner, "a.rs", 0.5),
            of(3, outer, "a.rs", 0.3),
            of(4, gone, "a.rs", 0.9),
        ];
        let folders = HashMap::from([(outer, Path::new("/r")), (inner, Path::new("/r/in"))]);
        drop_duplicates(&mut candidates, &folders);
        let kept: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(kept, [2, 3]);
    }

    #[test]
    fn equal_scores_are_ordered_by_place() {
        let mut candidates = [
            candidate(9, "b.rs", 1, "v"),
            candidate(2, "a.rs", 1, "v"),
            candidate(1, "a.rs", 1, "v"),
        ];
        candidates.sort_by(Candidate::best_first);
        let order: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(order, [1, 2, 9]);
    }
}

//! Defines the candidate: a chunk that may become a hit.

use std::{cmp::Ordering, collections::HashMap};

use codeinfo_core::{ChunkRecord, Root, RootId, ScoreParts};
use uuid::Uuid;

/// A found chunk with its current score.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchCandidate {
    pub(super) id: Uuid,
    pub(super) record: ChunkRecord,
    pub(super) score: f32,
    pub(super) parts: ScoreParts,
    /// Other roots with the same chunk.
    pub(super) also: Vec<RootId>,
    /// Other files of the root with the same text.
    pub(super) copies: Vec<TextCopy>,
}

/// A chunk with the same text as another.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextCopy {
    pub(super) id: Uuid,
    pub(super) path: String,
    pub(super) line: u32,
}

impl SearchCandidate {
    /// Orders candidates best first, then by path, line and id, so that a search gives the same
    /// order in each store.
    pub(super) fn best_first(&self, other: &Self) -> Ordering {
        fn sort_key(candidate: &SearchCandidate) -> (&str, u32, Uuid) {
            (&candidate.record.path, candidate.record.start_line, candidate.id)
        }
        other.score.total_cmp(&self.score).then_with(|| sort_key(self).cmp(&sort_key(other)))
    }
}

/// Keeps only the best version of each piece of a file, among the trees of one repository. Pieces
/// are the same if they have the same symbol or common lines. `owners` maps each root to the owner
/// of its chunks.
pub(super) fn drop_other_trees(
    candidates: &mut Vec<SearchCandidate>,
    owners: &HashMap<RootId, RootId>,
) {
    let is_tree = |root: &RootId| {
        owners
            .get(root)
            .is_some_and(|owner| 1 < owners.values().filter(|other| *other == owner).count())
    };
    if !candidates.iter().any(|candidate| is_tree(&candidate.record.root)) {
        return;
    }
    candidates.sort_by(SearchCandidate::best_first);
    let mut seen: HashMap<(RootId, &str), Vec<&ChunkRecord>> = HashMap::new();
    let is_best = candidates.iter().map(|SearchCandidate { record, .. }| {
        let owner = owners.get(&record.root).copied().unwrap_or(record.root);
        let known_pieces = seen.entry((owner, record.path.as_str())).or_default();
        let is_other = |known: &&ChunkRecord| {
            let has_symbol = record.symbol.is_some() && record.symbol == known.symbol;
            let has_lines =
                record.start_line <= known.end_line && known.start_line <= record.end_line;
            record.version != known.version && (has_symbol || has_lines)
        };
        let is_best = !known_pieces.iter().any(is_other);
        if is_best {
            known_pieces.push(record);
        }
        is_best
    });
    let flags = is_best.collect();
    retain_flagged(candidates, flags);
}

/// Keeps each piece of a file once, the best, because roots inside one another contain the same
/// files. Also drops candidates of roots not in `roots`, which are being removed and have no name.
pub(super) fn drop_duplicates(candidates: &mut Vec<SearchCandidate>, roots: &[Root]) {
    let by_id: HashMap<RootId, &Root> = roots.iter().map(|root| (root.id, root)).collect();
    candidates.sort_by(SearchCandidate::best_first);
    let mut seen: HashMap<(u32, usize), Vec<(&Root, &ChunkRecord)>> = HashMap::new();
    let is_first = candidates.iter().map(|SearchCandidate { record, .. }| {
        by_id.get(&record.root).is_some_and(|root| {
            let alike = seen.entry((record.start_line, record.text.len())).or_default();
            let is_same = |(other, known): &(&Root, &ChunkRecord)| {
                record.text == known.text
                    && root.host == other.host
                    && root.path.join(&record.path) == other.path.join(&known.path)
            };
            let is_first = !alike.iter().any(is_same);
            alike.push((root, record));
            is_first
        })
    });
    let flags = is_first.collect();
    retain_flagged(candidates, flags);
}

/// Keeps the candidates whose flag is true. `flags` has one entry per candidate.
fn retain_flagged(candidates: &mut Vec<SearchCandidate>, flags: Vec<bool>) {
    let mut remaining = flags.into_iter();
    candidates.retain(|_| remaining.next().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use super::{
        super::fixture::{record, root},
        *,
    };
    use codeinfo_core::Host;

    fn candidate(id: u128, path: &str, version: &str) -> SearchCandidate {
        let record = ChunkRecord { version: version.to_owned(), ..record(path, None, "text") };
        SearchCandidate {
            id: Uuid::from_u128(id),
            record,
            score: 0.5,
            parts: ScoreParts::default(),
            also: Vec::new(),
            copies: Vec::new(),
        }
    }

    #[test]
    fn of_versions_in_several_trees_each_piece_is_kept_once() {
        let [main, tree, alone] = [1, 2, 3].map(|id| RootId(Uuid::from_u128(id)));
        let of = |id: u128,
                  root: RootId,
                  version: &str,
                  symbol: Option<&str>,
                  first: u32,
                  score: f32| {
            let mut candidate = candidate(id, "a.rs", version);
            candidate.record = ChunkRecord {
                root,
                symbol: symbol.map(str::to_owned),
                start_line: first,
                end_line: first + 4,
                ..candidate.record
            };
            SearchCandidate { score, ..candidate }
        };
        let mut candidates = vec![
            of(1, main, "one", Some("open"), 1, 0.5),
            of(2, tree, "two", Some("open"), 90, 0.9),
            of(3, main, "one", None, 10, 0.4),
            of(4, tree, "two", None, 14, 0.3),
            of(5, tree, "two", None, 30, 0.2),
            of(6, main, "one", Some("close"), 50, 0.1),
            of(7, alone, "three", Some("open"), 1, 0.1),
        ];
        let owners = HashMap::from([(main, main), (tree, main), (alone, alone)]);
        drop_other_trees(&mut candidates, &owners);
        let kept: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(kept, [2, 3, 5, 7, 6]);
    }

    #[test]
    fn roots_inside_one_another_give_each_piece_once() {
        let [outer, inner, gone] = [1, 2, 3].map(|id| RootId(Uuid::from_u128(id)));
        let of = |id: u128, root: RootId, path: &str, score: f32| {
            let mut candidate = candidate(id, path, "v");
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
        let at = |id: RootId, path: &str| Root { id, ..root(path) };
        let roots = [at(outer, "/r"), at(inner, "/r/in")];
        let mut of_hosts = candidates.clone();
        drop_duplicates(&mut candidates, &roots);
        let kept: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(kept, [2, 3]);
        let [outer, inner] = roots;
        drop_duplicates(&mut of_hosts, &[Root { host: Some(Host::unknown()), ..outer }, inner]);
        let kept: Vec<u128> = of_hosts.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(kept, [2, 1, 3]);
    }

    #[test]
    fn equal_scores_are_ordered_by_place() {
        let mut candidates =
            [candidate(9, "b.rs", "v"), candidate(2, "a.rs", "v"), candidate(1, "a.rs", "v")];
        candidates.sort_by(SearchCandidate::best_first);
        let order: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(order, [1, 2, 9]);
    }
}

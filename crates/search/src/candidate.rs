//! Candidates of a search, from two ranked lists to one without duplicates.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use codeinfo_core::{ChunkRecord, Root, RootId, ScoreParts};
use codeinfo_lang::{role::FileRole, translation::find_original_path};
use codeinfo_store::ScoredChunk;
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SearchCandidate {
    pub(super) id: Uuid,
    pub(super) record: ChunkRecord,
    pub(super) score: f32,
    pub(super) parts: ScoreParts,
    /// Share of the question's meaning that the words of its file's name and its symbol have, 0…1.
    pub(super) name_meaning: f32,
    pub(super) other_roots: Vec<RootId>,
    /// Other files of the root with the same text.
    pub(super) copies: Vec<TextCopy>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextCopy {
    pub(super) id: Uuid,
    pub(super) path: String,
    pub(super) line: u32,
}

impl SearchCandidate {
    pub(super) fn unscored(id: Uuid, record: ChunkRecord, other_roots: Vec<RootId>) -> Self {
        let parts = ScoreParts::default();
        Self { id, record, score: 0.0, parts, name_meaning: 0.0, other_roots, copies: Vec::new() }
    }

    /// Returns the name of its file and its symbol.
    pub(super) fn names(&self) -> [&str; 2] {
        let file = self.record.path.rsplit('/').next().unwrap_or_default();
        [file, self.record.symbol.as_deref().unwrap_or_default()]
    }

    /// Orders best first, then by path, line and id, so that each store gives the same order.
    pub(super) fn best_first(&self, other: &Self) -> Ordering {
        fn sort_key(candidate: &SearchCandidate) -> (&str, u32, Uuid) {
            (&candidate.record.path, candidate.record.start_line, candidate.id)
        }
        other.score.total_cmp(&self.score).then_with(|| sort_key(self).cmp(&sort_key(other)))
    }
}

/// Weights of the two lists; only their ratio matters.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListWeights {
    pub(super) dense: f32,
    pub(super) lexical: f32,
}

/// Fuses two lists, each best first and scaled to 0…1 (min-max), into a convex combination of their
/// scores: 1 for the leader of both lists, 0 for the last of one that is not in the other.
///
/// Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", 2023, find this
/// better than reciprocal rank fusion, as do queries with known answers: ranks lose the distance of
/// the best chunk to the others.
pub(super) fn fuse_lists(
    dense: Vec<ScoredChunk>,
    lexical: Vec<ScoredChunk>,
    lists: ListWeights,
) -> Vec<SearchCandidate> {
    let total = lists.dense + lists.lexical;
    let mut candidates: Vec<SearchCandidate> = Vec::with_capacity(dense.len() + lexical.len());
    let mut places: HashMap<Uuid, usize> = HashMap::new();
    for (list, weight, is_dense) in [(dense, lists.dense, true), (lexical, lists.lexical, false)] {
        let scale = MinMax::from_scores(&list);
        for ScoredChunk { id, score, record, also } in list {
            let share = weight / total * scale.scale_score(score);
            let place = *places.entry(id).or_insert(candidates.len());
            if place == candidates.len() {
                candidates.push(SearchCandidate::unscored(id, record, also));
            }
            if let Some(candidate) = candidates.get_mut(place) {
                candidate.score += share;
                let parts = &mut candidate.parts;
                *(if is_dense { &mut parts.meaning } else { &mut parts.words }) = share;
            }
        }
    }
    candidates
}

/// Maps the scores of a list to 0…1: the last to 0, the first to 1.
struct MinMax {
    min: f32,
    span: f32,
}

impl MinMax {
    fn from_scores(list: &[ScoredChunk]) -> Self {
        let min = list.last().map_or(0.0, |scored| scored.score);
        let max = list.first().map_or(0.0, |scored| scored.score);
        Self { min, span: max - min }
    }

    /// If all scores are equal, each counts as the best.
    fn scale_score(&self, score: f32) -> f32 {
        if self.span > 0.0 { ((score - self.min) / self.span).clamp(0.0, 1.0) } else { 1.0 }
    }
}

/// Keeps the best version of each piece, by symbol or common lines, among the trees of a
/// repository. `owners` maps each root to the owner of its chunks.
pub(super) fn drop_other_trees(
    candidates: &mut Vec<SearchCandidate>,
    owners: &HashMap<RootId, RootId>,
) {
    let mut seen_owners = HashSet::new();
    let shared: HashSet<&RootId> =
        owners.values().filter(|owner| !seen_owners.insert(*owner)).collect();
    let is_tree = |root: &RootId| owners.get(root).is_some_and(|owner| shared.contains(owner));
    if shared.is_empty() || !candidates.iter().any(|candidate| is_tree(&candidate.record.root)) {
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

/// Share of a translation's score from which on the original takes its place.
const AS_GOOD: f32 = 0.8;
const MAX_COPIES: usize = 50;

pub(super) fn count_texts(candidates: &[SearchCandidate]) -> usize {
    let texts = candidates.iter().map(|candidate| candidate.record.text.trim());
    // Comparing few texts takes less time than hashing each whole.
    texts.collect::<BTreeSet<_>>().len()
}

/// Keeps the first candidate of each text per root, which then names the others. Drops candidates
/// of `gone` roots whose text another root has. Pieces of one file are never copies.
pub(super) fn fold_copies(
    candidates: Vec<SearchCandidate>,
    gone: &HashSet<RootId>,
) -> Vec<SearchCandidate> {
    let is_gone = |candidate: &SearchCandidate| gone.contains(&candidate.record.root);
    let present = candidates.iter().filter(|candidate| !gone.is_empty() && !is_gone(candidate));
    let present_texts: HashSet<String> =
        present.map(|candidate| candidate.record.text.trim().to_owned()).collect();
    let mut kept: Vec<SearchCandidate> = Vec::with_capacity(candidates.len());
    let mut places: BTreeMap<(RootId, String), usize> = BTreeMap::new();
    for candidate in candidates {
        let text = candidate.record.text.trim();
        if is_gone(&candidate) && present_texts.contains(text) {
            continue;
        }
        let next = kept.len();
        let place = *places.entry((candidate.record.root, text.to_owned())).or_insert(next);
        match kept.get_mut(place) {
            Some(first) if !text.is_empty() && first.record.path != candidate.record.path => {
                if first.copies.len() < MAX_COPIES {
                    first.copies.push(TextCopy {
                        id: candidate.id,
                        path: candidate.record.path,
                        line: candidate.record.start_line,
                    });
                }
            }
            Some(_) | None => kept.push(candidate),
        }
    }
    kept
}

/// Keeps of the translations of a document the pieces of the one that fits best, which then names
/// the others; the original instead if it fits about as well.
pub(super) fn fold_translations(candidates: Vec<SearchCandidate>) -> Vec<SearchCandidate> {
    let mut kept: Vec<SearchCandidate> = Vec::with_capacity(candidates.len());
    let mut places: HashMap<(RootId, String), usize> = HashMap::new();
    for mut candidate in candidates {
        if !candidate.record.roles.contains(&FileRole::Docs) {
            kept.push(candidate);
            continue;
        }
        let original = find_original_path(&candidate.record.path);
        let is_original = original == candidate.record.path;
        let place = *places.entry((candidate.record.root, original)).or_insert(kept.len());
        match kept.get_mut(place) {
            Some(first) if first.record.path != candidate.record.path => {
                if is_original && AS_GOOD * first.score <= candidate.score {
                    candidate.score = first.score;
                    std::mem::swap(first, &mut candidate);
                    first.copies.append(&mut candidate.copies);
                }
                let SearchCandidate { id, record, .. } = candidate;
                first.copies.push(TextCopy { id, path: record.path, line: record.start_line });
                first.copies.truncate(MAX_COPIES);
            }
            Some(_) | None => kept.push(candidate),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use codeinfo_core::Host;
    use uuid::Uuid;

    use super::{
        super::fixture::{self, record, root},
        *,
    };

    fn candidate(id: u128, path: &str, version: &str) -> SearchCandidate {
        let record = ChunkRecord { version: version.to_owned(), ..record(path, None, "text") };
        fixture::candidate(id, record, 0.5)
    }

    #[test]
    fn each_piece_of_several_trees_is_kept_once() {
        let [main, tree, alone] = [1, 2, 3].map(|id| RootId(Uuid::from_u128(id)));
        let piece = |id: u128,
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
            piece(1, main, "one", Some("open"), 1, 0.5),
            piece(2, tree, "two", Some("open"), 90, 0.9),
            piece(3, main, "one", None, 10, 0.4),
            piece(4, tree, "two", None, 14, 0.3),
            piece(5, tree, "two", None, 30, 0.2),
            piece(6, main, "one", Some("close"), 50, 0.1),
            piece(7, alone, "three", Some("open"), 1, 0.1),
        ];
        let owners = HashMap::from([(main, main), (tree, main), (alone, alone)]);
        drop_other_trees(&mut candidates, &owners);
        let kept: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(kept, [2, 3, 5, 7, 6]);
    }

    #[test]
    fn each_piece_of_nested_roots_is_kept_once() {
        let [outer, inner, gone] = [1, 2, 3].map(|id| RootId(Uuid::from_u128(id)));
        let piece = |id: u128, root: RootId, path: &str, score: f32| {
            let mut candidate = candidate(id, path, "v");
            candidate.record.root = root;
            candidate.score = score;
            candidate
        };
        let mut candidates = vec![
            piece(1, outer, "in/a.rs", 0.4),
            piece(2, inner, "a.rs", 0.5),
            piece(3, outer, "a.rs", 0.3),
            piece(4, gone, "a.rs", 0.9),
        ];
        let at = |id: RootId, path: &str| Root { id, ..root(path) };
        let roots = [at(outer, "/r"), at(inner, "/r/in")];
        let mut on_hosts = candidates.clone();
        drop_duplicates(&mut candidates, &roots);
        let kept: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(kept, [2, 3]);
        let [outer, inner] = roots;
        drop_duplicates(&mut on_hosts, &[Root { host: Some(Host::unknown()), ..outer }, inner]);
        let kept: Vec<u128> = on_hosts.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(kept, [2, 1, 3]);
    }

    #[test]
    fn equal_scores_are_ordered_by_path_and_line() {
        let mut candidates =
            [candidate(9, "b.rs", "v"), candidate(2, "a.rs", "v"), candidate(1, "a.rs", "v")];
        candidates.sort_by(SearchCandidate::best_first);
        let order: Vec<u128> = candidates.iter().map(|candidate| candidate.id.as_u128()).collect();
        assert_eq!(order, [1, 2, 9]);
    }

    fn list(points: &[(u128, f32)]) -> Vec<ScoredChunk> {
        let scored = |(id, score): &(u128, f32)| ScoredChunk {
            id: Uuid::from_u128(*id),
            score: *score,
            record: record("a.rs", None, "text"),
            also: Vec::new(),
        };
        points.iter().map(scored).collect()
    }

    fn fused(dense: &[(u128, f32)], lexical: &[(u128, f32)]) -> Vec<(u128, f32)> {
        let weights = ListWeights { dense: 1.0, lexical: 3.0 };
        let fused = fuse_lists(list(dense), list(lexical), weights);
        fused.iter().map(|candidate| (candidate.id.as_u128(), candidate.score)).collect()
    }

    #[test]
    fn lists_count_by_weight_and_scores_by_distance() {
        let dense = [(1, 0.9), (2, 0.7), (3, 0.5)];
        let lexical = [(1, 30.0), (4, 25.0), (2, 10.0)];
        assert_eq!(fused(&dense, &lexical), [(1, 1.0), (2, 0.125), (3, 0.0), (4, 0.5625)]);
    }

    #[test]
    fn single_or_equal_scores_count_as_the_best() {
        assert_eq!(fused(&[], &[(1, 4.0)]), [(1, 0.75)]);
        assert_eq!(fused(&[(1, 0.3), (2, 0.3)], &[]), [(1, 0.25), (2, 0.25)]);
        assert_eq!(fused(&[], &[]), []);
    }

    #[test]
    fn translations_of_a_document_take_one_place() {
        let paths = [
            "docs/zh-CN/use.md", "docs/use.md", "docs/ja/use.md", "docs/zh-CN/use.md",
            "docs/set.md", "README.md", "README.pt_BR.md", "README-de.md", "de/use.rs", "use.rs",
        ];
        let candidates = (0..).zip(paths).map(|(id, path)| {
            let text = format!("text {id}");
            let roles = codeinfo_lang::role::detect_roles(path).collect();
            fixture::candidate(id, ChunkRecord { roles, ..record(path, None, &text) }, 0.5)
        });
        let kept = fold_translations(candidates.collect());
        let shown = kept.iter().map(|it| (it.record.path.as_str(), it.copies.len()));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("docs/use.md", 3),
                ("docs/set.md", 0),
                ("README.md", 2),
                ("de/use.rs", 0),
                ("use.rs", 0),
            ]
        );
    }

    #[test]
    fn the_best_of_equal_texts_lists_the_others() {
        let [demo, other, gone] = ["/demo", "/other", "/gone"].map(root);
        let found = [
            (demo.id, "a.py", 1, "x = 1"),
            (demo.id, "b.py", 4, " x = 1\n"),
            (demo.id, "c.py", 1, "x = 2"),
            (other.id, "a.py", 7, "x = 1"),
            (gone.id, "a.py", 1, "x = 1"),
            (demo.id, "a.py", 9, "x = 1"),
        ];
        let candidates: Vec<SearchCandidate> = (0..)
            .zip(found)
            .map(|(id, (root, path, line, text))| {
                let mut record = record(path, None, text);
                record.root = root;
                record.start_line = line;
                fixture::candidate(id, record, 0.5)
            })
            .collect();
        assert_eq!(count_texts(&candidates), 2);
        let kept = fold_copies(candidates, &HashSet::from([gone.id]));
        let shown: Vec<(&str, u32, Vec<_>)> = kept
            .iter()
            .map(|candidate| {
                let copies = candidate.copies.iter().map(|copy| (copy.path.as_str(), copy.line));
                (candidate.record.path.as_str(), candidate.record.start_line, copies.collect())
            })
            .collect();
        let copies = vec![("b.py", 4)];
        let none = Vec::new;
        assert_eq!(
            shown,
            [("a.py", 1, copies), ("c.py", 1, none()), ("a.py", 7, none()), ("a.py", 9, none())]
        );
    }
}

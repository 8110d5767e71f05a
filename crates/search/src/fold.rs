//! Folds copies of a text among the results into the best one, which then names the others.

use std::collections::{HashMap, HashSet};

use codeinfo_core::RootId;

use super::candidate::{SearchCandidate, TextCopy};

/// Maximum copies that a result names.
const MAX_COPIES: usize = 50;

pub(super) fn count_texts(candidates: &[SearchCandidate]) -> usize {
    let texts = candidates.iter().map(|candidate| candidate.record.text.trim());
    texts.collect::<HashSet<_>>().len()
}

/// Keeps the first candidate of each text per root, which then names those after it. Drops
/// candidates of `gone` roots whose text is also in another root. Pieces of one file are never
/// copies.
pub(super) fn fold_copies(
    candidates: Vec<SearchCandidate>,
    gone: &HashSet<RootId>,
) -> Vec<SearchCandidate> {
    let is_gone = |candidate: &SearchCandidate| gone.contains(&candidate.record.root);
    let present = candidates.iter().filter(|candidate| !gone.is_empty() && !is_gone(candidate));
    let present_texts: HashSet<String> =
        present.map(|candidate| candidate.record.text.trim().to_owned()).collect();
    let mut kept: Vec<SearchCandidate> = Vec::with_capacity(candidates.len());
    let mut places: HashMap<(RootId, String), usize> = HashMap::new();
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

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{
        super::fixture::{record, root},
        *,
    };
    use codeinfo_core::ScoreParts;

    #[test]
    fn the_best_of_equal_texts_names_the_others() {
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
                let id = Uuid::from_u128(id);
                let parts = ScoreParts::default();
                SearchCandidate {
                    id,
                    record,
                    score: 0.5,
                    parts,
                    also: Vec::new(),
                    copies: Vec::new(),
                }
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

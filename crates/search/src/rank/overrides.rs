//! Moves a definition in a base type before those that override it.

use std::collections::HashMap;

use codeinfo_core::RootId;

use super::{super::intent::QueryIntent, RatedCandidate, definition, lift_scores};

/// A candidate that defines a name of the query as a member of types.
struct MemberDefinition<'a> {
    at: usize,
    root: RootId,
    /// Score of the name against the query.
    asked: f32,
    /// Factor of the role of its file.
    factor: f32,
    types: Vec<&'a str>,
    bases: &'a [String],
}

/// Moves each definition in a base type before the first one that overrides it, if it matches the
/// query and its file's role as well. It then takes that one's score. Candidates are ordered best
/// first before and after.
pub(super) fn put_bases_first(
    rated: Vec<RatedCandidate>,
    intent: &QueryIntent,
) -> Vec<RatedCandidate> {
    let overridden = find_overridden(&rated, intent);
    let mut order = Vec::with_capacity(rated.len());
    let mut is_placed = vec![false; rated.len()];
    for at in 0..rated.len() {
        place_after_bases(at, &overridden, &mut is_placed, &mut order);
    }
    let mut unplaced: Vec<Option<RatedCandidate>> = rated.into_iter().map(Some).collect();
    let mut placed: Vec<RatedCandidate> =
        order.into_iter().filter_map(|at| unplaced.get_mut(at)?.take()).collect();
    lift_scores(&mut placed);
    placed
}

/// Places a candidate after those that it overrides. Types may extend one another in a circle.
fn place_after_bases(
    at: usize,
    overridden: &HashMap<usize, Vec<usize>>,
    is_placed: &mut [bool],
    order: &mut Vec<usize>,
) {
    if is_placed.get_mut(at).is_none_or(|is_placed| std::mem::replace(is_placed, true)) {
        return;
    }
    for base in overridden.get(&at).into_iter().flatten() {
        place_after_bases(*base, overridden, is_placed, order);
    }
    order.push(at);
}

/// Returns the candidates that each candidate overrides, best first.
fn find_overridden(rated: &[RatedCandidate], intent: &QueryIntent) -> HashMap<usize, Vec<usize>> {
    let defining = rated.iter().enumerate().filter_map(|(at, rated)| {
        let record = &rated.candidate.record;
        let (asked, types) = definition::asked_member(record, intent)?;
        Some(MemberDefinition {
            at,
            root: record.root,
            asked,
            factor: rated.factor,
            types,
            bases: &record.bases,
        })
    });
    let members: Vec<MemberDefinition<'_>> = defining.collect();
    let overridden = members.iter().map(|member| {
        let bases = members.iter().filter(|base| member.overrides(base));
        (member.at, bases.map(|base| base.at).collect())
    });
    overridden.collect()
}

impl MemberDefinition<'_> {
    fn overrides(&self, base: &Self) -> bool {
        let is_base =
            |name: &&str| !self.types.contains(name) && self.bases.iter().any(|own| own == name);
        self.root == base.root
            && self.asked <= base.asked
            && self.factor <= base.factor
            && base.types.iter().any(is_base)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use uuid::Uuid;

    use super::{
        super::{
            super::{candidate::SearchCandidate, fixture::record},
            SearchWeights, rank_candidates,
        },
        *,
    };
    use codeinfo_core::ChunkRecord;
    use codeinfo_core::ScoreParts;

    /// A chunk by its path, its definitions and bases, with names separated by spaces.
    type Chunk = (&'static str, &'static str, &'static str);

    /// Returns the order of the ranked chunks, which are found best first with falling scores.
    fn order(query: &str, found: &[Chunk]) -> String {
        let names = |names: &str| names.split_whitespace().map(str::to_owned).collect();
        let mut candidates = Vec::new();
        for ((path, defines, bases), at) in found.iter().zip(0_u8..) {
            let defines = names(defines);
            let bases = names(bases);
            let root = RootId::from_path(Path::new(if path.starts_with("other/") {
                "/other"
            } else {
                "/"
            }));
            let record = ChunkRecord { root, defines, bases, ..record(path, None, "") };
            let id = Uuid::from_u128(u128::from(at));
            let score = 1.0 - f32::from(at) / 100.0;
            let parts = ScoreParts::default();
            candidates.push(SearchCandidate {
                id,
                record,
                score,
                parts,
                also: Vec::new(),
                copies: Vec::new(),
            });
        }
        let ranked =
            rank_candidates(candidates, &QueryIntent::parse(query), &SearchWeights::SHIPPED, 9);
        assert!(ranked.is_sorted_by(|a, b| a.score >= b.score), "{ranked:?}");
        let paths = ranked.iter().map(|candidate| candidate.record.path.as_str());
        paths.collect::<Vec<_>>().join(" ")
    }

    const CHILD: Chunk = ("child", "Child.run_all", "Base");
    const GRANDCHILD: Chunk = ("grandchild", "Grandchild.run_all", "Child");
    const BASE: Chunk = ("base", "Base Base.run_all", "");

    #[test]
    fn a_definition_in_a_base_comes_right_before_its_first_override() {
        let other = ("a", "Other.run_all", "");
        assert_eq!(order("run_all", &[other, CHILD, BASE]), "a base child");
        assert_eq!(order("run_all", &[GRANDCHILD, CHILD, BASE]), "base child grandchild");
        assert_eq!(order("run_all", &[BASE, CHILD]), "base child");
        let both = ("both", "Base.run_all Child.run_all", "Base");
        assert_eq!(order("run_all", &[both, BASE]), "both base");
    }

    #[test]
    fn what_is_asked_for_by_its_type_or_in_a_sentence_stays_where_it_is() {
        assert_eq!(order("Child.run_all", &[CHILD, BASE]), "child base");
        assert_eq!(order("where does Child call run_all", &[CHILD, BASE]), "child base");
    }

    #[test]
    fn only_a_definition_of_the_name_in_a_base_of_the_repository_that_is_no_test_is_moved() {
        for base in [
            ("other/base", "Base Base.run_all", ""),
            ("tests/base", "Base Base.run_all", ""),
            ("base", "Base Base.stop_all", ""),
            ("base", "Basement.run_all", ""),
        ] {
            assert!(order("run_all", &[CHILD, base]).starts_with("child"), "{base:?}");
        }
    }

    #[test]
    fn types_that_extend_one_another_in_a_circle_all_come_once() {
        let a = ("a", "A.run_all", "B");
        let b = ("b", "B.run_all", "A");
        assert_eq!(order("run_all", &[a, b]), "b a");
    }
}

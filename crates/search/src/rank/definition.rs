//! Scores definitions of the query's names, and puts those of base types before their overrides.

use std::collections::{HashMap, HashSet};

use codeinfo_core::{ChunkRecord, RootId};
use codeinfo_lang::{
    role::FileRole,
    words::{STOP_WORDS, fold_name, split_words},
};

use super::{
    super::intent::{QueryIntent, QueryKind},
    RatedCandidate, lift_scores,
};

/// Factor of a name with other capitals or underscores than in the query: `transaction` is a
/// function, `Transaction` a type.
const OTHER_SPELLING: f32 = 0.4;
/// Factor per name before the defined one, so that a type comes before a member with its name.
const PER_QUALIFIER: f32 = 0.98;
/// Factor of a name with another qualifier: in `Shelf` for the query `Store::open`.
const OTHER_QUALIFIER: f32 = 0.6;
/// Factor of a chunk that is a later part of the definition, adds to it, or is a constructor.
const LATER_PART: f32 = 0.5;
/// Factor of a chunk inside the definition.
const INSIDE: f32 = 0.25;

/// Returns 1 if the chunk defines a name of the query, less if it only belongs to a definition.
pub(super) fn score_definition(record: &ChunkRecord, intent: &QueryIntent) -> f32 {
    if intent.names.is_empty() {
        return 0.0;
    }
    let defines =
        record.defines.iter().map(|symbol| score_symbol(symbol, intent)).fold(0.0, f32::max);
    let Some(symbol) = &record.symbol else { return defines };
    let (last, before) = split_symbol(symbol);
    let inside = before.iter().map(|name| score_name(name, None, intent)).fold(0.0, f32::max);
    let part = LATER_PART * score_name(last, before.last().copied(), intent);
    defines.max(part).max(INSIDE * inside)
}

/// Returns true if a heading has the words of the query, in any order and without stop words.
pub(super) fn has_heading(record: &ChunkRecord, intent: &QueryIntent) -> bool {
    let is_name = intent.kind == QueryKind::Symbol && !intent.text.starts_with(MARK);
    if is_name || !record.roles.contains(&FileRole::Docs) || intent.words.is_empty() {
        return false;
    }
    let heading = record.symbol.as_deref().unwrap_or_default().rsplit(HEADINGS).next();
    let words = split_words(heading.unwrap_or_default());
    let telling: HashSet<String> =
        words.filter(|word| !STOP_WORDS.contains(&word.as_str())).collect();
    telling == intent.words
}

/// Returns the symbol of the chunk's definition that best matches a name of the query.
pub(crate) fn find_named_symbol<'a>(
    record: &'a ChunkRecord,
    intent: &QueryIntent,
) -> Option<&'a str> {
    let mut best = (0.0, None);
    for symbol in &record.defines {
        let share = score_symbol(symbol, intent);
        if share > best.0 {
            best = (share, Some(symbol.as_str()));
        }
    }
    best.1
}

/// Returns how well the members that the chunk defines match a name of the query, with their types;
/// `None` if none does.
fn score_members<'a>(record: &'a ChunkRecord, intent: &QueryIntent) -> Option<(f32, Vec<&'a str>)> {
    let mut best = 0.0_f32;
    let mut types = Vec::new();
    for symbol in &record.defines {
        let (last, before) = split_symbol(symbol);
        let Some(qualifier) = before.last().copied() else { continue };
        let asked = score_name(last, Some(qualifier), intent);
        if asked > 0.0 {
            best = best.max(asked);
            types.push(qualifier);
        }
    }
    (!types.is_empty()).then_some((best, types))
}

fn score_symbol(symbol: &str, intent: &QueryIntent) -> f32 {
    let (last, before) = split_symbol(symbol);
    let qualifier = before.last().copied();
    // A constructor has the name of its class.
    let factor = if qualifier == Some(last) { LATER_PART } else { 1.0 };
    let depth = i32::try_from(before.len()).unwrap_or(i32::MAX);
    factor * PER_QUALIFIER.powi(depth) * score_name(last, qualifier, intent)
}

/// Returns how well a name matches a name of the query, 0…1.
fn score_name(name: &str, qualifier: Option<&str>, intent: &QueryIntent) -> f32 {
    let name_folded = fold_name(name.as_bytes());
    let qualifier_folded = qualifier.map(|name| fold_name(name.as_bytes()));
    let known = intent.names.iter().filter(|asked| asked.folded == name_folded);
    let shares = known.map(|asked| {
        let is_elsewhere = asked.qualifier.is_some()
            && qualifier_folded.is_some()
            && asked.qualifier != qualifier_folded;
        let place = if is_elsewhere { OTHER_QUALIFIER } else { 1.0 };
        place * if asked.spelled == name { 1.0 } else { OTHER_SPELLING }
    });
    shares.fold(0.0, f32::max)
}

/// Begins a name that is written as in a document.
const MARK: char = '`';
/// Separates a heading from those above it.
const HEADINGS: &str = " > ";

/// Splits a symbol into its last name and those before it.
fn split_symbol(symbol: &str) -> (&str, Vec<&str>) {
    let parts = symbol.split([':', '.', '#', '/', ' ']).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = parts.collect();
    // A query has no marks for Ruby's `empty?` and Haskell's `go'`.
    let last = names.pop().unwrap_or_default();
    (last.trim_matches(|c: char| c.is_ascii_punctuation() && c != '_'), names)
}

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

/// Moves each definition in a base type before the first that overrides it, with that one's score,
/// if it matches the query and its role as well. Candidates come and stay best first.
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
        let (asked, types) = score_members(record, intent)?;
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

    use super::{
        super::{
            super::fixture::{candidate, record},
            SearchWeights, rank_candidates,
        },
        *,
    };
    use codeinfo_core::ChunkRecord;

    fn defining(symbols: &[&str]) -> ChunkRecord {
        let defines = symbols.iter().map(|symbol| (*symbol).to_owned()).collect();
        ChunkRecord { defines, ..record("a", symbols.first().copied(), "") }
    }

    #[test]
    fn the_start_of_a_definition_scores_higher_than_its_parts() {
        let asked = QueryIntent::parse("where is RequestParser");
        for (chunk, wanted) in [
            (defining(&["RequestParser"]), 1.0),
            (defining(&["http::RequestParser"]), PER_QUALIFIER),
            (defining(&["Server", "Server.run", "RequestParser"]), 1.0),
            (defining(&["request_parser"]), OTHER_SPELLING),
            (defining(&["RequestParser.RequestParser"]), LATER_PART),
            (record("a", Some("http::RequestParser"), "  limit: usize,"), LATER_PART),
            (defining(&["RequestParser::next"]), INSIDE),
            (record("a", Some("serve"), "let parser = RequestParser::new();"), 0.0),
            (defining(&["RequestParserTest"]), 0.0),
            (record("a", None, "class RequestParser"), 0.0),
        ] {
            let found = score_definition(&chunk, &asked);
            assert!((found - wanted).abs() < 1e-6, "{chunk:?}: {found}");
        }
    }

    #[test]
    fn a_heading_that_is_the_query_defines_it_in_a_document() {
        let roles: Vec<FileRole> = codeinfo_lang::role::detect_roles("guide.md").collect();
        let section = |symbol: &str| ChunkRecord {
            roles: roles.clone(),
            ..record("guide.md", Some(symbol), "")
        };
        let hook = section("Plugins > The `hotUpdate` Hook");
        for (query, is_heading) in [
            ("hotUpdate hook", true),
            ("the hook of hotUpdate", true),
            ("hotUpdate hook order", false),
            ("hook", false),
            ("plugins", false),
        ] {
            assert_eq!(has_heading(&hook, &QueryIntent::parse(query)), is_heading, "{query}");
        }
        let option = section("Options > `envPrefix`");
        let [marked, name] = ["`envPrefix`", "envPrefix"].map(QueryIntent::parse);
        assert!(has_heading(&option, &marked) && !has_heading(&option, &name));
        let code = ChunkRecord { roles: Vec::new(), ..hook };
        assert!(!has_heading(&code, &QueryIntent::parse("hotUpdate hook")));
    }

    #[test]
    fn a_section_comes_first_for_its_heading() {
        let roles: Vec<FileRole> = codeinfo_lang::role::detect_roles("guide.md").collect();
        let section = ChunkRecord {
            roles,
            ..record("guide.md", Some("Guide > error response middleware"), "")
        };
        let code = record("render.rs", Some("render"), "middleware of an error response");
        let first = |query: &str| {
            let found = vec![candidate(1, code.clone(), 1.0), candidate(2, section.clone(), 0.95)];
            let ranked =
                rank_candidates(found, &QueryIntent::parse(query), &SearchWeights::SHIPPED, 2);
            assert!(ranked.iter().all(|found| found.score <= 1.0), "{query}");
            ranked.first().map(|found| found.record.path.clone())
        };
        assert_eq!(first("error response middleware").as_deref(), Some("guide.md"));
        assert_eq!(first("fix the error response middleware").as_deref(), Some("render.rs"));
    }

    #[test]
    fn the_spelling_of_the_query_scores_higher_than_another() {
        let type_ = defining(&["Transaction"]);
        let function = defining(&["transaction"]);
        let [upper, lower] = ["Transaction", "transaction()"].map(QueryIntent::parse);
        assert!(score_definition(&function, &upper) < score_definition(&type_, &upper));
        assert!(score_definition(&type_, &lower) < score_definition(&function, &lower));
        assert!(INSIDE < score_definition(&type_, &lower));
    }

    #[test]
    fn a_qualified_name_prefers_its_qualifier() {
        let asked = QueryIntent::parse("store::Store::open");
        let [here, bare, elsewhere] = ["disk::Store::open", "open", "Shelf::open"]
            .map(|symbol| score_definition(&defining(&[symbol]), &asked));
        assert!(elsewhere < here && elsewhere < bare, "{here} {bare} {elsewhere}");
    }

    #[test]
    fn a_chunk_is_shown_under_the_name_of_the_query() {
        let chunk = defining(&["Shelf", "Shelf.put", "Shelf.take"]);
        let shown = |query: &str| find_named_symbol(&chunk, &QueryIntent::parse(query));
        assert_eq!(shown("take()"), Some("Shelf.take"));
        assert_eq!(shown("Shelf"), Some("Shelf"));
        assert_eq!([shown("used"), shown("how are things taken")], [None, None]);
    }

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
            let score = 1.0 - f32::from(at) / 100.0;
            candidates.push(candidate(at.into(), record, score));
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
    fn a_base_definition_precedes_its_first_override() {
        let other = ("a", "Other.run_all", "");
        assert_eq!(order("run_all", &[other, CHILD, BASE]), "a base child");
        assert_eq!(order("run_all", &[GRANDCHILD, CHILD, BASE]), "base child grandchild");
        assert_eq!(order("run_all", &[BASE, CHILD]), "base child");
        let both = ("both", "Base.run_all Child.run_all", "Base");
        assert_eq!(order("run_all", &[both, BASE]), "both base");
    }

    #[test]
    fn qualified_names_and_sentences_do_not_move_bases() {
        assert_eq!(order("Child.run_all", &[CHILD, BASE]), "child base");
        assert_eq!(order("where does Child call run_all", &[CHILD, BASE]), "child base");
    }

    #[test]
    fn only_a_base_in_the_same_repository_outside_tests_is_moved() {
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
    fn types_that_extend_each_other_are_all_listed_once() {
        let a = ("a", "A.run_all", "B");
        let b = ("b", "B.run_all", "A");
        assert_eq!(order("run_all", &[a, b]), "b a");
    }
}

//! Finds chunks that a query names exactly: those of its files, and those that contain a name as
//! spelled.
//!
//! Chunks with the name come first, regardless of the role of their file, if the query is that name
//! alone or if only one file contains the name.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap, HashSet},
};

use codeinfo_core::{ChunkRecord, RootId, TermVector};
use codeinfo_embed::lexical;
use codeinfo_lang::{references::list_possible_names, words::grouped_numbers};
use codeinfo_store::{QueryTarget, ScoredChunk, StoredChunk};
use futures_util::future::try_join_all;
use uuid::Uuid;

use super::{
    LookupContext, Search, SearchError,
    candidate::SearchCandidate,
    intent::{QueryIntent, QueryKind, QueryPath},
};

/// Maximum chunks read of named files, because a file name may be very frequent.
const MAX_FILE_CHUNKS: usize = 400;
/// Maximum names of a query that are looked up.
const MAX_NAMES: usize = 4;
/// Maximum chunks read for a name of one term; a more frequent name does not help to find a place.
const MAX_CHUNKS: usize = 60;
/// Maximum chunks read for a name of several terms, each of which may be frequent.
const MAX_CHUNKS_OF_SEVERAL: usize = 400;
/// Punctuation of sentences before and after words.
const OPENING: &[char] = &['"', '\'', '(', '[', '{'];
const CLOSING: &[char] = &[',', '?', '!', ':', '"', '\'', '.', ']', '}'];

impl Search {
    /// Finds the chunks of files that the query names, in the roots within scope: files whose
    /// whole path it has, and files of candidates, because the search found only some of their
    /// chunks.
    pub(super) async fn find_named_files(
        &self,
        LookupContext { intent, scope, roots, candidates }: &LookupContext<'_>,
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        if intent.paths.is_empty() {
            return Ok(Vec::new());
        }
        let known_paths = candidates.iter().map(|candidate| &candidate.record.path);
        let matching =
            known_paths.filter(|path| intent.paths.iter().any(|named| named.matches_path(path)));
        let distinct: BTreeSet<&String> =
            matching.chain(intent.paths.iter().map(|named| &named.path)).collect();
        let paths: &Vec<String> = &distinct.into_iter().cloned().collect();
        let mut wanted = Vec::new();
        let mut roots_by_chunk: HashMap<Uuid, Vec<RootId>> = HashMap::new();
        let reading =
            roots.iter().filter(|root| scope.contains_root(root.id)).map(|root| async move {
                let files = self.store.files_at(root.id, paths.clone()).await?;
                Ok::<_, SearchError>((root, files))
            });
        for (root, files) in try_join_all(reading).await? {
            let ids =
                files.iter().flat_map(|file| file.chunk_ids(root.chunk_owner(), 0..file.chunks));
            for id in ids {
                // The trees of a repository share chunks.
                let holders = roots_by_chunk.entry(id).or_default();
                if holders.is_empty() {
                    wanted.push(id);
                }
                holders.push(root.id);
            }
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let known: HashSet<Uuid> = candidates.iter().map(|candidate| candidate.id).collect();
        wanted.retain(|id| !known.contains(id));
        wanted.truncate(MAX_FILE_CHUNKS);
        let chunks = self.store.chunks_by_id(wanted).await?.into_iter();
        let candidate = |StoredChunk { id, record }: StoredChunk| {
            let mut holders = roots_by_chunk.remove(&id).unwrap_or_default().into_iter();
            let root = holders.next().unwrap_or(record.root);
            SearchCandidate::unscored(id, ChunkRecord { root, ..record }, holders.collect())
        };
        Ok(chunks.map(candidate).collect())
    }

    /// Returns the names of the query whose locations come first, and the chunks that contain one
    /// of them as spelled.
    pub(super) async fn find_exact(
        &self,
        context: &LookupContext<'_>,
    ) -> Result<(Vec<ExactName>, Vec<SearchCandidate>), SearchError> {
        let lookups =
            list_names(context.intent, context.candidates).into_iter().map(|readings| async {
                let lookups: Vec<_> =
                    readings.iter().map(|name| self.find_holders(name, context)).collect();
                let holders = try_join_all(lookups).await?;
                let first = readings
                    .into_iter()
                    .zip(holders)
                    .find_map(|(name, holders)| Some((name, holders?)));
                Ok::<_, SearchError>(first)
            });
        let located = try_join_all(lookups).await?.into_iter().flatten();
        let (names, holders): (Vec<ExactName>, Vec<Vec<ScoredChunk>>) = located.unzip();
        let candidate =
            |holder: ScoredChunk| SearchCandidate::unscored(holder.id, holder.record, holder.also);
        Ok((names, holders.into_iter().flatten().map(candidate).collect()))
    }

    /// Returns the chunks that contain a name; `None` if they should not come first.
    async fn find_holders(
        &self,
        name: &ExactName,
        LookupContext { intent, scope, .. }: &LookupContext<'_>,
    ) -> Result<Option<Vec<ScoredChunk>>, SearchError> {
        let terms = join_terms(lexical::list_required_terms(&name.text));
        if terms.indices.is_empty() {
            return Ok(None);
        }
        let has_one_term = terms.indices.len() == 1;
        let max_chunks = if has_one_term { MAX_CHUNKS } else { MAX_CHUNKS_OF_SEVERAL };
        let mut holders = scope.search(QueryTarget::Terms(terms), max_chunks).await?;
        let is_complete = holders.len() < max_chunks;
        holders.retain(|holder| name.matches_chunk(&holder.record));
        let files: BTreeSet<_> =
            holders.iter().map(|holder| (holder.record.root, &holder.record.path)).collect();
        let is_distinctive = intent.kind == QueryKind::Symbol || files.len() == 1;
        let is_frequent = !is_complete && holders.len() > max_chunks / 2;
        if files.is_empty() || !is_distinctive || is_frequent {
            return Ok(None);
        }
        Ok(Some(holders))
    }
}

/// Returns the names of a query with their possible readings. Paths of known files are left out,
/// because they are looked up as files.
fn list_names(intent: &QueryIntent, candidates: &[SearchCandidate]) -> Vec<Vec<ExactName>> {
    let text = &intent.text;
    let words = text.split_whitespace().count();
    let is_known = |named: &QueryPath| {
        candidates.iter().any(|candidate| named.matches_path(&candidate.record.path))
    };
    let is_path = |word: &str| {
        let mut paths = intent.paths.iter().filter(|named| word.contains(&named.path));
        paths.any(|named| words > 1 || is_known(named))
    };
    let mut seen = HashSet::new();
    let names = text.split_whitespace().filter(|word| !is_path(word)).filter_map(|word| {
        let bare = word.trim_start_matches(OPENING).trim_end_matches(CLOSING);
        if bare.contains("://") || !seen.insert(bare) {
            return None;
        }
        let readings = list_possible_names(bare).into_iter().map(trim_marks);
        let names: Vec<ExactName> =
            readings.filter_map(|reading| ExactName::parse(reading, words)).collect();
        (!names.is_empty()).then_some(names)
    });
    names.take(MAX_NAMES).collect()
}

/// Removes marks around a word that are not part of a name.
fn trim_marks(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_')
}

fn join_terms(terms: Vec<TermVector>) -> TermVector {
    let mut indices: Vec<u32> = terms.into_iter().flat_map(|term| term.indices).collect();
    indices.sort_unstable();
    indices.dedup();
    TermVector { values: vec![1.0; indices.len()], indices }
}

/// Words in a query above which lower-case words with hyphens count as English.
const MAX_WORDS: usize = 5;
/// Minimum and maximum bytes of a name, and minimum digits of a number.
const MIN_BYTES: usize = 3;
const MAX_BYTES: usize = 200;
const MIN_DIGITS: usize = 5;
/// First and last parts of words with hyphens that are English instead of names.
const ENGLISH_STARTS: &str = "\
    all anti big built by co cross double end even first full general good half hard high in inter just long low multi new \
    non old on one opt out over per post pre re read real second self semi short side single so sub third three top two \
    under up well write zero";
const ENGLISH_ENDS: &str = "\
    aware back based bit by case class date defined down driven effect end ended extra facing first free friendly headed in \
    known length level like line made man many memory off on one only oriented out over party place point process purpose \
    readable related right run running safe sent side size specific step style the through time to up use way wide wise";

/// A name with its spelling in the query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExactName {
    pub(super) text: String,
    /// True if digits are compared without the marks that group them.
    is_number: bool,
}

impl ExactName {
    /// Parses a word of a query of `words` words; `None` if its spelling is not that of a name.
    pub(super) fn parse(word: &str, words: usize) -> Option<Self> {
        let is_hyphened = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let is_english = || words > 1 && is_english(word) || words > MAX_WORDS && is_hyphened;
        let bytes = MIN_BYTES..=MAX_BYTES;
        if !bytes.contains(&word.len()) || word.contains('-') && is_english() {
            return None;
        }
        let text = join_groups(word);
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        let has_radix =
            ["0x", "0X", "0b", "0B", "0o", "0O"].iter().any(|radix| text.starts_with(radix));
        let is_long = MIN_DIGITS < text.len() || MIN_DIGITS == text.len() && !text.contains('.');
        let is_number = has_radix || text != word || is_long && text.chars().all(is_digit);
        (is_number || is_compound(word)).then(|| Self { text: text.into_owned(), is_number })
    }

    /// Returns true if a chunk, or the path of its file, contains the name.
    pub(super) fn matches_chunk(&self, chunk: &ChunkRecord) -> bool {
        self.occurs_in(&chunk.text) || has_word(&chunk.path, &self.text)
    }

    /// Returns true if a text contains the name as a separate word.
    fn occurs_in(&self, text: &str) -> bool {
        let is_grouped =
            |text: &str| grouped_numbers(text).any(|number| has_word(&number, &self.text));
        has_word(text, &self.text) || self.is_number && is_grouped(text)
    }
}

/// Removes the marks between the groups of digits of a number.
fn join_groups(word: &str) -> Cow<'_, str> {
    let Some(number) = grouped_numbers(word).next() else { return Cow::Borrowed(word) };
    let rest = word.split_once('.').map(|(_, fraction)| fraction);
    Cow::Owned(rest.map_or(number.clone(), |fraction| format!("{number}.{fraction}")))
}

/// Returns true if a text contains a word that is not part of a longer one. For words with hyphens,
/// a hyphen also joins words.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let joins = |first: Option<char>, second: Option<char>| {
        let is_hyphen = first == Some('-') && word.contains('-');
        first.is_some_and(is_part) || is_hyphen && second.is_some_and(is_part)
    };
    text.match_indices(word).any(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let (mut before, mut after) =
            (before.chars().rev(), rest.chars().skip(word.chars().count()));
        !joins(before.next(), before.next()) && !joins(after.next(), after.next())
    })
}

/// Returns true if a word is composed like a name: with marks, inner capitals, or letters and
/// digits.
fn is_compound(word: &str) -> bool {
    let parts: Vec<&str> = word.split(|c: char| !c.is_alphanumeric()).collect();
    // `e.g.` is an abbreviation, not a name.
    let is_short = parts.iter().all(|part| part.chars().count() < 2);
    let has_marks = word.contains(['_', '-', '.']) || word.contains("::");
    let is_turn = |(a, b): (char, char)| {
        a.is_lowercase() && b.is_uppercase() || a.is_numeric() != b.is_numeric()
    };
    let mut pairs = word.chars().zip(word.chars().skip(1));
    let has_letters = word.contains(char::is_alphabetic) || 2 < parts.len();
    let is_inner =
        |(a, b): (char, char)| a.is_alphanumeric() && b.is_alphanumeric() && is_turn((a, b));
    !is_short && has_letters && (has_marks || pairs.any(is_inner))
}

/// Returns true if a word with hyphens is English, such as `read-only`, `built-in` or
/// `type-erased`.
fn is_english(word: &str) -> bool {
    let mut parts = word.split('-');
    let first = parts.next().unwrap_or_default();
    let last = parts.next_back().unwrap_or_default();
    let is_one_of = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    is_one_of(ENGLISH_STARTS, first)
        || is_one_of(ENGLISH_ENDS, last)
        || last.ends_with("ed")
        || last.ends_with("ing")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let mut names = list_names(&QueryIntent::parse(text), &[]);
        names.iter_mut().map(|readings| readings.swap_remove(0).text).collect()
    }

    #[test]
    fn names_are_recognised_by_their_spelling() {
        for (text, wanted) in [
            ("limit_rule_77", vec!["limit_rule_77"]),
            ("callers of limit_rule_77?", vec!["limit_rule_77"]),
            ("what is limit-rule-154.", vec!["limit-rule-154"]),
            ("who calls `Cart.addItem()`, and why", vec!["Cart.addItem"]),
            ("__init_subclass__", vec!["__init_subclass__"]),
            ("where is sha256 used", vec!["sha256"]),
            ("is 86_400_000 or 3600000 right", vec!["86400000", "3600000"]),
            ("read-only", vec!["read-only"]),
            ("how do read-only end-to-end up-to-date tests e.g. in Node.js run, i.e. fast", vec![]),
            ("How does Tokio start 12 threads", vec![]),
            ("how is a type-erased route with 24-bit colors stored", vec![]),
            ("how does the handler decide which content-type to send", vec![]),
            ("where is content-type set", vec!["content-type"]),
            ("a b c", vec![]),
            ("https://example.com/a_b", vec![]),
        ] {
            assert_eq!(names(text), wanted, "{text}");
        }
    }

    #[test]
    fn numbers_match_in_any_grouping_of_digits() {
        let is_in = |name: &str, text: &str| ExactName::parse(name, 1).unwrap().occurs_in(text);
        assert!(is_in("limit_rule_7", "x.limit_rule_7(limit_rule_77)"));
        assert!(!is_in("limit_rule_7", "limit_rule_77 my_limit_rule_7"));
        for (name, text) in [
            ("86400000", "T = 86_400_000"),
            ("86_400_000", "T = 86400000"),
            ("1'000'000", "a = 1000000;"),
            ("1000000", "a = 1'000'000;"),
            ("0xFF_FF", "x(0xFFFF)"),
            ("0xFFFF", "x(0xFF_FF)"),
        ] {
            assert!(is_in(name, text), "{name} in {text}");
        }
        assert!(!is_in("86400000", "186_400_000"));
        assert!(is_in("no-ignore", "pass --no-ignore.") && !is_in("no-ignore", "--no-ignore-vcs"));
    }
}

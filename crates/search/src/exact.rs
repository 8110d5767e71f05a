//! Finds chunks that contain a name of the query exactly as spelled.
//!
//! They come first, regardless of the role of their file, if the query is that name alone or if
//! only one file contains the name.

use std::collections::{BTreeSet, HashSet};

use super::{
    Search, SearchError,
    candidate::SearchCandidate,
    exact_name::ExactName,
    intent::{QueryIntent, QueryKind, QueryPath},
    sight::SearchScope,
};
use codeinfo_core::{ChunkRecord, ScoreParts, TermVector};
use codeinfo_embed::lexical;
use codeinfo_lang::references::list_possible_names;
use codeinfo_store::ScoredChunk;
use futures_util::future::try_join_all;

/// Maximum names of a query that are looked up.
const MAX_NAMES: usize = 4;
/// Maximum chunks read for a name of one term; a more frequent name is no help in finding a place.
const MAX_CHUNKS: usize = 60;
/// Maximum chunks read for a name of several terms, each of which may be frequent.
const MAX_CHUNKS_OF_SEVERAL: usize = 400;
/// Punctuation of sentences before and after words.
const OPENING: &[char] = &['"', '\'', '(', '[', '{'];
const CLOSING: &[char] = &[',', '?', '!', ':', '"', '\'', '.', ']', '}'];

/// Returns the names of a query with their possible readings. Paths of known files are left out,
/// because they are looked up as files.
fn list_names(
    text: &str,
    intent: &QueryIntent,
    candidates: &[SearchCandidate],
) -> Vec<Vec<ExactName>> {
    let words = text.split_whitespace().count();
    let is_known = |asked: &QueryPath| {
        candidates.iter().any(|candidate| asked.matches_path(&candidate.record.path))
    };
    let is_path = |word: &str| {
        let mut asked = intent.paths.iter().filter(|asked| word.contains(&asked.path));
        asked.any(|asked| words > 1 || is_known(asked))
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

impl Search {
    /// Returns the names of the query whose locations come first, and the chunks that contain one
    /// of them as spelled.
    pub(super) async fn find_exact(
        &self,
        text: &str,
        intent: &QueryIntent,
        sight: &SearchScope,
        candidates: &[SearchCandidate],
    ) -> Result<(Vec<ExactName>, Vec<SearchCandidate>), SearchError> {
        let looking = list_names(text, intent, candidates).into_iter().map(|readings| async {
            let finding: Vec<_> =
                readings.iter().map(|name| self.find_holders(name, intent, sight)).collect();
            let found = try_join_all(finding).await?;
            let first =
                readings.into_iter().zip(found).find_map(|(name, found)| Some((name, found?)));
            Ok::<_, SearchError>(first)
        });
        let found = try_join_all(looking).await?.into_iter().flatten();
        let (names, holders): (Vec<ExactName>, Vec<Vec<ScoredChunk>>) = found.unzip();
        let candidate = |holder: ScoredChunk| SearchCandidate {
            id: holder.id,
            record: holder.record,
            score: 0.0,
            parts: ScoreParts::default(),
            also: holder.also,
            copies: Vec::new(),
        };
        Ok((names, holders.into_iter().flatten().map(candidate).collect()))
    }

    /// Returns the chunks that contain a name; `None` if they should not come first.
    async fn find_holders(
        &self,
        name: &ExactName,
        intent: &QueryIntent,
        sight: &SearchScope,
    ) -> Result<Option<Vec<ScoredChunk>>, SearchError> {
        let terms = join_terms(lexical::list_required_terms(&name.text));
        if terms.indices.is_empty() {
            return Ok(None);
        }
        let is_one = terms.indices.len() == 1;
        let max_chunks = if is_one { MAX_CHUNKS } else { MAX_CHUNKS_OF_SEVERAL };
        let mut holders = self.find_lexical_neighbours(terms, sight, max_chunks).await?;
        let is_whole = holders.len() < max_chunks;
        holders.retain(|holder| name.is_at(&holder.record));
        let file = |record: &ChunkRecord| (record.root, record.path.clone());
        let files: BTreeSet<_> = holders.iter().map(|holder| file(&holder.record)).collect();
        let is_telling = intent.kind == QueryKind::Symbol || files.len() == 1;
        let is_frequent = !is_whole && holders.len() > max_chunks / 2;
        if files.is_empty() || !is_telling || is_frequent {
            return Ok(None);
        }
        Ok(Some(holders))
    }
}

fn join_terms(terms: Vec<TermVector>) -> TermVector {
    let mut indices: Vec<u32> = terms.into_iter().flat_map(|term| term.indices).collect();
    indices.sort_unstable();
    indices.dedup();
    TermVector { values: vec![1.0; indices.len()], indices }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let intent = QueryIntent::parse(text);
        let first =
            list_names(text, &intent, &[]).into_iter().filter_map(|names| names.into_iter().next());
        first.map(|name| name.text).collect()
    }

    #[test]
    fn a_name_is_known_by_its_spelling() {
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
}

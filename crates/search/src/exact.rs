//! Finds the chunks of files that a query names, and those that contain a name as spelled.
//!
//! Chunks with the name come first, regardless of the role of their file, if the query is that name
//! alone or if only one file contains the name.

use std::collections::{BTreeSet, HashMap, HashSet};

use codeinfo_core::{ChunkRecord, RootId, TermVector};
use codeinfo_embed::lexical;
use codeinfo_lang::references::list_possible_names;
use codeinfo_store::{QueryTarget, ScoredChunk, StoredChunk};
use futures_util::future::try_join_all;
use uuid::Uuid;

use super::{
    LookupContext, Search, SearchError,
    candidate::SearchCandidate,
    exact_name::ExactName,
    intent::{QueryIntent, QueryKind, QueryPath},
    package::CHUNKS_OF_TOP,
};

/// Maximum chunks read of named files, because a file name may be very frequent.
const MAX_FILE_CHUNKS: usize = 400;
const MAX_NAMES: usize = 4;
/// Maximum chunks read for a name of one term; a more frequent name does not help to find a place.
const MAX_CHUNKS: usize = 60;
/// Maximum chunks read for a name of several terms, each of which may be frequent.
const MAX_CHUNKS_OF_SEVERAL: usize = 400;
/// Punctuation of sentences before and after words.
const OPENING: &[char] = &['"', '\'', '(', '[', '{'];
const CLOSING: &[char] = &[',', '?', '!', ':', '"', '\'', '.', ']', '}'];

impl Search {
    /// Finds the chunks in scope of files that the query names, by whole path or as the file of a
    /// candidate, and the top of files that describe the package that the query asks for.
    pub(super) async fn find_named_files(
        &self,
        LookupContext { intent, scope, roots, candidates }: &LookupContext<'_>,
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        let known = candidates.iter().map(|candidate| candidate.record.path.as_str());
        let package = intent.package.as_ref();
        let described = &package.map_or(Vec::new(), |package| package.list_paths(known));
        if intent.paths.is_empty() && described.is_empty() {
            return Ok(Vec::new());
        }
        let known_paths = candidates.iter().map(|candidate| &candidate.record.path);
        let matching =
            known_paths.filter(|path| intent.paths.iter().any(|named| named.matches_path(path)));
        let named = intent.paths.iter().map(|named| &named.path);
        let distinct: BTreeSet<&String> = matching.chain(named).chain(described).collect();
        let paths: &Vec<String> = &distinct.into_iter().cloned().collect();
        let mut wanted = Vec::new();
        let mut roots_by_chunk: HashMap<Uuid, Vec<RootId>> = HashMap::new();
        let reading =
            roots.iter().filter(|root| scope.contains_root(root.id)).map(|root| async move {
                let files = self.store.files_at(root.id, paths.clone()).await?;
                Ok::<_, SearchError>((root, files))
            });
        for (root, files) in try_join_all(reading).await? {
            let ids = files.iter().flat_map(|file| {
                let max = if described.contains(&file.path) { CHUNKS_OF_TOP } else { u32::MAX };
                file.chunk_ids(root.chunk_owner(), 0..file.chunks.min(max))
            });
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

    /// Returns the names of the query whose locations come first, and the chunks with one of them.
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

/// Returns the possible readings of each name of a query, without paths of known files.
fn list_names(intent: &QueryIntent, candidates: &[SearchCandidate]) -> Vec<Vec<ExactName>> {
    let text = intent.long.as_ref().map_or(&intent.text, |parts| &parts.title);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let mut names = list_names(&QueryIntent::parse(text), &[]);
        names.iter_mut().map(|readings| readings.swap_remove(0).text).collect()
    }

    #[test]
    fn only_names_in_the_title_of_a_long_text_come_first() {
        let trace = "at open_pool_7 in close_pool_9 ".repeat(9);
        assert_eq!(names(&format!("limit_rule_77 fails\n{trace}")), ["limit_rule_77"]);
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
}

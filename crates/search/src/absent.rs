//! Finds the names, files and words of a query that no indexed text contains.

use std::collections::HashSet;

use codeinfo_core::{ChunkRecord, Root, TermVector};
use codeinfo_embed::lexical;
use codeinfo_lang::{role::FileRole, words::split_words};
use codeinfo_store::QueryTarget;
use futures_util::{future::try_join_all, try_join};

use super::{
    LookupContext, NameLocation, Search, SearchError,
    candidate::SearchCandidate,
    intent::{QueryIntent, QueryKind, QueryName, QueryPath},
};

/// Maximum names, files and words of a query that are looked up, each.
const MAX_LOOKUPS: usize = 8;
/// Chunks that contain a name, from which on it is not reported as occurring only in documents.
const MAX_DOCUMENTED: usize = 20;
const MIN_WORD_CHARS: usize = 4;

/// Words of questions that carry no information about code, in addition to stop words.
const QUESTION_WORDS: &str = "\
    actually again already also another answer anything behind best both called cause certain come \
    complain decide different does done else ever every everything exactly explain find fully give given \
    goes happen happens implement implemented inside instead keeps know leave like look made main make \
    many mean much must need never nothing once only other overall part place project quite really \
    regardless right same several somebody someone something sometimes somewhere stay still such take \
    tell than thing think through together under until versus very want well went whether without work \
    your";

/// A name that occurs only in documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentedName {
    /// The name as spelled in the query.
    pub name: String,
    /// First line with the name in a document.
    pub place: NameLocation,
}

/// Terms of a query that occur nowhere, or only in documents.
#[derive(Debug, Default)]
pub(super) struct AbsentTerms {
    pub(super) names: Vec<String>,
    pub(super) documented: Vec<DocumentedName>,
    pub(super) words: Vec<String>,
}

impl AbsentTerms {
    pub(super) fn drop_present(&mut self, chunks: &[SearchCandidate]) {
        let has = |text: &str| chunks.iter().any(|chunk| chunk.record.text.contains(text));
        let is_code = |chunk: &&SearchCandidate| !chunk.record.roles.contains(&FileRole::Docs);
        self.names.retain(|name| !has(name));
        self.words.retain(|word| !has(word));
        self.documented.retain(|documented| {
            let mut code = chunks.iter().filter(is_code);
            !code.any(|chunk| chunk.record.text.contains(&documented.name))
        });
    }
}

impl Search {
    /// Returns the terms of a query that no chunk in scope contains.
    ///
    /// A name is present if code has it as a word, in any case, with any underscores and ending, a
    /// word if a chunk has one of its forms, and a file also by its name without the extension.
    pub(super) async fn find_absent(
        &self,
        context: &LookupContext<'_>,
    ) -> Result<AbsentTerms, SearchError> {
        // A long text is full of names and words of its author's own program.
        if context.intent.long.is_some() {
            return Ok(AbsentTerms::default());
        }
        let mut seen = HashSet::new();
        let distinct = context.intent.names.iter().filter(|name| seen.insert(&name.folded));
        let names: Vec<&QueryName> = distinct.take(MAX_LOOKUPS).collect();
        // A route, a folder or an address is not a file, and `Next.js` may be a product.
        let files = context.intent.paths.iter().take(MAX_LOOKUPS).filter_map(
            |QueryPath { path, .. }| {
                let term = lexical::extract_file_terms(path).filter(|_| !path.contains("://"))?;
                Some((path.as_str(), term))
            },
        );
        let words = list_plain_words(context.intent)
            .map(|word| (word, lexical::word_forms(word)))
            .collect();
        let lookups: Vec<_> = names.iter().map(|name| self.find_name(name, context)).collect();
        // Concurrently, because each lookup is a round trip if the store is on a server.
        let (places, files, words) = try_join!(
            try_join_all(lookups),
            self.list_absent(files.collect(), context),
            self.list_absent(words, context),
        )?;
        let mut absent = AbsentTerms { words, ..AbsentTerms::default() };
        for (name, place) in names.into_iter().zip(places) {
            match place {
                NamePresence::Code => {}
                NamePresence::Nowhere => absent.names.push(name.spelled.clone()),
                NamePresence::Documents(chunk) => {
                    absent
                        .documented
                        .extend(self.locate_name(&name.spelled, &chunk, context.roots));
                }
            }
        }
        absent.names.extend(files);
        Ok(absent)
    }

    async fn list_absent(
        &self,
        texts: Vec<(&str, TermVector)>,
        context: &LookupContext<'_>,
    ) -> Result<Vec<String>, SearchError> {
        let (texts, terms): (Vec<&str>, Vec<TermVector>) = texts.into_iter().unzip();
        let lookups: Vec<_> = (texts.iter().zip(terms))
            .map(|(text, terms)| self.is_absent(text, terms, context))
            .collect();
        let are_absent = try_join_all(lookups).await?.into_iter();
        let absent = texts.into_iter().zip(are_absent).filter(|(_, is_absent)| *is_absent);
        Ok(absent.map(|(text, _)| text.to_owned()).collect())
    }

    /// Returns true if no candidate contains the text and no visible chunk has one of its terms.
    async fn is_absent(
        &self,
        text: &str,
        terms: TermVector,
        context: &LookupContext<'_>,
    ) -> Result<bool, SearchError> {
        let has_text = |candidate: &SearchCandidate| candidate.record.text.contains(text);
        Ok(!context.candidates.iter().any(has_text)
            && context.scope.search(QueryTarget::Terms(terms), 1).await?.is_empty())
    }

    async fn find_name(
        &self,
        name: &QueryName,
        context: &LookupContext<'_>,
    ) -> Result<NamePresence, SearchError> {
        let is_code = |chunk: &ChunkRecord| !chunk.roles.contains(&FileRole::Docs);
        let has_name = |chunk: &ChunkRecord| chunk.text.contains(&name.spelled);
        let term = lexical::extract_name_terms(&name.spelled);
        let is_known =
            |candidate: &SearchCandidate| has_name(&candidate.record) && is_code(&candidate.record);
        if term.indices.is_empty() || context.candidates.iter().any(is_known) {
            return Ok(NamePresence::Code);
        }
        let mut found = context.scope.search(QueryTarget::Terms(term), MAX_DOCUMENTED).await?;
        if found.is_empty() {
            return Ok(NamePresence::Nowhere);
        }
        let is_documented = found.len() < MAX_DOCUMENTED
            && found.iter().all(|found| !is_code(&found.record))
            && found.iter().any(|found| has_name(&found.record));
        if !is_documented {
            return Ok(NamePresence::Code);
        }
        found.retain(|found| has_name(&found.record));
        let first = found.into_iter().next();
        Ok(first
            .map_or(NamePresence::Code, |found| NamePresence::Documents(Box::new(found.record))))
    }

    /// Returns the location of the first line of a chunk that contains a name.
    fn locate_name(
        &self,
        name: &str,
        chunk: &ChunkRecord,
        roots: &[Root],
    ) -> Option<DocumentedName> {
        let root = roots.iter().find(|root| root.id == chunk.root)?;
        let path = self.display_path(root, &chunk.path);
        let mut lines = (chunk.start_line..).zip(chunk.text.lines());
        let (line, _) = lines.find(|(_, text)| text.contains(name))?;
        Some(DocumentedName { name: name.to_owned(), place: NameLocation { path, line } })
    }
}

/// Kind of text in which a name of a query occurs.
enum NamePresence {
    /// In code, or in too many chunks to tell.
    Code,
    Documents(Box<ChunkRecord>),
    Nowhere,
}

/// Returns the content words of a sentence, without names and files.
fn list_plain_words(intent: &QueryIntent) -> impl Iterator<Item = &str> {
    let tokens = intent
        .text
        .split_whitespace()
        .filter(|_| intent.kind == QueryKind::Prose)
        .map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()));
    let parts = tokens.filter(|token| !intent.is_name(token)).flat_map(|token| token.split('-'));
    let is_plain = |word: &&str| {
        let lower = word.to_ascii_lowercase();
        word.len() >= MIN_WORD_CHARS
            && word.chars().all(|c| c.is_ascii_alphabetic())
            && !QUESTION_WORDS.split(' ').any(|word| word == lower)
            && split_words(word).all(|word| intent.words.contains(&word))
    };
    let mut seen = HashSet::new();
    parts.filter(is_plain).filter(move |word| seen.insert(*word)).take(MAX_LOOKUPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_content_words_of_sentences_are_looked_up() {
        let words = |query: &str| -> Vec<String> {
            let intent = QueryIntent::parse(query).narrow_to_repository("demo");
            list_plain_words(&intent).map(str::to_owned).collect()
        };
        assert_eq!(
            words("How does demo's FeedPlan decide about anti-hijacking headers, and why?"),
            ["anti", "hijacking", "headers"]
        );
        assert!(words("what happens in src/store.rs with several others").is_empty());
        assert!(words("FeedPlan").is_empty() && words("giraffe").is_empty());
    }
}

//! Finds the names, files and words of a query that no indexed text has.

use std::collections::HashSet;

use codeinfo_core::{ChunkRecord, Root, Sparse};
use codeinfo_embed::lexical;
use codeinfo_lang::{role::Role, words::words};
use futures_util::{future::try_join_all, try_join};

use super::{
    DefinedAt, Search, SearchError,
    candidate::Candidate,
    intent::{AskedPath, Intent, Kind, Name},
    sight::Sight,
};

/// Maximum number of names, of files and of words of a query that are looked up.
const MAX_LOOKUPS: usize = 8;
/// A name of more chunks than this is not said to be in documents alone.
const MAX_DOCUMENTED: usize = 20;
/// Minimum characters of a word that is looked up.
const MIN_WORD_CHARS: usize = 4;

/// Words of questions that say nothing about code, besides stop words.
const QUESTION_WORDS: &str = "\
    actually again already also another answer anything behind best both called cause certain come \
    complain decide different does done else ever every everything exactly explain find fully give given \
    goes happen happens implement implemented inside instead keeps know leave like look made main make \
    many mean much must need never nothing once only other overall part place project quite really \
    regardless right same several somebody someone something sometimes somewhere stay still such take \
    tell than thing think through together under until versus very want well went whether without work \
    your";

/// A name that is in documents only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentedName {
    /// As spelled in the query.
    pub name: String,
    /// Its first line in a document.
    pub place: DefinedAt,
}

/// A query with its candidates.
pub(super) struct AskedQuery<'a> {
    pub(super) text: &'a str,
    pub(super) intent: &'a Intent,
    pub(super) candidates: &'a [Candidate],
    pub(super) sight: &'a Sight,
    pub(super) roots: &'a [Root],
}

/// The terms of a query that are nowhere, or in documents only.
#[derive(Debug, Default)]
pub(super) struct AbsentTerms {
    /// Names and files.
    pub(super) names: Vec<String>,
    pub(super) documented: Vec<DocumentedName>,
    pub(super) words: Vec<String>,
}

impl AbsentTerms {
    /// Leaves out what some more chunks have.
    pub(super) fn drop_found(&mut self, chunks: &[Candidate]) {
        let has = |text: &str| chunks.iter().any(|chunk| chunk.record.text.contains(text));
        let is_code = |chunk: &&Candidate| !chunk.record.roles.contains(&Role::Docs);
        self.names.retain(|name| !has(name));
        self.words.retain(|word| !has(word));
        self.documented.retain(|documented| {
            let mut code = chunks.iter().filter(is_code);
            !code.any(|chunk| chunk.record.text.contains(&documented.name))
        });
    }
}

impl Search {
    /// Returns what a query asks for that no chunk in sight has. A name counts as there if any chunk of code has it as a
    /// word, whatever its case, underscores and ending, a word if any has it in one of its forms, and a file also if
    /// any has its name without the extension.
    pub(super) async fn find_absent(
        &self,
        asked: &AskedQuery<'_>,
    ) -> Result<AbsentTerms, SearchError> {
        let mut seen = HashSet::new();
        let names = asked.intent.names.iter().filter(|name| seen.insert(&name.folded));
        let names: Vec<&Name> = names.take(MAX_LOOKUPS).collect();
        // A route, a folder or an address is no file, and `Next.js` may only be spoken of.
        let files =
            asked.intent.paths.iter().take(MAX_LOOKUPS).filter_map(|AskedPath { path, .. }| {
                let term = lexical::file(path).filter(|_| !path.contains("://"))?;
                Some((path.as_str(), term))
            });
        let words = plain_words(asked.text, asked.intent);
        let words = words.map(|word| (word, lexical::word_forms(word)));
        let (files, words) = (files.collect(), words.collect());
        let finding: Vec<_> = names.iter().map(|name| self.find_name(name, asked)).collect();
        // At once, since each is a round trip where a server has the store.
        let (places, files, words) = try_join!(
            try_join_all(finding),
            self.list_absent(files, asked),
            self.list_absent(words, asked),
        )?;
        let mut absent = AbsentTerms { words, ..AbsentTerms::default() };
        for (name, place) in names.into_iter().zip(places) {
            match place {
                NamePlace::Code => {}
                NamePlace::Nowhere => absent.names.push(name.spelled.clone()),
                NamePlace::Documents(chunk) => {
                    absent.documented.extend(self.locate_name(&name.spelled, &chunk, asked.roots));
                }
            }
        }
        absent.names.extend(files);
        Ok(absent)
    }

    /// Returns those of some texts, each with its terms, that are nowhere.
    async fn list_absent(
        &self,
        texts: Vec<(&str, Sparse)>,
        asked: &AskedQuery<'_>,
    ) -> Result<Vec<String>, SearchError> {
        let (texts, terms): (Vec<&str>, Vec<Sparse>) = texts.into_iter().unzip();
        let looking: Vec<_> = (texts.iter().zip(terms))
            .map(|(text, terms)| self.is_absent(text, terms, asked))
            .collect();
        let are_absent = try_join_all(looking).await?.into_iter();
        let absent = texts.into_iter().zip(are_absent).filter(|(_, is_absent)| *is_absent);
        Ok(absent.map(|(text, _)| text.to_owned()).collect())
    }

    /// Returns whether no candidate has the text, and no visible chunk one of the terms.
    async fn is_absent(
        &self,
        text: &str,
        terms: Sparse,
        asked: &AskedQuery<'_>,
    ) -> Result<bool, SearchError> {
        let has_text = |candidate: &Candidate| candidate.record.text.contains(text);
        Ok(!asked.candidates.iter().any(has_text)
            && self.lexical(terms, asked.sight, 1).await?.is_empty())
    }

    async fn find_name(
        &self,
        name: &Name,
        asked: &AskedQuery<'_>,
    ) -> Result<NamePlace, SearchError> {
        let is_code = |chunk: &ChunkRecord| !chunk.roles.contains(&Role::Docs);
        let has_name = |chunk: &ChunkRecord| chunk.text.contains(&name.spelled);
        let term = lexical::name(&name.spelled);
        let is_known =
            |candidate: &Candidate| has_name(&candidate.record) && is_code(&candidate.record);
        if term.indices.is_empty() || asked.candidates.iter().any(is_known) {
            return Ok(NamePlace::Code);
        }
        let mut found = self.lexical(term, asked.sight, MAX_DOCUMENTED).await?;
        if found.is_empty() {
            return Ok(NamePlace::Nowhere);
        }
        let is_documented = found.len() < MAX_DOCUMENTED
            && found.iter().all(|found| !is_code(&found.record))
            && found.iter().any(|found| has_name(&found.record));
        if !is_documented {
            return Ok(NamePlace::Code);
        }
        found.retain(|found| has_name(&found.record));
        let first = found.into_iter().next();
        Ok(first.map_or(NamePlace::Code, |found| NamePlace::Documents(Box::new(found.record))))
    }

    /// Returns the first line of a chunk that has a name.
    fn locate_name(
        &self,
        name: &str,
        chunk: &ChunkRecord,
        roots: &[Root],
    ) -> Option<DocumentedName> {
        let root = roots.iter().find(|root| root.id == chunk.root)?;
        let path = self.path_map.shown(&root.path.join(&chunk.path)).display().to_string();
        let mut lines = (chunk.start_line..).zip(chunk.text.lines());
        let (line, _) = lines.find(|(_, text)| text.contains(name))?;
        Some(DocumentedName { name: name.to_owned(), place: DefinedAt { path, line } })
    }
}

/// Where a name of a query occurs.
enum NamePlace {
    /// In code, or in too many chunks to tell.
    Code,
    /// In documents only, such as in this chunk.
    Documents(Box<ChunkRecord>),
    Nowhere,
}

/// Returns the content words of a sentence, without names and files.
fn plain_words<'a>(text: &'a str, intent: &'a Intent) -> impl Iterator<Item = &'a str> {
    let tokens = text.split_whitespace().filter(|_| intent.kind == Kind::Prose);
    let tokens = tokens.map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()));
    let parts = tokens.filter(|token| !intent.is_name(token)).flat_map(|token| token.split('-'));
    let is_plain = |word: &&str| {
        let lower = word.to_ascii_lowercase();
        word.len() >= MIN_WORD_CHARS
            && word.chars().all(|c| c.is_ascii_alphabetic())
            && !QUESTION_WORDS.split(' ').any(|word| word == lower)
            && words(word).all(|word| intent.words.contains(&word))
    };
    let mut seen = HashSet::new();
    parts.filter(is_plain).filter(move |word| seen.insert(*word)).take(MAX_LOOKUPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_what_a_sentence_is_about_are_looked_up() {
        let words = |query: &str| -> Vec<String> {
            let intent = Intent::of(query).within(query, "demo");
            plain_words(query, &intent).map(str::to_owned).collect()
        };
        assert_eq!(
            words("How does demo's FeedPlan decide about anti-hijacking headers, and why?"),
            ["anti", "hijacking", "headers"]
        );
        assert!(words("what happens in src/store.rs with several others").is_empty());
        assert!(words("FeedPlan").is_empty() && words("giraffe").is_empty());
    }
}

//! Scores tools by their words, with BM25 over fields, and finds synonyms of a query's words.
//!
//! A catalogue is completely known, so frequencies and lengths are exact. Source: Robertson and Zaragoza, "The
//! Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.6.

use std::collections::HashMap;

use codeinfo_core::{TermVector, inverse_document_frequency};
use codeinfo_embed::lexical;
use codeinfo_lang::words::{find_identifiers, stem_word};

pub(super) struct Bm25Index {
    /// BM25 weight of each term of each text.
    texts: Vec<TermVector>,
    /// Inverse document frequency of each term, and of unknown terms.
    idf: HashMap<u32, f32>,
    unknown: f32,
}

impl Bm25Index {
    #[expect(clippy::cast_precision_loss, reason = "lengths only need to be about right")]
    pub(super) fn new(mut texts: Vec<TermVector>) -> Self {
        let mut with: HashMap<u32, usize> = HashMap::new();
        let mut total = 0.0;
        for text in &texts {
            total += text_length(text);
            for term in &text.indices {
                *with.entry(*term).or_default() += 1;
            }
        }
        let average = (total / texts.len().max(1) as f32).max(f32::MIN_POSITIVE);
        for text in &mut texts {
            let saturate = lexical::saturate_counts(text_length(text) / average);
            for count in &mut text.values {
                *count = saturate(*count);
            }
        }
        let count = texts.len();
        let rarity = |(term, with)| (term, inverse_document_frequency(with, count));
        let unknown = inverse_document_frequency(0, count);
        Self { idf: with.into_iter().map(rarity).collect(), unknown, texts }
    }

    /// Multiplies the weights of a query's terms by their inverse document frequency.
    pub(super) fn weigh_query(&self, query: &mut TermVector) {
        for (term, weight) in query.indices.iter().zip(&mut query.values) {
            *weight *= self.idf.get(term).copied().unwrap_or(self.unknown);
        }
    }

    pub(super) fn score_text(&self, text: usize, query: &TermVector) -> f32 {
        self.texts.get(text).map_or(0.0, |text| dot_product(text, query))
    }

    /// Returns the total weight of the query's terms that occur in a text.
    pub(super) fn matched_weight(&self, text: usize, query: &TermVector) -> f32 {
        let Some(text) = self.texts.get(text) else { return 0.0 };
        let terms = query.indices.iter().zip(&query.values);
        let has = |(term, _): &(&u32, &f32)| text.indices.binary_search(term).is_ok();
        terms.filter(has).map(|(_, weight)| weight).sum()
    }
}

fn text_length(text: &TermVector) -> f32 {
    text.values.iter().sum()
}

fn dot_product(text: &TermVector, query: &TermVector) -> f32 {
    let terms = query.indices.iter().zip(&query.values);
    let product = |(term, weight): (&u32, &f32)| {
        let place = text.indices.binary_search(term).ok()?;
        Some(text.values.get(place)? * weight)
    };
    terms.filter_map(product).sum()
}

/// Words of queries in lower case, and the words of tools with the same meaning.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["remove", "erase", "drop", "discard", "purge", "trash"], "delete remove"),
    (&["delete"], "remove"),
    (&["new", "make", "add", "start", "open", "file", "write", "insert"], "create add"),
    (&["create"], "add new"),
    (&["change", "edit", "modify", "rename", "adjust", "set", "close"], "update edit"),
    (&["update"], "edit modify"),
    (&["find", "look", "where"], "search find"),
    (&["search"], "find query"),
    (&["show", "view", "see", "display", "read", "what", "which"], "get list"),
    (&["who", "people", "person", "colleague", "teammate", "everybody", "member"], "user member"),
    (&["abort", "kill", "end", "halt", "quit"], "stop cancel terminate"),
    (&["restart", "retry", "rerun"], "reboot rerun restart"),
    (&["begin", "launch", "execute", "trigger"], "run start"),
    (&["send", "post", "tell"], "send message"),
    (&["copy", "duplicate", "clone"], "copy fork"),
    (&["save", "store", "keep", "remember"], "create write store"),
    (&["undo", "revert"], "reset restore rollback"),
    (&["fail", "broken", "crash", "wrong", "error"], "failure error"),
    (&["fast", "slow", "speed", "latency"], "performance"),
    (&["mute", "quiet"], "silence"),
    (&["ticket", "bug"], "issue"),
    (&["pr"], "pull request"),
    (&["mr"], "merge request"),
    (&["repo"], "repository"),
    (&["ci"], "pipeline build"),
    (&["k8s", "cluster"], "kubernetes"),
    (&["db"], "database"),
    (&["folder"], "directory"),
    (&["picture", "photo", "icon"], "image screenshot"),
    (&["screenshot"], "image"),
    (&["mail", "mailbox"], "email message gmail"),
    (&["meeting", "appointment"], "event calendar"),
    (&["todo", "chore", "reminder", "remind"], "task"),
    (&["vm", "machine", "server"], "instance server"),
    (&["graph", "diagram"], "chart dashboard"),
    (&["website", "site", "link"], "page url"),
    (&["internet", "online"], "web"),
    (&["wiki"], "page"),
    (&["toggle", "switch"], "flag"),
    (&["survey"], "form"),
    (&["answer", "reply", "respond"], "reply response"),
    (&["password", "lock"], "protect"),
    (&["cost", "bill", "price", "expense"], "cost pricing"),
    (&["access", "right", "allow"], "permission"),
    (&["phone"], "mobile device"),
    (&["column"], "field"),
    (&["row", "entry"], "record item"),
    (&["revision"], "version"),
];

pub(super) fn find_synonyms(query: &str) -> String {
    let query_stems: Vec<String> = find_identifiers(query)
        .map(|word| String::from_utf8_lossy(stem_word(word)).to_ascii_lowercase())
        .collect();
    let is_in_query = |word: &str| {
        let stem = String::from_utf8_lossy(stem_word(word.as_bytes())).into_owned();
        query_stems.contains(&stem)
    };
    let mut synonyms: Vec<&str> = Vec::new();
    for (words, tools) in SYNONYMS {
        if words.iter().any(|word| is_in_query(word)) {
            synonyms.extend(tools.split(' '));
        }
    }
    synonyms.retain(|word| !is_in_query(word));
    synonyms.sort_unstable();
    synonyms.dedup();
    synonyms.join(" ")
}

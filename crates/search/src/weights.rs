//! How much each feature counts in a search.
//!
//! Weights of ranking are in units of the fused score, which is at most 1. They were tuned in steps on
//! the questions of `benches/questions/dev.jsonl` and judged on languages and repositories left out;
//! `benches/README.md` shows what a search loses with each of them set to nought.

/// The weights of one search. A weight of 0 switches its feature off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchWeights {
    /// Share of neighbours by meaning in a query of prose; the rest is neighbours by words.
    /// Raised from 0.45: +0.03 on questions.
    pub dense: f32,
    /// The same in a query of names only, which are found by their letters. Set by exact symbols.
    pub dense_by_name: f32,
    /// Share of neighbours by words in a query of prose.
    pub lexical: f32,
    /// The same in a query of names only.
    pub lexical_by_name: f32,
    /// How much less words that sentences are made of count as terms: they are rare in code, and would
    /// lead to whatever is called `how`. They occur in comments, where code is described, and so keep
    /// some of their weight. +0.007 to +0.012 on questions not used for tuning.
    pub stop_word_discount: f32,
    /// Exponent of the correction of a term's weight by how rare it is in the repository searched.
    /// +0.02 of the files that answer the blind spots, +0.004 on descriptions; on other NDCG no more than noise.
    pub repository_idf: f32,
    /// A string of the query that the chunk contains verbatim. +0.2 to +0.4 on messages and code.
    pub literal: f32,
    /// A chunk of a file that the query names, and of the line if it says one.
    pub path: f32,
    /// The definition of a name that the query has. +0.13 on exact symbols.
    pub definition: f32,
    /// The same in a query of names only, which looks for definitions: names that are defined once are
    /// first in 0.95 of searches instead of 0.94.
    pub definition_by_name: f32,
    /// A chunk that contains all words of the query. +0.13 on descriptions.
    pub coverage: f32,
    /// What a long query of prose adds to that: of many words, some are in every chunk, and few chunks have
    /// most of them. +0.003 to +0.011 on questions not used for tuning, +0.015 on descriptions.
    pub coverage_of_long: f32,
    /// Whether a word that means about the same counts for one of the query, as far as it does. +0.002 on
    /// whole checkouts, +0.006 to +0.013 on questions not used for tuning.
    pub near: f32,
    /// A file named with the query's words. With `exact_file` and `folder`: +0.03 on the shared set,
    /// −0.02 on questions of people who do not know the name. Raised from 0.7 when a feature for symbols
    /// made of the query's words went: +0.001 on the shared set, no change on questions.
    pub file: f32,
    /// A file named exactly as the query says.
    pub exact_file: f32,
    /// A folder named with the query's words.
    pub folder: f32,
    /// A file with many high-scoring chunks. +0.025 on the shared set.
    pub file_agreement: f32,
    /// The same in a query of names only: a definition may be the only chunk of its file that is found.
    pub file_agreement_by_name: f32,
    /// How much less the file adds to each further chunk of it: its name and its other chunks say
    /// once that the file is right, and not which of its chunks is. +0.05 on the shared set.
    pub per_file_discount: f32,
    /// How much of that discount a long query of prose takes back: it asks for a place, and the second-best
    /// chunk of the right file may be it. Half of the discount, not all of it, so that one large file does
    /// not fill the list: +0.05 to +0.09 of the files that answer, and 0.02 fewer of their lines.
    pub per_file_discount_of_long: f32,
    /// Exponent of what the role of a file leaves of a score: tests, examples, generated code and
    /// documents rarely answer. +0.07 on whole checkouts, +0.1 on questions.
    pub roles: f32,
    /// How much it counts what a question is for: tests are asked for by more than a word of testing, and
    /// documents answer who wants to use a program. +0.1 where a question that means code has such a word,
    /// +0.2 on questions of users.
    pub purpose: f32,
    /// A chunk of a repository that the query names, where several are searched. +0.007 there.
    pub root_name: f32,
}

impl SearchWeights {
    /// What the product searches with.
    pub const SHIPPED: Self = Self {
        dense: 0.6,
        dense_by_name: 0.35,
        lexical: 0.4,
        lexical_by_name: 0.65,
        stop_word_discount: 0.7,
        repository_idf: 1.0,
        literal: 2.5,
        path: 3.0,
        definition: 0.5,
        definition_by_name: 1.6,
        coverage: 0.65,
        coverage_of_long: 1.35,
        near: 1.0,
        file: 0.78,
        exact_file: 0.2,
        folder: 0.25,
        file_agreement: 1.2,
        file_agreement_by_name: 0.6,
        per_file_discount: 0.8,
        per_file_discount_of_long: 0.4,
        roles: 1.0,
        purpose: 1.0,
        root_name: 0.3,
    };
}

//! Weights of the features of a search.
//!
//! Ranking weights are in units of the fused score, which is at most 1. They were tuned in steps on
//! the questions of `benches/questions/dev.jsonl` and judged on languages and repositories left
//! out. `benches/README.md` shows the loss of a search with each of them set to zero.

/// Weights of one search. A weight of 0 switches its feature off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchWeights {
    /// Weight of neighbours by meaning in a prose query. Raised from 0.45: +0.03 on questions.
    pub dense: f32,
    /// The same in a query of names only, which are found by their letters. Set by exact symbols.
    pub dense_by_name: f32,
    /// Weight of neighbours by words in a prose query.
    pub lexical: f32,
    /// The same in a query of names only.
    pub lexical_by_name: f32,
    /// Discount of stop words. They are rare in code and would lead to anything named `how`, but
    /// comments, which describe code, have them. +0.007 to +0.012 on questions not used for tuning.
    pub stop_word_discount: f32,
    /// Exponent of the correction of a term's weight by its rarity in the searched repository.
    /// +0.02 of the files that answer blind spots, +0.004 on descriptions; otherwise noise.
    pub repository_idf: f32,
    /// Weight of a verbatim string of the query. +0.2 to +0.4 on messages and code.
    pub literal: f32,
    /// Weight of a chunk in a file that the query names, and with the line if the query has one.
    pub path: f32,
    /// Weight of the definition of a name in the query. +0.13 on exact symbols.
    pub definition: f32,
    /// The same in a query of names only. Names defined once then lead 0.95 of searches, not 0.94.
    pub definition_by_name: f32,
    /// Weight of a chunk that contains all words of the query. +0.13 on descriptions.
    pub coverage: f32,
    /// Additional weight of coverage in a long prose query, most of whose words few chunks contain.
    /// +0.003 to +0.011 on questions not used for tuning, +0.015 on descriptions.
    pub coverage_of_long: f32,
    /// Switch for words of similar meaning, which count in place of a query word by their
    /// similarity. +0.002 on whole checkouts, +0.006 to +0.013 on questions not used for tuning.
    pub near: f32,
    /// Weight of the meaning of a file's name and a symbol in a question of several words. +0.002 on
    /// the shared set, +0.012 on questions.
    pub name_meaning: f32,
    /// Weight of a file named with the query's words. With `exact_file` and `folder`: +0.03 on the
    /// shared set, −0.02 on questions of people who do not know the name.
    pub file: f32,
    /// Weight of a file with exactly a name of the query.
    pub exact_file: f32,
    /// Weight of a folder named with the query's words.
    pub folder: f32,
    /// Weight of a file with many high-scoring chunks. +0.025 on the shared set.
    pub file_agreement: f32,
    /// The same in a query of names only: a definition may be the only found chunk of its file.
    pub file_agreement_by_name: f32,
    /// Discount of the file's score for each further chunk. Its name and its other chunks show that
    /// the file is right, but not which of its chunks. +0.05 on the shared set.
    pub per_file_discount: f32,
    /// Share of that discount that a long prose query takes back, because the second-best chunk of
    /// the right file may be the place. Half, so that one large file does not fill the list: +0.05
    /// to +0.09 of the files that answer, and 0.02 fewer of their lines.
    pub per_file_discount_of_long: f32,
    /// Exponent of the factor of a file's role: tests, examples, generated code and documents
    /// rarely answer. +0.07 on whole checkouts, +0.1 on questions.
    pub roles: f32,
    /// Weight of the purpose of a question: a word of testing alone does not ask for tests, and
    /// documents answer those who use a program. +0.1 where a question about code has such a word,
    /// +0.2 on questions of users.
    pub purpose: f32,
    /// Weight of a description of the package in question: the first result answers 0.8, not 0.3.
    pub package: f32,
    /// Weight of a repository that the query names, if several are searched. +0.007 there.
    pub root_name: f32,
}

impl SearchWeights {
    /// Weights that the product uses.
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
        name_meaning: 0.6,
        file: 0.78,
        exact_file: 0.2,
        folder: 0.25,
        file_agreement: 1.2,
        file_agreement_by_name: 0.6,
        per_file_discount: 0.8,
        per_file_discount_of_long: 0.4,
        roles: 1.0,
        purpose: 1.0,
        package: 2.0,
        root_name: 0.3,
    };
}

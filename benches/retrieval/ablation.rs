//! What is left of a search without one of its features: its weights set to nought.

use codeinfo_search::SearchWeights;

/// A feature and how it is left out.
type Feature = (&'static str, fn(&mut SearchWeights));

/// Features of ranking, which a list of neighbours alone lacks.
const FEATURES: [Feature; 15] = [
    ("definition", |it| (it.definition, it.definition_by_name) = (0.0, 0.0)),
    ("coverage", |it| (it.coverage, it.coverage_of_long) = (0.0, 0.0)),
    ("coverage in long queries", |it| it.coverage_of_long = 0.0),
    ("words of near meaning", |it| it.near = 0.0),
    ("meaning of names", |it| it.name_meaning = 0.0),
    ("literal", |it| it.literal = 0.0),
    ("paths", |it| it.path = 0.0),
    ("names of files", |it| (it.file, it.exact_file, it.folder) = (0.0, 0.0, 0.0)),
    ("agreement of files", |it| (it.file_agreement, it.file_agreement_by_name) = (0.0, 0.0)),
    ("discount per file", |it| it.per_file_discount = 0.0),
    ("roles", |it| it.roles = 0.0),
    ("descriptions of packages", |it| it.package = 0.0),
    ("names of repositories", |it| it.root_name = 0.0),
    ("discount per file in long queries", |it| it.per_file_discount_of_long = 0.0),
    ("purpose of questions", |it| it.purpose = 0.0),
];
/// What the lists of neighbours themselves depend on.
const LISTS: [Feature; 4] = [
    ("dense", |it| (it.dense, it.dense_by_name) = (0.0, 0.0)),
    ("lexical", |it| (it.lexical, it.lexical_by_name) = (0.0, 0.0)),
    ("discount of stop words", |it| it.stop_word_discount = 0.0),
    ("idf of the repository", |it| it.repository_idf = 0.0),
];

/// Returns the shipped weights with one feature after the other left out.
pub(crate) fn each_left_out() -> impl Iterator<Item = (String, SearchWeights)> {
    LISTS.into_iter().chain(FEATURES).map(|(name, leave_out)| {
        let mut weights = SearchWeights::SHIPPED;
        leave_out(&mut weights);
        (format!("without {name}"), weights)
    })
}

/// Returns each list of neighbours alone, and both fused, without any feature.
pub(crate) fn lists_alone() -> [(String, SearchWeights); 3] {
    let mut plain = SearchWeights::SHIPPED;
    for (_, leave_out) in LISTS.iter().skip(2).chain(&FEATURES) {
        leave_out(&mut plain);
    }
    let only = |leave_out: fn(&mut SearchWeights)| {
        let mut weights = plain;
        leave_out(&mut weights);
        weights
    };
    [
        ("dense alone".to_owned(), only(|it| (it.lexical, it.lexical_by_name) = (0.0, 0.0))),
        ("lexical alone".to_owned(), only(|it| (it.dense, it.dense_by_name) = (0.0, 0.0))),
        ("fused, no features".to_owned(), plain),
    ]
}

//! Factors of a score by the roles of a file and by the root of a chunk.

use codeinfo_core::RootId;
use codeinfo_lang::role::FileRole;

use super::super::{
    candidate::SearchCandidate,
    intent::{QueryIntent, QueryKind},
};

/// Returns the words of a query that ask for a role of files, and the factor without them.
fn find_role_discount(role: FileRole) -> (&'static [&'static str], f32) {
    match role {
        FileRole::Test => (&["test", "testing", "spec", "fixture", "mock"], TEST),
        FileRole::Vendored => (&["vendor", "vendored", "dependency", "external"], 0.5),
        FileRole::Generated => (&["generated"], 0.6),
        FileRole::Example => {
            (&["example", "sample", "demo", "benchmark", "doc", "documentation", "guide"], 0.5)
        }
        FileRole::Docs => {
            (&["doc", "documentation", "readme", "changelog", "guide", "markdown"], 0.35)
        }
        FileRole::Declaration => (&["type", "types", "typing", "declaration", "stub"], 0.6),
        FileRole::Compatibility => (
            &["compat", "compatibility", "deprecated", "legacy", "obsolete", "polyfill", "shim"],
            0.7,
        ),
        FileRole::Page => (&[], 1.0),
        FileRole::Data => {
            (&["yaml", "json", "xml", "csv", "lock", "config", "configuration", "workflow"], 0.6)
        }
    }
}

/// Likelihood that documents answer a question, and how much its purpose counts, each 0…1.
#[derive(Debug, Clone, Copy)]
pub(super) struct PurposeWeight {
    pub(super) documents: f32,
    pub(super) weight: f32,
}

/// Log-odds that documents answer: by the words of the question, by how much better the best
/// document fits than the best code, and of both unknown. Learned by `training/reader.py`.
const BY_WORDS: f32 = 1.14;
const BY_FIT: f32 = 2.8;
const BY_NOTHING: f32 = 0.2;

/// Returns the likelihood that documents answer the question, 0…1; 0 for a name, and without
/// any among the candidates. The fit of a candidate is its fused score and its coverage.
pub(super) fn judge_documents(
    candidates: &[SearchCandidate],
    coverage: &[f32],
    intent: &QueryIntent,
) -> f32 {
    let is_document = |found: &SearchCandidate| found.record.roles.contains(&FileRole::Docs);
    if intent.kind != QueryKind::Prose || !candidates.iter().any(is_document) {
        return 0.0;
    }
    let best = |is_counted: fn(&[FileRole]) -> bool| {
        let counted = candidates.iter().zip(coverage);
        let fits = counted.filter(|(candidate, _)| is_counted(&candidate.record.roles));
        fits.map(|(candidate, coverage)| candidate.score + coverage).fold(0.0, f32::max)
    };
    let fit = best(|roles| roles.contains(&FileRole::Docs)) - best(<[FileRole]>::is_empty);
    let odds = BY_WORDS * intent.purpose.for_documents + BY_FIT * fit + BY_NOTHING;
    1.0 / (1.0 + (-odds).exp())
}

/// Factor of tests that the query does not ask for.
const TEST: f32 = 0.35;
/// Factor of code and tests for a question that documents surely answer.
const CODE_FOR_USERS: f32 = 0.8;
/// Factors of documents for a question that code surely answers, and that they surely answer.
const DOCUMENT_OF_CODE: f32 = 0.2;
const DOCUMENT_OF_USE: f32 = 2.0;
/// Factor of documents, pages and data for a long text, which mostly reports a fault of code.
const FAULT: f32 = 0.4;
/// Exponent of the factor of tests if the query has a word of testing but means other code.
const ABOUT_TESTING: f32 = 0.85;

/// Returns the factor of a score: 1 for plain source, less for roles that the query does not ask
/// for, of which the lowest counts, and more for documents that it asks for.
pub(super) fn compute_role_factor(
    roles: &[FileRole],
    intent: &QueryIntent,
    purpose: PurposeWeight,
) -> f32 {
    let is_document = roles.contains(&FileRole::Docs);
    // A document in a folder of documents is no more an example than one elsewhere.
    let is_fault = intent.long.is_some() && 0.0 < purpose.weight;
    let is_text =
        roles.iter().any(|role| matches!(role, FileRole::Docs | FileRole::Data | FileRole::Page));
    let fault = if is_fault && is_text { FAULT } else { 1.0 };
    let others = roles
        .iter()
        .filter(|role| **role != FileRole::Docs && !(is_document && **role == FileRole::Example));
    let factor =
        fault * others.map(|role| score_role(*role, intent, purpose.weight)).fold(1.0, f32::min);
    if is_document {
        return factor * score_document(intent, purpose);
    }
    let is_code = roles.iter().all(|role| *role == FileRole::Test);
    let surely = (2.0 * purpose.documents - 1.0).max(0.0);
    if is_code { factor * CODE_FOR_USERS.powf(purpose.weight * surely) } else { factor }
}

/// Returns the factor of a document, which grows with the likelihood that documents answer.
fn score_document(intent: &QueryIntent, PurposeWeight { documents, weight }: PurposeWeight) -> f32 {
    let (asked_by, factor) = find_role_discount(FileRole::Docs);
    let is_named = intent.has_any_word(asked_by);
    if intent.kind != QueryKind::Prose {
        return if is_named { 1.0 } else { factor };
    }
    let by_purpose = DOCUMENT_OF_CODE.powf(1.0 - documents) * DOCUMENT_OF_USE.powf(documents);
    let mixed = factor.powf(1.0 - weight) * by_purpose.powf(weight);
    if is_named { mixed.max(1.0) } else { mixed }
}

/// Returns the highest factor that a file can have, at least 1.
pub(super) fn compute_best_factor(PurposeWeight { documents, weight }: PurposeWeight) -> f32 {
    DOCUMENT_OF_USE.powf(documents * weight)
}

fn score_role(role: FileRole, intent: &QueryIntent, purpose_weight: f32) -> f32 {
    let (asked_by, factor) = find_role_discount(role);
    let is_named = intent.has_any_word(asked_by);
    let purpose = intent.purpose;
    match role {
        FileRole::Test if intent.kind == QueryKind::Prose => match (is_named, purpose.is_for_tests)
        {
            (false, _) => factor,
            (true, false) => factor.powf(ABOUT_TESTING * purpose_weight),
            (true, true) => 1.0,
        },
        _ if is_named => 1.0,
        _ => factor,
    }
}

/// Returns the factor of a chunk's score: 1 for a repository that the query names, less for others
/// if it names any. `weight` is the bonus of a named repository as a share of the score.
pub(super) fn compute_root_name_factor(root: RootId, intent: &QueryIntent, weight: f32) -> f32 {
    if intent.roots.is_empty() {
        return 1.0;
    }
    let named = intent.roots.get(&root).copied().unwrap_or_default();
    (1.0 + weight * named) / (1.0 + weight)
}

/// Factor of a chunk whose root lost its folder while others exist: below any about as good.
const MISSING_ROOT: f32 = 0.5;

pub(super) fn compute_missing_root_factor(root: RootId, intent: &QueryIntent) -> f32 {
    if intent.missing_roots.contains(&root) { MISSING_ROOT } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use codeinfo_core::ChunkRecord;
    use codeinfo_lang::role;
    use uuid::Uuid;

    use super::{
        super::super::fixture::{candidate, record},
        *,
    };

    /// Returns the factor of a file where documents answer with this likelihood.
    fn factor(path: &str, query: &str, documents: f32) -> f32 {
        let roles: Vec<FileRole> = role::detect_roles(path).collect();
        let purpose = PurposeWeight { documents, weight: 1.0 };
        compute_role_factor(&roles, &QueryIntent::parse(query), purpose)
    }

    #[test]
    fn words_of_testing_raise_tests() {
        let [asked, about, not] = [
            "test that the client closes the connection",
            "how does the test client close the connection",
            "how does the client close the connection",
        ]
        .map(|query| factor("tests/client.rs", query, 0.0));
        assert!(not < about && about < 0.5 && asked >= 1.0, "{not} {about} {asked}");
    }

    #[test]
    fn documents_count_by_the_likelihood_that_they_answer() {
        let question = "how do I close the client on Windows";
        let document = |documents| factor("docs/client.md", question, documents);
        assert!(document(0.0) < 0.3 && document(0.0) < document(0.5) && 1.5 < document(1.0));
        assert!((document(0.5) - factor("client.md", question, 0.5)).abs() < 1e-6);
        let code = |documents| factor("src/client.rs", question, documents);
        assert!((code(0.5) - 1.0).abs() < 1e-6 && code(1.0) < 1.0);
        let data = |query: &str| factor("client.json", query, 0.0);
        let report = format!("client closes\n{}", "the connection is gone ".repeat(9));
        assert!(data(&report) < 0.5 * data(question));
        // A name has no purpose.
        let name = |documents| factor("docs/client.md", "Client", documents);
        assert!((name(0.0) - name(1.0)).abs() < 1e-6);
    }

    #[test]
    fn documents_answer_if_the_words_say_so_and_they_fit() {
        let likely = |query: &str, document: f32, code: f32| {
            let found = [("client.md", document, 1), ("client.rs", code, 2)];
            let candidates = found.map(|(path, score, id)| {
                let roles = role::detect_roles(path).collect();
                candidate(id, ChunkRecord { roles, ..record(path, None, "") }, score)
            });
            judge_documents(&candidates, &[0.0, 0.0], &QueryIntent::parse(query))
        };
        let [using, code] = ["how do I close my client", "what happens when the client closes"];
        assert!(0.6 < likely(using, 0.5, 0.5) && likely(code, 0.5, 0.5) < 0.3);
        for query in [using, code] {
            assert!(likely(query, 0.1, 0.9) + 0.05 < likely(query, 0.9, 0.1), "{query}");
        }
        assert!(likely("Client", 0.9, 0.1) <= 0.0);
    }

    #[test]
    fn other_roles_count_less_unless_the_query_names_them() {
        let factor = |path, intent: &QueryIntent| {
            let roles: Vec<FileRole> = role::detect_roles(path).collect();
            compute_role_factor(&roles, intent, PurposeWeight { documents: 0.0, weight: 1.0 })
        };
        let plain = QueryIntent::parse("parse the header");
        let asking = QueryIntent::parse(
            "tests of the header and examples and docs and legacy compat as yaml",
        );
        for path in [
            "src/test/java/HeaderTest.java",
            "pkg/header_test.go",
            "web/header.spec.ts",
            "examples/header.py",
            "README.md",
            "web/versioned_docs/header.ts",
            "schemas/header.yaml",
            "src/legacy/header.c",
            "src/header_compat.c",
        ] {
            assert!(factor(path, &plain) < 1.0, "{path}");
            assert!((factor(path, &asking) - 1.0).abs() < 1e-6, "{path}");
        }
        for path in ["src/header.rs", "latest/contest.go", "src/attest.c"] {
            assert!((factor(path, &plain) - 1.0).abs() < 1e-6, "{path}");
        }
    }

    #[test]
    fn chunks_of_the_named_repository_keep_their_score() {
        let [named, half, other] = [1, 2, 3].map(|id| RootId(Uuid::from_u128(id)));
        let share = |root, intent: &QueryIntent| compute_root_name_factor(root, intent, 0.3);
        let mut intent = QueryIntent::parse("how does the plug parse headers");
        assert!((share(other, &intent) - 1.0).abs() < 1e-6);
        intent.roots = [(named, 1.0), (half, 0.5)].into();
        assert!((share(named, &intent) - 1.0).abs() < 1e-6);
        assert!(share(other, &intent) < share(half, &intent));
        assert!(share(half, &intent) < 1.0 && 0.5 < share(other, &intent));
    }
}

//! Factors of a score by the roles of a file and by the root of a chunk.

use codeinfo_core::RootId;
use codeinfo_lang::role::FileRole;

use super::super::intent::{QueryIntent, QueryKind};

/// Returns the words of a query that ask for files of a role, and the factor of their chunks
/// otherwise.
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

/// Factor of tests that the query does not ask for.
const TEST: f32 = 0.35;
/// Factor of code and tests for a question that documents surely answer.
const CODE_FOR_USERS: f32 = 0.8;
/// Exponent of the factor of tests if the query has a word of testing but means other code.
const ABOUT_TESTING: f32 = 0.85;

/// Returns the factor of a score: 1 for plain source, less for files of a role that the query does
/// not ask for. The role with the lowest factor counts. `purpose` is the weight of the question's
/// purpose.
pub(super) fn compute_role_factor(roles: &[FileRole], intent: &QueryIntent, purpose: f32) -> f32 {
    let factor = roles.iter().map(|role| score_role(*role, intent, purpose)).fold(1.0, f32::min);
    let is_code = roles.iter().all(|role| *role == FileRole::Test);
    let surely = (2.0 * intent.purpose.is_about_using - 1.0).max(0.0);
    if is_code { factor * CODE_FOR_USERS.powf(purpose * surely) } else { factor }
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
        FileRole::Docs | FileRole::Example => {
            factor.powf(1.0 - purpose_weight * purpose.is_about_using)
        }
        _ => factor,
    }
}

/// Returns the factor of a chunk's score: 1 for a repository that the query names, less for others
/// if it names any. Chunks of one repository keep their order. `weight` is the bonus of a named
/// repository as a share of the score.
pub(super) fn compute_root_name_factor(root: RootId, intent: &QueryIntent, weight: f32) -> f32 {
    if intent.roots.is_empty() {
        return 1.0;
    }
    let named = intent.roots.get(&root).copied().unwrap_or_default();
    (1.0 + weight * named) / (1.0 + weight)
}

/// Factor of a chunk whose root has lost its folder while other roots exist: lower than any chunk
/// about as good.
const MISSING_ROOT: f32 = 0.5;

/// Returns the factor of all scores of a chunk, which is below 1 if the folder of its root is gone.
pub(super) fn compute_missing_root_factor(root: RootId, intent: &QueryIntent) -> f32 {
    if intent.missing_roots.contains(&root) { MISSING_ROOT } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::role;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn words_of_testing_or_use_raise_tests_or_documents() {
        let factor = |path, query| {
            let roles: Vec<FileRole> = role::detect_roles(path).collect();
            compute_role_factor(&roles, &QueryIntent::parse(query), 1.0)
        };
        let [asked, about, not] = [
            "test that the client closes the connection",
            "how does the test client close the connection",
            "how does the client close the connection",
        ]
        .map(|query| factor("tests/client.rs", query));
        assert!(not < about && about < 0.5 && asked >= 1.0, "{not} {about} {asked}");
        let [using, maybe, code] = [
            "how do I install the client on Windows",
            "what is a closed connection to the client",
            "where is the connection of the client closed",
        ]
        .map(|query| factor("docs/client.md", query));
        assert!(code < maybe && maybe < using && using >= 1.0, "{code} {maybe} {using}");
        assert!(factor("src/client.rs", "how do I install the client on Windows") < 1.0);
    }

    #[test]
    fn other_roles_count_less_unless_the_query_names_them() {
        let factor = |path, intent: &QueryIntent| {
            let roles: Vec<FileRole> = role::detect_roles(path).collect();
            compute_role_factor(&roles, intent, 1.0)
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

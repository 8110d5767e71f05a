//! Lowers files whose role rarely answers a question, unless the query asks for that role.

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

fn score_role(role: FileRole, intent: &QueryIntent, weight_of_purpose: f32) -> f32 {
    let (asked_by, factor) = find_role_discount(role);
    let is_named = intent.asks_for(asked_by);
    let purpose = intent.purpose;
    match role {
        FileRole::Test if intent.kind == QueryKind::Prose => match (is_named, purpose.is_for_tests)
        {
            (false, _) => factor,
            (true, false) => factor.powf(ABOUT_TESTING * weight_of_purpose),
            (true, true) => 1.0,
        },
        _ if is_named => 1.0,
        FileRole::Docs | FileRole::Example => {
            factor.powf(1.0 - weight_of_purpose * purpose.is_about_using)
        }
        _ => factor,
    }
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::role;

    use super::*;

    #[test]
    fn a_word_of_testing_or_of_use_lifts_what_it_says() {
        let of = |path, query| {
            let roles: Vec<FileRole> = role::detect_roles(path).collect();
            compute_role_factor(&roles, &QueryIntent::parse(query), 1.0)
        };
        let [asked, about, not] = [
            "test that the client closes the connection",
            "how does the test client close the connection",
            "how does the client close the connection",
        ]
        .map(|query| of("tests/client.rs", query));
        assert!(not < about && about < 0.5 && asked >= 1.0, "{not} {about} {asked}");
        let [using, maybe, code] = [
            "how do I install the client on Windows",
            "what is a closed connection to the client",
            "where is the connection of the client closed",
        ]
        .map(|query| of("docs/client.md", query));
        assert!(code < maybe && maybe < using && using >= 1.0, "{code} {maybe} {using}");
        assert!(of("src/client.rs", "how do I install the client on Windows") < 1.0);
    }

    #[test]
    fn lesser_roles_count_less_unless_asked_for() {
        let of = |path, intent: &QueryIntent| {
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
            assert!(of(path, &plain) < 1.0, "{path}");
            assert!((of(path, &asking) - 1.0).abs() < 1e-6, "{path}");
        }
        for path in ["src/header.rs", "latest/contest.go", "src/attest.c"] {
            assert!((of(path, &plain) - 1.0).abs() < 1e-6, "{path}");
        }
    }
}

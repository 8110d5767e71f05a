//! What the role of a file says of its chunks: some files rarely answer a question unless it asks for
//! them.

use codeinfo_lang::role::Role;

use super::super::intent::Intent;

/// Returns the words of a query that asks for files of a role, and what remains of the score of their
/// chunks otherwise.
fn weight(role: Role) -> (&'static [&'static str], f32) {
    match role {
        Role::Test => (&["test", "testing", "spec", "fixture", "mock"], 0.35),
        Role::Vendored => (&["vendor", "vendored", "dependency", "external"], 0.5),
        Role::Generated => (&["generated"], 0.6),
        Role::Example => {
            (&["example", "sample", "demo", "benchmark", "doc", "documentation", "guide"], 0.5)
        }
        Role::Docs => (&["doc", "documentation", "readme", "changelog", "guide", "markdown"], 0.35),
        Role::Declaration => (&["type", "types", "typing", "declaration", "stub"], 0.6),
        Role::Compatibility => (
            &["compat", "compatibility", "deprecated", "legacy", "obsolete", "polyfill", "shim"],
            0.7,
        ),
        Role::Page => (&[], 1.0),
        Role::Data => {
            (&["yaml", "json", "xml", "csv", "lock", "config", "configuration", "workflow"], 0.6)
        }
    }
}

/// Returns what remains of a score: 1 for plain source, less for files of a role that the query does
/// not ask for. The role that leaves least counts.
pub(super) fn factor(roles: &[Role], intent: &Intent) -> f32 {
    let weights = roles.iter().copied().map(weight);
    let unasked = weights.filter(|(asked_by, _)| !intent.asks_for(asked_by));
    unasked.map(|(_, factor)| factor).fold(1.0, f32::min)
}

#[cfg(test)]
mod tests {
    use codeinfo_lang::role;

    use super::*;

    #[test]
    fn lesser_roles_count_less_unless_asked_for() {
        let of = |path, intent: &Intent| {
            let roles: Vec<Role> = role::roles(path).collect();
            factor(&roles, intent)
        };
        let plain = Intent::of("parse the header");
        let asking =
            Intent::of("tests and examples and docs and legacy compat of the header as yaml");
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

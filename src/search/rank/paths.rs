//! What a path says of a file's role: some files rarely answer a question unless it asks for them.

use super::super::intent::Intent;

/// A kind of file that is less useful than the code it belongs to.
struct Role {
    /// Folders of such files, lower-case.
    folders: &'static [&'static str],
    /// Whether a file's name, lower-case, says that it is one.
    named: fn(&str) -> bool,
    /// Words of a query that asks for such files.
    asked_by: &'static [&'static str],
    /// What remains of the score otherwise.
    factor: f32,
}

const ROLES: &[Role] = &[
    Role {
        folders: &[
            "__tests__",
            "e2e",
            "fixtures",
            "spec",
            "specs",
            "test",
            "testdata",
            "testing",
            "tests",
        ],
        named: is_test,
        asked_by: &["test", "testing", "spec", "fixture", "mock"],
        factor: 0.35,
    },
    Role {
        folders: &["deps", "external", "node_modules", "third_party", "vendor"],
        named: |_| false,
        asked_by: &["vendor", "vendored", "dependency", "external"],
        factor: 0.5,
    },
    Role {
        folders: &["generated", "gen"],
        named: is_generated,
        asked_by: &["generated"],
        factor: 0.6,
    },
    Role {
        folders: &[
            "bench",
            "benches",
            "benchmarks",
            "demo",
            "doc",
            "docs",
            "example",
            "examples",
            "samples",
        ],
        named: |_| false,
        asked_by: &["example", "sample", "demo", "benchmark", "doc", "documentation", "guide"],
        factor: 0.5,
    },
    Role {
        folders: &[],
        named: is_prose,
        asked_by: &["doc", "documentation", "readme", "changelog", "guide", "markdown"],
        factor: 0.35,
    },
    Role {
        folders: &[],
        named: is_declaration,
        asked_by: &["type", "types", "typing", "declaration", "stub"],
        factor: 0.6,
    },
    Role {
        folders: &[
            "compat",
            "compatibility",
            "deprecated",
            "legacy",
            "obsolete",
            "polyfills",
            "shims",
        ],
        named: is_compatibility,
        asked_by: &[
            "compat",
            "compatibility",
            "deprecated",
            "legacy",
            "obsolete",
            "polyfill",
            "shim",
        ],
        factor: 0.7,
    },
    Role {
        folders: &[],
        named: is_data,
        asked_by: &["yaml", "json", "xml", "csv", "lock", "config", "configuration", "workflow"],
        factor: 0.6,
    },
];

/// Returns what remains of a score: 1 for ordinary code, less for files of a lesser role that the
/// query does not ask for. The least role counts.
pub(super) fn factor(path: &str, intent: &Intent) -> f32 {
    let path = path.to_ascii_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let plays = |role: &&Role| {
        (role.named)(name) || folders.split('/').any(|folder| is_folder(folder, role.folders))
    };
    let roles = ROLES.iter().filter(plays).filter(|role| !intent.asks_for(role.asked_by));
    roles.map(|role| role.factor).fold(1.0, f32::min)
}

/// Returns whether a file of this path may define names: documents and data only repeat them.
pub(super) fn may_define(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    !is_prose(name) && !is_data(name) && ![".htm", ".html"].iter().any(|end| name.ends_with(end))
}

/// Returns whether a folder is one of `names`, or its name ends with one: `versioned_docs`,
/// `integration-tests`.
fn is_folder(folder: &str, names: &[&str]) -> bool {
    let last = folder.rsplit(['_', '-']).next().unwrap_or_default();
    names.contains(&folder) || names.contains(&last)
}

fn is_data(name: &str) -> bool {
    [".api", ".csv", ".json", ".lock", ".svg", ".xml", ".yaml", ".yml"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn is_test(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let ends = ["_test", "_tests", "_spec", "-test", "-spec"];
    let joined = [
        ".test.",
        ".spec.",
        "test.java",
        "tests.java",
        "test.kt",
        "tests.cs",
        "test.php",
        "tests.swift",
        "spec.hs",
        "spec.scala",
    ];
    stem.starts_with("test_")
        || stem == "test"
        || stem == "tests"
        || ends.iter().any(|end| stem.ends_with(end))
        || joined.iter().any(|part| name.contains(part))
}

fn is_generated(name: &str) -> bool {
    [".min.", ".pb.", "_pb2", ".g.cs", ".gen.", ".generated.", "_generated."]
        .iter()
        .any(|part| name.contains(part))
}

fn is_declaration(name: &str) -> bool {
    [".d.ts", ".pyi"].iter().any(|end| name.ends_with(end))
}

fn is_compatibility(name: &str) -> bool {
    let words = ["compat", "deprecated", "legacy", "polyfill", "shim"];
    name.split(['.', '_', '-']).any(|part| words.contains(&part))
}

fn is_prose(name: &str) -> bool {
    let extensions = [".md", ".mdx", ".rst", ".adoc", ".txt"];
    extensions.iter().any(|extension| name.ends_with(extension)) || name.starts_with("changelog")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_data_define_nothing() {
        for path in ["docs/api/Header.html", "README.md", "schema/header.json"] {
            assert!(!may_define(path), "{path}");
        }
        assert!(may_define("tests/header_test.go") && may_define("docs/conf.py"));
    }

    #[test]
    fn lesser_roles_count_less_unless_asked_for() {
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
            assert!(factor(path, &plain) < 1.0, "{path}");
            assert!((factor(path, &asking) - 1.0).abs() < 1e-6, "{path}");
        }
        for path in ["src/header.rs", "latest/contest.go", "src/attest.c"] {
            assert!((factor(path, &plain) - 1.0).abs() < 1e-6, "{path}");
        }
    }
}

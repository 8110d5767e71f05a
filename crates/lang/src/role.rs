//! What a path says of a file's role: source, or something that stands beside it.

use serde::{Deserialize, Serialize};

use crate::{Kind, Language, detect, languages, names, vendored};

/// What a file may be besides plain source. It may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Tests, and what they work with.
    Test,
    /// Other people's code.
    Vendored,
    /// Written by a program.
    Generated,
    /// Examples, benchmarks, and the folders of documentation.
    Example,
    /// Text for people.
    Docs,
    /// Declares what is defined elsewhere.
    Declaration,
    /// There for the sake of older versions.
    Compatibility,
    /// Data, and files that record versions.
    Data,
    /// Markup around text.
    Page,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Test,
        Self::Vendored,
        Self::Generated,
        Self::Example,
        Self::Docs,
        Self::Declaration,
        Self::Compatibility,
        Self::Data,
        Self::Page,
    ];

    /// Folders of such files, lower-case.
    fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Test => &[
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
            Self::Vendored => &["deps", "external", "vendor"],
            Self::Generated => &["generated", "gen"],
            Self::Example => &[
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
            Self::Compatibility => &[
                "compat",
                "compatibility",
                "deprecated",
                "legacy",
                "obsolete",
                "polyfills",
                "shims",
            ],
            Self::Docs | Self::Declaration | Self::Data | Self::Page => &[],
        }
    }

    /// Whether a folder of this name, lower-case, holds such files, or its name ends with one that
    /// does: `versioned_docs`, `integration-tests`.
    fn is_folder(self, folder: &str) -> bool {
        let last = folder.rsplit(['_', '-']).next().unwrap_or_default();
        [folder, last].iter().any(|name| {
            self.folders().contains(name) || self == Self::Vendored && vendored::is_always(name)
        })
    }

    /// Whether the name of a file in a language of this kind says that it is one.
    fn is_named(self, language: Option<&Language>, lower: &str) -> bool {
        let kind = language.map(|language| language.kind);
        let ends = |ends: &[&str]| ends.iter().any(|end| lower.ends_with(end));
        match self {
            Self::Test => is_test(language, lower),
            Self::Generated => {
                GENERATED.iter().any(|part| lower.contains(part)) || names::is_made(lower)
            }
            Self::Docs => lower.starts_with("changelog") || kind == Some(Kind::Prose),
            Self::Declaration => languages::all().any(|language| ends(language.declarations)),
            Self::Compatibility => {
                let words = ["compat", "deprecated", "legacy", "polyfill", "shim"];
                lower.split(['.', '_', '-']).any(|part| words.contains(&part))
            }
            Self::Data => kind == Some(Kind::Data) || ends(TABLES) || names::is_lock(lower),
            Self::Page => kind == Some(Kind::Page),
            Self::Vendored | Self::Example => false,
        }
    }
}

/// Parts of names that generators give, in any language.
const GENERATED: &[&str] = &[".min.", ".pb.", "_pb2", ".gen.", ".generated.", "_generated."];

/// Ends of names of data in no language.
const TABLES: &[&str] = &[".api", ".csv", ".svg"];

/// Returns the roles of a file by its path below the root; none for plain source.
pub fn roles(path: &str) -> impl Iterator<Item = Role> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folders = folders.to_ascii_lowercase();
    let (lower, language) = (name.to_ascii_lowercase(), detect::by_path(path));
    let is_code = language.is_some_and(|language| language.kind == Kind::Code);
    Role::ALL.into_iter().filter(move |role| {
        // Packages that make documents are called so, too.
        let says = |folder: &str| !(is_code && folder == "doc") && role.is_folder(folder);
        role.is_named(language, &lower) || folders.split('/').any(says)
    })
}

/// Whether a file of these roles may define names: documents, pages and data only repeat them.
pub fn may_define(roles: &[Role]) -> bool {
    !roles.iter().any(|role| matches!(role, Role::Docs | Role::Data | Role::Page))
}

fn is_test(language: Option<&Language>, name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    let ends = ["_test", "_tests", "_spec", "-test", "-spec"];
    let starts = language.map_or(&[][..], |language| language.test_starts);
    stem == "test"
        || stem == "tests"
        || ends.iter().any(|end| stem.ends_with(end))
        || starts.iter().any(|start| stem.starts_with(start))
        || [".test.", ".spec."].iter().any(|part| name.contains(part))
        || languages::all().flat_map(|one| one.test_paths).any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Vec<Role> {
        roles(path).collect()
    }

    #[test]
    fn documents_and_data_define_nothing() {
        for path in ["docs/api/Header.html", "README.md", "schema/header.json", "LICENSE"] {
            assert!(!may_define(&of(path)), "{path}");
        }
        for path in ["tests/header_test.go", "docs/conf.py", "CMakeLists.txt", "Cargo.toml"] {
            assert!(may_define(&of(path)), "{path}");
        }
    }

    #[test]
    fn a_path_says_what_a_file_is_for() {
        for (path, role) in [
            ("src/main/java/HeaderTest.java", Role::Test),
            ("pkg/header_test.go", Role::Test),
            ("web/header.spec.ts", Role::Test),
            ("integration-tests/header.rb", Role::Test),
            ("Sources/HeaderTests.swift", Role::Test),
            ("src/HeaderTests.java", Role::Test),
            ("src/HeaderTest.kt", Role::Test),
            ("src/HeaderTests.cs", Role::Test),
            ("src/HeaderTest.php", Role::Test),
            ("src/HeaderSpec.hs", Role::Test),
            ("src/HeaderSpec.scala", Role::Test),
            ("src/test.rs", Role::Test),
            ("src/__tests__/header.js", Role::Test),
            ("header/test_parse.py", Role::Test),
            ("header/test_parse.rb", Role::Test),
            ("man/header.1", Role::Docs),
            ("man/header.1.ronn", Role::Docs),
            ("vendor/header.go", Role::Vendored),
            ("third_party/header.c", Role::Vendored),
            ("api/header.pb.rs", Role::Generated),
            ("api/header_pb2.txt.py", Role::Generated),
            ("gen/header.c", Role::Generated),
            ("Header.g.cs", Role::Generated),
            ("examples/header.py", Role::Example),
            ("web/versioned_docs/header.ts", Role::Example),
            ("README.md", Role::Docs),
            ("README", Role::Docs),
            ("CHANGELOG.old", Role::Docs),
            ("web/header.d.ts", Role::Declaration),
            ("header.pyi", Role::Declaration),
            ("src/legacy/header.c", Role::Compatibility),
            ("src/header_compat.c", Role::Compatibility),
            ("schemas/header.YAML", Role::Data),
            ("poetry.lock", Role::Data),
            ("go.sum", Role::Data),
            ("rows.csv", Role::Data),
            ("web/header.html", Role::Page),
        ] {
            assert_eq!(of(path), [role], "{path}");
        }
        assert_eq!(of("tests/vendor/notes.md"), [Role::Test, Role::Vendored, Role::Docs]);
    }

    #[test]
    fn plain_source_has_no_role() {
        for path in [
            "src/header.rs",
            "latest/contest.go",
            "src/attest.c",
            "CMakeLists.txt",
            "Cargo.toml",
            "src/test_client.rs",
            "doc/render.go",
        ] {
            assert_eq!(of(path), [], "{path}");
        }
    }
}

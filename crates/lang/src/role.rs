//! Roles of files, derived from their paths: plain source, or something that accompanies it.

use serde::{Deserialize, Serialize};

use crate::{Language, LanguageKind, detect, languages, vendored};

/// Role of a file other than plain source. A file may have several roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileRole {
    Test,
    Vendored,
    /// File written by a program.
    Generated,
    /// Examples, benchmarks and folders of documentation.
    Example,
    Docs,
    /// Declarations of what other files define.
    Declaration,
    /// Support for older versions.
    Compatibility,
    /// Data, and files that record versions.
    Data,
    /// Markup around text.
    Page,
}

impl FileRole {
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

    fn folder_names(self) -> &'static [&'static str] {
        match self {
            Self::Test => &[
                "__tests__", "e2e", "fixtures", "spec", "specs", "test", "testdata", "testing",
                "tests",
            ],
            Self::Vendored => &["deps", "external", "vendor"],
            Self::Generated => &["generated", "gen"],
            Self::Example => &[
                "bench", "benches", "benchmarks", "demo", "doc", "docs", "example", "examples",
                "samples",
            ],
            Self::Compatibility => &[
                "compat", "compatibility", "deprecated", "legacy", "obsolete", "polyfills", "shims",
            ],
            Self::Docs | Self::Declaration | Self::Data | Self::Page => &[],
        }
    }

    /// Returns whether folders of this lower-case name, or with this last part, have this role.
    fn has_folder_name(self, folder: &str) -> bool {
        let last = folder.rsplit(['_', '-']).next().unwrap_or_default();
        [folder, last].iter().any(|name| {
            self.folder_names().contains(name)
                || self == Self::Vendored && vendored::is_always_packages(name)
        })
    }

    fn has_file_name(self, language: Option<&Language>, lower: &str) -> bool {
        let kind = language.map(|language| language.kind);
        let ends = |ends: &[&str]| ends.iter().any(|end| lower.ends_with(end));
        match self {
            Self::Test => is_test(language, lower),
            Self::Generated => {
                GENERATED.iter().any(|part| lower.contains(part))
                    || detect::is_generated_name(lower)
            }
            Self::Docs => lower.starts_with("changelog") || kind == Some(LanguageKind::Prose),
            Self::Declaration => languages::iter_all().any(|language| ends(language.declarations)),
            Self::Compatibility => {
                let words = ["compat", "deprecated", "legacy", "polyfill", "shim"];
                lower.split(['.', '_', '-']).any(|part| words.contains(&part))
            }
            Self::Data => {
                kind == Some(LanguageKind::Data) || ends(TABLES) || detect::is_lock_file(lower)
            }
            Self::Page => kind == Some(LanguageKind::Page),
            Self::Vendored | Self::Example => false,
        }
    }
}

/// Parts of file names that generators use in any language.
const GENERATED: &[&str] = &[".min.", ".pb.", "_pb2", ".gen.", ".generated.", "_generated."];

/// Endings of data files without a language.
const TABLES: &[&str] = &[".api", ".csv", ".svg"];

/// Returns the roles of a file by its path below the root. Empty for plain source.
pub fn detect_roles(path: &str) -> impl Iterator<Item = FileRole> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let lower_folders = folders.to_ascii_lowercase();
    let lower = name.to_ascii_lowercase();
    let language = detect::detect_by_path(path);
    let is_code = language.is_some_and(|language| language.kind == LanguageKind::Code);
    FileRole::ALL.into_iter().filter(move |role| {
        // Packages that create documents have this name as well.
        let has_role = |folder: &str| !(is_code && folder == "doc") && role.has_folder_name(folder);
        role.has_file_name(language, &lower) || lower_folders.split('/').any(has_role)
    })
}

/// Returns whether a file with these roles may define names; documents, pages and data do not.
pub fn may_define(roles: &[FileRole]) -> bool {
    !roles.iter().any(|role| matches!(role, FileRole::Docs | FileRole::Data | FileRole::Page))
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
        || languages::iter_all()
            .flat_map(|language| language.test_paths)
            .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(path: &str) -> Vec<FileRole> {
        detect_roles(path).collect()
    }

    #[test]
    fn documents_and_data_define_nothing() {
        for path in ["docs/api/Header.html", "README.md", "schema/header.json", "LICENSE"] {
            assert!(!may_define(&roles(path)), "{path}");
        }
        for path in ["tests/header_test.go", "docs/conf.py", "CMakeLists.txt", "Cargo.toml"] {
            assert!(may_define(&roles(path)), "{path}");
        }
    }

    #[test]
    fn a_path_says_what_a_file_is_for() {
        for (path, role) in [
            ("src/main/java/HeaderTest.java", FileRole::Test),
            ("pkg/header_test.go", FileRole::Test),
            ("web/header.spec.ts", FileRole::Test),
            ("integration-tests/header.rb", FileRole::Test),
            ("Sources/HeaderTests.swift", FileRole::Test),
            ("src/HeaderTests.java", FileRole::Test),
            ("src/HeaderTest.kt", FileRole::Test),
            ("src/HeaderTests.cs", FileRole::Test),
            ("src/HeaderTest.php", FileRole::Test),
            ("src/HeaderSpec.hs", FileRole::Test),
            ("src/HeaderSpec.scala", FileRole::Test),
            ("src/test.rs", FileRole::Test),
            ("src/__tests__/header.js", FileRole::Test),
            ("header/test_parse.py", FileRole::Test),
            ("header/test_parse.rb", FileRole::Test),
            ("man/header.1", FileRole::Docs),
            ("man/header.1.ronn", FileRole::Docs),
            ("vendor/header.go", FileRole::Vendored),
            ("third_party/header.c", FileRole::Vendored),
            ("api/header.pb.rs", FileRole::Generated),
            ("api/header_pb2.txt.py", FileRole::Generated),
            ("gen/header.c", FileRole::Generated),
            ("Header.g.cs", FileRole::Generated),
            ("examples/header.py", FileRole::Example),
            ("web/versioned_docs/header.ts", FileRole::Example),
            ("README.md", FileRole::Docs),
            ("README", FileRole::Docs),
            ("CHANGELOG.old", FileRole::Docs),
            ("web/header.d.ts", FileRole::Declaration),
            ("header.pyi", FileRole::Declaration),
            ("src/legacy/header.c", FileRole::Compatibility),
            ("src/header_compat.c", FileRole::Compatibility),
            ("schemas/header.YAML", FileRole::Data),
            ("poetry.lock", FileRole::Data),
            ("go.sum", FileRole::Data),
            ("rows.csv", FileRole::Data),
            ("web/header.html", FileRole::Page),
        ] {
            assert_eq!(roles(path), [role], "{path}");
        }
        assert_eq!(
            roles("tests/vendor/notes.md"),
            [FileRole::Test, FileRole::Vendored, FileRole::Docs]
        );
    }

    #[test]
    fn plain_source_has_no_role() {
        for path in [
            "src/header.rs", "latest/contest.go", "src/attest.c", "CMakeLists.txt", "Cargo.toml",
            "src/test_client.rs", "doc/render.go",
        ] {
            assert_eq!(roles(path), [], "{path}");
        }
    }
}

//! Detection of files that describe a repository: READMEs, manifests of packages and entry points.

/// Kind of a file to read first, in the order of display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LandmarkKind {
    Readme,
    Manifest,
    /// The first file of a program or library.
    EntryPoint,
}

const MANIFESTS: &[&str] = &[
    "build.gradle", "build.gradle.kts", "cargo.toml", "composer.json", "deno.json", "go.mod",
    "mix.exs", "package.json", "package.swift", "pom.xml", "pubspec.yaml", "pyproject.toml",
    "setup.cfg", "setup.py",
];
const MANIFEST_ENDINGS: &[&str] = &[".cabal", ".csproj", ".gemspec"];
const ENTRY_POINTS: &[&str] =
    &["__init__", "__main__", "index", "lib", "main", "manage", "program"];
/// Maximum folders above an entry point, as in `crates/cli/src/main.rs`.
const MAX_FOLDERS: usize = 3;
/// Maximum folders above a Python package, which is below the repository or below `src`.
const MAX_PYTHON_FOLDERS: usize = 2;

/// Returns the kind of landmark that a path below the repository implies.
pub fn detect_landmark(path: &str) -> Option<LandmarkKind> {
    let lower = path.to_ascii_lowercase();
    let folders = lower.matches('/').count();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    if folders > MAX_FOLDERS {
        return None;
    }
    if stem == "readme" && ["", "md", "rst", "txt", "adoc"].contains(&extension) {
        return Some(LandmarkKind::Readme);
    }
    if MANIFESTS.contains(&name) || MANIFEST_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Some(LandmarkKind::Manifest);
    }
    let is_code = crate::detect::detect_by_path(name)
        .is_some_and(|language| language.kind == crate::LanguageKind::Code);
    let is_style = ["css", "less", "sass", "scss"].contains(&extension);
    let is_shallow = stem != "__init__" || (1..=MAX_PYTHON_FOLDERS).contains(&folders);
    (is_code && !is_style && is_shallow && ENTRY_POINTS.contains(&stem))
        .then_some(LandmarkKind::EntryPoint)
}

/// Returns the line that describes a README or a package, with its number, counted from 1.
pub fn find_description_line(landmark: LandmarkKind, text: &str) -> Option<(u32, &str)> {
    let mut lines = (1..).zip(text.lines());
    match landmark {
        LandmarkKind::Readme => lines.find(|(_, line)| is_prose(line)),
        LandmarkKind::Manifest => {
            let found = lines.find(|(_, line)| has_key(line))?;
            let is_empty =
                |line: &str| value_after_key(line).is_some_and(|value| !has_letter(value));
            if is_empty(found.1) { lines.find(|(_, line)| has_letter(line)) } else { Some(found) }
        }
        LandmarkKind::EntryPoint => None,
    }
}

/// Excludes headings, pictures, markup, lists and tables.
fn is_prose(line: &str) -> bool {
    let text = line.trim();
    let is_markup = text.starts_with(['#', '<', '!', '[', '|', '=', '-', '*', '`', '.', ':', '>']);
    !is_markup && text.contains(' ') && has_letter(text)
}

fn has_key(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches(['"', '<']);
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let (key, after) = text.split_at(text.find(|c| !is_key(c)).unwrap_or(text.len()));
    match key.rsplit('.').next().unwrap_or(key) {
        "description" | "Description" | "summary" => true,
        // The key in a `go.mod`.
        "module" => !after.contains(['=', ':']),
        _ => false,
    }
}

fn value_after_key(line: &str) -> Option<&str> {
    line.split_once(['=', ':', '>']).map(|(_, value)| value)
}

fn has_letter(text: &str) -> bool {
    text.contains(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn landmarks_are_known_by_their_path() {
        for (path, expected) in [
            ("README.md", Some(LandmarkKind::Readme)),
            ("packages/a/readme.rst", Some(LandmarkKind::Readme)),
            ("README", Some(LandmarkKind::Readme)),
            ("readme.py", None),
            ("crates/cli/Cargo.toml", Some(LandmarkKind::Manifest)),
            ("app/App.csproj", Some(LandmarkKind::Manifest)),
            ("a/b/c/d/package.json", None),
            ("crates/cli/src/main.rs", Some(LandmarkKind::EntryPoint)),
            ("cmd/serve/main.go", Some(LandmarkKind::EntryPoint)),
            ("src/click/__init__.py", Some(LandmarkKind::EntryPoint)),
            ("src/click/parts/__init__.py", None),
            ("index.html", None),
            ("main.css", None),
            ("src/index.ts", Some(LandmarkKind::EntryPoint)),
            ("src/domain.rs", None),
        ] {
            assert_eq!(detect_landmark(path), expected, "{path}");
        }
    }

    #[test]
    fn the_description_line_of_a_package_is_found() {
        let manifest =
            |text| find_description_line(LandmarkKind::Manifest, text).map(|(line, _)| line);
        let readme = |text| find_description_line(LandmarkKind::Readme, text).map(|(line, _)| line);
        assert_eq!(manifest("[package]\nname = \"a\"\ndescription = \"Sorts.\"\n"), Some(3));
        assert_eq!(manifest("description = \"\"\"\nSorts things.\n\"\"\""), Some(2));
        assert_eq!(manifest("{\n  \"name\": \"a\",\n  \"description\": \"Sorts.\"\n}"), Some(3));
        assert_eq!(manifest("<project>\n  <description>Sorts.</description>"), Some(2));
        assert_eq!(manifest("  s.summary = \"Sorts.\""), Some(1));
        assert_eq!(manifest("module example.com/sorts\n"), Some(1));
        assert_eq!(manifest("[project]\ndescription-file = \"README.md\"\n"), None);
        assert_eq!(manifest("description = \"\""), None);
        assert_eq!(readme("# Sorts\n\n[![ci](a.svg)](b)\n<p>\n\nIt sorts files.\n"), Some(6));
        assert_eq!(readme("Sorts\n=====\n\n.. image:: a.png\n\nIt sorts.\n"), Some(6));
        assert_eq!(readme("# Only\n"), None);
        assert_eq!(find_description_line(LandmarkKind::EntryPoint, "fn main() {}"), None);
    }
}

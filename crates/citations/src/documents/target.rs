//! Resolves paths in documents to files of the tree; decides whether missing ones belong to it.

use codeinfo_core::paths::ends_with;

use crate::{
    parse::{Citation, CitationCertainty},
    tree::DocumentTree,
};

/// Path segments used as placeholders, such as `foo/bar.rs`.
const PLACEHOLDERS: [&str; 4] = ["foo", "bar", "baz", "example"];
/// File names in capitals that are not placeholders.
const REAL_NAMES: [&str; 8] =
    ["README", "LICENSE", "CHANGELOG", "CONTRIBUTING", "SECURITY", "NOTICE", "COPYING", "AGENTS"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathTarget {
    /// A listed file, by its path relative to the root.
    File(String),
    /// An existing path that is not read.
    LeftOut,
    /// A missing path, with the places where it may have been.
    Gone(Vec<String>),
    NotAPath,
}

/// Resolves a citation. One in a link target is relative to the document, as links are.
pub(super) fn resolve_target(
    tree: &DocumentTree,
    document: &str,
    citation: &Citation,
    in_link: bool,
) -> PathTarget {
    let path = citation.path.as_str();
    if path.starts_with('~') || path.starts_with('/') && !in_link {
        return PathTarget::NotAPath;
    }
    let candidates = find_candidate_paths(document, path);
    if candidates.is_empty() {
        return PathTarget::NotAPath;
    }
    if let Some(file) = candidates.iter().find(|path| tree.has_file(path)) {
        return PathTarget::File(file.clone());
    }
    if citation.is_bare() && !in_link {
        return PathTarget::NotAPath;
    }
    if candidates.iter().any(|path| tree.path_exists(path)) {
        return PathTarget::LeftOut;
    }
    if !in_link && !path.contains("..") {
        let end = path.trim_start_matches("./");
        let mut named = tree.files_named_like(path).filter(|file| ends_with(file, end));
        match (named.next(), named.next()) {
            (Some(only), None) => return PathTarget::File(only.to_owned()),
            (Some(_), Some(_)) => return PathTarget::NotAPath,
            (None, _) => {}
        }
    }
    PathTarget::Gone(candidates)
}

/// Returns whether a missing path surely belongs here: its folder exists, and it is no example.
pub(super) fn is_repository_path(
    tree: &DocumentTree,
    document: &str,
    citation: &Citation,
    in_link: bool,
) -> bool {
    let path = citation.path.trim_start_matches("./");
    if citation.certainty == CitationCertainty::IfFound || is_placeholder(path) {
        return false;
    }
    if find_candidate_paths(document, path).iter().any(|path| tree.is_ignored(path)) {
        return false;
    }
    if in_link || path.starts_with("../") {
        return true;
    }
    let Some((first, _)) = path.split_once('/') else { return false };
    find_candidate_paths(document, first).iter().any(|folder| tree.has_folder(folder))
}

/// Returns the paths relative to the root that a path may mean: from the document, then from the
/// root. One that leads out of the repository has no candidates.
pub(super) fn find_candidate_paths(document: &str, path: &str) -> Vec<String> {
    let folder = parent_folder(document);
    let below = path.strip_prefix('/').map(|path| join_clean_path("", path));
    let mut found: Vec<String> = match below {
        Some(below) => below.into_iter().collect(),
        None => [join_clean_path(folder, path), join_clean_path("", path)]
            .into_iter()
            .flatten()
            .collect(),
    };
    found.dedup();
    found
}

pub(super) fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn make_relative_path(folder: &str, path: &str) -> String {
    let mut from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let mut to: Vec<&str> = path.split('/').collect();
    while to.len() > 1 && from.first().is_some_and(|first| to.first() == Some(first)) {
        from.remove(0);
        to.remove(0);
    }
    "../".repeat(from.len()) + &to.join("/")
}

/// Joins a path to a folder and removes `.` and `..`; `None` if it leads out.
fn join_clean_path(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns whether a path has placeholders, such as `FILE.md` or `path/to/x`.
fn is_placeholder(path: &str) -> bool {
    path.contains("path/to/")
        || path.split('/').any(|part| {
            let stem = part.split('.').next().unwrap_or(part);
            let is_capital = stem.len() > 1
                && stem.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c == '-')
                && !REAL_NAMES.contains(&stem);
            is_capital
                || PLACEHOLDERS.contains(&stem.to_lowercase().as_str())
                || part.contains("...")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_from_the_document_and_from_the_root() {
        assert_eq!(find_candidate_paths("docs/a.md", "b.rs"), ["docs/b.rs", "b.rs"]);
        assert_eq!(find_candidate_paths("docs/a.md", "../b.rs"), ["b.rs"]);
        assert_eq!(find_candidate_paths("docs/a.md", "/x/./b.rs"), ["x/b.rs"]);
        assert_eq!(find_candidate_paths("a.md", "../b.rs"), Vec::<String>::new());
        assert_eq!(make_relative_path("docs/x", "docs/y/b.rs"), "../y/b.rs");
        assert_eq!(make_relative_path("", "docs/b.rs"), "docs/b.rs");
        assert_eq!(make_relative_path("docs", "docs"), "../docs");
    }

    #[test]
    fn placeholders_are_told_from_paths() {
        for path in ["docs/FILE.md", "path/to/x.rs", "src/foo.rs", "src/YOUR_NAME/x.rs"] {
            assert!(is_placeholder(path), "{path}");
        }
        for path in ["docs/README.md", "src/a.rs", "src/A.java", "src/pathing.rs", "src/to_do.rs"] {
            assert!(!is_placeholder(path), "{path}");
        }
    }
}

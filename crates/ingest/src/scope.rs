//! Part of a root that one run covers: some paths and everything below them.

use std::{collections::BTreeSet, ops::Bound};

/// Paths below a root, separated by `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathScope {
    paths: BTreeSet<String>,
}

impl PathScope {
    /// Creates a scope from paths below the root.
    pub fn new(paths: BTreeSet<String>) -> Self {
        Self { paths }
    }

    pub(super) fn paths(&self) -> &BTreeSet<String> {
        &self.paths
    }

    /// Returns true if `path` is in the scope or below one of its paths.
    pub(super) fn covers(&self, path: &str) -> bool {
        let folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        self.paths.contains(path) || folders.into_iter().any(|folder| self.paths.contains(folder))
    }

    /// Returns true if a path of the scope is below `folder`.
    pub(super) fn leads_through(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        let from = (Bound::Included(below.as_str()), Bound::Unbounded);
        self.paths.range::<str, _>(from).next().is_some_and(|path| path.starts_with(&below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_covers_paths_below_it_and_leads_through_its_folders() {
        let scope = PathScope::new(["a/b", "a/c.rs", "z"].map(str::to_owned).into());
        for path in ["a/b", "a/b/x/y.rs", "a/c.rs", "z", "z/1"] {
            assert!(scope.covers(path), "{path}");
        }
        for path in ["a", "a/bb", "a/c.rst", "y/z", "zz"] {
            assert!(!scope.covers(path), "{path}");
        }
        assert!(scope.leads_through("a"));
        for folder in ["a/b", "z", "b", "a/c"] {
            assert!(!scope.leads_through(folder), "{folder}");
        }
    }
}

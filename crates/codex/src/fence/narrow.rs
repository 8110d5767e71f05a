//! Bounds the number of denied paths by denying whole folders with many secrets.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Reduces `paths` to at most `room` paths that cover them and contain none of `roots`. Also returns the roots
/// whose secrets cannot be covered; they must not be granted.
pub(super) fn merge_denied_paths(
    mut paths: BTreeSet<PathBuf>,
    roots: &BTreeSet<PathBuf>,
    room: usize,
) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
    let mut lost = BTreeSet::new();
    while paths.len() > room {
        if let Some(folder) = find_fullest_folder(&paths, roots) {
            paths.retain(|path| !path.starts_with(&folder));
            paths.insert(folder);
        } else if let Some(root) =
            roots.iter().filter(|root| !lost.contains(*root)).max_by_key(|root| {
                let count = paths.iter().filter(|path| path.starts_with(root)).count();
                // Outer roots first, because they also grant the content of inner ones.
                (count, Reverse(root.components().count()))
            })
        {
            lost.insert(root.clone());
            let granted: Vec<&PathBuf> = roots.difference(&lost).collect();
            paths.retain(|path| granted.iter().any(|root| path.starts_with(root)));
        } else {
            break;
        }
    }
    (paths, lost)
}

/// Returns the folder with most of `paths` as direct children that may be denied, the deepest if several have
/// equally many.
fn find_fullest_folder(paths: &BTreeSet<PathBuf>, roots: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
    for folder in paths.iter().filter_map(|path| path.parent()) {
        // A root in a denied folder could not be read.
        if roots.iter().all(|root| !root.starts_with(folder)) {
            *counts.entry(folder).or_default() += 1;
        }
    }
    let fullest =
        counts.into_iter().max_by_key(|(folder, count)| (*count, folder.components().count()));
    fullest.map(|(folder, _)| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> BTreeSet<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn secrets_that_lie_together_are_denied_with_their_folder() {
        let roots = set(&["/r"]);
        let secrets = set(&["/r/a", "/r/certs/1", "/r/certs/2", "/r/certs/3", "/r/x/y/1"]);
        assert_eq!(merge_denied_paths(secrets.clone(), &roots, 5), (secrets.clone(), set(&[])));
        assert_eq!(
            merge_denied_paths(secrets.clone(), &roots, 4),
            (set(&["/r/a", "/r/certs", "/r/x/y/1"]), set(&[]))
        );
        assert_eq!(merge_denied_paths(secrets, &roots, 0), (set(&[]), set(&["/r"])));
    }

    #[test]
    fn a_root_that_is_given_up_leaves_the_secrets_of_those_inside_it_denied() {
        let roots = set(&["/r", "/r/in"]);
        let secrets = set(&["/r/1", "/r/2", "/r/in/3"]);
        assert_eq!(merge_denied_paths(secrets, &roots, 1), (set(&["/r/in/3"]), set(&["/r"])));
        // The outer root would still grant the content of the inner one.
        let secrets = set(&["/r/in/1", "/r/in/2"]);
        assert_eq!(merge_denied_paths(secrets, &roots, 1), (set(&[]), set(&["/r", "/r/in"])));
    }

    #[test]
    fn a_root_inside_another_is_never_denied() {
        let roots = set(&["/r", "/r/in/ner"]);
        let secrets = set(&["/r/in/1", "/r/in/2", "/r/in/ner/3", "/r/other/4", "/r/other/5"]);
        assert_eq!(
            merge_denied_paths(secrets, &roots, 4),
            (set(&["/r/in/1", "/r/in/2", "/r/in/ner/3", "/r/other"]), set(&[]))
        );
    }
}

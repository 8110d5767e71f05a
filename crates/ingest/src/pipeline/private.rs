//! Secret files of a root, which the model's shell must not read. Walks find them by name, even in
//! folders that are not indexed, and reading finds them by content.

use std::collections::BTreeSet;

use codeinfo_core::Root;

use super::{Run, batch::BatchFiles};
use crate::{discover::WalkResult, scope::PathScope, skip::SkipReason};

/// Maximum number of secret paths of a root. Each becomes an argument of the shell's sandbox, which
/// closes the whole root if they do not fit.
const MAX_PATHS: usize = 1_000;

/// Returns at most [`MAX_PATHS`] secret paths. If there are more, folders replace the files in them, the
/// fullest first; files directly in the root beyond the limit are dropped.
pub(super) fn fold_private_paths(private: &BTreeSet<String>) -> Vec<String> {
    let mut named = private.clone();
    codeinfo_secrets::fold_paths(&mut named, MAX_PATHS, |_| true);
    named.into_iter().take(MAX_PATHS).collect()
}

impl Run<'_> {
    /// Merges the secrets found by a walk with those known before of files that still exist.
    pub(super) fn merge_secrets(
        &mut self,
        before: Option<&Root>,
        scope: Option<&PathScope>,
        discovered: &WalkResult,
    ) {
        let known = before.and_then(|root| root.private_files.as_deref()).unwrap_or_default();
        self.private = merge_walked_secrets(known, scope, discovered);
        let censored = before.map(|root| root.censored_files.clone()).unwrap_or_default();
        let may_exist = |path: &String| may_exist(path, scope, discovered);
        self.censored = censored.into_iter().filter(may_exist).collect();
        self.private.extend(self.censored.iter().cloned());
    }
}

/// Returns the secrets of a root after a walk of it, or of the part in `scope`. Existing files that
/// had a secret count as secret until they are read.
pub(super) fn merge_walked_secrets(
    before: &[String],
    scope: Option<&PathScope>,
    discovered: &WalkResult,
) -> BTreeSet<String> {
    let kept = before.iter().filter(|path| may_exist(path, scope, discovered));
    kept.chain(&discovered.private).cloned().collect()
}

/// Returns true if the walk found the file or did not cover it.
pub(super) fn may_exist(path: &String, scope: Option<&PathScope>, discovered: &WalkResult) -> bool {
    scope.is_some_and(|scope| !scope.covers(path))
        || discovered.files.binary_search_by(|file| file.path.cmp(path)).is_ok()
}

/// Updates the secrets after files were read. Returns the files to delete from the index, because
/// more than [`MAX_PATHS`] are indexed with replaced secrets.
pub(super) fn update_after_read(
    private: &mut BTreeSet<String>,
    censored: &mut BTreeSet<String>,
    files: &BatchFiles,
) -> Vec<String> {
    let changed = files.changed.iter().map(|record| &record.path);
    let skipped = files.skipped.iter().filter(|file| !file.reason.is_temporary());
    for path in changed.chain(&files.gone).chain(skipped.map(|file| &file.path)) {
        censored.remove(path);
    }
    let indexed = files.changed.iter().chain(&files.same).map(|record| &record.path);
    for path in indexed.chain(&files.gone) {
        if !censored.contains(path) {
            private.remove(path);
        }
    }
    let (mut too_many, new) = (Vec::new(), files.censored.iter());
    for path in new {
        private.insert(path.clone());
        if censored.len() < MAX_PATHS {
            censored.insert(path.clone());
        } else {
            too_many.push(path.clone());
        }
    }
    for skipped in &files.skipped {
        if skipped.reason != SkipReason::HoldsSecret
            && codeinfo_secrets::is_secret_path(&skipped.path)
        {
            // Its content was not read.
            private.insert(skipped.path.clone());
            continue;
        }
        match skipped.reason {
            SkipReason::HoldsSecret => drop(private.insert(skipped.path.clone())),
            // The former content may still be there.
            SkipReason::Unreadable | SkipReason::NotFetched => {}
            SkipReason::TooLarge
            | SkipReason::PathNotUtf8
            | SkipReason::Module
            | SkipReason::IgnoreFile(_) => {
                private.remove(&skipped.path);
            }
        }
    }
    too_many
}

/// Returns true if the names in a part of a root reveal other secrets than the known ones.
pub(super) fn have_secrets_changed(
    before: &[String],
    scope: &PathScope,
    discovered: &WalkResult,
) -> bool {
    let is_secret = |path: &str| {
        codeinfo_secrets::is_secret_path(path) || codeinfo_secrets::is_private_folder(path.as_ref())
    };
    let known: BTreeSet<&String> =
        before.iter().filter(|path| scope.covers(path) && is_secret(path)).collect();
    // A known folder may represent the secrets in it.
    let is_named = |path: &&String| {
        let mut above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        above.any(|folder| before.iter().any(|named| named == folder))
    };
    // A folder that is not walked is searched whole, even outside the scope.
    let is_known_outside = |path: &String| !scope.covers(path) && before.contains(path);
    // A folder that represents others does not have the name of a secret.
    let is_new = |path: &&String| {
        !is_named(path) && !is_known_outside(path) && (is_secret(path) || !before.contains(path))
    };
    let doubtful = discovered.doubtful.iter().filter(|path| before.contains(path));
    let found: BTreeSet<&String> =
        discovered.private.iter().filter(is_new).chain(doubtful).collect();
    before.len() < MAX_PATHS && known != found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::SkippedPath;

    #[test]
    fn a_root_has_a_limited_number_of_secret_paths() {
        let top: BTreeSet<String> = (0..=MAX_PATHS).map(|number| format!("{number}.pem")).collect();
        assert_eq!(fold_private_paths(&top).len(), MAX_PATHS);
        let together = top.iter().map(|name| format!("certs/{name}")).collect();
        assert_eq!(fold_private_paths(&together), ["certs"]);
    }

    #[test]
    fn secrets_below_a_known_folder_are_no_change() {
        let names = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let changed = |before: &[&str], found: &[&str]| {
            let private = names(found).into_iter().collect();
            let discovered = WalkResult { private, ..WalkResult::default() };
            let scope = PathScope::new(names(&["a"]).into_iter().collect());
            have_secrets_changed(&names(before), &scope, &discovered)
        };
        let before = [".env", "a/.env", "a/sub/.git", "a/vendor", "b/.env"];
        assert!(!changed(&before, &["a/.env", "a/sub/.git", "a/vendor"]));
        assert!(!changed(&before, &["a/.env", "a/sub/.git", "a/vendor/x/.env"]));
        assert!(changed(&before, &["a/sub/.git", "a/vendor"]));
        assert!(changed(&before, &["a/.env", "a/build", "a/sub/.git", "a/vendor"]));
    }

    #[test]
    fn only_new_secrets_in_scope_are_a_change() {
        let changed = |before: &[String], found: &str| {
            let found = BTreeSet::from([found.to_owned()]);
            let scope = PathScope::new(found.clone());
            have_secrets_changed(
                before,
                &scope,
                &WalkResult { private: found, ..WalkResult::default() },
            )
        };
        assert!(changed(&[], "new.pem"));
        assert!(changed(&["zoo".to_owned()], "z/new.pem"));
        // A folder already represents it.
        assert!(!changed(&["z".to_owned()], "z/new.pem"));
        // It is outside the scope and already known.
        let outside = ["a/.env".to_owned()];
        let discovered = WalkResult { private: outside.clone().into(), ..WalkResult::default() };
        let scope = PathScope::new(["a/b.rs".to_owned()].into());
        assert!(!have_secrets_changed(&outside, &scope, &discovered));
        assert!(have_secrets_changed(&[], &scope, &discovered));
        // The limit is reached.
        let full: Vec<String> = (0..MAX_PATHS).map(|number| format!("{number}.pem")).collect();
        assert!(!changed(&full, "new.pem"));
    }

    #[test]
    fn unreadable_files_remain_secrets() {
        let skipped =
            |(path, reason): (&str, SkipReason)| SkippedPath { path: path.to_owned(), reason };
        let found = [
            ("a", SkipReason::Unreadable),
            ("b", SkipReason::TooLarge),
            ("c", SkipReason::HoldsSecret),
        ];
        let files = BatchFiles {
            skipped: found.map(skipped).into(),
            gone: vec!["d".to_owned()],
            censored: vec!["f".to_owned()],
            ..BatchFiles::default()
        };
        let mut private = BTreeSet::from(["a", "b", "d", "e"].map(str::to_owned));
        let mut censored = BTreeSet::from(["d".to_owned()]);
        let too_many = update_after_read(&mut private, &mut censored, &files);
        assert_eq!(private.into_iter().collect::<Vec<_>>(), ["a", "c", "e", "f"]);
        assert_eq!((too_many, censored), (Vec::new(), BTreeSet::from(["f".to_owned()])));
        let mut full: BTreeSet<String> = (0..MAX_PATHS).map(|number| number.to_string()).collect();
        assert_eq!(update_after_read(&mut BTreeSet::new(), &mut full, &files), ["f"]);
    }
}

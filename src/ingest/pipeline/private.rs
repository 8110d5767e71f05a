//! The secrets of a root, which are kept from the model's shell: by name as a walk finds them, by
//! content as reading does.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::batch::Embedded;
use crate::ingest::{discover::Discovered, scope::Scope, secret, skip::Reason};

/// The most that a root names: each is an argument of the shell's fence, which closes the whole root
/// when it has fewer places.
const MAX: usize = 1_000;

/// Returns the secrets as a root names them: where there are too many, folders stand for those in them,
/// the fullest first. Only those that lie in the root itself may be more, of which the first are named.
pub(super) fn named(private: &BTreeSet<String>) -> Vec<String> {
    let mut named = private.clone();
    while MAX < named.len() && fold(&mut named) {}
    named.into_iter().take(MAX).collect()
}

/// Puts folders in place of what lies in them, until few enough are left or those of several are all
/// folded; returns whether there were any. Folds the deepest ones where none has several.
fn fold(named: &mut BTreeSet<String>) -> bool {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for (folder, _) in named.iter().filter_map(|path| path.rsplit_once('/')) {
        *folders.entry(folder).or_default() += 1;
    }
    let depth = |folder: &str| folder.split('/').count();
    let mut fullest: Vec<(usize, String)> = folders
        .iter()
        .filter(|(_, count)| 1 < **count)
        .map(|(f, n)| (*n, (*f).to_owned()))
        .collect();
    if fullest.is_empty() {
        let deepest = folders.keys().map(|folder| depth(folder)).max();
        let deepest = folders.keys().filter(|folder| Some(depth(folder)) == deepest);
        fullest = deepest.map(|folder| (1, (*folder).to_owned())).collect();
    }
    fullest.sort_by_key(|(count, folder)| Reverse((*count, depth(folder))));
    let has_any = !fullest.is_empty();
    for (_, folder) in fullest {
        if named.len() <= MAX {
            break;
        }
        let inside = format!("{folder}/");
        let within: Vec<String> = named
            .range(inside.clone()..)
            .take_while(|path| path.starts_with(&inside))
            .cloned()
            .collect();
        for path in &within {
            named.remove(path);
        }
        // A folder above may stand for it already.
        if !within.is_empty() {
            named.insert(folder);
        }
    }
    has_any
}

/// Returns the secrets of a root after a walk of it, or of the part in scope. What had a secret in it
/// and is still there counts until it is read.
pub(super) fn walked(
    before: &[String],
    scope: Option<&Scope>,
    discovered: &Discovered,
) -> BTreeSet<String> {
    let is_there =
        |path: &&String| discovered.files.binary_search_by(|file| file.path.cmp(path)).is_ok();
    let is_elsewhere = |path: &&String| scope.is_some_and(|scope| !scope.covers(path));
    let kept = before.iter().filter(|path| is_elsewhere(path) || is_there(path));
    kept.chain(&discovered.private).cloned().collect()
}

/// Takes up what reading some files showed.
pub(super) fn read(private: &mut BTreeSet<String>, batch: &Embedded) {
    let indexed = batch.changed.iter().chain(&batch.same).map(|record| &record.path);
    for path in indexed.chain(&batch.gone) {
        private.remove(path);
    }
    for skipped in &batch.skipped {
        match skipped.reason {
            Reason::HoldsSecret => drop(private.insert(skipped.path.clone())),
            // Whether it still holds one is not known.
            Reason::Unreadable => {}
            Reason::TooLarge | Reason::NotUtf8 | Reason::PathNotUtf8 | Reason::IgnoreFile(_) => {
                private.remove(&skipped.path);
            }
        }
    }
}

/// Whether names in a part of a root show other secrets than are known of it.
pub(super) fn have_changed(before: &[String], scope: &Scope, discovered: &Discovered) -> bool {
    let known: BTreeSet<&String> = before
        .iter()
        .filter(|path| scope.covers(path))
        .filter(|path| secret::is_secret_path(path) || secret::is_private_folder(path.as_ref()))
        .collect();
    // A folder that stands for what lies in it.
    let is_named = |path: &&String| {
        let mut above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        above.any(|folder| before.iter().any(|named| named == folder))
    };
    let found = discovered.private.iter().filter(|path| !is_named(path));
    before.len() < MAX && !known.into_iter().eq(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::{pipeline::ledger::Redacted, skip::Skipped};

    #[test]
    fn folders_stand_for_secrets_that_are_too_many_and_none_is_left_out() {
        let few: BTreeSet<String> = (0..MAX).map(|number| format!("z/{number}.pem")).collect();
        assert!(named(&few).iter().eq(&few));

        let mut many = few.clone();
        many.extend(["a/.env", "a/b/.env", ".env"].map(str::to_owned));
        assert_eq!(named(&many), [".env", "a/.env", "a/b/.env", "z"]);
        many.insert("a/key.pem".to_owned());
        assert_eq!(named(&many), [".env", "a/.env", "a/b/.env", "a/key.pem", "z"]);

        // What a folder above stands for is not named once more.
        let mut deep: BTreeSet<String> = (0..MAX).map(|number| format!("{number}/.env")).collect();
        for (folder, count) in [("p", 800), ("p/q", 300)] {
            deep.extend((0..count).map(|number| format!("{folder}/{number}.pem")));
        }
        deep.extend(["x/1.pem", "x/2.pem"].map(str::to_owned));
        let folders = named(&deep);
        assert!(folders.len() <= MAX && !folders.contains(&"p/q".to_owned()), "{folders:?}");

        // None beside another.
        let apart: BTreeSet<String> =
            (0..=MAX).map(|number| format!("{}/{number}/.env", number % 7)).collect();
        let folders = named(&apart);
        assert!(folders.len() <= MAX);
        let is_named = |path: &String| {
            folders
                .iter()
                .any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
        };
        assert!(apart.iter().all(|path| is_named(path) || folders.contains(path)), "{folders:?}");

        let top: BTreeSet<String> = (0..=MAX).map(|number| format!("{number}.pem")).collect();
        assert_eq!(named(&top).len(), MAX);
    }

    #[test]
    fn only_secrets_that_would_be_named_have_changed() {
        let changed = |before: &[String], found: &str| {
            let found = BTreeSet::from([found.to_owned()]);
            let scope = Scope::new(found.clone());
            have_changed(before, &scope, &Discovered { private: found, ..Discovered::default() })
        };
        assert!(changed(&[], "new.pem"));
        assert!(changed(&["zoo".to_owned()], "z/new.pem"));
        // A folder stands for it already.
        assert!(!changed(&["z".to_owned()], "z/new.pem"));
        // There is no room for it.
        let full: Vec<String> = (0..MAX).map(|number| format!("{number}.pem")).collect();
        assert!(!changed(&full, "new.pem"));
    }

    #[test]
    fn what_cannot_be_read_stays_a_secret() {
        let skipped = |(path, reason): (&str, Reason)| Skipped { path: path.to_owned(), reason };
        let found = [("a", Reason::Unreadable), ("b", Reason::NotUtf8), ("c", Reason::HoldsSecret)];
        let batch = Embedded {
            points: Vec::new(),
            changed: Vec::new(),
            same: Vec::new(),
            skipped: found.map(skipped).into(),
            gone: vec!["d".to_owned()],
            fallbacks: 0,
            redacted: Redacted::default(),
            files: 4,
            bytes: 0,
            rooms: Vec::new(),
        };
        let mut private = BTreeSet::from(["a", "b", "d", "e"].map(str::to_owned));
        read(&mut private, &batch);
        assert_eq!(private.into_iter().collect::<Vec<_>>(), ["a", "c", "e"]);
    }
}

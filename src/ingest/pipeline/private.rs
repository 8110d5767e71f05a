//! The secrets of a root, which are kept from the model's shell: by name as a walk finds them, by
//! content as reading does.

use std::collections::BTreeSet;

use super::batch::Embedded;
use crate::ingest::{discover::Discovered, scope::Scope, secret, skip::Reason};

/// The most that a root names, the first in order of path: each is an argument of the shell's fence.
pub(super) const MAX: usize = 1_000;

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
    before.len() < MAX && !known.into_iter().eq(&discovered.private)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::{pipeline::ledger::Redacted, skip::Skipped};

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

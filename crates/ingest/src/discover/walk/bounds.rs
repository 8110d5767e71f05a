//! Limits of a walk: a larger root is refused, with the name of its largest folder.

use std::collections::HashMap;

use super::{RootWalk, WalkEntry};
use crate::error::IngestError;

/// Limits of one walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkLimits {
    /// Maximum number of entries, including excluded ones.
    pub(super) entries: usize,
    /// Maximum number of indexable files.
    files: usize,
    /// Maximum bytes of the paths of all entries: a commit may have the same folder in a million
    /// places.
    path_bytes: usize,
}

/// Limits that keep the list of files within a few hundred megabytes.
pub(super) const BOUNDS: WalkLimits =
    WalkLimits { entries: 4_000_000, files: 1_000_000, path_bytes: 512 << 20 };

impl RootWalk<'_> {
    /// Counts an entry of a folder. Fails if the walk is cancelled or exceeds a limit.
    pub(super) fn count_entry(&mut self, folder: &WalkEntry) -> Result<(), IngestError> {
        self.way.pulse.beat();
        self.entries += 1;
        if self.way.cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let files = self.found.files.len() + self.found.skipped.len();
        let bounds = [
            (self.entries, self.bounds.entries, "entries"),
            (files, self.bounds.files, "files"),
            (self.path_bytes, self.bounds.path_bytes, "bytes of paths"),
        ];
        match bounds.into_iter().find(|(count, limit, _)| count > limit) {
            None => Ok(()),
            Some((_, limit, unit)) => Err(IngestError::TooManyFiles {
                path: self.way.place.to_owned(),
                limit,
                unit,
                largest: self.largest_folder(folder),
            }),
        }
    }

    /// Returns the top-level folder with the most files, or the current folder if none has files.
    fn largest_folder(&self, at_hand: &WalkEntry) -> String {
        let mut counts = HashMap::<&str, usize>::new();
        for file in &self.found.files {
            if let Some((folder, _)) = file.path.split_once('/') {
                *counts.entry(folder).or_default() += 1;
            }
        }
        let largest = counts.into_iter().max_by_key(|(_, count)| *count);
        largest.map_or(at_hand.text.as_str(), |(folder, _)| folder).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tokio_util::sync::CancellationToken;

    use super::{
        super::{WalkContext, WalkMode, walk_within_limits},
        *,
    };
    use crate::pulse::IoHeartbeat;
    use codeinfo_worktree::{beneath::RootDir, private_places::ResolvedPlaces};

    const AMPLE: WalkLimits = WalkLimits { entries: 100, files: 100, path_bytes: 1_000 };

    #[test]
    fn a_root_with_too_much_is_refused_by_the_folder_that_holds_most() {
        let root = tempfile::tempdir().unwrap();
        for (folder, files) in [("few", 1), ("many", 8), ("some", 2)] {
            fs::create_dir(root.path().join(folder)).unwrap();
            for file in 0..files {
                fs::write(root.path().join(format!("{folder}/{file}.rs")), "fn a() {}").unwrap();
            }
        }
        let walk = |bounds| {
            let (cancel, pulse) = (CancellationToken::new(), IoHeartbeat::default());
            let (place, private) = (root.path(), &ResolvedPlaces::default());
            let way = WalkContext { place, scope: None, private, cancel: &cancel, pulse: &pulse };
            let wanted = WalkMode::Files { max_bytes: 100, keeps_all_paths: false };
            let found =
                walk_within_limits(&RootDir::open(root.path()).unwrap(), way, wanted, bounds);
            found.map(|found| found.files.len()).map_err(|error| error.to_string())
        };
        assert_eq!(walk(AMPLE), Ok(11));
        for (bounds, limit) in [
            (WalkLimits { entries: 12, ..AMPLE }, "12 entries"),
            (WalkLimits { files: 9, ..AMPLE }, "9 files"),
            (WalkLimits { path_bytes: 90, ..AMPLE }, "90 bytes of paths"),
        ] {
            let refused = walk(bounds).unwrap_err();
            assert!(
                refused.contains(&format!("holds more than {limit}, most of them below `many`")),
                "{refused}"
            );
        }
    }
}

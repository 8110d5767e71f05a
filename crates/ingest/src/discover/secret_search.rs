//! Searches folders that are not walked (ignored, hidden, vendored and built ones) for secrets, by
//! names alone, because the model's shell could read them there.

use std::{
    collections::BTreeSet,
    io::ErrorKind::{NotFound, PermissionDenied},
    time::{Duration, Instant},
};

use codeinfo_lang::vendored;
use codeinfo_secrets::{fold_paths, is_published};
use codeinfo_worktree::{
    beneath::{FolderEntry, FolderEntryKind, RootDir},
    ignored::IgnoreRules,
};
use tracing::info;

use super::walk_entry::{GIT, WalkContext, WalkEntry};
use crate::error::IngestError;

/// Limits of the search. A folder above any limit is itself treated as a secret.
#[derive(Debug, Clone, Copy)]
struct SecretSearchLimits {
    /// Maximum number of entries in one folder and below.
    each: usize,
    /// Maximum number of entries in all folders.
    all: usize,
    time: Duration,
}

/// The packages of a large application have 80,000 entries, which take less than half a second.
const LIMITS: SecretSearchLimits =
    SecretSearchLimits { each: 250_000, all: 1_000_000, time: Duration::from_secs(10) };
/// Maximum paths of secrets in vendored and built folders; each slows down the model's shell.
const MAX_VENDORED: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FolderOwnership {
    /// Files of the user, ignored or hidden.
    Own,
    /// Files of other people, or of a build.
    Vendored,
}

pub(super) struct UnwalkedFolder {
    pub(super) folder: WalkEntry,
    pub(super) ownership: FolderOwnership,
}

/// Returns the secrets in folders that are not walked. Many secrets of vendored folders are
/// replaced by their folders; those that packages publish count only if they are few.
pub(super) fn search_secrets(
    root: &RootDir,
    context: WalkContext<'_>,
    unwalked: Vec<UnwalkedFolder>,
) -> Result<BTreeSet<String>, IngestError> {
    search_within_limits(root, context, unwalked, LIMITS)
}

fn search_within_limits(
    root: &RootDir,
    context: WalkContext<'_>,
    mut unwalked: Vec<UnwalkedFolder>,
    limits: SecretSearchLimits,
) -> Result<BTreeSet<String>, IngestError> {
    unwalked.sort_by(|a, b| b.folder.os_path.cmp(&a.folder.os_path));
    let deadline = Instant::now() + limits.time;
    let mut search = SecretSearch {
        root,
        context,
        unwalked,
        deadline,
        entries: 0,
        found: FoundSecrets::default(),
    };
    let mut too_large: Vec<String> = Vec::new();
    while let Some(UnwalkedFolder { folder, ownership }) = search.unwalked.pop() {
        let path = folder.nearest_utf8();
        let max_entries = limits.each.min(limits.all.saturating_sub(search.entries));
        if ownership == FolderOwnership::Vendored {
            search.found.vendored.extend(path.clone());
        }
        if !search.search_folder(folder, ownership, max_entries)? {
            search.found.secrets.extend(path.clone());
            too_large.extend(path);
        }
    }
    if let Some(first) = too_large.first() {
        info!(root.path = %context.root_path.display(), first, count = too_large.len(), "folders too large to be searched for secrets are not read by the model's shell");
    }
    Ok(search.found.into_private_paths())
}

#[derive(Default)]
struct FoundSecrets {
    vendored: BTreeSet<String>,
    secrets: BTreeSet<String>,
    /// Names of secrets in vendored folders that are most likely harmless.
    published: BTreeSet<String>,
}

impl FoundSecrets {
    /// Returns the paths to hide from the model's shell.
    fn into_private_paths(self) -> BTreeSet<String> {
        let Self { vendored, secrets, published } = self;
        let is_vendored = |path: &str| vendored.contains(path) || is_below(&vendored, path);
        let (mut others, mut own): (BTreeSet<String>, BTreeSet<String>) =
            secrets.into_iter().partition(|path| is_vendored(path));
        if others.len() + published.len() <= MAX_VENDORED {
            others.extend(published);
        }
        fold_paths(&mut others, MAX_VENDORED, is_vendored);
        own.append(&mut others);
        // Drops secrets in a folder that later proved too large.
        own.iter().filter(|path| !is_below(&own, path)).cloned().collect()
    }
}

fn is_below(folders: &BTreeSet<String>, path: &str) -> bool {
    let mut above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    above.any(|folder| folders.contains(folder))
}

struct SecretSearch<'a> {
    root: &'a RootDir,
    context: WalkContext<'a>,
    /// Folders to search, the next one last.
    unwalked: Vec<UnwalkedFolder>,
    deadline: Instant,
    entries: usize,
    found: FoundSecrets,
}

impl SecretSearch<'_> {
    /// Searches a folder and all below it. Returns true if that was complete within the limits.
    fn search_folder(
        &mut self,
        top: WalkEntry,
        ownership: FolderOwnership,
        max_entries: usize,
    ) -> Result<bool, IngestError> {
        let entry_limit = self.entries + max_entries;
        let top_length = top.path.len();
        let mut pending = vec![top];
        while let Some(folder) = pending.pop() {
            let entries = match self.list_entries(&folder, entry_limit)? {
                EntryListing::Whole(entries) => entries,
                EntryListing::Gone => continue,
                EntryListing::InPart => return Ok(false),
            };
            for entry in &entries {
                let child = folder.child(entry, &IgnoreRules::default());
                let names = || entries.iter().filter_map(|entry| entry.name.to_str());
                match classify_entry(entry, &child, self.context) {
                    None => {}
                    Some(EntryAction::Secret) => self.record_secret(&child, ownership, top_length),
                    Some(EntryAction::Folder)
                        if ownership == FolderOwnership::Own
                            && vendored::fits_beside(&child.os_path, names()) =>
                    {
                        self.unwalked.push(UnwalkedFolder {
                            folder: child,
                            ownership: FolderOwnership::Vendored,
                        });
                    }
                    Some(EntryAction::Folder) => pending.push(child),
                }
            }
        }
        Ok(true)
    }

    /// Lists a folder until `entry_limit` entries were read in total.
    fn list_entries(
        &mut self,
        folder: &WalkEntry,
        entry_limit: usize,
    ) -> Result<EntryListing, IngestError> {
        // The check comes first: opening a folder of a commit costs as much as reading its entries.
        if entry_limit <= self.entries || self.deadline <= Instant::now() {
            return Ok(EntryListing::InPart);
        }
        let mut handle = match self.root.open_folder(&folder.os_path) {
            Ok(handle) => handle,
            // The shell cannot open it either.
            Err(error) if [NotFound, PermissionDenied].contains(&error.kind()) => {
                return Ok(EntryListing::Gone);
            }
            Err(_) => return Ok(EntryListing::InPart),
        };
        let mut entries = Vec::new();
        for entry in handle.list_entries() {
            self.context.pulse.beat();
            if self.context.cancel.is_cancelled() {
                return Err(IngestError::Cancelled);
            }
            match entry {
                Ok(entry) if self.entries < entry_limit => entries.push(entry),
                Ok(_) | Err(_) => return Ok(EntryListing::InPart),
            }
            self.entries += 1;
        }
        Ok(EntryListing::Whole(entries))
    }

    fn record_secret(&mut self, secret: &WalkEntry, ownership: FolderOwnership, top_length: usize) {
        let is_published = || secret.path.get(top_length..).is_some_and(is_published);
        let notes = if ownership == FolderOwnership::Vendored && is_published() {
            &mut self.found.published
        } else {
            &mut self.found.secrets
        };
        notes.extend(secret.nearest_utf8());
    }
}

enum EntryListing {
    Whole(Vec<FolderEntry>),
    Gone,
    InPart,
}

enum EntryAction {
    Secret,
    Folder,
}

fn classify_entry(
    entry: &FolderEntry,
    child: &WalkEntry,
    context: WalkContext<'_>,
) -> Option<EntryAction> {
    let is_place = matches!(entry.kind, FolderEntryKind::File | FolderEntryKind::Folder);
    if is_place && context.private_place(&child.os_path).is_some() {
        return Some(EntryAction::Secret);
    }
    match entry.kind {
        FolderEntryKind::File if codeinfo_secrets::is_secret_path(&child.path) => {
            Some(EntryAction::Secret)
        }
        FolderEntryKind::Folder
            if entry.name == GIT || codeinfo_secrets::is_private_folder(&child.os_path) =>
        {
            Some(EntryAction::Secret)
        }
        FolderEntryKind::Folder => Some(EntryAction::Folder),
        FolderEntryKind::File | FolderEntryKind::Module | FolderEntryKind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use codeinfo_worktree::private_places::ResolvedPlaces;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::io_watchdog::IoHeartbeat;

    const AMPLE: SecretSearchLimits =
        SecretSearchLimits { each: 1_000, all: 1_000, time: Duration::from_mins(1) };

    /// Searches the folders of a root with these files; a folder is the user's own if its name ends
    /// in `own`.
    fn search_files(files: &[&str], limits: SecretSearchLimits) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let mut folders = BTreeSet::new();
        for path in files {
            fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
            fs::write(root.path().join(path), "").unwrap();
            folders.insert(path.split('/').next().unwrap().to_owned());
        }
        let unwalked = folders.into_iter().map(|text| UnwalkedFolder {
            ownership: if text.ends_with("own") {
                FolderOwnership::Own
            } else {
                FolderOwnership::Vendored
            },
            folder: WalkEntry::from_path(&text),
        });
        let (cancel, pulse) = (CancellationToken::new(), IoHeartbeat::default());
        let (root_path, private) = (root.path(), &ResolvedPlaces::default());
        let context =
            WalkContext { root_path, scope: None, private, cancel: &cancel, pulse: &pulse };
        let beneath = RootDir::open(root.path()).unwrap();
        let found = search_within_limits(&beneath, context, unwalked.collect(), limits).unwrap();
        found.into_iter().collect()
    }

    #[test]
    fn a_folder_above_a_limit_is_hidden_whole() {
        let files = ["a-own/0/.env", "a-own/1/.env", "b/x/.env", "b/x/index.js", "c-own/.env"];
        assert_eq!(
            search_files(&files, AMPLE),
            ["a-own/0/.env", "a-own/1/.env", "b/x/.env", "c-own/.env"]
        );
        let each = SecretSearchLimits { each: 3, ..AMPLE };
        assert_eq!(search_files(&files, each), ["a-own", "b/x/.env", "c-own/.env"]);
        let all = SecretSearchLimits { all: 5, ..AMPLE };
        assert_eq!(search_files(&files, all), ["a-own/0/.env", "a-own/1/.env", "b", "c-own"]);
        let time = SecretSearchLimits { time: Duration::ZERO, ..AMPLE };
        assert_eq!(search_files(&files, time), ["a-own", "b", "c-own"]);
    }

    #[test]
    fn no_folder_is_opened_without_room_or_time() {
        let (cancel, pulse) = (CancellationToken::new(), IoHeartbeat::default());
        let root = tempfile::tempdir().unwrap();
        let (root_path, private) = (root.path(), &ResolvedPlaces::default());
        let context =
            WalkContext { root_path, scope: None, private, cancel: &cancel, pulse: &pulse };
        let beneath = RootDir::open(root.path()).unwrap();
        let found = |limits: SecretSearchLimits| {
            let unwalked = vec![UnwalkedFolder {
                folder: WalkEntry::from_path("gone"),
                ownership: FolderOwnership::Own,
            }];
            search_within_limits(&beneath, context, unwalked, limits)
                .unwrap()
                .into_iter()
                .collect::<Vec<_>>()
        };
        // An opened folder would show that nothing is there.
        assert_eq!(found(AMPLE), [""; 0]);
        assert_eq!(found(SecretSearchLimits { all: 0, ..AMPLE }), ["gone"]);
        assert_eq!(found(SecretSearchLimits { time: Duration::ZERO, ..AMPLE }), ["gone"]);
    }

    #[test]
    fn published_keys_are_hidden_only_if_they_are_few() {
        let paths = |count: usize, file: &str| -> Vec<String> {
            (0..count).map(|number| format!("node_modules/{number:02}/{file}")).collect()
        };
        let search = |paths: &[String]| {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            search_files(&paths, AMPLE)
        };
        let own = "node_modules/ours/.env".to_owned();
        for file in ["test/fixtures/key.pem", "cacert.pem", "server.crt", ".env.example"] {
            let mut few = paths(MAX_VENDORED - 1, file);
            few.push(own.clone());
            assert_eq!(search(&few), few);
            few.extend(paths(MAX_VENDORED + 1, file));
            assert_eq!(search(&few), [own.as_str()], "{file}");
        }
    }

    #[test]
    fn many_secrets_of_packages_are_replaced_by_their_folders() {
        let names = |folder: &str, count: usize| -> Vec<String> {
            (0..count).map(|number| format!("{folder}/{number:02}.p12")).collect()
        };
        let mut many = names("target/classes/keys", MAX_VENDORED);
        many.extend(names("vendor/certs", 2));
        // The user's own secrets are named one by one.
        many.extend(names("z-own", MAX_VENDORED + 1));
        let paths: Vec<&str> = many.iter().map(String::as_str).collect();
        let mut expected = vec!["target/classes/keys".to_owned(), "vendor/certs/00.p12".to_owned()];
        expected.push("vendor/certs/01.p12".to_owned());
        expected.extend(names("z-own", MAX_VENDORED + 1));
        assert_eq!(search_files(&paths, AMPLE), expected);
        // Each is in its own package: their common folder represents them, and nothing above it.
        let apart: Vec<String> =
            (0..=MAX_VENDORED).map(|number| format!("vendor/{number}/a/id_rsa")).collect();
        let paths: Vec<&str> = apart.iter().map(String::as_str).collect();
        assert_eq!(search_files(&paths, AMPLE), ["vendor"]);
    }
}

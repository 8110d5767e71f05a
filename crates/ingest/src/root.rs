//! Roots as clients request them and see them.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use codeinfo_core::{Host, IndexedCommit, LastRun, PathMap, Root, RootId, RunId, plain_name};
use codeinfo_worktree::{
    git::GitRepository,
    private_places::{PrivatePlaces, ResolvedPlaces},
};

use super::{
    error::IngestError, io_watchdog::IoHeartbeat, names, pipeline::RunDependencies, repository,
    runs::RunTable, status::RunState,
};

/// A request to index a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IngestRequest {
    /// Path of the folder, or of a commit as `FOLDER@NAME`.
    pub path: PathBuf,
    /// Name of the root; `None` keeps the former name or derives one from the folder.
    pub name: Option<String>,
    /// Description of the root; `None` keeps the former one.
    pub description: Option<String>,
    /// Requires the folder to be below an indexed one or below one to choose from.
    pub is_confined: bool,
}

/// A root and the state of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootStatus {
    pub root: Root,
    /// State of the waiting or working run, else of the last run.
    pub state: RunState,
    /// Run that waits or works.
    pub run_id: Option<RunId>,
}

/// Folders of files that expose the system's state; reading them may block or have side effects.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

pub(super) async fn canonicalize_folder(
    deps: &RunDependencies,
    path: PathBuf,
) -> Result<PathBuf, IngestError> {
    let (place, stopping) = (path.clone(), deps.tasks.stop_token());
    let private = deps.private_places();
    deps.lookups
        .run_blocking(&place, stopping, move |_| canonicalize_path(&path, &private.resolve()))
        .await?
}

/// Returns the canonical path of the requested folder, or a commit and the path that identifies it.
pub(super) async fn resolve_request_path(
    deps: &RunDependencies,
    path: PathBuf,
) -> Result<(PathBuf, Option<IndexedCommit>), IngestError> {
    let (place, stopping) = (path.clone(), deps.tasks.stop_token());
    let private = deps.private_places();
    let look = move |_: &IoHeartbeat| {
        let resolved = private.resolve();
        match canonicalize_path(&path, &resolved) {
            Ok(folder) => {
                let git = GitRepository::open(&folder).ok().flatten();
                if git.is_some_and(|git| git.common_folder() == folder) {
                    let reason = "is a bare repository, which has no files; name a branch, tag or commit of it \
                                  after an `@`, such as `@main`";
                    return Err(IngestError::Path { path: folder, reason });
                }
                Ok((folder, None))
            }
            Err(error) => match parse_revision(&path, &resolved)? {
                Some(asked) => Ok((repository::revision_path(&asked), Some(asked))),
                None => Err(error),
            },
        }
    };
    deps.lookups.run_blocking(&place, stopping, look).await?
}

/// Parses `FOLDER@NAME` into a commit; the folder ends at the first `@` after the path of a
/// repository. Returns `None` if no `@` follows an existing folder. Blocks on the file system.
fn parse_revision(
    path: &Path,
    private: &ResolvedPlaces,
) -> Result<Option<IndexedCommit>, IngestError> {
    let Some(text) = path.to_str() else { return Ok(None) };
    let mut nearest = None;
    for (at, _) in text.match_indices('@') {
        let (folder, suffix) = text.split_at(at);
        let name = suffix.strip_prefix('@').unwrap_or_default();
        let Ok(folder) = canonicalize_path(Path::new(folder), private) else { continue };
        let refused = |reason: String| IngestError::Revision {
            folder: folder.clone(),
            name: plain_name(name, repository::MAX_NAME_BYTES),
            reason,
        };
        match GitRepository::open(&folder) {
            Ok(Some(git)) => {
                repository::validate_revision_name(name)
                    .map_err(|reason| refused(reason.to_owned()))?;
                let (name, store) = (name.to_owned(), git.common_folder().to_owned());
                return Ok(Some(IndexedCommit { folder, name, store, commit: String::new() }));
            }
            Ok(None) | Err(_) => {
                nearest = Some(refused("the folder is no git repository; name its top one".into()));
            }
        }
    }
    nearest.map_or(Ok(None), Err)
}

/// Returns true if a path names a folder that can be indexed. Blocks on the file system.
pub fn can_be_indexed(path: &Path, private: &PrivatePlaces) -> bool {
    canonicalize_path(path, &private.resolve()).is_ok()
}

fn canonicalize_path(path: &Path, private: &ResolvedPlaces) -> Result<PathBuf, IngestError> {
    let refused = |reason| IngestError::Path { path: path.to_owned(), reason };
    let canonical = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => refused("does not exist"),
        std::io::ErrorKind::PermissionDenied => refused("cannot be read: permission denied"),
        _ => refused("cannot be read"),
    })?;
    if canonical.parent().is_none() {
        return Err(refused("is the whole file system; name the folder of one repository"));
    }
    if let Some(place) = private.find_place(&canonical) {
        return Err(IngestError::Private { path: canonical, place });
    }
    if let Some(reason) = find_refusal_reason(&canonical) {
        return Err(refused(reason));
    }
    if !canonical.is_dir() {
        return Err(refused("is not a folder"));
    }
    Ok(canonical)
}

/// Returns the reason why a folder can never be indexed, if its canonical path gives one.
pub(super) fn find_refusal_reason(canonical: &Path) -> Option<&'static str> {
    if canonical.to_str().is_none() {
        return Some("is not UTF-8");
    }
    if codeinfo_secrets::is_private_folder(canonical) {
        return Some("is, or lies in, a folder for keys and passwords, which is never indexed");
    }
    let is_system = SYSTEM.iter().any(|folder| canonical.starts_with(folder));
    is_system.then_some("is, or lies in, a folder that shows the state of the system, not files")
}

/// Returns the id of this host's root at a path. Known ids stay valid when `QDRANT_SHARED_PATHS`
/// changes, although new ids are then derived from paths differently.
pub(super) fn find_known_id(known: &[Root], path: &Path, is_commit: bool) -> Option<RootId> {
    let is_there = |root: &&Root| {
        root.host.is_none() && root.path == path && root.revision.is_some() == is_commit
    };
    known.iter().find(is_there).map(|root| root.id)
}

/// Refuses a root whose client path belongs to another root: a folder from before `INGEST_DIR`
/// changed, which can no longer be indexed, or a folder with the same path as the commit.
pub(super) fn refuse_taken_path(
    id: RootId,
    path: &Path,
    known: &[Root],
    path_map: &PathMap,
) -> Result<(), IngestError> {
    let shown = path_map.to_client_path(path);
    let is_other = |root: &&Root| {
        root.host.is_none() && root.id != id && path_map.to_client_path(&root.path) == shown
    };
    let Some(other) = known.iter().find(is_other) else { return Ok(()) };
    let name = other.name.clone();
    Err(if other.path == path {
        IngestError::PathTaken { path: shown, name }
    } else {
        IngestError::ShownTwice { path: shown, name }
    })
}

/// Returns the root for a request, with a name that no other root has. `fresh` is the root without
/// any stored knowledge, `host` this host if several share the store.
pub(super) fn build_requested_root(
    request: IngestRequest,
    fresh: Root,
    host: Option<&Host>,
    known: &[Root],
    runs: &RunTable,
) -> Result<Root, IngestError> {
    let Root { id, path, revision, .. } = &fresh;
    let id = *id;
    let before = known.iter().find(|root| root.id == id);
    let is_taken = |name: &str| {
        known.iter().any(|root| root.id != id && root.name == name) || runs.is_name_taken(name, id)
    };
    let name = match request.name {
        Some(name) => names::validate_name(&name)?,
        None => match runs.root_name(id).or_else(|| before.map(|root| root.name.as_str())) {
            Some(name) => name.to_owned(),
            None => match revision {
                None => {
                    names::derive_folder_name(path, host.map(|host| host.name.as_str()), is_taken)
                }
                Some(revision) => {
                    let is_folder = |root: &&Root| root.local_folder() == Some(&revision.folder);
                    let folder_root = known.iter().find(is_folder);
                    let repository = folder_root.map(|root| root.name.as_str());
                    names::derive_revision_name(repository, revision, is_taken)
                }
            },
        },
    };
    if is_taken(&name) {
        let reason = format!("`{name}` is the name of another repository");
        return Err(IngestError::Name(reason));
    }
    let former = runs.active_root(id).or(before);
    let requested = request.description.map(|text| text.trim().to_owned());
    let description = requested
        .filter(|text| !text.is_empty())
        .or_else(|| former.and_then(|root| root.description.clone()));
    Ok(match before {
        None => Root { name, description, ..fresh },
        Some(before) => Root {
            name,
            description,
            last_ingest_at: before.last_ingest_at,
            counts: before.counts,
            private_files: before.private_files.clone(),
            omitted: before.omitted.clone(),
            censored_files: before.censored_files.clone(),
            ..fresh
        },
    })
}

/// Returns true if a run began and did not end: it was killed, or works in another process.
pub(super) fn is_interrupted(root: &Root) -> bool {
    root.last_run == LastRun::Interrupted
}

/// Combines stored roots with the state of their runs. Other processes index the `leased` roots.
pub(super) fn collect_statuses(
    known: Vec<Root>,
    leased: &HashSet<RootId>,
    runs: &RunTable,
) -> Vec<RootStatus> {
    let status = |root: Root| {
        if leased.contains(&root.id) {
            let root = Root { last_run: LastRun::Completed, ..root };
            return RootStatus { root, state: RunState::Embedding, run_id: None };
        }
        derive_status(root, runs)
    };
    // Clients must not see where secrets are.
    let shown_roots = known.into_iter().map(|root| Root { private_files: None, ..root });
    let mut statuses: Vec<RootStatus> = shown_roots.map(status).collect();
    for (root, run, state) in runs.active_roots() {
        match statuses.iter_mut().find(|status| status.root.id == root.id) {
            Some(status) => {
                status.state = state;
                status.run_id = Some(run);
                // The interruption mark of a working run is not a failure.
                if is_interrupted(&status.root) {
                    status.root.last_run = LastRun::Completed;
                }
            }
            None => statuses.push(RootStatus { root: root.clone(), state, run_id: Some(run) }),
        }
    }
    statuses.sort_by(|a, b| a.root.name.cmp(&b.root.name));
    statuses
}

fn derive_status(root: Root, runs: &RunTable) -> RootStatus {
    let state = runs.last_state(&root).unwrap_or(match (&root.last_run, &root.last_ingest_at) {
        (LastRun::Completed, Some(_)) => RunState::Completed,
        (LastRun::Completed, None) => RunState::Cancelled,
        _ => RunState::Error,
    });
    RootStatus { root, state, run_id: None }
}

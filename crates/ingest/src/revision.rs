//! Commits as roots: their valid names, and the commit that a name resolves to.

use std::path::{Path, PathBuf};

use codeinfo_core::{Host, IndexedCommit, RootId, plain_name};
use codeinfo_worktree::git::{CommitLookupError, GitRepository};

use super::error::IngestError;

/// Maximum bytes of a commit name.
pub(super) const MAX_NAME_BYTES: usize = 200;
/// Characters that git forbids in names of branches and tags. Expressions such as `main~3` are not
/// supported.
const NEVER: &[char] = &['~', '^', ':', '?', '*', '[', '\\'];

/// Returns the path that identifies a commit: `FOLDER@NAME`, at which nothing exists.
pub(super) fn revision_path(revision: &IndexedCommit) -> PathBuf {
    let mut path = revision.folder.clone().into_os_string();
    path.push("@");
    path.push(&revision.name);
    path.into()
}

/// Returns the id of a root of this host.
pub(super) fn root_id(
    host: Option<&Host>,
    path: &Path,
    revision: Option<&IndexedCommit>,
) -> RootId {
    match revision {
        None => RootId::from_host_path(host, path),
        Some(revision) => RootId::from_commit(host, &revision.folder, &revision.name),
    }
}

/// Resolves the name to its current commit. Blocks on the file system.
pub(super) fn resolve_commit(
    revision: &IndexedCommit,
) -> Result<(IndexedCommit, GitRepository), IngestError> {
    let refused = |reason: &str| IngestError::for_revision(revision, reason);
    let opened = GitRepository::open(&revision.folder).ok().flatten();
    let git = opened.ok_or_else(|| refused("the folder is no git repository any more"))?;
    let commit = git.resolve_commit(&revision.name).map_err(|error| match error {
        CommitLookupError::Unknown => refused(
            "it is no branch, no tag and no commit there; `git log` and `git branch --all` show which are",
        ),
        CommitLookupError::Reftable => refused(
            "the repository keeps its branches and tags in a reftable, which is not read; name the id of a commit",
        ),
        CommitLookupError::Packed => refused(
            "the file `packed-refs` of the repository has more than 32 MiB, and is not read; name the id of a commit",
        ),
        CommitLookupError::Unreadable => refused("the files of git cannot be read"),
        CommitLookupError::Object(fault) => IngestError::for_object_fault(revision, fault, git.is_shallow()),
    })?;
    let store = git.common_folder().to_owned();
    Ok((IndexedCommit { store, commit, ..revision.clone() }, git))
}

/// Returns the reason as an error if a name cannot be a branch, tag or commit.
pub(super) fn validate_revision_name(name: &str) -> Result<(), &'static str> {
    let is_odd = |c: char| c.is_whitespace() || NEVER.contains(&c);
    if name.is_empty() {
        return Err("a branch, a tag or the id of a commit follows the `@`");
    }
    if MAX_NAME_BYTES < name.len() {
        return Err("it is longer than 200 bytes");
    }
    if name.contains(is_odd) || name.contains("..") || name.contains("@{") {
        return Err(
            "it names no one branch, tag or commit; `git rev-parse NAME` gives the id of a commit",
        );
    }
    let is_plain = plain_name(name, MAX_NAME_BYTES) == name;
    let has_parts = name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    if is_plain && has_parts {
        Ok(())
    } else {
        Err("it can be no name of a branch, a tag or a commit")
    }
}

//! Repositories and commits of roots, read without running git, and locks for their shared data.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex as SyncMutex, PoisonError},
};

use codeinfo_core::{Host, IndexedCommit, Origin, Root, RootId, plain_name};
use codeinfo_worktree::git::{CommitLookupError, GIT, GitRepository};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    error::IngestError,
    io_watchdog::{IoHeartbeat, IoWatchdog},
};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GitTreeFacts {
    /// Repository of the tree, as in [`Root::repository`].
    pub(super) repository: Option<RootId>,
    /// Current commit, if the root is a commit.
    pub(super) revision: Option<IndexedCommit>,
    /// Origin of the repository, if hosts share the store.
    pub(super) origin: Option<Origin>,
}

impl GitTreeFacts {
    pub(super) fn apply_to(self, root: Root) -> Root {
        let Self { repository, revision, origin } = self;
        Root { revision, repository, origin, ..root }
    }
}

/// Reads the current facts of the tree at `path`. `roots` are all known roots.
pub(super) async fn load_tree_facts(
    lookups: &IoWatchdog,
    stopping: &CancellationToken,
    host: Option<Host>,
    path: &Path,
    revision: Option<&IndexedCommit>,
    roots: &[Root],
) -> Result<GitTreeFacts, IngestError> {
    let place = revision.map_or(path, |revision| &revision.folder).to_owned();
    let id = root_id(host.as_ref(), path, revision);
    let (folder, revision) = (place.clone(), revision.cloned());
    let before = roots.iter().find(|root| root.id == id).and_then(|root| root.origin.clone());
    let look = move |pulse: &IoHeartbeat| {
        let (revision, git) = match revision {
            None => (None, find_repository(&folder)),
            Some(revision) => {
                let (now, git) = resolve_commit(&revision)?;
                (
                    Some(now),
                    Some(FolderRepository { main: git.main_worktree().to_owned(), git: Some(git) }),
                )
            }
        };
        let Some(FolderRepository { main, git }) = git else {
            return Ok(GitTreeFacts { revision, ..GitTreeFacts::default() });
        };
        let repository = RootId::from_host_path(host.as_ref(), &main);
        let origin = host.is_some().then(|| {
            let commit = revision.as_ref().map(|revision| revision.commit.clone());
            find_origin(repository, git.as_ref(), commit, before, pulse)
        });
        Ok(GitTreeFacts { repository: Some(repository), revision, origin })
    };
    let looked_up: Result<GitTreeFacts, IngestError> =
        lookups.run_blocking(&place, stopping, look).await?;
    let facts = looked_up?;
    let repository = facts.origin.as_ref().map(|origin| find_shared_id(id, origin, roots));
    Ok(GitTreeFacts { repository: repository.or(facts.repository), ..facts })
}

/// Returns the repository id of a worktree that is not indexed. Does not read its history.
pub(super) fn find_repository_id(
    git: &GitRepository,
    roots: &[Root],
    host: Option<&Host>,
) -> RootId {
    let store = RootId::from_host_path(host, git.main_worktree());
    if host.is_none() {
        return store;
    }
    let remote = git.remote_url().and_then(|address| normalize_remote(&address));
    find_shared_id(store, &Origin { store, remote, first_commit: None }, roots)
}

struct FolderRepository {
    main: PathBuf,
    /// The repository; `None` if the folder only claims to belong to one.
    git: Option<GitRepository>,
}

/// Returns the repository of a folder. A folder that only claims to be a worktree of another one is
/// a repository of its own. A subfolder of a worktree belongs to none, because git may ignore it.
fn find_repository(folder: &Path) -> Option<FolderRepository> {
    folder.join(GIT).symlink_metadata().ok()?;
    let git = GitRepository::open(folder).ok().flatten();
    let main = git.as_ref().map_or(folder, GitRepository::main_worktree).to_owned();
    Some(FolderRepository { main, git })
}

/// Returns the origin of a repository; reuses the first commit of `before`, which is slow to find.
fn find_origin(
    store: RootId,
    git: Option<&GitRepository>,
    commit: Option<String>,
    before: Option<Origin>,
    pulse: &IoHeartbeat,
) -> Origin {
    let remote =
        git.and_then(GitRepository::remote_url).and_then(|address| normalize_remote(&address));
    let former = before.filter(|before| before.store == store && before.remote == remote);
    let first_commit = former.and_then(|former| former.first_commit).or_else(|| {
        let git = git?;
        git.first_commit(&commit.or_else(|| git.head_commit())?, || pulse.beat())
    });
    Origin { store, remote, first_commit }
}

/// Returns a remote's address in lower case without its scheme, the same for every protocol; `None`
/// for `localhost` and loopback addresses, which are a different machine on each host.
fn normalize_remote(address: &Url) -> Option<String> {
    let host = match address.host()? {
        url::Host::Domain(name) if name != "localhost" => name.to_owned(),
        url::Host::Ipv4(number) if !number.is_loopback() => number.to_string(),
        url::Host::Ipv6(number) if !number.is_loopback() => number.to_string(),
        url::Host::Domain(_) | url::Host::Ipv4(_) | url::Host::Ipv6(_) => return None,
    };
    Some(format!("{host}{}", address.path()).to_lowercase())
}

/// Returns the id of a repository on several hosts: its former id, or that of another of its trees.
fn find_shared_id(id: RootId, origin: &Origin, roots: &[Root]) -> RootId {
    let is_of =
        |root: &&Root| root.origin.as_ref().is_some_and(|other| other.is_same_repository(origin));
    let alike =
        roots.iter().filter(is_of).filter_map(|root| Some((root.id != id, root.repository?)));
    alike.min().map_or_else(|| origin.repository_id(), |(_, repository)| repository)
}

/// Locks for changes of the data of each owner. Clones share the locks.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnerLocks {
    owners: Arc<SyncMutex<HashMap<RootId, Arc<Mutex<()>>>>>,
}

impl OwnerLocks {
    pub(super) async fn lock_owner(&self, owner: RootId) -> OwnedMutexGuard<()> {
        let turn = {
            let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
            // Drops unused locks.
            owners.retain(|_, turn| 1 < Arc::strong_count(turn));
            Arc::clone(owners.entry(owner).or_default())
        };
        turn.lock_owned().await
    }
}

/// Maximum bytes of a commit name.
pub(super) const MAX_NAME_BYTES: usize = 200;
/// Characters that git forbids in branches and tags; expressions such as `main~3` are unsupported.
const FORBIDDEN: &[char] = &['~', '^', ':', '?', '*', '[', '\\'];

/// Returns the path that identifies a commit: `FOLDER@NAME`, at which nothing exists.
pub(super) fn revision_path(revision: &IndexedCommit) -> PathBuf {
    let mut path = revision.folder.clone().into_os_string();
    path.push("@");
    path.push(&revision.name);
    path.into()
}

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
    let is_odd = |c: char| c.is_whitespace() || FORBIDDEN.contains(&c);
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

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    /// Creates the files of a repository with one linked worktree as git writes them.
    fn repository(base: &Path) -> (PathBuf, PathBuf) {
        let (main, linked) = (base.join("main"), base.join("linked"));
        let own = main.join(".git/worktrees/linked");
        for folder in [&own, &main.join("sub"), &linked.join("sub")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(linked.join(GIT), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", linked.join(GIT).display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        (main, linked)
    }

    #[test]
    fn worktrees_share_the_repository_of_the_main_one() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (main, linked) = repository(&base);
        let of = |folder: &Path| find_repository(folder).map(|tree| tree.main);
        assert_eq!((of(&main), of(&linked)), (Some(main.clone()), Some(main.clone())));
        assert_eq!((of(&linked.join("sub")), of(&main.join("sub")), of(&base)), (None, None, None));
    }

    #[test]
    fn a_folder_with_a_false_claim_is_its_own_repository() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (main, _) = repository(&base);
        let other = base.join("other");
        fs::create_dir(&other).unwrap();
        for claim in [
            format!("gitdir: {}/.git/worktrees/linked", main.display()),
            format!("gitdir: {}/.git", main.display()),
            "gitdir: /proc/self".to_owned(),
            "gitdir:".to_owned(),
            "x".repeat(100_000),
        ] {
            fs::write(other.join(GIT), claim).unwrap();
            assert_eq!(find_repository(&other).unwrap().main, other);
        }
    }

    #[test]
    fn a_module_belongs_to_the_worktree_that_git_names() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (main, _) = repository(&base);
        let (module, kept) = (main.join("module"), main.join(".git/modules/module"));
        for folder in [&module, &kept] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(module.join(GIT), "gitdir: ../.git/modules/module\n").unwrap();
        let of = || find_repository(&module).map(|tree| tree.main);
        assert_eq!(of(), Some(module.clone()));
        for (file, worktree, is_its_own) in [
            ("config", "../../../module", true),
            ("config", "../../../sub", false),
            ("config.worktree", "../../../module", true),
        ] {
            fs::write(kept.join(file), format!("[core]\n\tworktree = {worktree}\n")).unwrap();
            assert_eq!(of().as_ref() == Some(&kept), is_its_own, "{file}: {worktree}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_named_git_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let (_, linked) = repository(&base);
        let other = base.join("other");
        fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(linked.join(GIT), other.join(GIT)).unwrap();
        assert_eq!(find_repository(&other).unwrap().main, other);
    }

    #[test]
    fn remotes_are_normalized_and_local_ones_ignored() {
        for (address, expected) in [
            ("https://github.com/Owner/Repo", Some("github.com/owner/repo")),
            ("http://git.example:8080/r", Some("git.example/r")),
            ("https://10.0.0.7/r", Some("10.0.0.7/r")),
            ("https://localhost/r", None),
            ("https://127.0.0.1:3000/r", None),
            ("https://[::1]/r", None),
        ] {
            assert_eq!(
                normalize_remote(&Url::parse(address).unwrap()).as_deref(),
                expected,
                "{address}"
            );
        }
    }

    #[test]
    fn trees_of_one_repository_share_a_known_id() {
        let id = |number: u128| RootId(uuid::Uuid::from_u128(number));
        let origin = |store: u128, remote: &str, first: &str| {
            let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            Origin { store: id(store), remote: some(remote), first_commit: some(first) }
        };
        let root = |number: u128, origin: &Origin, repository: RootId| Root {
            id: id(number),
            origin: Some(origin.clone()),
            repository: Some(repository),
            ..Root::from_folder(PathBuf::from("/r"))
        };
        let whole = origin(1, "host/r", "c1");
        assert_eq!(find_shared_id(id(7), &whole, &[]), origin(2, "", "c1").repository_id());
        let one = root(3, &whole, id(100));
        let shallow = root(4, &origin(2, "host/r", ""), id(90));
        let other = root(5, &origin(5, "host/other", "c2"), id(10));
        let roots = [one, shallow, other];
        // Matches by folder, remote or first commit; a former id is unchanged.
        for (of, own, expected) in [
            (origin(1, "", ""), 7, 100),
            (origin(9, "host/r", ""), 7, 90),
            (origin(9, "", "c1"), 7, 100),
            (origin(9, "host/r", "c1"), 3, 100),
        ] {
            assert_eq!(find_shared_id(id(own), &of, &roots), id(expected), "{of:?}");
        }
        let alone = origin(9, "", "");
        assert_eq!(find_shared_id(id(7), &alone, &roots), id(9));
    }

    #[tokio::test]
    async fn locks_of_one_owner_are_exclusive() {
        let turns = OwnerLocks::default();
        let [one, other] = [1, 2].map(|id| RootId(uuid::Uuid::from_u128(id)));
        let held = turns.lock_owner(one).await;
        drop(turns.lock_owner(other).await);
        let waiting = turns.lock_owner(one);
        tokio::pin!(waiting);
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        drop(held);
        drop(waiting.await);
    }
}

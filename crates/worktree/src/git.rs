//! Reads Git repositories as files: their folders, and the commits that their references name.
//!
//! Git is not run, no link is followed, and the content of a repository is not trusted.

mod config;
mod packed;
mod tracked;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
};

use codeinfo_core::paths::normalize_path;
use url::Url;

pub use config::web_address;
pub use tracked::TrackedPaths;

use crate::beneath::{self, ObjectDatabase, ObjectFault, RootDir};

/// Name of the git folder in a worktree, or of the file that names the folder's path.
pub const GIT: &str = ".git";
/// Maximum generations between a named commit and its ancestor.
const MAX_GENERATIONS: u32 = 100_000;
/// Maximum bytes of a reference and of a file that names a path. Both are one line.
const MAX_LINE_BYTES: u64 = 8 << 10;
const MAX_CONFIG_BYTES: u64 = 256 << 10;
/// Maximum references that are followed; one may name another, as `HEAD` does.
const MAX_REFERENCES: usize = 5;
/// Parts around a short name in the references that it may name, in git's order: the first counts.
const SHORT_NAME_FORMS: [(&str, &str); 4] =
    [("refs/tags/", ""), ("refs/heads/", ""), ("refs/remotes/", ""), ("refs/remotes/", "/HEAD")];

/// A repository, opened through one of its worktrees or as a bare repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRepository {
    /// Git folder of the worktree, which holds `HEAD` and the index.
    own: PathBuf,
    /// Folder with the references and the objects.
    common: PathBuf,
}

/// Errors of resolving a name to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitLookupError {
    /// No branch, tag or commit has this name.
    Unknown,
    /// The repository stores its references in the reftable format, which is not supported.
    Reftable,
    /// The file of packed references is too large.
    Packed,
    Object(ObjectFault),
    /// The files of the repository cannot be read.
    Unreadable,
}

impl GitRepository {
    /// Opens the repository that `folder`, a canonical path, is or is a worktree of; `None` for any
    /// other folder, and for an alleged worktree that the repository does not list.
    pub fn open(folder: &Path) -> io::Result<Option<Self>> {
        let git = folder.join(GIT);
        match git.symlink_metadata() {
            Ok(found) if found.is_dir() => Ok(Some(Self { own: git.clone(), common: git })),
            Ok(found) if found.is_file() => open_linked_worktree(folder),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let beneath = RootDir::open(folder)?;
                let has_folder = |name: &str| beneath.open_folder(Path::new(name)).is_ok();
                let is_bare = beneath.open_file(Path::new("HEAD")).is_ok()
                    && has_folder("objects")
                    && (has_folder("refs") || has_folder("reftable"));
                Ok(is_bare.then(|| Self { own: folder.to_owned(), common: folder.to_owned() }))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the folder that holds the references and the objects.
    pub fn common_folder(&self) -> &Path {
        &self.common
    }

    /// Returns the main worktree of the repository, or its git folder if it has none.
    pub fn main_worktree(&self) -> &Path {
        let worktree = self.common.parent().filter(|_| self.common.ends_with(GIT));
        worktree.unwrap_or(&self.common)
    }

    /// Returns the web address of `origin`, else of the first remote with one, without credentials.
    pub fn remote_url(&self) -> Option<Url> {
        config::find_web_remote(&self.read_config().ok()?)
    }

    fn read_config(&self) -> io::Result<String> {
        read_text(&self.common, "config", MAX_CONFIG_BYTES)
    }

    /// Returns the full id of the checked-out commit.
    pub fn head_commit(&self) -> Option<String> {
        self.read_reference("HEAD").ok()??.id
    }

    /// Returns the full id of the commit that a branch, a tag, an id or a prefix of an id names.
    pub fn resolve_commit(&self, name: &str) -> Result<String, CommitLookupError> {
        let reference = self.find_reference(name).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => CommitLookupError::Packed,
            _ => CommitLookupError::Unreadable,
        })?;
        let id = match reference.and_then(|reference| reference.id) {
            Some(id) => id,
            None if is_hex(name) && name.len() <= 64 => name.to_ascii_lowercase(),
            None => {
                let has_table = RootDir::open(&self.common)
                    .is_ok_and(|common| common.open_folder(Path::new("reftable")).is_ok());
                return Err(if has_table {
                    CommitLookupError::Reftable
                } else {
                    CommitLookupError::Unknown
                });
            }
        };
        let hex = if is_id(&id) { id.len() } else { self.id_length() };
        self.look_up_commit(&id, hex)
    }

    /// Returns the full id of a commit by an id or a prefix, even if no branch or tag leads to it.
    pub fn find_commit(&self, id: &str) -> Result<String, CommitLookupError> {
        let found = self.look_up_commit(id, self.id_length())?;
        if found.starts_with(id) { Ok(found) } else { Err(CommitLookupError::Unknown) }
    }

    fn look_up_commit(&self, id: &str, hex: usize) -> Result<String, CommitLookupError> {
        let commit =
            ObjectDatabase::open(&self.common, hex).and_then(|objects| objects.resolve_commit(id));
        commit.map_err(|error| match beneath::as_object_fault(&error) {
            Some(ObjectFault::Missing) if !is_id(id) => CommitLookupError::Unknown,
            Some(fault) => CommitLookupError::Object(fault),
            None => CommitLookupError::Unreadable,
        })
    }

    /// Returns the web address of a commit, without credentials; `None` without a web remote.
    pub fn commit_url(&self, id: &str) -> Option<Url> {
        let mut address = self.remote_url()?;
        let host = address.host_str()?.to_owned();
        let parts: &[&str] = if host.contains("gitlab") {
            &["-", "commit", id]
        } else if host.contains("bitbucket") {
            &["commits", id]
        } else {
            // GitHub's form, which most forges share.
            &["commit", id]
        };
        address.path_segments_mut().ok()?.pop_if_empty().extend(parts);
        Some(address)
    }

    /// Returns the full id of a commit that is named as for [`Self::resolve_commit`], or of an
    /// ancestor of it along first parents: `main~3`, `HEAD^`.
    pub fn resolve_ancestor(&self, name: &str) -> Result<String, CommitLookupError> {
        let (base, generations) = split_generations(name).ok_or(CommitLookupError::Unknown)?;
        let commit = self.resolve_commit(base)?;
        let found = ObjectDatabase::open(&self.common, commit.len())
            .and_then(|objects| objects.find_ancestor(&commit, generations));
        match found {
            Ok(ancestor) => ancestor.ok_or(CommitLookupError::Unknown),
            Err(error) => Err(beneath::as_object_fault(&error)
                .map_or(CommitLookupError::Unreadable, CommitLookupError::Object)),
        }
    }

    /// Returns the id of the oldest ancestor of a commit along first parents. Calls `beat` for
    /// each commit. Returns `None` if commits are missing, as in a shallow clone.
    pub fn first_commit(&self, commit: &str, beat: impl Fn()) -> Option<String> {
        if self.is_shallow() {
            return None;
        }
        ObjectDatabase::open(&self.common, commit.len()).ok()?.first_commit(commit, beat).ok()
    }

    /// Returns a number that changes with the name's commit, cheaply; `None` if it names nothing.
    pub fn reference_fingerprint(&self, name: &str) -> Option<u64> {
        let mut state = DefaultHasher::new();
        let found = self.find_reference(name).ok()?;
        if found.is_none() && !is_hex(name) {
            return None;
        }
        found.and_then(|found| found.id).hash(&mut state);
        Some(state.finish())
    }

    /// Returns whether the repository lacks earlier commits.
    pub fn is_shallow(&self) -> bool {
        RootDir::open(&self.common)
            .is_ok_and(|common| common.open_file(Path::new("shallow")).is_ok())
    }

    /// Finds the reference that a name denotes. Full ids are never looked up as references.
    fn find_reference(&self, name: &str) -> io::Result<Option<GitReference>> {
        if is_id(name) {
            return Ok(None);
        }
        if name == "HEAD" || name.starts_with("refs/") {
            return self.read_reference(name);
        }
        for (before, after) in SHORT_NAME_FORMS {
            if let Some(found) = self.read_reference(&format!("{before}{name}{after}"))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Reads a reference, following symbolic ones, from its own file or from the packed references.
    fn read_reference(&self, name: &str) -> io::Result<Option<GitReference>> {
        let mut current = name.to_owned();
        for _ in 0..MAX_REFERENCES {
            let is_head = current == "HEAD";
            // Accept only normalized paths below `refs`.
            let is_inside = current.starts_with("refs/")
                && normalize_path(Path::new(&current))
                    .is_some_and(|path| path.as_os_str() == current.as_str());
            if !is_head && !is_inside {
                return Ok(None);
            }
            let folder = if is_head { &self.own } else { &self.common };
            let Ok(line) = read_text(folder, &current, MAX_LINE_BYTES) else {
                return Ok(packed::find_packed_reference(&self.common, &current)?
                    .map(|id| GitReference { id: Some(id) }));
            };
            match line.trim().strip_prefix("ref:") {
                Some(other) => other.trim().clone_into(&mut current),
                None => return Ok(Some(GitReference { id: parse_object_id(line.trim()) })),
            }
        }
        Ok(None)
    }

    /// Returns the length of ids as text, which the configuration determines.
    fn id_length(&self) -> usize {
        let config = self.read_config().unwrap_or_default();
        let format = config::find_value(&config, "extensions", "objectformat");
        if format.is_some_and(|format| format.eq_ignore_ascii_case("sha256")) { 64 } else { 40 }
    }
}

struct GitReference {
    /// Id of the object that it names. `None` if the file contains no valid id.
    id: Option<String>,
}

/// Opens a folder with a `.git` file: a worktree or submodule whose git folder is elsewhere.
fn open_linked_worktree(top: &Path) -> io::Result<Option<GitRepository>> {
    let Some(named) = read_text(top, GIT, MAX_LINE_BYTES)?
        .strip_prefix("gitdir:")
        .map(|path| top.join(path.trim()))
    else {
        return Ok(None);
    };
    let own = named.canonicalize()?;
    let common = match read_text(&own, "commondir", MAX_LINE_BYTES) {
        Ok(common) => own.join(common.trim()).canonicalize()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let is_its_own = read_worktree_path(&own)?.is_some_and(|worktree| worktree == top);
            return Ok(is_its_own.then(|| GitRepository { own: own.clone(), common: own }));
        }
        Err(error) => return Err(error),
    };
    // The repository must know its worktree: it names the `.git` file that was read.
    let back = own.join(read_text(&own, "gitdir", MAX_LINE_BYTES)?.trim());
    if back.canonicalize()? != top.join(GIT) {
        return Ok(None);
    }
    let is_its_own = own.parent() == Some(common.join("worktrees").as_path());
    Ok(is_its_own.then_some(GitRepository { own, common }))
}

fn read_worktree_path(git: &Path) -> io::Result<Option<PathBuf>> {
    for file in ["config.worktree", "config"] {
        match read_text(git, file, MAX_CONFIG_BYTES) {
            Ok(config) => {
                if let Some(path) = config::find_value(&config, "core", "worktree") {
                    return git.join(path).canonicalize().map(Some);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn read_text(folder: &Path, path: &str, limit: u64) -> io::Result<String> {
    let (file, _) = RootDir::open(folder)?.open_file(Path::new(path))?;
    let bytes = beneath::read_to_limit(file, limit, || ())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

fn parse_object_id(id: &str) -> Option<String> {
    is_id(id).then(|| id.to_ascii_lowercase())
}

/// Returns the innermost folder, from `folder` upwards, that contains a `.git` folder or file.
pub fn find_work_tree(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(GIT).symlink_metadata().is_ok())
}

/// Returns the canonical path of the repository around `folder`; `None` for the home folder or one
/// above it, because such a repository holds settings.
pub fn find_repository(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let canonical = folder.canonicalize().ok()?;
    let home = home.and_then(|path| path.canonicalize().ok());
    let found = find_work_tree(&canonical)?;
    let is_home = home.is_some_and(|home| home.starts_with(found));
    (!is_home).then(|| found.to_owned())
}

/// Splits a name such as `main~3` or `HEAD^` into commit and generations; `None` if too many.
fn split_generations(name: &str) -> Option<(&str, u32)> {
    let end = name.find(['~', '^']).unwrap_or(name.len());
    let (base, mut rest) = name.split_at(end);
    let mut generations = 0_u32;
    while let Some(sign) = rest.chars().next() {
        let digits = rest.get(1..)?.bytes().take_while(u8::is_ascii_digit).count();
        let number = rest.get(1..=digits)?;
        let count = match sign {
            '~' if number.is_empty() => 1,
            '~' => number.parse().ok()?,
            '^' if number.is_empty() || number == "1" => 1,
            _ => return None,
        };
        generations = generations.checked_add(count).filter(|all| *all <= MAX_GENERATIONS)?;
        rest = rest.get(1 + digits..)?;
    }
    Some((base, generations))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::find_repository;

    #[test]
    fn the_innermost_repository_is_found_and_never_a_home() {
        let temporary = tempfile::tempdir().unwrap();
        let home = temporary.path().canonicalize().unwrap();
        let inner = home.join("outer/inner");
        fs::create_dir_all(inner.join("src")).unwrap();
        assert_eq!(find_repository(&inner, Some(&home)), None);
        fs::create_dir(home.join(".git")).unwrap();
        assert_eq!(find_repository(&inner, Some(&home)), None);
        fs::create_dir(home.join("outer/.git")).unwrap();
        assert_eq!(find_repository(&inner.join("src"), Some(&home)), Some(home.join("outer")));
        // A worktree has a file.
        fs::write(inner.join(".git"), "gitdir: elsewhere").unwrap();
        assert_eq!(find_repository(&inner.join("src"), Some(&home)), Some(inner));
    }
}

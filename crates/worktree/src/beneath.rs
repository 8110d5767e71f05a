//! Opens files and folders beneath a root without following links.
//!
//! A root is opened once per run, and everything below it through that handle: with `openat2`, or
//! part by part if the kernel or a container's filter lacks the call. Nothing waits for a pipe. The
//! content of a commit is opened through the same interface, from its objects.

mod commit;
mod commit_files;
#[cfg(unix)]
mod handles;
mod objects;
#[cfg(not(unix))]
mod paths;

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

pub use commit_files::{CommitFiles, ContentId};
pub(crate) use objects::ObjectDatabase;
pub use objects::{ObjectFault, ObjectReader, as_object_fault};

use codeinfo_core::Root;
#[cfg(unix)]
use handles as system;
#[cfg(not(unix))]
use paths as system;

/// Bytes read at a time. Each completed piece shows that the file system responds.
pub const PIECE: u64 = 1 << 20;

/// A root that was opened once, so that it remains the same folder during a run. Clones share it.
#[derive(Debug, Clone)]
pub struct RootDir {
    top: RootSource,
}

#[derive(Debug, Clone)]
enum RootSource {
    Folder(Arc<system::SystemRoot>),
    Commit(Arc<commit::CommitRoot>),
}

/// Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderEntryKind {
    File,
    Folder,
    /// Another repository in a commit. The commit contains only the id of that repository's commit.
    Module,
    /// A link, a pipe, a socket or a device.
    Other,
}

#[derive(Debug)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: FolderEntryKind,
}

/// Facts about a regular file that are available without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    pub size: u64,
    /// Time in the form of [`codeinfo_core::modified_ns`]; for a commit, derived from the content.
    pub modified_ns: u64,
}

pub struct FolderHandle {
    opened: FolderSource,
}

enum FolderSource {
    Folder(system::SystemFolder),
    Commit(commit::CommitFolder),
}

pub struct FileHandle {
    content: FileSource,
}

enum FileSource {
    File(fs::File),
    /// Whole content of a file in a commit.
    Bytes(io::Cursor<Vec<u8>>),
}

impl Read for FileHandle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            FileSource::File(file) => file.read(buffer),
            FileSource::Bytes(bytes) => bytes.read(buffer),
        }
    }
}

impl RootDir {
    /// Opens a root. The root itself must not be a link.
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { top: RootSource::Folder(Arc::new(system::SystemRoot::open(root)?)) })
    }

    /// Opens the folder or commit of a root. Fails if the root is on another host.
    pub fn open_root(root: &Root) -> io::Result<Self> {
        if let Some(host) = &root.host {
            return Err(io::Error::other(format!("it is on {}", host.name)));
        }
        match &root.revision {
            None => Self::open(&root.path),
            Some(revision) => {
                let top = commit::CommitRoot::open(&revision.store, &revision.commit)?;
                Ok(Self { top: RootSource::Commit(Arc::new(top)) })
            }
        }
    }

    /// Opens a folder by its path below the root. The path of the root itself is empty.
    pub fn open_folder(&self, path: &Path) -> io::Result<FolderHandle> {
        let opened = match &self.top {
            RootSource::Folder(top) => FolderSource::Folder(top.open_folder(path)?),
            RootSource::Commit(top) => {
                FolderSource::Commit(commit::CommitRoot::open_folder(top, path)?)
            }
        };
        Ok(FolderHandle { opened })
    }

    /// Returns whether a path may exist, which is true behind links and without permission.
    pub fn may_contain(&self, path: &Path) -> bool {
        let mut above = PathBuf::new();
        for part in path.components() {
            let entry = match part {
                Component::Normal(name) => {
                    FolderEntry { name: name.to_owned(), kind: FolderEntryKind::Other }
                }
                Component::CurDir => continue,
                _ => return false,
            };
            let Ok(folder) = self.open_folder(&above) else { return true };
            above.push(part);
            match folder.read_facts(&entry) {
                Err(error) => return error.kind() == io::ErrorKind::PermissionDenied,
                // A file has no entries below it.
                Ok(Some(_)) => return above == path,
                Ok(None) => {}
            }
        }
        true
    }

    /// Opens a regular file by its path below the root. Does not wait for the writer of a pipe.
    pub fn open_file(&self, path: &Path) -> io::Result<(FileHandle, FileFacts)> {
        let (content, facts) = match &self.top {
            RootSource::Folder(top) => {
                let opened = top.open_file(path)?;
                let metadata = opened.metadata()?;
                if !metadata.is_file() {
                    return Err(io::Error::other("it is no regular file"));
                }
                let modified_ns = codeinfo_core::modified_ns(&metadata);
                (FileSource::File(opened), FileFacts { size: metadata.len(), modified_ns })
            }
            RootSource::Commit(top) => {
                let (bytes, facts) = top.read_file(path)?;
                (FileSource::Bytes(io::Cursor::new(bytes)), facts)
            }
        };
        Ok((FileHandle { content }, facts))
    }

    /// Returns whether the content never changes, as in a commit.
    pub fn is_fixed(&self) -> bool {
        matches!(self.top, RootSource::Commit(_))
    }
}

impl FolderHandle {
    /// Lists the entries of the folder, except `.` and `..`.
    pub fn list_entries(&mut self) -> Box<dyn Iterator<Item = io::Result<FolderEntry>> + '_> {
        match &mut self.opened {
            FolderSource::Folder(folder) => Box::new(folder.list_entries()),
            FolderSource::Commit(folder) => Box::new(folder.list_entries()),
        }
    }

    /// Returns the facts of an entry, or `None` if it is no longer a regular file.
    pub fn read_facts(&self, entry: &FolderEntry) -> io::Result<Option<FileFacts>> {
        match &self.opened {
            FolderSource::Folder(folder) => folder.read_facts(&entry.name),
            FolderSource::Commit(folder) => folder.read_facts(&entry.name),
        }
    }
}

/// Reads a file to its end or to `limit` bytes. Calls `beat` before each piece.
pub fn read_to_limit(file: impl Read, limit: u64, beat: impl Fn()) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut rest = file.take(limit);
    loop {
        beat();
        if rest.by_ref().take(PIECE).read_to_end(&mut content)? == 0 {
            return Ok(content);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn no_part_of_a_path_is_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(outside.path().join("deep")).unwrap();
        fs::write(outside.path().join("deep/a.rs"), "outside").unwrap();
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("real/deep")).unwrap();
        fs::write(root.path().join("real/deep/a.rs"), "inside").unwrap();
        symlink(outside.path(), root.path().join("link")).unwrap();
        symlink("real", root.path().join("within")).unwrap();
        symlink("a.rs", root.path().join("real/deep/b.rs")).unwrap();
        let beneath = RootDir::open(root.path()).unwrap();
        let text = |path: &str| {
            let (file, _) = beneath.open_file(Path::new(path))?;
            read_to_limit(file, 100, || ())
        };
        assert_eq!(text("real/deep/a.rs").unwrap(), b"inside");
        for path in ["link/deep/a.rs", "within/deep/a.rs", "real/deep/b.rs", "../x", "/etc"] {
            assert!(text(path).is_err(), "{path}");
            assert!(beneath.open_folder(Path::new(path)).is_err(), "{path}");
        }
        assert!(beneath.open_folder(Path::new("link")).is_err());
        for path in ["real/deep/a.rs", "real/deep", "real/deep/b.rs", "link", "link/deep/x.rs", ""]
        {
            assert!(beneath.may_contain(Path::new(path)), "{path}");
        }
        for path in ["real/a.rs", "real/deep/a.rs/x", "gone/deep/a.rs", "../x", "/etc/passwd"] {
            assert!(!beneath.may_contain(Path::new(path)), "{path}");
        }
        assert!(RootDir::open(&root.path().join("link")).is_err());
    }

    #[test]
    fn a_root_stays_the_folder_that_was_opened() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        let other = place.path().join("other");
        for (folder, text) in [(&root, "own"), (&other, "other")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("a.rs"), text).unwrap();
        }
        let beneath = RootDir::open(&root).unwrap();
        fs::rename(&root, place.path().join("moved")).unwrap();
        symlink(&other, &root).unwrap();
        let (file, _) = beneath.open_file(Path::new("a.rs")).unwrap();
        assert_eq!(read_to_limit(file, 100, || ()).unwrap(), b"own");
        // The file may have grown since it was examined.
        let (file, _) = beneath.open_file(Path::new("a.rs")).unwrap();
        assert_eq!(read_to_limit(file, 2, || ()).unwrap(), b"ow");
    }
}

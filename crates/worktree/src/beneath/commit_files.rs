//! Lists the files of a commit with the ids of their contents, to compare them with other files.

use std::{collections::HashMap, io, path::Path, time::Instant};

use gix_hash::ObjectId;
use gix_object::{Kind as Object, compute_hash};

use super::{FolderEntryKind, commit::CommitRoot};

/// Maximum files of a commit that are listed. Chromium has a fifth of it.
const MAX_FILES: usize = 2_000_000;

/// Id by which Git knows the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentId(ObjectId);

/// Files of a commit by path, without links, submodules and paths that are not UTF-8.
#[derive(Debug)]
pub struct CommitFiles {
    top: CommitRoot,
    hash: gix_hash::Kind,
    files: HashMap<String, ContentId>,
}

impl CommitFiles {
    /// Lists the files of a commit, given by its full id and the folder with the objects. Fails
    /// with [`io::ErrorKind::TimedOut`] after `deadline`.
    pub fn list_commit(git: &Path, commit: &str, deadline: Instant) -> io::Result<Self> {
        let top = CommitRoot::open(git, commit)?;
        let hash = top.hash_kind();
        let mut files = HashMap::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            if deadline < Instant::now() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            for entry in top.find_folder_entries(Path::new(&folder))?.iter() {
                let Some(name) = entry.name.to_str() else { continue };
                let path =
                    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                match entry.kind {
                    FolderEntryKind::Folder => folders.push(path),
                    FolderEntryKind::File if files.len() < MAX_FILES => {
                        files.insert(path, ContentId(entry.id));
                    }
                    FolderEntryKind::File => return Err(io::ErrorKind::FileTooLarge.into()),
                    FolderEntryKind::Module | FolderEntryKind::Other => {}
                }
            }
        }
        Ok(Self { top, hash, files })
    }

    /// Returns the paths below the root with the ids of the contents, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, ContentId)> {
        self.files.iter().map(|(path, id)| (path.as_str(), *id))
    }

    /// Returns the id of the content of the file at a path.
    pub fn content_id(&self, path: &str) -> Option<ContentId> {
        self.files.get(path).copied()
    }

    /// Computes the id that Git would give a content.
    pub fn hash_content(&self, content: &[u8]) -> io::Result<ContentId> {
        compute_hash(self.hash, Object::Blob, content).map(ContentId).map_err(io::Error::other)
    }

    /// Reads a file of the commit.
    pub fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        Ok(self.top.read_file(Path::new(path))?.0)
    }
}

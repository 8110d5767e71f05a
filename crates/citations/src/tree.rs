//! A work tree whose documents are checked: which files it has, and their text. Files are opened beneath its
//! root, never through a link, and only those that are listed are read.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::LineRange;
use codeinfo_worktree::{
    beneath::{self, RootDir},
    decode,
};

use super::{
    content::CitedFileText,
    judge::CitedFile,
    read::{MAX_BYTES, MAX_FILE_BYTES},
};

/// A search through all files leaves so much room to those that are cited.
const RESERVE: u64 = MAX_BYTES / 2;

/// Cited lines are compared up to so many bytes in all: citations may be many, and of the same lines.
const MAX_HASHED_BYTES: u64 = MAX_BYTES;

/// Says of a path that is not there whether the repository's ignore files leave it out.
pub type IgnoreCheck = Box<dyn Fn(&str) -> bool>;

/// The files of a repository as they are on disk.
pub struct DocumentTree {
    pub(super) root: PathBuf,
    folder: RootDir,
    /// Files that are read, by their paths below the root, in order.
    files: Vec<String>,
    /// All folders that those are in.
    folders: HashSet<String>,
    /// Places in `files` by the last part of the path.
    by_name: HashMap<String, Vec<usize>>,
    is_ignored: IgnoreCheck,
    read: RefCell<HashMap<String, Option<Arc<CitedFile>>>>,
    /// How many more bytes are read.
    room: Cell<u64>,
    /// How many more bytes are hashed.
    unhashed: Cell<u64>,
}

impl DocumentTree {
    /// Opens a root, of which `files` may be read.
    pub fn open(root: &Path, mut files: Vec<String>, is_ignored: IgnoreCheck) -> io::Result<Self> {
        files.sort_unstable();
        let (mut folders, mut by_name) = (HashSet::new(), HashMap::<String, Vec<usize>>::new());
        for (at, file) in files.iter().enumerate() {
            let name = file.rsplit('/').next().unwrap_or(file);
            by_name.entry(name.to_owned()).or_default().push(at);
            for (end, _) in file.match_indices('/') {
                folders.extend(file.get(..end).map(str::to_owned));
            }
        }
        Ok(Self {
            root: root.to_owned(),
            folder: RootDir::open(root)?,
            files,
            folders,
            by_name,
            is_ignored,
            read: RefCell::default(),
            room: Cell::new(MAX_BYTES),
            unhashed: Cell::new(MAX_HASHED_BYTES),
        })
    }

    /// The name of its folder.
    pub(super) fn folder_name(&self) -> Option<String> {
        self.root.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    /// Whether a file is listed.
    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.binary_search_by(|file| file.as_str().cmp(path)).is_ok()
    }

    /// Whether anything is there, listed or not.
    pub(super) fn path_exists(&self, path: &str) -> bool {
        self.folder.may_contain(Path::new(path))
    }

    /// Whether a listed file is in this folder, or in one below it.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    pub(super) fn is_ignored(&self, path: &str) -> bool {
        (self.is_ignored)(path)
    }

    /// Returns the listed files with the last part of a path.
    pub(super) fn files_named_like<'a>(
        &'a self,
        path: &str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let places = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|at| self.files.get(*at)).map(String::as_str)
    }

    /// Reads any file, up to a bound; for documents, which are named by who asks.
    pub(super) fn read_text(&self, path: &str) -> io::Result<String> {
        String::from_utf8(self.read_bytes(path)?).map_err(|_| io::Error::other("it is not UTF-8"))
    }

    fn read_bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        let (file, _) = self.folder.open_file(Path::new(path))?;
        let bytes = beneath::read_to_limit(file, MAX_FILE_BYTES + 1, || ())?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            let reason = format!("it is larger than {} MiB", MAX_FILE_BYTES >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        Ok(bytes)
    }

    /// Whether so many bytes more may be hashed; they count as hashed then.
    pub(super) fn reserve_hash_bytes(&self, bytes: u64) -> bool {
        let left = self.unhashed.get().checked_sub(bytes);
        self.unhashed.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Returns a file that is listed, read once; `None` if it is no text of a size that is read.
    pub(super) fn load_file(&self, path: &str) -> Option<Arc<CitedFile>> {
        if let Some(known) = self.read.borrow().get(path) {
            return known.clone();
        }
        let bytes = (self.room.get() > 0).then(|| self.read_bytes(path).ok()).flatten();
        let read = bytes.as_ref().map_or(0, Vec::len) as u64;
        self.room.set(self.room.get().saturating_sub(read));
        let known = bytes.as_deref().and_then(decode::decode_text).map(|decoded| {
            let text = decoded.text.into_owned();
            Arc::new(CitedFile {
                content: CitedFileText::new(path.to_owned(), text),
                indexed: None,
            })
        });
        self.read.borrow_mut().insert(path.to_owned(), known.clone());
        known
    }

    /// Returns the only place among all listed files that has a fingerprint; those of the same name come
    /// first. There is none where not all can be read: a place may then not be the only one.
    pub(super) fn find_by_fingerprint(
        &self,
        path: &str,
        fingerprint: &str,
        count: u32,
    ) -> Option<(String, LineRange)> {
        let places = |file: &str| -> Vec<(String, LineRange)> {
            let known = self.load_file(file);
            let places = known.map(|known| known.content.find_by_fingerprint(fingerprint, count));
            places.into_iter().flatten().map(|range| (file.to_owned(), range)).collect()
        };
        let only = |mut found: Vec<(String, LineRange)>| match found.len() {
            1 => found.pop(),
            _ => None,
        };
        let same_name: Vec<_> = self.files_named_like(path).flat_map(places).take(2).collect();
        if !same_name.is_empty() {
            return only(same_name);
        }
        let mut all = Vec::new();
        for file in &self.files {
            all.extend(places(file));
            if all.len() > 1 || self.room.get() < RESERVE {
                return None;
            }
        }
        only(all)
    }
}

//! Work tree whose documents are checked. Files are opened beneath its root, never through a link,
//! and only listed ones are read.

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

/// Bytes that a search through all files leaves for cited files.
const RESERVED_BYTES: u64 = MAX_BYTES / 2;
/// Maximum bytes of cited lines hashed in all: a text may cite the same lines many times.
const MAX_HASHED_BYTES: u64 = MAX_BYTES;

/// Predicate that tells whether ignore files of the repository exclude a missing path.
pub type IgnoreCheck = Box<dyn Fn(&str) -> bool>;

/// The files of a repository as they are on disk.
pub struct DocumentTree {
    pub(super) root: PathBuf,
    folder: RootDir,
    /// Paths of readable files relative to the root, sorted.
    files: Vec<String>,
    /// All folders of `files`.
    folders: HashSet<String>,
    /// Indexes into `files` by file name.
    by_name: HashMap<String, Vec<usize>>,
    is_ignored: IgnoreCheck,
    read: RefCell<HashMap<String, Option<Arc<CitedFile>>>>,
    /// Bytes that may still be read.
    unread_bytes: Cell<u64>,
    /// Bytes that may still be hashed.
    unhashed_bytes: Cell<u64>,
}

impl DocumentTree {
    /// Opens a root whose `files` may be read.
    pub fn open(root: &Path, mut files: Vec<String>, is_ignored: IgnoreCheck) -> io::Result<Self> {
        files.sort_unstable();
        let mut folders = HashSet::new();
        let mut by_name = HashMap::<String, Vec<usize>>::new();
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
            unread_bytes: Cell::new(MAX_BYTES),
            unhashed_bytes: Cell::new(MAX_HASHED_BYTES),
        })
    }

    pub(super) fn folder_name(&self) -> Option<String> {
        self.root.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.binary_search_by(|file| file.as_str().cmp(path)).is_ok()
    }

    pub(super) fn path_exists(&self, path: &str) -> bool {
        self.folder.may_contain(Path::new(path))
    }

    /// Returns whether a folder contains a listed file, directly or below it.
    pub(super) fn has_folder(&self, path: &str) -> bool {
        self.folders.contains(path)
    }

    pub(super) fn is_ignored(&self, path: &str) -> bool {
        (self.is_ignored)(path)
    }

    pub(super) fn files_named_like<'a>(
        &'a self,
        path: &str,
    ) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let places = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|at| self.files.get(*at)).map(String::as_str)
    }

    /// Reads a text file up to [`MAX_FILE_BYTES`], even an unlisted one, as documents may be.
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

    /// Reserves bytes to be hashed. Returns `false` if they exceed the limit.
    pub(super) fn reserve_hash_bytes(&self, bytes: u64) -> bool {
        let left = self.unhashed_bytes.get().checked_sub(bytes);
        self.unhashed_bytes.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Returns a listed file, which is read once; `None` if it is not text or exceeds the limits.
    pub(super) fn load_file(&self, path: &str) -> Option<Arc<CitedFile>> {
        if let Some(known) = self.read.borrow().get(path) {
            return known.clone();
        }
        let bytes = (self.unread_bytes.get() > 0).then(|| self.read_bytes(path).ok()).flatten();
        let read = bytes.as_ref().map_or(0, Vec::len) as u64;
        self.unread_bytes.set(self.unread_bytes.get().saturating_sub(read));
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

    /// Returns the only place among all listed files with a fingerprint, first among files of the
    /// same name; `None` if not all files can be read, because another place may then exist.
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
            if all.len() > 1 || self.unread_bytes.get() < RESERVED_BYTES {
                return None;
            }
        }
        only(all)
    }
}

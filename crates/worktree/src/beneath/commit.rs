//! Opens files and folders of a commit from objects; ignores entries whose names lead elsewhere.

use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    path::{Component, Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Kind as Object, TreeRefIter, tree::EntryKind};
use lru::LruCache;

use super::{
    FileFacts, FolderEntry, FolderEntryKind,
    objects::{ObjectDatabase, ObjectFault},
};

const MAX_PATH: usize = 4096;
/// Maximum entries of a folder. Git becomes slow with a tenth of it.
const MAX_ENTRIES: usize = 250_000;
/// Maximum bytes of a folder's object. Git becomes slow with a tenth of it.
const MAX_FOLDER_BYTES: u64 = 8 << 20;
/// Bounds of the bytes unpacked for all folders of a commit, repeated ones each time; between them
/// the limit is the size of the packs. Chromium takes a tenth of the upper bound.
const WORK_BOUNDS: [u64; 2] = [512 << 20, 8 << 30];
/// Maximum bytes of cached folders. A walk goes from each folder into those below it.
const MAX_KEPT: usize = 64 << 20;

pub(super) struct CommitRoot {
    objects: ObjectDatabase,
    tree: ObjectId,
    folders: Mutex<FolderCache>,
    work: AtomicU64,
    max_work: u64,
}

impl fmt::Debug for CommitRoot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CommitRoot").field("tree", &self.tree).finish_non_exhaustive()
    }
}

pub(super) struct CommitFolder {
    top: Arc<CommitRoot>,
    items: Arc<[CommitEntry]>,
}

pub(super) struct CommitEntry {
    pub(super) name: OsString,
    pub(super) kind: FolderEntryKind,
    pub(super) id: ObjectId,
}

impl CommitRoot {
    pub(super) fn open(git: &Path, commit: &str) -> io::Result<Self> {
        let objects = ObjectDatabase::open(git, commit.len())?;
        let id = ObjectId::from_hex(commit.as_bytes()).map_err(|_| ObjectFault::Missing)?;
        let handle = objects.new_handle();
        let found = objects.find_object(&handle, &id)?;
        if found.kind != Object::Commit {
            return Err(ObjectFault::NoCommit.into());
        }
        let bytes = found.read_bytes()?;
        let root_tree = CommitRefIter::from_bytes(&bytes, id.kind()).tree_id();
        let tree = root_tree.map_err(|_| ObjectFault::Strange)?;
        drop(handle);
        let [min, max] = WORK_BOUNDS;
        let max_work = objects.pack_bytes().clamp(min, max);
        Ok(Self { objects, tree, folders: Mutex::default(), work: AtomicU64::new(0), max_work })
    }

    pub(super) fn hash_kind(&self) -> gix_hash::Kind {
        self.tree.kind()
    }

    pub(super) fn open_folder(top: &Arc<Self>, path: &Path) -> io::Result<CommitFolder> {
        Ok(CommitFolder { top: Arc::clone(top), items: top.find_folder_entries(path)? })
    }

    pub(super) fn read_file(&self, path: &Path) -> io::Result<(Vec<u8>, FileFacts)> {
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let items = self.find_folder_entries(path.parent().unwrap_or(Path::new("")))?;
        let item = find_entry(&items, name).ok_or(io::ErrorKind::NotFound)?;
        if item.kind != FolderEntryKind::File {
            return Err(io::Error::other("it is no regular file"));
        }
        let bytes = self.objects.find_object(&self.objects.new_handle(), &item.id)?.read_bytes()?;
        let facts =
            FileFacts { size: bytes.len() as u64, modified_ns: derive_content_stamp(&item.id) };
        Ok((bytes, facts))
    }

    pub(super) fn find_folder_entries(&self, path: &Path) -> io::Result<Arc<[CommitEntry]>> {
        let is_inner = |part: Component<'_>| matches!(part, Component::Normal(_));
        if path.as_os_str().len() > MAX_PATH || !path.components().all(is_inner) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // Starts from the nearest cached folder above the path.
        let mut unknown = Vec::new();
        let mut known = None;
        for above in path.ancestors() {
            known = self.lock_folders().get(above);
            if known.is_some() {
                break;
            }
            unknown.push(above);
        }
        for path in unknown.into_iter().rev() {
            let id = match (&known, path.file_name()) {
                (None, _) => self.tree,
                (Some(_), None) => return Err(io::ErrorKind::InvalidInput.into()),
                (Some(items), Some(name)) => match find_entry(items, name) {
                    Some(CommitEntry { kind: FolderEntryKind::Folder, id, .. }) => *id,
                    Some(_) => return Err(io::ErrorKind::NotADirectory.into()),
                    None => return Err(io::ErrorKind::NotFound.into()),
                },
            };
            let items: Arc<[CommitEntry]> = self.read_folder(&id)?.into();
            self.lock_folders().insert(path.to_owned(), Arc::clone(&items));
            known = Some(items);
        }
        known.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_folder(&self, id: &ObjectId) -> io::Result<Vec<CommitEntry>> {
        let handle = self.objects.new_handle();
        let found = self.objects.find_object(&handle, id)?;
        if found.kind != Object::Tree {
            return Err(ObjectFault::Strange.into());
        }
        let work = found.unpack_cost();
        let before = self.work.fetch_add(work, Ordering::Relaxed);
        if found.size > MAX_FOLDER_BYTES || before.saturating_add(work) > self.max_work {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let bytes = found.read_bytes()?;
        let mut items = Vec::new();
        for (number, result) in TreeRefIter::from_bytes(&bytes, id.kind()).enumerate() {
            if number == MAX_ENTRIES {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            let entry = result.map_err(|_| ObjectFault::Strange)?;
            let Some(name) = parse_entry_name(entry.filename) else { continue };
            let kind = match entry.mode.kind() {
                EntryKind::Tree => FolderEntryKind::Folder,
                EntryKind::Blob | EntryKind::BlobExecutable => FolderEntryKind::File,
                EntryKind::Commit => FolderEntryKind::Module,
                EntryKind::Link => FolderEntryKind::Other,
            };
            items.push(CommitEntry { name, kind, id: entry.oid.to_owned() });
        }
        items.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // Git writes no name twice.
        items.dedup_by(|a, b| a.name == b.name);
        Ok(items)
    }

    fn lock_folders(&self) -> MutexGuard<'_, FolderCache> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct FolderCache {
    folders: LruCache<PathBuf, Arc<[CommitEntry]>>,
    bytes: usize,
}

impl Default for FolderCache {
    fn default() -> Self {
        Self { folders: LruCache::unbounded(), bytes: 0 }
    }
}

impl FolderCache {
    fn get(&mut self, path: &Path) -> Option<Arc<[CommitEntry]>> {
        self.folders.get(path).cloned()
    }

    /// Adds a folder and drops the least recently used ones; one alone never exceeds the limit.
    fn insert(&mut self, path: PathBuf, items: Arc<[CommitEntry]>) {
        self.bytes += estimate_bytes(&path, &items);
        if let Some((path, items)) = self.folders.push(path, items) {
            self.bytes -= estimate_bytes(&path, &items);
        }
        while self.bytes > MAX_KEPT
            && let Some((path, items)) = self.folders.pop_lru()
        {
            self.bytes -= estimate_bytes(&path, &items);
        }
    }
}

fn estimate_bytes(path: &Path, items: &[CommitEntry]) -> usize {
    let estimate_entry = |item: &CommitEntry| size_of::<CommitEntry>() + item.name.len();
    256 + path.as_os_str().len() + items.iter().map(estimate_entry).sum::<usize>()
}

impl CommitFolder {
    pub(super) fn list_entries(&self) -> impl Iterator<Item = io::Result<FolderEntry>> + '_ {
        self.items.iter().map(|item| Ok(FolderEntry { name: item.name.clone(), kind: item.kind }))
    }

    /// Reads the size of a file without unpacking its content.
    pub(super) fn read_facts(&self, name: &OsStr) -> io::Result<Option<FileFacts>> {
        let item = find_entry(&self.items, name).ok_or(io::ErrorKind::NotFound)?;
        if item.kind != FolderEntryKind::File {
            return Ok(None);
        }
        let objects = &self.top.objects;
        let size = objects.find_object(&objects.new_handle(), &item.id)?.size;
        Ok(Some(FileFacts { size, modified_ns: derive_content_stamp(&item.id) }))
    }
}

fn find_entry<'a>(items: &'a [CommitEntry], name: &OsStr) -> Option<&'a CommitEntry> {
    items.get(items.binary_search_by(|item| item.name.as_os_str().cmp(name)).ok()?)
}

/// Converts the name of an entry to the system's form; `None` if the name would lead elsewhere.
fn parse_entry_name(name: &[u8]) -> Option<OsString> {
    let leads_elsewhere = matches!(name, b"" | b"." | b"..")
        || name
            .iter()
            .any(|byte| matches!(byte, b'/' | b'\0') || (cfg!(windows) && *byte == b'\\'));
    if leads_elsewhere {
        return None;
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        Some(OsStr::from_bytes(name).to_owned())
    }
    #[cfg(not(unix))]
    std::str::from_utf8(name).ok().map(OsString::from)
}

/// Derives a number from a file's content: not 0, and at most 63 bits, which stores keep exactly.
fn derive_content_stamp(id: &ObjectId) -> u64 {
    let first = id.as_slice().first_chunk().copied().unwrap_or_default();
    (u64::from_be_bytes(first) >> 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(count: usize, name: usize) -> Arc<[CommitEntry]> {
        let item = |number: usize| CommitEntry {
            name: format!("{number:0name$}").into(),
            kind: FolderEntryKind::File,
            id: ObjectId::null(gix_hash::Kind::Sha1),
        };
        (0..count).map(item).collect()
    }

    #[test]
    fn the_folder_cache_is_bounded_and_keeps_the_last_folder() {
        let mut kept = FolderCache::default();
        let largest = items(MAX_ENTRIES, 8);
        let at = |number: usize| PathBuf::from(number.to_string());
        for number in 0..20 {
            kept.insert(at(number), Arc::clone(&largest));
            assert!(kept.get(&at(number)).is_some() && kept.bytes <= MAX_KEPT);
        }
        assert!((1..4).contains(&kept.folders.len()), "{}", kept.folders.len());
        // Many small folders count as well, and a folder that is put twice counts once.
        for number in 0..600_000 {
            kept.insert(at(number % 500_000), Arc::default());
        }
        let sum =
            kept.folders.iter().map(|(path, items)| estimate_bytes(path, items)).sum::<usize>();
        assert_eq!(kept.bytes, sum);
        assert!(kept.bytes <= MAX_KEPT);
    }
}

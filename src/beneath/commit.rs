//! Opening beneath a commit: folders and files as they are in the objects of a repository, which are read and never
//! written, without running git.
//!
//! Objects are whatever the repository says: each is looked up for its size before it is read, names that lead
//! elsewhere are no files, and objects that the repository borrows from another one are not read.

use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    num::NonZeroUsize,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use gix_hash::ObjectId;
use gix_object::{
    CommitRefIter, Find, FindHeader, Kind as Object, TagRefIter, TreeRefIter, tree::EntryKind,
};
use gix_odb::{
    Store,
    store::{Handle, init},
};
use lru::LruCache;

use super::{Beneath, Entry, Facts, Kind};

/// Larger objects are not read. Git itself warns of files above 50 MB.
const MAX_BYTES: u64 = 64 << 20;
/// Nothing in a pack is unpacked to more: a small change of a large file is kept as what it was made from.
const MAX_UNPACKED: usize = 256 << 20;
/// Longer paths are not followed, as by the system.
const MAX_PATH: usize = 4096;
/// So many folders are kept read: a walk goes from each into those below it.
const KEPT: NonZeroUsize = NonZeroUsize::new(64).expect("more than none");
/// A tag may name a tag.
const MAX_TAGS: usize = 8;
/// Histories are followed so far: by first parents, that of Linux has a tenth of it.
const MAX_COMMITS: usize = 1_000_000;
/// Packs and their indexes at a time. Git packs again above fifty.
const MAX_PACKS: usize = 4096;
/// The shortest beginning of an id that is looked for, as by git.
const MIN_PREFIX: usize = 4;

/// Why something of a commit cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The object is not in the repository: it is a shallow or partial clone, or damaged.
    Missing,
    /// The repository has objects of another one.
    Borrowed,
    /// More than one object has an id that begins so.
    Ambiguous,
    /// The object is none that has files.
    NoCommit,
    /// What holds the objects is not as git has it.
    Strange,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Missing => "the object is not in the repository",
            Self::Borrowed => "the repository has objects of another one",
            Self::Ambiguous => "several objects have an id that begins so",
            Self::NoCommit => "the object is no commit",
            Self::Strange => "the objects are not kept as git keeps them",
        })
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        Self::other(fault)
    }
}

/// Returns why something of a commit could not be read, if that is what failed.
pub(crate) fn fault(error: &io::Error) -> Option<Fault> {
    error.get_ref()?.downcast_ref().copied()
}

/// The objects of a repository.
pub(crate) struct Objects {
    store: Arc<Store>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Objects").finish_non_exhaustive()
    }
}

impl Objects {
    /// Opens the objects that lie in a folder of git. `hex` is the length of their ids as text.
    pub(crate) fn open(git: &Path, hex: usize) -> io::Result<Self> {
        let hash = match hex {
            64 => gix_hash::Kind::Sha256,
            _ => gix_hash::Kind::Sha1,
        };
        let beneath = Beneath::open(git)?;
        beneath.folder(Path::new("objects")).map_err(|_| Fault::Strange)?;
        for borrowed in ["objects/info/alternates", "objects/info/http-alternates"] {
            if beneath.holds(Path::new(borrowed)) {
                return Err(Fault::Borrowed.into());
            }
        }
        // Without packs there is no such folder.
        if let Ok(mut packs) = beneath.folder(Path::new("objects/pack")) {
            for (number, pack) in packs.entries().enumerate() {
                if MAX_PACKS * 4 < number || pack?.kind != Kind::File {
                    return Err(Fault::Strange.into());
                }
            }
        } else if beneath.holds(Path::new("objects/pack")) {
            return Err(Fault::Strange.into());
        }
        let options = init::Options {
            alloc_limit_bytes: Some(MAX_UNPACKED),
            slots: init::Slots::AsNeededByDiskState { multiplier: 2.0, minimum: 64 },
            ..init::Options::default()
        };
        let store = Store::at_opts(git.join("objects"), hash, &mut std::iter::empty(), options)?;
        Ok(Self { store: Arc::new(store) })
    }

    /// Returns the commit that an id means, or the beginning of one: itself, or what a tag of that id names.
    pub(crate) fn commit(&self, id: &str) -> io::Result<String> {
        let handle = self.store.to_handle_arc();
        let mut id = match ObjectId::from_hex(id.as_bytes()) {
            Ok(id) => id,
            Err(_) if id.len() < MIN_PREFIX => return Err(Fault::Missing.into()),
            Err(_) => {
                let prefix = gix_hash::Prefix::from_hex(id).map_err(|_| Fault::Missing)?;
                let found = handle.lookup_prefix(prefix, None).map_err(|_| Fault::Strange)?;
                found.ok_or(Fault::Missing)?.map_err(|()| Fault::Ambiguous)?
            }
        };
        for _ in 0..MAX_TAGS {
            let (kind, bytes) = read(&handle, &id)?;
            match kind {
                Object::Commit => return Ok(id.to_string()),
                Object::Tag => {
                    let tag = TagRefIter::from_bytes(&bytes, id.kind());
                    id = tag.target_id().map_err(|_| Fault::Strange)?;
                }
                Object::Tree | Object::Blob => return Err(Fault::NoCommit.into()),
            }
        }
        Err(Fault::Strange.into())
    }
}

impl Objects {
    /// Returns the commit without parents that one goes back to by first parents.
    pub(crate) fn first_commit(&self, id: &str, beat: impl Fn()) -> io::Result<String> {
        let handle = self.store.to_handle_arc();
        let mut id = ObjectId::from_hex(id.as_bytes()).map_err(|_| Fault::Missing)?;
        for _ in 0..MAX_COMMITS {
            beat();
            let (kind, bytes) = read(&handle, &id)?;
            if kind != Object::Commit {
                return Err(Fault::NoCommit.into());
            }
            match CommitRefIter::from_bytes(&bytes, id.kind()).parent_ids().next() {
                Some(parent) => id = parent,
                None => return Ok(id.to_string()),
            }
        }
        Err(Fault::Strange.into())
    }
}

/// A commit that was opened.
pub(super) struct Top {
    objects: Objects,
    tree: ObjectId,
    folders: Mutex<LruCache<PathBuf, Arc<Vec<Item>>>>,
}

impl fmt::Debug for Top {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Top").field("tree", &self.tree).finish_non_exhaustive()
    }
}

pub(super) struct Folder {
    top: Arc<Top>,
    items: Arc<Vec<Item>>,
}

/// One entry of a folder.
struct Item {
    name: OsString,
    kind: Kind,
    id: ObjectId,
}

impl Top {
    pub(super) fn open(git: &Path, commit: &str) -> io::Result<Self> {
        let objects = Objects::open(git, commit.len())?;
        let id = ObjectId::from_hex(commit.as_bytes()).map_err(|_| Fault::Missing)?;
        let (kind, bytes) = read(&objects.store.to_handle_arc(), &id)?;
        if kind != Object::Commit {
            return Err(Fault::NoCommit.into());
        }
        let tree = CommitRefIter::from_bytes(&bytes, id.kind()).tree_id();
        let tree = tree.map_err(|_| Fault::Strange)?;
        Ok(Self { objects, tree, folders: Mutex::new(LruCache::new(KEPT)) })
    }

    pub(super) fn folder(top: &Arc<Self>, path: &Path) -> io::Result<Folder> {
        Ok(Folder { top: Arc::clone(top), items: top.items(path)? })
    }

    pub(super) fn file(&self, path: &Path) -> io::Result<(Vec<u8>, Facts)> {
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let items = self.items(path.parent().unwrap_or(Path::new("")))?;
        let item = find(&items, name).ok_or(io::ErrorKind::NotFound)?;
        if item.kind != Kind::File {
            return Err(io::Error::other("it is no regular file"));
        }
        let (_, bytes) = read(&self.objects.store.to_handle_arc(), &item.id)?;
        let facts = Facts { size: bytes.len() as u64, modified_ns: number(&item.id) };
        Ok((bytes, facts))
    }

    /// Returns what is in a folder.
    fn items(&self, path: &Path) -> io::Result<Arc<Vec<Item>>> {
        let is_inner = |part: Component<'_>| matches!(part, Component::Normal(_));
        if MAX_PATH < path.as_os_str().len() || !path.components().all(is_inner) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // From the nearest folder above it that is known; few are deep enough for this to matter.
        let mut unknown = Vec::new();
        let mut known = None;
        for above in path.ancestors() {
            known = self.folders().get(above).cloned();
            if known.is_some() {
                break;
            }
            unknown.push(above);
        }
        for path in unknown.into_iter().rev() {
            let id = match (&known, path.file_name()) {
                (None, _) => self.tree,
                (Some(_), None) => return Err(io::ErrorKind::InvalidInput.into()),
                (Some(items), Some(name)) => match find(items, name) {
                    Some(Item { kind: Kind::Folder, id, .. }) => *id,
                    Some(_) => return Err(io::ErrorKind::NotADirectory.into()),
                    None => return Err(io::ErrorKind::NotFound.into()),
                },
            };
            let items = Arc::new(self.read_folder(&id)?);
            self.folders().put(path.to_owned(), Arc::clone(&items));
            known = Some(items);
        }
        known.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn read_folder(&self, id: &ObjectId) -> io::Result<Vec<Item>> {
        let (kind, bytes) = read(&self.objects.store.to_handle_arc(), id)?;
        if kind != Object::Tree {
            return Err(Fault::Strange.into());
        }
        let mut items = Vec::new();
        for entry in TreeRefIter::from_bytes(&bytes, id.kind()) {
            let entry = entry.map_err(|_| Fault::Strange)?;
            let Some(name) = name(entry.filename) else { continue };
            let kind = match entry.mode.kind() {
                EntryKind::Tree => Kind::Folder,
                EntryKind::Blob | EntryKind::BlobExecutable => Kind::File,
                EntryKind::Commit => Kind::Module,
                EntryKind::Link => Kind::Other,
            };
            items.push(Item { name, kind, id: entry.oid.to_owned() });
        }
        items.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // Git has none twice.
        items.dedup_by(|a, b| a.name == b.name);
        Ok(items)
    }

    fn folders(&self) -> std::sync::MutexGuard<'_, LruCache<PathBuf, Arc<Vec<Item>>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Folder {
    pub(super) fn entries(&self) -> impl Iterator<Item = io::Result<Entry>> + '_ {
        self.items.iter().map(|item| Ok(Entry { name: item.name.clone(), kind: item.kind }))
    }

    /// Reads the size of a file; its content stays where it is.
    pub(super) fn facts(&self, name: &OsStr) -> io::Result<Option<Facts>> {
        let item = find(&self.items, name).ok_or(io::ErrorKind::NotFound)?;
        if item.kind != Kind::File {
            return Ok(None);
        }
        let header = self.top.objects.store.to_handle_arc().try_header(&item.id);
        let header = header.map_err(|_| Fault::Strange)?.ok_or(Fault::Missing)?;
        Ok(Some(Facts { size: header.size, modified_ns: number(&item.id) }))
    }
}

fn find<'a>(items: &'a [Item], name: &OsStr) -> Option<&'a Item> {
    items.get(items.binary_search_by(|item| item.name.as_os_str().cmp(name)).ok()?)
}

/// Returns a name of an entry as the system has it, unless it would lead elsewhere.
fn name(name: &[u8]) -> Option<OsString> {
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

/// Returns a number other than 0 that follows from the content of a file, and that stores keep whole: of 63 bits.
fn number(id: &ObjectId) -> u64 {
    let first = id.as_slice().first_chunk().copied().unwrap_or_default();
    (u64::from_be_bytes(first) >> 1).max(1)
}

fn read(handle: &Handle<Arc<Store>>, id: &ObjectId) -> io::Result<(Object, Vec<u8>)> {
    let header = handle.try_header(id).map_err(|_| Fault::Strange)?.ok_or(Fault::Missing)?;
    if MAX_BYTES < header.size {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut bytes = Vec::new();
    let found = handle.try_find(id, &mut bytes).map_err(|_| Fault::Strange)?;
    let kind = found.ok_or(Fault::Missing)?.kind;
    Ok((kind, bytes))
}

//! The objects of a repository, which are read and never written, without running git.
//!
//! Objects are whatever the repository says: each is looked up for its size, and for what it takes to unpack it,
//! before it is read. No link is followed, and objects that the repository borrows from another one are not read.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Find, Kind as Object, TagRefIter};
use gix_odb::{
    Header, Store,
    store::{Handle, init},
};

use super::{FolderEntry, FolderEntryKind, RootDir};

/// Larger objects are not read. Git itself warns of files above 50 MB.
const MAX_BYTES: u64 = 64 << 20;
/// Nothing in a pack is unpacked to more: a small change of a large file is kept as what it was made from.
const MAX_UNPACKED: usize = 256 << 20;
/// Git makes chains of 50 changes by default, and longer ones on request, up to [`MAX_CHAIN`].
const USUAL_CHAIN: u32 = 64;
/// Longer chains are of smaller objects: each of them is made from the one before, as a whole.
const MAX_UNPACKED_OF_LONG: usize = 16 << 20;
/// Git makes no longer chains.
const MAX_CHAIN: u32 = 4095;
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
pub enum ObjectFault {
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

impl fmt::Display for ObjectFault {
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

impl std::error::Error for ObjectFault {}

impl From<ObjectFault> for io::Error {
    fn from(fault: ObjectFault) -> Self {
        Self::other(fault)
    }
}

/// Returns why something of a commit could not be read, if that is what failed.
pub fn as_object_fault(error: &io::Error) -> Option<ObjectFault> {
    error.get_ref()?.downcast_ref().copied()
}

/// The objects of a repository.
pub struct ObjectDatabase {
    /// The folder of git.
    git: RootDir,
    /// The folder of the objects.
    path: PathBuf,
    hash: gix_hash::Kind,
    /// How many bytes all packs have.
    pack_bytes: u64,
    store: Arc<Store>,
    /// For objects at the end of long chains.
    cautious: OnceLock<Arc<Store>>,
}

impl fmt::Debug for ObjectDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ObjectDatabase").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ObjectDatabase {
    /// Opens the objects that lie in a folder of git. `hex` is the length of their ids as text.
    pub fn open(git: &Path, hex: usize) -> io::Result<Self> {
        let hash = match hex {
            64 => gix_hash::Kind::Sha256,
            _ => gix_hash::Kind::Sha1,
        };
        let beneath = RootDir::open(git)?;
        let mut folders =
            beneath.open_folder(Path::new("objects")).map_err(|_| ObjectFault::Strange)?;
        for (number, folder) in folders.list_entries().enumerate() {
            let folder = folder?;
            let is_of_loose = folder.name.to_str().is_some_and(|name| {
                name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
            });
            if MAX_PACKS < number || (is_of_loose && folder.kind != FolderEntryKind::Folder) {
                return Err(ObjectFault::Strange.into());
            }
        }
        for borrowed in ["objects/info/alternates", "objects/info/http-alternates"] {
            if beneath.may_contain(Path::new(borrowed)) {
                return Err(ObjectFault::Borrowed.into());
            }
        }
        // Without packs there is no such folder.
        let mut pack_bytes = 0_u64;
        if let Ok(mut packs) = beneath.open_folder(Path::new("objects/pack")) {
            let entries: Vec<_> = packs.list_entries().take(MAX_PACKS * 4 + 1).collect();
            if entries.len() > MAX_PACKS * 4 {
                return Err(ObjectFault::Strange.into());
            }
            for pack in entries {
                let facts = packs.read_facts(&pack?)?.ok_or(ObjectFault::Strange)?;
                pack_bytes = pack_bytes.saturating_add(facts.size);
            }
        } else if beneath.may_contain(Path::new("objects/pack")) {
            return Err(ObjectFault::Strange.into());
        }
        let path = git.join("objects");
        let store = open_store(&path, hash, MAX_UNPACKED)?;
        Ok(Self { git: beneath, path, hash, pack_bytes, store, cautious: OnceLock::new() })
    }

    /// Returns the commit that an id means, or the beginning of one: itself, or what a tag of that id names.
    pub fn resolve_commit(&self, id: &str) -> io::Result<String> {
        let handle = self.new_handle();
        let mut id = match ObjectId::from_hex(id.as_bytes()) {
            Ok(id) => id,
            Err(_) if id.len() < MIN_PREFIX => return Err(ObjectFault::Missing.into()),
            Err(_) => {
                let prefix = gix_hash::Prefix::from_hex(id).map_err(|_| ObjectFault::Missing)?;
                let found = handle.lookup_prefix(prefix, None).map_err(|_| ObjectFault::Strange)?;
                found.ok_or(ObjectFault::Missing)?.map_err(|()| ObjectFault::Ambiguous)?
            }
        };
        for _ in 0..MAX_TAGS {
            let found = self.find_object(&handle, &id)?;
            match found.kind {
                Object::Commit => return found.read_bytes().map(|_| id.to_string()),
                Object::Tag => {
                    let bytes = found.read_bytes()?;
                    let tag = TagRefIter::from_bytes(&bytes, id.kind());
                    id = tag.target_id().map_err(|_| ObjectFault::Strange)?;
                }
                Object::Tree | Object::Blob => return Err(ObjectFault::NoCommit.into()),
            }
        }
        Err(ObjectFault::Strange.into())
    }

    /// Returns the commit without parents that one goes back to by first parents.
    pub fn first_commit(&self, id: &str, beat: impl Fn()) -> io::Result<String> {
        let handle = self.new_handle();
        let mut id = ObjectId::from_hex(id.as_bytes()).map_err(|_| ObjectFault::Missing)?;
        for _ in 0..MAX_COMMITS {
            beat();
            let found = self.find_object(&handle, &id)?;
            if found.kind != Object::Commit {
                return Err(ObjectFault::NoCommit.into());
            }
            let bytes = found.read_bytes()?;
            match CommitRefIter::from_bytes(&bytes, id.kind()).parent_ids().next() {
                Some(parent) => id = parent,
                None => return Ok(id.to_string()),
            }
        }
        Err(ObjectFault::Strange.into())
    }

    pub(super) fn pack_bytes(&self) -> u64 {
        self.pack_bytes
    }

    pub(super) fn new_handle(&self) -> Handle<Arc<Store>> {
        self.store.to_handle_arc()
    }

    /// Finds an object, and does not read it yet.
    pub(super) fn find_object<'a>(
        &'a self,
        handle: &'a Handle<Arc<Store>>,
        id: &ObjectId,
    ) -> io::Result<LocatedObject<'a>> {
        self.check_file(id)?;
        let header =
            handle.try_header(id).map_err(|_| ObjectFault::Strange)?.ok_or(ObjectFault::Missing)?;
        let chain = header.num_deltas().unwrap_or_default();
        if MAX_CHAIN < chain {
            return Err(ObjectFault::Strange.into());
        }
        let (kind, size) = (header.kind(), header.size());
        Ok(LocatedObject { objects: self, handle, id: *id, kind, size, chain })
    }

    /// Refuses an object whose file is a link, or lies behind one: what it leads to is none of the repository's.
    fn check_file(&self, id: &ObjectId) -> io::Result<()> {
        let hex = id.to_string();
        let (folder, name) = hex.split_at_checked(2).ok_or(ObjectFault::Strange)?;
        let folder = match self.git.open_folder(&Path::new("objects").join(folder)) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => return Err(ObjectFault::Strange.into()),
        };
        match folder.read_facts(&FolderEntry { name: name.into(), kind: FolderEntryKind::File }) {
            Ok(Some(_)) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Ok(None) | Err(_) => Err(ObjectFault::Strange.into()),
        }
    }

    fn cautious_store(&self) -> io::Result<&Arc<Store>> {
        if let Some(store) = self.cautious.get() {
            return Ok(store);
        }
        let store = open_store(&self.path, self.hash, MAX_UNPACKED_OF_LONG)?;
        Ok(self.cautious.get_or_init(|| store))
    }
}

/// An object that is there.
pub(super) struct LocatedObject<'a> {
    objects: &'a ObjectDatabase,
    handle: &'a Handle<Arc<Store>>,
    id: ObjectId,
    pub(super) kind: Object,
    /// How many bytes it has.
    pub(super) size: u64,
    /// How many changes make it from an object that is kept whole.
    chain: u32,
}

impl LocatedObject<'_> {
    /// Returns how many bytes are written to unpack it, if what it is made from is as large.
    pub(super) fn unpack_cost(&self) -> u64 {
        self.size.saturating_mul(u64::from(self.chain) + 1)
    }

    pub(super) fn read_bytes(&self) -> io::Result<Vec<u8>> {
        if MAX_BYTES < self.size {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::new();
        let found = if USUAL_CHAIN < self.chain {
            let handle = self.objects.cautious_store()?.to_handle_arc();
            handle.try_find(&self.id, &mut bytes).map(|found| found.is_some())
        } else {
            self.handle.try_find(&self.id, &mut bytes).map(|found| found.is_some())
        };
        match found {
            Ok(true) => Ok(bytes),
            Ok(false) => Err(ObjectFault::Missing.into()),
            Err(_) => Err(ObjectFault::Strange.into()),
        }
    }
}

fn open_store(path: &Path, hash: gix_hash::Kind, max_unpacked: usize) -> io::Result<Arc<Store>> {
    let options = init::Options {
        alloc_limit_bytes: Some(max_unpacked),
        slots: init::Slots::AsNeededByDiskState { multiplier: 2.0, minimum: 64 },
        ..init::Options::default()
    };
    let store = Store::at_opts(path.to_owned(), hash, &mut std::iter::empty(), options)?;
    Ok(Arc::new(store))
}

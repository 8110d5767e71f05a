//! Reads the objects of a repository without running git. Nothing is written.
//!
//! Objects are not trusted: their size and the cost to unpack them are checked before they are
//! read. No link is followed, and objects borrowed from another repository are not read.

use std::{
    ffi::OsString,
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Find, Kind as Object, TagRefIter};
use gix_odb::{Cache, Header, Store, store::init};
use gix_pack::cache::lru::MemoryCappedHashmap;

use super::{FolderEntry, FolderEntryKind, RootDir};

/// Maximum bytes of an object. Git itself warns of files above 50 MB.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum bytes to unpack one object: a small change of a large file needs that whole file.
const MAX_UNPACKED: usize = 256 << 20;
/// Length of a delta chain up to which [`MAX_UNPACKED`] applies. By default git makes chains of 50,
/// on request up to [`MAX_CHAIN`].
const USUAL_CHAIN: u32 = 64;
/// Maximum bytes for an object of a longer chain, because each step builds a whole object.
const MAX_UNPACKED_OF_LONG: usize = 16 << 20;
const MAX_CHAIN: u32 = 4095;
/// Maximum bytes that an [`ObjectReader`] remembers, because neighbours are deltas of them.
const MAX_REMEMBERED: usize = 32 << 20;
/// Maximum bytes written to unpack a commit, tag or object of a reader, about half a second.
const MAX_UNPACK_COST: u64 = 1 << 30;
/// Maximum tags followed; a tag may name another tag.
const MAX_TAGS: usize = 8;
/// Maximum commits followed along first parents. Linux has a tenth of it.
const MAX_COMMITS: usize = 1_000_000;
/// Maximum bytes written to unpack the commits between a name such as `main~3` and its commit, about
/// a quarter of a second. A hundred thousand usual commits have a tenth of it.
const MAX_ANCESTRY_COST: u64 = 512 << 20;
/// Maximum packs. Git repacks above fifty.
const MAX_PACKS: usize = 4096;
const MIN_PREFIX: usize = 4;
/// Maximum tries to find an object while the packs change.
const MAX_TRIES: usize = 8;

/// Reasons why an object cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFault {
    /// The object is not in the repository, which is a shallow or partial clone, or damaged.
    Missing,
    Borrowed,
    /// Several objects have ids with this prefix.
    Ambiguous,
    /// The object is not a commit.
    NoCommit,
    /// The object store does not have the format of git.
    Strange,
}

impl fmt::Display for ObjectFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Missing => "the object is not in the repository",
            Self::Borrowed => "the repository borrows objects from another one",
            Self::Ambiguous => "several objects have ids that begin with this prefix",
            Self::NoCommit => "the object is not a commit",
            Self::Strange => "the object store does not have the format of git",
        })
    }
}

impl std::error::Error for ObjectFault {}

impl From<ObjectFault> for io::Error {
    fn from(fault: ObjectFault) -> Self {
        Self::other(fault)
    }
}

/// Returns the object fault that caused an I/O error, if there is one.
pub fn as_object_fault(error: &io::Error) -> Option<ObjectFault> {
    error.get_ref()?.downcast_ref().copied()
}

/// Reads from the packs and loose objects of a store.
pub(super) type ObjectHandle = Cache<gix_odb::store::Handle<Arc<Store>>>;

pub(crate) struct ObjectDatabase {
    git: RootDir,
    path: PathBuf,
    hash: gix_hash::Kind,
    pack_bytes: u64,
    store: Arc<Store>,
    /// Store with the lower limit [`MAX_UNPACKED_OF_LONG`], for objects at the end of long chains.
    cautious: OnceLock<Arc<Store>>,
}

impl fmt::Debug for ObjectDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ObjectDatabase").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ObjectDatabase {
    /// Opens the objects of a git folder. `hex` is the length of their ids as text.
    pub(crate) fn open(git: &Path, hex: usize) -> io::Result<Self> {
        let hash = match hex {
            64 => gix_hash::Kind::Sha256,
            _ => gix_hash::Kind::Sha1,
        };
        let beneath = RootDir::open(git)?;
        let mut folders =
            beneath.open_folder(Path::new("objects")).map_err(|_| ObjectFault::Strange)?;
        for (number, result) in folders.list_entries().enumerate() {
            let folder = result?;
            let is_loose = folder.name.to_str().is_some_and(|name| {
                name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
            });
            if number > MAX_PACKS || (is_loose && folder.kind != FolderEntryKind::Folder) {
                return Err(ObjectFault::Strange.into());
            }
        }
        for borrowed in ["objects/info/alternates", "objects/info/http-alternates"] {
            if beneath.may_contain(Path::new(borrowed)) {
                return Err(ObjectFault::Borrowed.into());
            }
        }
        // A repository without packs may lack the folder.
        let mut pack_bytes = 0_u64;
        if let Ok(mut packs) = beneath.open_folder(Path::new("objects/pack")) {
            let entries: Vec<_> = packs.list_entries().take(MAX_PACKS * 4 + 1).collect();
            if entries.len() > MAX_PACKS * 4 {
                return Err(ObjectFault::Strange.into());
            }
            for pack in entries {
                match packs.read_facts(&pack?) {
                    Ok(facts) => {
                        pack_bytes =
                            pack_bytes.saturating_add(facts.ok_or(ObjectFault::Strange)?.size);
                    }
                    // Git packs its objects again meanwhile.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        } else if beneath.may_contain(Path::new("objects/pack")) {
            return Err(ObjectFault::Strange.into());
        }
        let path = git.join("objects");
        let store = open_store(&path, hash, MAX_UNPACKED)?;
        Ok(Self { git: beneath, path, hash, pack_bytes, store, cautious: OnceLock::new() })
    }

    /// Resolves an id, or a prefix of one, to the full id of a commit, through tags.
    pub(crate) fn resolve_commit(&self, id: &str) -> io::Result<String> {
        let handle = self.new_handle();
        // A prefix has the kind of hash of the repository, whatever its length.
        let digits = self.hash.len_in_hex();
        if !(MIN_PREFIX..=digits).contains(&id.len()) {
            return Err(ObjectFault::Missing.into());
        }
        let padded = ObjectId::from_hex(format!("{id:0<digits$}").as_bytes());
        let mut object_id = padded.map_err(|_| ObjectFault::Missing)?;
        if id.len() < digits {
            let prefix =
                gix_hash::Prefix::new(&object_id, id.len()).map_err(|_| ObjectFault::Missing)?;
            let found = handle.lookup_prefix(prefix, None).map_err(|_| ObjectFault::Strange)?;
            object_id = found.ok_or(ObjectFault::Missing)?.map_err(|()| ObjectFault::Ambiguous)?;
        }
        for _ in 0..MAX_TAGS {
            let found = self.find_object(&handle, &object_id)?;
            match found.kind {
                Object::Commit => return found.read_cheap().map(|_| object_id.to_string()),
                Object::Tag => {
                    let bytes = found.read_cheap()?;
                    let tag = TagRefIter::from_bytes(&bytes, object_id.kind());
                    object_id = tag.target_id().map_err(|_| ObjectFault::Strange)?;
                }
                Object::Tree | Object::Blob => return Err(ObjectFault::NoCommit.into()),
            }
        }
        Err(ObjectFault::Strange.into())
    }

    /// Returns the id of an ancestor along first parents; `None` if there are fewer.
    pub(crate) fn find_ancestor(&self, id: &str, generations: u32) -> io::Result<Option<String>> {
        let handle = self.new_handle();
        let mut commit = ObjectId::from_hex(id.as_bytes()).map_err(|_| ObjectFault::Missing)?;
        let mut rest = MAX_ANCESTRY_COST;
        for _ in 0..generations {
            let found = self.find_object(&handle, &commit)?;
            rest = rest.checked_sub(found.unpack_cost()).ok_or(ObjectFault::Strange)?;
            let bytes = found.read_cheap()?;
            match CommitRefIter::from_bytes(&bytes, commit.kind()).parent_ids().next() {
                Some(parent) => commit = parent,
                None => return Ok(None),
            }
        }
        Ok(Some(commit.to_string()))
    }

    /// Returns the id of the oldest ancestor along first parents. Calls `beat` for each commit.
    pub(crate) fn first_commit(&self, id: &str, beat: impl Fn()) -> io::Result<String> {
        let handle = self.new_handle();
        let mut commit = ObjectId::from_hex(id.as_bytes()).map_err(|_| ObjectFault::Missing)?;
        for _ in 0..MAX_COMMITS {
            beat();
            let found = self.find_object(&handle, &commit)?;
            if found.kind != Object::Commit {
                return Err(ObjectFault::NoCommit.into());
            }
            let bytes = found.read_bytes()?;
            match CommitRefIter::from_bytes(&bytes, commit.kind()).parent_ids().next() {
                Some(parent) => commit = parent,
                None => return Ok(commit.to_string()),
            }
        }
        Err(ObjectFault::Strange.into())
    }

    pub(super) fn pack_bytes(&self) -> u64 {
        self.pack_bytes
    }

    pub(super) fn new_handle(&self) -> ObjectHandle {
        self.store.to_cache_arc()
    }

    /// Finds an object without reading its content.
    pub(super) fn find_object<'a>(
        &'a self,
        handle: &'a ObjectHandle,
        id: &ObjectId,
    ) -> io::Result<LocatedObject<'a>> {
        self.check_file(id)?;
        let header = self.retry_while_packing(|| {
            handle.try_header(id).map_err(|_| ObjectFault::Strange)?.ok_or(ObjectFault::Missing)
        })?;
        let chain = header.num_deltas().unwrap_or_default();
        if chain > MAX_CHAIN {
            return Err(ObjectFault::Strange.into());
        }
        Ok(LocatedObject {
            objects: self,
            handle,
            id: *id,
            kind: header.kind(),
            size: header.size(),
            chain,
        })
    }

    /// Repeats a search without success while git replaces packs, which may have moved the object.
    fn retry_while_packing<T>(
        &self,
        find: impl Fn() -> Result<T, ObjectFault>,
    ) -> Result<T, ObjectFault> {
        let mut packs = None;
        for _ in 1..MAX_TRIES {
            let result = find();
            if !matches!(result, Err(ObjectFault::Missing | ObjectFault::Strange)) {
                return result;
            }
            let packs_now = self.list_packs();
            if packs_now == packs {
                return result;
            }
            packs = packs_now;
        }
        find()
    }

    fn list_packs(&self) -> Option<Vec<OsString>> {
        let mut folder = self.git.open_folder(Path::new("objects/pack")).ok()?;
        let entries = folder.list_entries().take(MAX_PACKS * 4).filter_map(Result::ok);
        let mut names: Vec<OsString> = entries.map(|entry| entry.name).collect();
        names.sort_unstable();
        Some(names)
    }

    /// Fails if a loose object's file is a link or behind one, which may lead elsewhere.
    fn check_file(&self, id: &ObjectId) -> io::Result<()> {
        let hex = id.to_string();
        let (prefix, name) = hex.split_at_checked(2).ok_or(ObjectFault::Strange)?;
        let folder = match self.git.open_folder(&Path::new("objects").join(prefix)) {
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

/// Reads many objects of a repository, one after the other, and remembers the bases of deltas.
pub struct ObjectReader {
    objects: ObjectDatabase,
    handle: ObjectHandle,
}

impl fmt::Debug for ObjectReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.objects.fmt(formatter)
    }
}

impl ObjectReader {
    /// Opens the objects of a git folder. `hex` is the length of their ids as text.
    pub fn open(git: &Path, hex: usize) -> io::Result<Self> {
        let objects = ObjectDatabase::open(git, hex)?;
        let handle = objects
            .new_handle()
            .with_pack_cache(|| Box::new(MemoryCappedHashmap::new(MAX_REMEMBERED)));
        Ok(Self { objects, handle })
    }

    /// Reads an object of a kind. Fails with [`io::ErrorKind::FileTooLarge`] if it has more than
    /// `max_bytes`, or would take too long to unpack.
    pub fn read_object(&self, id: &ObjectId, kind: Object, max_bytes: u64) -> io::Result<Vec<u8>> {
        let found = self.objects.find_object(&self.handle, id)?;
        if found.kind != kind {
            return Err(ObjectFault::Strange.into());
        }
        if found.size > max_bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        found.read_cheap()
    }

    /// Reads the size of an object without unpacking it.
    pub fn read_size(&self, id: &ObjectId) -> io::Result<u64> {
        Ok(self.objects.find_object(&self.handle, id)?.size)
    }
}

pub(super) struct LocatedObject<'a> {
    objects: &'a ObjectDatabase,
    handle: &'a ObjectHandle,
    id: ObjectId,
    pub(super) kind: Object,
    pub(super) size: u64,
    /// Number of deltas from an object that is stored whole.
    chain: u32,
}

impl LocatedObject<'_> {
    /// Returns the estimated bytes written to unpack the object, if its bases have the same size.
    pub(super) fn unpack_cost(&self) -> u64 {
        self.size.saturating_mul(u64::from(self.chain) + 1)
    }

    /// Reads the object if it takes up to about half a second to unpack.
    fn read_cheap(&self) -> io::Result<Vec<u8>> {
        if self.unpack_cost() > MAX_UNPACK_COST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.read_bytes()
    }

    pub(super) fn read_bytes(&self) -> io::Result<Vec<u8>> {
        if self.size > MAX_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let cautious;
        let handle = if self.chain > USUAL_CHAIN {
            cautious = self.objects.cautious_store()?.to_cache_arc();
            &cautious
        } else {
            self.handle
        };
        let read = || {
            let mut bytes = Vec::new();
            let found = handle.try_find(&self.id, &mut bytes);
            found.map_err(|_| ObjectFault::Strange)?.ok_or(ObjectFault::Missing)?;
            Ok(bytes)
        };
        Ok(self.objects.retry_while_packing(read)?)
    }
}

fn open_store(path: &Path, hash: gix_hash::Kind, max_unpacked: usize) -> io::Result<Arc<Store>> {
    let options = init::Options {
        alloc_limit_bytes: Some(max_unpacked),
        slots: init::Slots::AsNeededByDiskState { multiplier: 2.0, minimum: 64 },
        // An index of several packs names their files, in any folder.
        use_multi_pack_index: false,
        ..init::Options::default()
    };
    let store = Store::at_opts(path.to_owned(), hash, &mut std::iter::empty(), options)?;
    Ok(Arc::new(store))
}

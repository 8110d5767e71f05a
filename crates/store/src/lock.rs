//! The lock of a data folder, which one process at a time uses, and the identity of that process among those that share
//! a server; and a copy of the index of a folder that cannot be locked.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
};

use codeinfo_core::{
    Host,
    atomic::{self, FileAccess},
};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use uuid::Uuid;

use crate::StoreError;

/// Locked exclusively by the holder. Queries never open it, because they must not make another start fail.
const LOCK_FILE: &str = "lock";
/// Locked exclusively by the holder while it lives, for queries.
const ALIVE_FILE: &str = "lock.alive";
/// Description of the holder. Remains when its process ends, so it is valid only while `ALIVE_FILE` is locked.
const HOLDER_FILE: &str = "lock.json";
/// Bytes of that file, padded with spaces, so that the next holder fits when the disk is full.
const HOLDER_BYTES: usize = 1024;
/// Parts of the data folder that form the index.
const PARTS: [&str; 3] = ["store", "roots.json", "scip"];

/// The right to use a data folder, held until dropped. The system releases it when the process ends.
#[derive(Debug)]
pub struct DataDirLock {
    data_dir: PathBuf,
    /// Held, never read.
    exclusive: Option<File>,
    _alive: File,
}

/// The process that holds a data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockHolder {
    /// Id of the process.
    pub pid: u32,
    /// Address of its main HTTP API, once it listens.
    pub main_url: Option<String>,
    /// Address of its MCP server, once it listens.
    pub mcp_url: Option<String>,
    /// Version of its program; `None` for versions that did not write it.
    #[serde(default)]
    pub version: Option<String>,
    /// True if it was started for relays and stops when there are none.
    #[serde(default)]
    pub until_idle: bool,
}

impl LockHolder {
    /// Describes this process before it listens.
    pub fn this_process() -> Self {
        Self {
            pid: process::id(),
            main_url: None,
            mcp_url: None,
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            until_idle: false,
        }
    }
}

impl Drop for DataDirLock {
    fn drop(&mut self) {
        // Released before `ALIVE_FILE`: a process that finds that unlocked can acquire the folder.
        drop(self.exclusive.take());
    }
}

impl DataDirLock {
    /// Acquires the lock, creating the folder if needed. Fails with [`StoreError::Held`], naming the
    /// holder, when another process has it. Blocks only for file access.
    pub fn acquire(data_dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(data_dir).map_err(|error| StoreError::folder(data_dir, &error))?;
        let path = data_dir.join(LOCK_FILE);
        let lock = open_lock_file(data_dir, &path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder =
                    read_holder(data_dir)?.map_or("another process".to_owned(), describe_holder);
                return Err(StoreError::Held { path: data_dir.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::io(&path, source)),
        }
        // Before a query can take the description of the last holder for this one.
        write_holder(data_dir, &LockHolder::this_process())?;
        let path = data_dir.join(ALIVE_FILE);
        let alive = open_lock_file(data_dir, &path)?;
        // Only a query or an ending holder can have this lock now; both release it at once.
        alive.lock().map_err(|source| StoreError::io(&path, source))?;
        Ok(Self { data_dir: data_dir.to_owned(), exclusive: Some(lock), _alive: alive })
    }

    /// Writes the description of the holder, with its addresses.
    pub fn announce(&mut self, holder: &LockHolder) -> Result<(), StoreError> {
        write_holder(&self.data_dir, holder)
    }
}

/// Returns the holder of `data_dir`; `None` if it is not locked, even if the last holder left a file
/// behind. A lock of this process counts.
pub fn find_lock_holder(data_dir: &Path) -> Result<Option<LockHolder>, StoreError> {
    let path = data_dir.join(ALIVE_FILE);
    let alive = match atomic::open_regular_file(&path, File::options().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(explain_io_error(data_dir, &path, error)),
    };
    match alive.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => read_holder(data_dir),
        Err(TryLockError::Error(source)) => Err(StoreError::io(&path, source)),
    }
}

/// Copies the index of an existing data folder that cannot be written; returns `None` for any other one.
///
/// The copy is a data folder for this account only, in the folder for temporary files, and is removed when dropped.
pub fn copy_unwritable_index(data_dir: &Path) -> io::Result<Option<TempDir>> {
    let lock = data_dir.join(LOCK_FILE);
    let opened =
        atomic::open_regular_file(&lock, File::options().write(true).create(true).truncate(false));
    let is_unwritable = opened.is_err_and(|error| {
        matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
    });
    if !is_unwritable || !data_dir.try_exists()? {
        return Ok(None);
    }
    let copy = TempDir::with_prefix("codeinfo-")?;
    for part in PARTS {
        copy_tree(&data_dir.join(part), &copy.path().join(part))?;
    }
    Ok(Some(copy))
}

/// Copies a file or folder, if it exists. Skips links.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let kind = match from.symlink_metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if kind.is_file() {
        // `fs::copy` would preserve the missing write permission.
        let mut file = atomic::open_regular_file(from, File::options().read(true))?;
        io::copy(&mut file, &mut File::create_new(to)?)?;
    } else if kind.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copy_tree(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

fn open_lock_file(data_dir: &Path, path: &Path) -> Result<File, StoreError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    atomic::open_regular_file(path, &mut options)
        .map_err(|error| explain_io_error(data_dir, path, error))
}

/// Describes why a file cannot be used; if the folder is the reason, names the setting.
fn explain_io_error(data_dir: &Path, path: &Path, error: io::Error) -> StoreError {
    use io::ErrorKind::{NotADirectory, PermissionDenied, ReadOnlyFilesystem};
    match error.kind() {
        NotADirectory | PermissionDenied | ReadOnlyFilesystem => {
            StoreError::folder(data_dir, &error)
        }
        _ => StoreError::io(path, error),
    }
}

fn read_holder(data_dir: &Path) -> Result<Option<LockHolder>, StoreError> {
    let path = data_dir.join(HOLDER_FILE);
    let read = atomic::read_if_exists(&path, FileAccess::AsUsual);
    match read.map_err(|source| StoreError::io(&path, source))? {
        Some(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        None => Ok(None),
    }
}

/// Writes the description of the holder; overwrites the file in place if the disk is full.
fn write_holder(data_dir: &Path, holder: &LockHolder) -> Result<(), StoreError> {
    let path = data_dir.join(HOLDER_FILE);
    let mut bytes = serde_json::to_vec(holder)?;
    bytes.resize(bytes.len().max(HOLDER_BYTES), b' ');
    let Err(error) = atomic::write_atomically(&path, &bytes, FileAccess::Owner) else {
        return Ok(());
    };
    let overwrite = || {
        let mut file = atomic::open_regular_file(&path, File::options().write(true))?;
        if file.metadata()?.len() != bytes.len() as u64 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.write_all(&bytes)?;
        file.sync_all()
    };
    overwrite().map_err(|_: io::Error| StoreError::io(&path, error))
}

fn describe_holder(holder: LockHolder) -> String {
    let LockHolder { pid, main_url, .. } = holder;
    match main_url {
        None => format!("process {pid}"),
        Some(url) => format!(
            "process {pid} at {url}; `codeinfo ingest PATH` and other commands use that server, or set \
             `DATA_DIR` to another folder"
        ),
    }
}

/// Name of the file with the id of a data folder, which identifies the process that holds it.
const INSTANCE_FILE: &str = "instance";

/// A process among those that share a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// The same for each process on this data folder and machine, one at a time: it inherits earlier leases.
    pub owner: String,
    /// Name for messages, such as ``process 12 on `build` ``.
    pub name: String,
    /// Owner of the roots that this process indexes: the data folder, since containers of one host see other folders at a
    /// path, and a recreated container has another name.
    pub host: Host,
}

impl ProcessIdentity {
    /// Returns the identity of the process that holds `data_dir`. Blocks for file access.
    pub fn read_or_create(data_dir: &Path) -> Result<Self, StoreError> {
        let path = data_dir.join(INSTANCE_FILE);
        let failed = |source| StoreError::io(&path, source);
        let bytes = atomic::read_if_exists(&path, FileAccess::AsUsual).map_err(failed)?;
        let known = bytes.and_then(|bytes| Uuid::try_parse_ascii(&bytes).ok());
        let instance = known.unwrap_or_else(Uuid::new_v4);
        if known.is_none() {
            let bytes = instance.to_string().into_bytes();
            atomic::write_atomically(&path, &bytes, FileAccess::Owner).map_err(failed)?;
        }
        // A copy of the folder on another machine has another identity.
        let host = sysinfo::System::host_name().unwrap_or_else(|| "an unnamed machine".to_owned());
        let name = format!("process {} on `{host}`", process::id());
        let owner = format!("{host}/{instance}");
        Ok(Self { owner, name, host: Host { id: instance, name: host } })
    }
}

//! Lets one process at a time use a data folder, and shows others who that is and where it listens.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    process,
};

use serde::{Deserialize, Serialize};

use super::{StoreError, atomic};

/// Locked exclusively by the holder, and never touched by those who only ask: asking must not make
/// somebody's start fail.
const LOCK: &str = "lock";
/// Locked exclusively by the holder as long as it lives; probing it shows whether one does.
const ALIVE: &str = "lock.alive";
/// What the holder says of itself. Stays when its process ends, so it counts only while `ALIVE` is locked.
const HOLDER: &str = "lock.json";
/// Bytes of that file, spaces included, so that there is room for the next holder when the disk is full.
const HOLDER_BYTES: usize = 1024;

/// The right to use a data folder, held until dropped. The system takes it back when the process
/// ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    data_dir: PathBuf,
    /// Held, never read.
    exclusive: Option<File>,
    _alive: File,
}

/// What the holder of a data folder says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Where its main HTTP API listens, once it does.
    pub main_url: Option<String>,
    /// Where its MCP server listens, once it does.
    pub mcp_url: Option<String>,
    /// The version of its program; `None` is one from before versions were said.
    #[serde(default)]
    pub version: Option<String>,
    /// Whether it was started for relays, and stops once there are none.
    #[serde(default)]
    pub until_idle: bool,
}

impl Holder {
    /// Returns this process, as long as nobody can ask it anything.
    pub fn silent() -> Self {
        Self {
            pid: process::id(),
            main_url: None,
            mcp_url: None,
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            until_idle: false,
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Who sees that nobody lives can have the folder, and finds its own words left there.
        drop(self.exclusive.take());
    }
}

impl Lock {
    /// Takes the lock, creating the folder if needed. Fails with [`StoreError::Held`], naming the
    /// holder, when another process has it. Blocks only for file access.
    pub fn acquire(data_dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(data_dir).map_err(|error| StoreError::folder(data_dir, &error))?;
        let path = data_dir.join(LOCK);
        let lock = open(data_dir, &path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder = read(data_dir)?.map_or("another process".to_owned(), describe);
                return Err(StoreError::Held { path: data_dir.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::io(&path, source)),
        }
        // Before anyone can take what the last holder left for this one's.
        write(data_dir, &Holder::silent())?;
        let path = data_dir.join(ALIVE);
        let alive = open(data_dir, &path)?;
        // Only somebody who asks can have this one now, or a holder that ends: both let go of it at once.
        alive.lock().map_err(|source| StoreError::io(&path, source))?;
        Ok(Self { data_dir: data_dir.to_owned(), exclusive: Some(lock), _alive: alive })
    }

    /// Says who holds the lock and where it listens.
    pub fn announce(&mut self, holder: &Holder) -> Result<(), StoreError> {
        write(&self.data_dir, holder)
    }
}

/// Returns who holds `data_dir`: `None` when nobody does, even where the last holder left a file
/// behind. A lock of this very process counts as held.
pub fn holder(data_dir: &Path) -> Result<Option<Holder>, StoreError> {
    let path = data_dir.join(ALIVE);
    let alive = match atomic::open_regular_file(&path, File::options().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(data_dir, &path, error)),
    };
    match alive.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => read(data_dir),
        Err(TryLockError::Error(source)) => Err(StoreError::io(&path, source)),
    }
}

fn open(data_dir: &Path, path: &Path) -> Result<File, StoreError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    atomic::open_regular_file(path, &mut options).map_err(|error| unusable(data_dir, path, error))
}

/// Returns why a file cannot be used; where the folder is the reason, names the setting.
fn unusable(data_dir: &Path, path: &Path, error: io::Error) -> StoreError {
    use io::ErrorKind::{NotADirectory, PermissionDenied, ReadOnlyFilesystem};
    match error.kind() {
        NotADirectory | PermissionDenied | ReadOnlyFilesystem => {
            StoreError::folder(data_dir, &error)
        }
        _ => StoreError::io(path, error),
    }
}

fn read(data_dir: &Path) -> Result<Option<Holder>, StoreError> {
    match atomic::read(&data_dir.join(HOLDER))? {
        Some(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        None => Ok(None),
    }
}

/// Writes what the holder says: in the place of what is there, where the disk is full.
fn write(data_dir: &Path, holder: &Holder) -> Result<(), StoreError> {
    let path = data_dir.join(HOLDER);
    let mut bytes = serde_json::to_vec(holder)?;
    bytes.resize(bytes.len().max(HOLDER_BYTES), b' ');
    let Err(error) = atomic::replace(&path, &bytes) else { return Ok(()) };
    let overwrite = || {
        let mut file = atomic::open_regular_file(&path, File::options().write(true))?;
        if file.metadata()?.len() != bytes.len() as u64 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.write_all(&bytes)?;
        file.sync_all()
    };
    overwrite().map_err(|_: io::Error| error)
}

fn describe(holder: Holder) -> String {
    let Holder { pid, main_url, .. } = holder;
    match main_url {
        None => format!("process {pid}"),
        Some(url) => format!(
            "process {pid} at {url}; `codeinfo ingest PATH` and other commands use that server, or set \
             `DATA_DIR` to another folder"
        ),
    }
}

//! Configurations of principals, encrypted: each write is a new version in a file of its own, and what is
//! current is said by one small file that is replaced last.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use codeinfo_core::{
    Principal, Timestamp,
    atomic::{self, Readers},
    task::Tasks,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    FOLDER, VaultError, bearer, generations, private_folder,
    seal::{self, Place, Unopened},
};
use crate::SecretKey;

const CONFIGS: &str = "configs";
const CURRENT: &str = "current";
const SEALED: &str = "sealed";
const KEY_FILE: &str = "secret.key";
/// Largest configuration.
const MAX_BYTES: usize = 64 * 1024;
/// Most configurations, of all principals together.
const MAX_CONFIGS: usize = 256;
/// How many versions of each are kept.
const KEPT: usize = 20;
/// Makes ids of configurations.
const IDS: Uuid = Uuid::from_u128(0x7d0f_5d61_9d6c_4d0e_8a4f_3f0a_52c1_e6b7);

/// Which configuration of whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// What it belongs to, such as `mcp`.
    pub namespace: &'static str,
    pub name: &'static str,
    pub principal: Principal,
}

/// A version that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Names the configuration, whatever its version.
    pub id: Uuid,
    /// Counts up from 1.
    pub version: u64,
    pub created_at: Timestamp,
}

/// The current version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored<T> {
    pub kept: Kept,
    pub value: T,
}

/// The stored configurations of a data folder. Clones share them.
#[derive(Debug, Clone)]
pub struct Configs {
    shelf: Arc<Shelf>,
    tasks: Tasks,
}

#[derive(Debug)]
struct Shelf {
    data_dir: PathBuf,
    /// The key of the settings; `None` is the key file.
    given: Option<SecretKey>,
    /// Held over a write, so that versions rise one by one and none vanishes while it is read.
    writing: RwLock<()>,
}

/// What is encrypted.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sealed<T> {
    created_at: Timestamp,
    value: T,
}

impl Configs {
    pub(super) fn new(data_dir: &Path, given: Option<SecretKey>, tasks: Tasks) -> Self {
        let shelf = Shelf { data_dir: data_dir.to_owned(), given, writing: RwLock::default() };
        Self { shelf: Arc::new(shelf), tasks }
    }

    /// Stores a new version and makes it the current one.
    pub async fn write<T>(&self, slot: Slot, value: T) -> Result<Kept, VaultError>
    where
        T: Serialize + Send + 'static,
    {
        let kept = Arc::clone(&self.shelf);
        let written = self.tasks.spawn_blocking(move || kept.write(&slot, value)).await;
        written.unwrap_or(Err(VaultError::Stopping))
    }

    /// Returns the current version, if there is one.
    pub async fn read<T>(&self, slot: Slot) -> Result<Option<Stored<T>>, VaultError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let kept = Arc::clone(&self.shelf);
        let read = self.tasks.spawn_blocking(move || kept.read(&slot)).await;
        read.unwrap_or(Err(VaultError::Stopping))
    }
}

impl Slot {
    /// The configuration of toolkits of a principal.
    pub fn toolkits(principal: Principal) -> Self {
        Self { namespace: "mcp", name: "config", principal }
    }

    /// Returns the id: the same for all versions, and as a name of a folder safe on every system.
    fn id(&self) -> Uuid {
        let name = format!("{}\0{}\0{}", self.namespace, self.name, self.principal);
        Uuid::new_v5(&IDS, name.as_bytes())
    }

    fn place(&self, version: u64) -> Place<'_> {
        let Self { namespace, name, principal } = self;
        Place { namespace, name, principal: principal.as_str(), version }
    }
}

impl Shelf {
    fn write<T: Serialize>(&self, slot: &Slot, value: T) -> Result<Kept, VaultError> {
        let _writing = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        let created_at = Timestamp::now();
        let failed = |error| VaultError::file(&self.configs(), std::io::Error::other(error));
        let plain = serde_json::to_vec(&Sealed { created_at, value }).map_err(failed)?;
        if plain.len() > MAX_BYTES {
            return Err(VaultError::TooLarge { bytes: plain.len(), most: MAX_BYTES });
        }
        let key = self.key_or_new()?;
        let folder = self.folder_or_new(slot)?;
        let versions = versions(&folder)?;
        let id = slot.id().to_string();
        let highest = generations::read_highest(&self.data_dir, &id)?;
        let newest = versions.last().copied().max(current(&folder)?).unwrap_or(0).max(highest);
        let version = newest + 1;
        let sealed = seal::seal(&key, slot.place(version), &plain)?;
        let kept = Kept { id: slot.id(), version, created_at };
        replace(&file(&folder, version), &sealed)?;
        replace(&folder.join(CURRENT), version.to_string().as_bytes())?;
        generations::remember(&self.data_dir, &id, version);
        // From here on the version counts, whatever becomes of the old ones.
        for old in versions.iter().rev().skip(KEPT - 1) {
            if let Err(error) = atomic::remove(&file(&folder, *old)) {
                tracing::warn!(%error, version = old, "an old configuration is not removed");
            }
        }
        Ok(kept)
    }

    fn read<T: DeserializeOwned>(&self, slot: &Slot) -> Result<Option<Stored<T>>, VaultError> {
        let _reading = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder(slot);
        if !self.has(&folder)? {
            return Ok(None);
        }
        let Some(version) = current(&folder)? else { return Ok(None) };
        let id = slot.id().to_string();
        generations::check(&self.data_dir, &id, folder.join(CURRENT), version)?;
        let path = file(&folder, version);
        let Some(sealed) = read(&path)? else {
            return Err(VaultError::Damaged { path, reason: "it is missing" });
        };
        let key = self.key()?.ok_or_else(|| self.no_key())?;
        let plain = seal::open(&key, slot.place(version), &sealed).map_err(|why| match why {
            Unopened::OtherKey => VaultError::OtherKey { path: path.clone(), key: self.key_name() },
            Unopened::Changed => {
                VaultError::Damaged { path: path.clone(), reason: "it is not what was stored here" }
            }
        })?;
        let Sealed { created_at, value } = serde_json::from_slice(&plain).map_err(|_| {
            VaultError::Damaged { path, reason: "it holds no configuration of this program" }
        })?;
        Ok(Some(Stored { kept: Kept { id: slot.id(), version, created_at }, value }))
    }

    /// Returns the key, if there is one.
    fn key(&self) -> Result<Option<SecretKey>, VaultError> {
        if let Some(key) = &self.given {
            return Ok(Some(key.clone()));
        }
        let path = self.data_dir.join(KEY_FILE);
        let Some(bytes) = read(&path)? else { return Ok(None) };
        let key = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
        let reason = "it holds no key of 32 bytes in base64 or hex";
        key.map(Some).ok_or(VaultError::Damaged { path, reason })
    }

    /// Returns the key, or makes it. Never beside configurations of a lost one: they would look as if
    /// they could be read again.
    fn key_or_new(&self) -> Result<SecretKey, VaultError> {
        use base64::{Engine, prelude::BASE64_STANDARD};
        if let Some(key) = self.key()? {
            return Ok(key);
        }
        if self.count()? > 0 {
            return Err(self.no_key());
        }
        let bytes = bearer::random()?;
        let text = format!("{}\n", BASE64_STANDARD.encode(bytes));
        replace(&self.data_dir.join(KEY_FILE), text.as_bytes())?;
        Ok(SecretKey::new(bytes))
    }

    fn no_key(&self) -> VaultError {
        VaultError::NoKey { path: self.data_dir.join(KEY_FILE), stored: self.configs() }
    }

    fn key_name(&self) -> String {
        let file = self.data_dir.join(KEY_FILE);
        self.given.as_ref().map_or(format!("`{}`", file.display()), |_| "`SECRET_KEY`".to_owned())
    }

    fn configs(&self) -> PathBuf {
        self.data_dir.join(FOLDER).join(CONFIGS)
    }

    fn folder(&self, slot: &Slot) -> PathBuf {
        self.configs().join(slot.id().to_string())
    }

    /// Whether the folder of a configuration is there, with no link on the way.
    fn has(&self, folder: &Path) -> Result<bool, VaultError> {
        let (vault, configs) = (self.data_dir.join(FOLDER), self.configs());
        for path in [&vault, &configs, folder] {
            if !atomic::real_folder(path).map_err(|error| VaultError::file(path, error))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn folder_or_new(&self, slot: &Slot) -> Result<PathBuf, VaultError> {
        let vault = private_folder(&self.data_dir, FOLDER)?;
        let configs = private_folder(&vault, CONFIGS)?;
        let folder = self.folder(slot);
        if !self.has(&folder)? && self.count()? >= MAX_CONFIGS {
            return Err(VaultError::TooManyConfigs { most: MAX_CONFIGS });
        }
        private_folder(&configs, &slot.id().to_string())
    }

    /// Returns how many configurations there are.
    fn count(&self) -> Result<usize, VaultError> {
        let path = self.configs();
        match fs::read_dir(&path) {
            Ok(entries) => Ok(entries.count()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(VaultError::file(&path, error)),
        }
    }
}

fn file(folder: &Path, version: u64) -> PathBuf {
    folder.join(format!("{version}.{SEALED}"))
}

/// Returns the versions whose files are there, in order.
fn versions(folder: &Path) -> Result<Vec<u64>, VaultError> {
    let failed = |error| VaultError::file(folder, error);
    let mut versions = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = PathBuf::from(entry.map_err(failed)?.file_name());
        if path.extension().is_some_and(|kind| kind == SEALED) {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            versions.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
        }
    }
    versions.sort_unstable();
    Ok(versions)
}

/// Returns the version that counts.
fn current(folder: &Path) -> Result<Option<u64>, VaultError> {
    let path = folder.join(CURRENT);
    let Some(bytes) = read(&path)? else { return Ok(None) };
    let version = std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
    version.map(Some).ok_or(VaultError::Damaged { path, reason: "it names no version" })
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, VaultError> {
    atomic::read(path, Readers::Owner).map_err(|error| VaultError::file(path, error))
}

fn replace(path: &Path, bytes: &[u8]) -> Result<(), VaultError> {
    atomic::replace(path, bytes, Readers::Owner).map_err(|error| VaultError::file(path, error))
}

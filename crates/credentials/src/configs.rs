//! Encrypted configurations of principals. Each write adds a version in its own file; a small file,
//! replaced last, names the current one.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use codeinfo_core::{
    Principal, Timestamp,
    atomic::{self},
    task::Tasks,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::{
    CredentialError, FOLDER, bearer, generations, private_folder, read_private_file,
    replace_private_file,
    seal::{self, SealContext, UnsealError},
};
use crate::SecretKey;

const CONFIGS: &str = "configs";
const CURRENT: &str = "current";
const SEALED: &str = "sealed";
const KEY_FILE: &str = "secret.key";
const MAX_BYTES: usize = 64 * 1024;
/// Maximum configurations of all principals together.
const MAX_CONFIGS: usize = 256;
const MAX_VERSIONS: usize = 20;
const IDS: Uuid = Uuid::from_u128(0x7d0f_5d61_9d6c_4d0e_8a4f_3f0a_52c1_e6b7);

/// Identifies one configuration of one principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigSlot {
    /// Purpose of the configuration, such as `mcp`.
    pub namespace: &'static str,
    pub name: &'static str,
    pub principal: Principal,
}

/// Version of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigVersion {
    /// Id of the configuration, the same for all versions.
    pub id: Uuid,
    /// Number of the version, counted from 1.
    pub version: u64,
    pub created_at: Timestamp,
}

/// Current version of a configuration with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentConfig<T> {
    pub version: ConfigVersion,
    pub value: T,
}

/// Stored configurations of a data folder. Clones share them.
#[derive(Debug, Clone)]
pub struct EncryptedConfigStore {
    files: Arc<ConfigFiles>,
    tasks: Tasks,
}

#[derive(Debug)]
struct ConfigFiles {
    data_dir: PathBuf,
    /// Key from the settings. `None` uses the key file.
    configured_key: Option<SecretKey>,
    /// Held during a write, so that versions rise one by one and none is removed while it is read.
    writing: RwLock<()>,
}

/// Encrypted content of a version.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SealedConfig<T> {
    created_at: Timestamp,
    value: T,
}

impl EncryptedConfigStore {
    pub(super) fn new(data_dir: &Path, configured_key: Option<SecretKey>, tasks: Tasks) -> Self {
        let files = ConfigFiles {
            data_dir: data_dir.to_owned(),
            configured_key,
            writing: RwLock::default(),
        };
        Self { files: Arc::new(files), tasks }
    }

    /// Stores a new version and makes it the current one.
    pub async fn write_version<T>(
        &self,
        slot: ConfigSlot,
        value: T,
    ) -> Result<ConfigVersion, CredentialError>
    where
        T: Serialize + Send + 'static,
    {
        let storage = Arc::clone(&self.files);
        let written = self.tasks.spawn_blocking(move || storage.write_version(&slot, value)).await;
        written.unwrap_or(Err(CredentialError::Stopping))
    }

    /// Returns the current version, or `None` if nothing is stored.
    pub async fn read_current<T>(
        &self,
        slot: ConfigSlot,
    ) -> Result<Option<CurrentConfig<T>>, CredentialError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let storage = Arc::clone(&self.files);
        let read = self.tasks.spawn_blocking(move || storage.read_current(&slot)).await;
        read.unwrap_or(Err(CredentialError::Stopping))
    }
}

impl ConfigSlot {
    /// Returns the slot of the toolkit configuration of a principal.
    pub fn for_toolkits(principal: Principal) -> Self {
        Self { namespace: "mcp", name: "config", principal }
    }

    /// Returns the id. It is the same for all versions and a valid name of a folder on every system.
    fn id(&self) -> Uuid {
        let name = format!("{}\0{}\0{}", self.namespace, self.name, self.principal);
        Uuid::new_v5(&IDS, name.as_bytes())
    }

    fn seal_context(&self, version: u64) -> SealContext<'_> {
        let Self { namespace, name, principal } = self;
        SealContext { namespace, name, principal: principal.as_str(), version }
    }
}

impl ConfigFiles {
    fn write_version<T: Serialize>(
        &self,
        slot: &ConfigSlot,
        value: T,
    ) -> Result<ConfigVersion, CredentialError> {
        let _writing = self.writing.write().unwrap_or_else(PoisonError::into_inner);
        let created_at = Timestamp::now();
        let failed =
            |error| CredentialError::for_file(&self.configs_folder(), std::io::Error::other(error));
        let plain = serde_json::to_vec(&SealedConfig { created_at, value }).map_err(failed)?;
        if plain.len() > MAX_BYTES {
            return Err(CredentialError::TooLarge { bytes: plain.len(), most: MAX_BYTES });
        }
        let key = self.key_or_new()?;
        let folder = self.folder_or_new(slot)?;
        let versions = list_versions(&folder)?;
        let id = slot.id().to_string();
        let highest = generations::read_highest(&self.data_dir, &id)?;
        let newest =
            versions.last().copied().max(read_current_version(&folder)?).unwrap_or(0).max(highest);
        let version = newest + 1;
        let sealed = seal::seal_version(&key, slot.seal_context(version), &plain)?;
        let stored = ConfigVersion { id: slot.id(), version, created_at };
        replace_private_file(&version_path(&folder, version), &sealed)?;
        replace_private_file(&folder.join(CURRENT), version.to_string().as_bytes())?;
        generations::remember_generation(&self.data_dir, &id, version);
        // The version is valid from here on, even if old versions cannot be removed.
        for old in versions.iter().rev().skip(MAX_VERSIONS - 1) {
            if let Err(error) = atomic::remove_file(&version_path(&folder, *old)) {
                tracing::warn!(%error, version = old, "an old configuration is not removed");
            }
        }
        Ok(stored)
    }

    fn read_current<T: DeserializeOwned>(
        &self,
        slot: &ConfigSlot,
    ) -> Result<Option<CurrentConfig<T>>, CredentialError> {
        let _reading = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        let folder = self.config_folder(slot);
        if !self.has_folder(&folder)? {
            return Ok(None);
        }
        let Some(version) = read_current_version(&folder)? else { return Ok(None) };
        let id = slot.id().to_string();
        generations::check_generation(&self.data_dir, &id, folder.join(CURRENT), version)?;
        let path = version_path(&folder, version);
        let Some(sealed) = read_private_file(&path)? else {
            return Err(CredentialError::Damaged { path, reason: "it is missing" });
        };
        let key = self.load_key()?.ok_or_else(|| self.no_key())?;
        let plain = seal::open_sealed(&key, slot.seal_context(version), &sealed).map_err(
            |why| match why {
                UnsealError::OtherKey => {
                    CredentialError::OtherKey { path: path.clone(), key: self.key_name() }
                }
                UnsealError::Changed => CredentialError::Damaged {
                    path: path.clone(),
                    reason: "it is not what was stored here",
                },
            },
        )?;
        let SealedConfig { created_at, value } = serde_json::from_slice(&plain).map_err(|_| {
            CredentialError::Damaged { path, reason: "it holds no configuration of this program" }
        })?;
        Ok(Some(CurrentConfig {
            version: ConfigVersion { id: slot.id(), version, created_at },
            value,
        }))
    }

    /// Returns the key, or `None` if there is no key file.
    fn load_key(&self) -> Result<Option<SecretKey>, CredentialError> {
        if let Some(key) = &self.configured_key {
            return Ok(Some(key.clone()));
        }
        let path = self.data_dir.join(KEY_FILE);
        let Some(bytes) = read_private_file(&path)? else { return Ok(None) };
        let key = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
        let reason = "it holds no key of 32 bytes in base64 or hex";
        key.map(Some).ok_or(CredentialError::Damaged { path, reason })
    }

    /// Fails if configurations of a lost key exist, because a new key cannot decrypt them.
    fn key_or_new(&self) -> Result<SecretKey, CredentialError> {
        use base64::{Engine, prelude::BASE64_STANDARD};
        if let Some(key) = self.load_key()? {
            return Ok(key);
        }
        if self.count_configs()? > 0 {
            return Err(self.no_key());
        }
        let bytes = bearer::generate_random_bytes()?;
        let text = format!("{}\n", BASE64_STANDARD.encode(bytes));
        replace_private_file(&self.data_dir.join(KEY_FILE), text.as_bytes())?;
        Ok(SecretKey::new(bytes))
    }

    fn no_key(&self) -> CredentialError {
        CredentialError::NoKey { path: self.data_dir.join(KEY_FILE), stored: self.configs_folder() }
    }

    fn key_name(&self) -> String {
        let file = self.data_dir.join(KEY_FILE);
        self.configured_key
            .as_ref()
            .map_or(format!("`{}`", file.display()), |_| "`SECRET_KEY`".to_owned())
    }

    fn configs_folder(&self) -> PathBuf {
        self.data_dir.join(FOLDER).join(CONFIGS)
    }

    fn config_folder(&self, slot: &ConfigSlot) -> PathBuf {
        self.configs_folder().join(slot.id().to_string())
    }

    /// Returns whether the folder of a configuration exists. Fails if a part of its path is a link.
    fn has_folder(&self, folder: &Path) -> Result<bool, CredentialError> {
        for path in [&self.data_dir.join(FOLDER), &self.configs_folder(), folder] {
            if !atomic::folder_exists(path)
                .map_err(|error| CredentialError::for_file(path, error))?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn folder_or_new(&self, slot: &ConfigSlot) -> Result<PathBuf, CredentialError> {
        let vault = private_folder(&self.data_dir, FOLDER)?;
        let configs = private_folder(&vault, CONFIGS)?;
        let folder = self.config_folder(slot);
        if !self.has_folder(&folder)? && self.count_configs()? >= MAX_CONFIGS {
            return Err(CredentialError::TooManyConfigs { most: MAX_CONFIGS });
        }
        private_folder(&configs, &slot.id().to_string())
    }

    fn count_configs(&self) -> Result<usize, CredentialError> {
        let path = self.configs_folder();
        match fs::read_dir(&path) {
            Ok(entries) => Ok(entries.count()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(CredentialError::for_file(&path, error)),
        }
    }
}

fn version_path(folder: &Path, version: u64) -> PathBuf {
    folder.join(format!("{version}.{SEALED}"))
}

/// Returns the versions with an existing file, in ascending order.
fn list_versions(folder: &Path) -> Result<Vec<u64>, CredentialError> {
    let failed = |error| CredentialError::for_file(folder, error);
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

fn read_current_version(folder: &Path) -> Result<Option<u64>, CredentialError> {
    let path = folder.join(CURRENT);
    let Some(bytes) = read_private_file(&path)? else { return Ok(None) };
    let version = std::str::from_utf8(&bytes).ok().and_then(|text| text.trim().parse().ok());
    version.map(Some).ok_or(CredentialError::Damaged { path, reason: "it names no version" })
}

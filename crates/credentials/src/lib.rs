//! Tokens that identify clients, and encrypted configurations, stored in files below the data
//! folder.
//!
//! Everything here is accessible only to the user of this process: files that others may read are
//! refused, links are not followed, and no message, log line or `Debug` form contains a secret.

mod bearer;
mod configs;
mod error;
mod generations;
mod owner;
mod process_key;
mod seal;
mod secret_key;
mod sessions;
mod tokens;

use std::path::{Path, PathBuf};

use codeinfo_core::{Secret, task::Tasks};

pub use configs::{ConfigSlot, ConfigVersion, CurrentConfig, EncryptedConfigStore};
pub use error::CredentialError;
pub use owner::owner_key;
pub use process_key::ProcessKey;
pub use secret_key::{InvalidKey, SecretKey};
pub use sessions::{PageSessions, SessionHalves};
pub use tokens::{CreatedToken, KnownBearer, OnExistingToken, TokenKind, TokenStore, TokenSummary};

/// Name of the folder for these files, below the data folder.
const FOLDER: &str = "vault";

/// Tokens and stored configurations of one data folder. Clones share them.
#[derive(Debug, Clone)]
pub struct CredentialStore {
    pub tokens: TokenStore,
    pub sessions: PageSessions,
    pub configs: EncryptedConfigStore,
}

impl CredentialStore {
    /// Opens the stored data in `data_dir`, and creates the owner's key if it is missing.
    ///
    /// `key` encrypts the configurations; `None` uses the key file. Only one process at a time may
    /// have the store open, which the lock of the data folder ensures.
    pub async fn open(
        data_dir: &Path,
        key: Option<SecretKey>,
        tasks: Tasks,
    ) -> Result<Self, CredentialError> {
        let data_dir = data_dir.to_owned();
        let own = tasks.clone();
        let opening = move || {
            let tokens = TokenStore::open(&data_dir, &own)?;
            let sessions = PageSessions::default();
            Ok(Self { tokens, sessions, configs: EncryptedConfigStore::new(&data_dir, key, own) })
        };
        tasks.spawn_blocking(opening).await.unwrap_or(Err(CredentialError::Stopping))
    }
}

/// Generates a bearer of 256 random bits, for a program that this process starts and that calls
/// back.
pub fn fresh_key() -> Result<Secret, CredentialError> {
    bearer::generate_bearer(bearer::KEY)
}

/// Creates a folder that only its user can access, below an existing folder, and returns its path.
fn private_folder(above: &Path, name: &str) -> Result<PathBuf, CredentialError> {
    let path = above.join(name);
    let made = codeinfo_core::atomic::create_private_folder(&path);
    made.map_err(|error| CredentialError::for_file(&path, error)).map(|()| path)
}

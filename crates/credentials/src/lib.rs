//! Tokens that say who asks, and configurations that are stored encrypted, in files below the data folder.
//!
//! Everything here is for the user of this process alone: files that others may read are refused, links
//! are not followed, and no message, log line or `Debug` form holds a secret.

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

/// The folder of all this below the data folder.
const FOLDER: &str = "vault";

/// The tokens and the stored configurations of one data folder. Clones share them.
#[derive(Debug, Clone)]
pub struct CredentialStore {
    pub tokens: TokenStore,
    pub sessions: PageSessions,
    pub configs: EncryptedConfigStore,
}

impl CredentialStore {
    /// Opens what is kept in `data_dir`, and makes the owner's key where there is none. `key` is what
    /// configurations are encrypted with; `None` is the key file. One process at a time may have it
    /// open: the lock of the data folder sees to that.
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

/// Makes a bearer of 256 random bits, for a program that this process starts and that calls back.
pub fn fresh_key() -> Result<Secret, CredentialError> {
    bearer::generate_bearer(bearer::KEY)
}

/// Makes a folder for nobody but its user, below one that is there, and returns its path.
fn private_folder(above: &Path, name: &str) -> Result<PathBuf, CredentialError> {
    let path = above.join(name);
    let made = codeinfo_core::atomic::private_folder(&path);
    made.map_err(|error| CredentialError::for_file(&path, error)).map(|()| path)
}

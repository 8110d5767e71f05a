//! Tokens that identify clients, and encrypted configurations, stored in files below the data folder.
//!
//! Everything here is accessible only to the user of this process: files that others may read are
//! refused, links are not followed, and no message, log line or `Debug` form contains a secret.

mod bearer;
mod configs;
mod generations;
mod seal;
mod sessions;
mod tokens;

use std::{
    io,
    path::{Path, PathBuf},
};

use codeinfo_core::{
    InvalidPrincipal, Principal, Secret,
    atomic::{self, FileAccess},
    error::ErrorCode,
    task::Tasks,
};

pub use bearer::{ProcessKey, owner_key};
pub use configs::{ConfigSlot, ConfigVersion, CurrentConfig, EncryptedConfigStore};
pub use seal::{InvalidKey, SecretKey};
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
    /// Opens the stored data in `data_dir`; creates a missing owner's key. `key` encrypts the
    /// configurations; `None` uses the key file. The lock of the data folder keeps others out.
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

/// Generates a bearer of 256 random bits, for a program that this process starts and that calls back.
pub fn fresh_key() -> Result<Secret, CredentialError> {
    bearer::generate_bearer(bearer::KEY)
}

/// Creates a folder that only its user can access, below an existing folder, and returns its path.
fn private_folder(above: &Path, name: &str) -> Result<PathBuf, CredentialError> {
    let path = above.join(name);
    let made = atomic::create_private_folder(&path);
    made.map_err(|error| CredentialError::for_file(&path, error)).map(|()| path)
}

/// Error of the credential store. No message contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error(transparent)]
    Name(#[from] InvalidPrincipal),
    #[error("the token is not known; it may have been revoked")]
    Unauthorized,
    #[error(
        "the token `{0}` may list, replace and revoke itself only; the rest is for the owner's key"
    )]
    Forbidden(Principal),
    #[error(
        "there is a token `{0}`; `--overwrite`, or `overwrite` over HTTP, revokes it and makes it again"
    )]
    TokenExists(Principal),
    #[error("there is no token `{0}`")]
    TokenNotFound(String),
    #[error("there are {most} tokens already; revoke one first")]
    TooManyTokens { most: usize },
    #[error("{most} configurations are stored already")]
    TooManyConfigs { most: usize },
    #[error("the configuration has {bytes} bytes; at most {most} are stored")]
    TooLarge { bytes: usize, most: usize },
    #[error("cannot use `{}`: {source}", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: &'static str },
    #[error(
        "`{}` is older (number {number}) than what was written there last ({highest}), as if it were put back from a \
         backup: tokens that were revoked, or settings that were changed, would hold again; put the newest one back, \
         or remove it and make again what was in it",
        .path.display()
    )]
    PutBack { path: PathBuf, number: u64, highest: u64 },
    #[error("`{}` was encrypted with another key than that of {key}", .path.display())]
    OtherKey { path: PathBuf, key: String },
    #[error(
        "`{}` is missing, which stored configurations were encrypted with; put it back, or move `{}` away",
        .path.display(), .stored.display()
    )]
    NoKey { path: PathBuf, stored: PathBuf },
    #[error("the system gives no random numbers")]
    Random,
    #[error("the server is stopping")]
    Stopping,
}

impl CredentialError {
    fn for_file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Name(_)
            | Self::TooManyTokens { .. }
            | Self::TooManyConfigs { .. }
            | Self::TooLarge { .. } => ErrorCode::ValidationFailed,
            Self::Unauthorized => ErrorCode::Unauthorized,
            Self::Forbidden(_) => ErrorCode::Forbidden,
            Self::TokenExists(_) => ErrorCode::TokenExists,
            Self::TokenNotFound(_) => ErrorCode::TokenNotFound,
            Self::File { .. }
            | Self::Damaged { .. }
            | Self::PutBack { .. }
            | Self::OtherKey { .. }
            | Self::NoKey { .. } => ErrorCode::VaultUnavailable,
            Self::Random => ErrorCode::Internal,
            Self::Stopping => ErrorCode::Cancelled,
        }
    }
}

fn read_private_file(path: &Path) -> Result<Option<Vec<u8>>, CredentialError> {
    atomic::read_if_exists(path, FileAccess::Owner)
        .map_err(|error| CredentialError::for_file(path, error))
}

fn replace_private_file(path: &Path, bytes: &[u8]) -> Result<(), CredentialError> {
    atomic::write_atomically(path, bytes, FileAccess::Owner)
        .map_err(|error| CredentialError::for_file(path, error))
}

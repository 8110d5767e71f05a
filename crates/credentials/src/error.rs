//! What can go wrong with tokens and stored configurations.

use std::{
    io,
    path::{Path, PathBuf},
};

use codeinfo_core::{InvalidPrincipal, Principal, error::ErrorCode};

/// A failure of the vault. No message holds a secret.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The name cannot be that of a token.
    #[error(transparent)]
    Name(#[from] InvalidPrincipal),
    /// The bearer is no token that lives, and not the owner's key.
    #[error("the token is not known; it may have been revoked")]
    Unauthorized,
    /// A token concerns its own name only.
    #[error(
        "the token `{0}` may list, replace and revoke itself only; the rest is for the owner's key"
    )]
    Forbidden(Principal),
    /// A token of that name lives.
    #[error(
        "there is a token `{0}`; `--overwrite`, or `overwrite` over HTTP, revokes it and makes it again"
    )]
    TokenExists(Principal),
    /// No token of that name lives.
    #[error("there is no token `{0}`")]
    TokenNotFound(String),
    /// A bound is reached.
    #[error("there are {most} tokens already; revoke one first")]
    TooManyTokens { most: usize },
    /// A bound is reached.
    #[error("{most} configurations are stored already")]
    TooManyConfigs { most: usize },
    /// A configuration is too large.
    #[error("the configuration has {bytes} bytes; at most {most} are stored")]
    TooLarge { bytes: usize, most: usize },
    /// A file cannot be read or written, or must not be used.
    #[error("cannot use `{}`: {source}", .path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file does not hold what belongs into it.
    #[error("`{}` is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: &'static str },
    /// A file is older than the one that was written last.
    #[error(
        "`{}` is older (number {number}) than what was written there last ({highest}), as if it were put back from a \
         backup: tokens that were revoked, or settings that were changed, would hold again; put the newest one back, \
         or remove it and make again what was in it",
        .path.display()
    )]
    PutBack { path: PathBuf, number: u64, highest: u64 },
    /// A configuration was encrypted with another key.
    #[error("`{}` was encrypted with another key than that of {key}", .path.display())]
    OtherKey { path: PathBuf, key: String },
    /// The key file is gone, and what was encrypted with it is there.
    #[error(
        "`{}` is missing, which stored configurations were encrypted with; put it back, or move `{}` away",
        .path.display(), .stored.display()
    )]
    NoKey { path: PathBuf, stored: PathBuf },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
}

impl CredentialError {
    pub(super) fn for_file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// Returns what kind of failure it is.
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

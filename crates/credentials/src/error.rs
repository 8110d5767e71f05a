//! Errors of tokens and stored configurations.

use std::{
    io,
    path::{Path, PathBuf},
};

use codeinfo_core::{InvalidPrincipal, Principal, error::ErrorCode};

/// Error of the credential store. No message contains a secret.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The name is not a valid name of a token.
    #[error(transparent)]
    Name(#[from] InvalidPrincipal),
    /// The bearer is neither an active token nor the owner's key.
    #[error("the token is not known; it may have been revoked")]
    Unauthorized,
    /// A token may act only on its own name.
    #[error(
        "the token `{0}` may list, replace and revoke itself only; the rest is for the owner's key"
    )]
    Forbidden(Principal),
    /// An active token has the name.
    #[error(
        "there is a token `{0}`; `--overwrite`, or `overwrite` over HTTP, revokes it and makes it again"
    )]
    TokenExists(Principal),
    /// No active token has the name.
    #[error("there is no token `{0}`")]
    TokenNotFound(String),
    /// The maximum number of tokens is reached.
    #[error("there are {most} tokens already; revoke one first")]
    TooManyTokens { most: usize },
    /// The maximum number of configurations is reached.
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
    /// The content of a file is invalid.
    #[error("`{}` is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: &'static str },
    /// A file is older than the last one written.
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
    /// The key file is missing, but configurations encrypted with it exist.
    #[error(
        "`{}` is missing, which stored configurations were encrypted with; put it back, or move `{}` away",
        .path.display(), .stored.display()
    )]
    NoKey { path: PathBuf, stored: PathBuf },
    /// The system provides no random numbers.
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

    /// Returns the error code.
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

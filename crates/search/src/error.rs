//! Errors of searches.

use codeinfo_core::{UnknownRoot, error::ErrorCode};
use codeinfo_embed::EmbedError;
use codeinfo_store::StoreError;

/// A search failure.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The query is empty or only white space.
    #[error("`query` is blank")]
    BlankQuery,
    /// The query is over the limit.
    #[error("`query` has {bytes} bytes; at most {max} are allowed")]
    LongQuery {
        /// Size in bytes.
        bytes: usize,
        /// Maximum size in bytes.
        max: usize,
    },
    /// The query or the repository contains a NUL character.
    #[error("`{0}` holds a NUL character")]
    Nul(&'static str),
    /// The repository is not `None` but blank.
    #[error("`repository` is blank; leave it out to search all repositories")]
    BlankRepository,
    /// The limit is out of bounds.
    #[error("`limit` is {0}; it must be between 1 and {max}", max = super::MAX_LIMIT)]
    Limit(u64),
    /// No indexed repository has that name, id or path.
    #[error(transparent)]
    RepoNotFound(#[from] UnknownRoot),
    /// Two trees are compared, and a repository is set.
    #[error("`between` names what is searched; leave out `repository`")]
    BetweenAndRepository,
    /// A tree is compared with itself.
    #[error("`between` has `{0}` twice; name two trees of a repository")]
    SameTree(String),
    /// The compared trees belong to different repositories.
    #[error("`{0}` and `{1}` are no trees of one repository; search each by itself")]
    OtherRepository(String, String),
    /// The server is shutting down.
    #[error("the server is stopping")]
    Stopped,
    /// Nothing is indexed.
    #[error("nothing is indexed yet; index a repository with `codeinfo ingest PATH`")]
    IngestRequired,
    /// The query could not be embedded.
    #[error("cannot embed the query: {0}")]
    Embed(#[from] EmbedError),
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for SearchError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.during("search"))
    }
}

impl SearchError {
    /// Returns the error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::BlankQuery
            | Self::LongQuery { .. }
            | Self::Nul(_)
            | Self::BlankRepository
            | Self::BetweenAndRepository
            | Self::SameTree(_)
            | Self::OtherRepository(..)
            | Self::Limit(_) => ErrorCode::ValidationFailed,
            Self::RepoNotFound(_) => ErrorCode::RepoNotFound,
            Self::Stopped => ErrorCode::Cancelled,
            Self::IngestRequired => ErrorCode::IngestRequired,
            Self::Embed(cause) => cause.code(),
            Self::Store(cause) => cause.code(),
        }
    }
}

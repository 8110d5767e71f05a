//! What can go wrong in a search.

use crate::{domain::Root, embed::EmbedError, error::Code, store::StoreError};

/// A search failure.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The query is nothing but white space.
    #[error("`query` is blank")]
    BlankQuery,
    /// The query is over the limit.
    #[error("`query` has {bytes} bytes; at most {most} are allowed")]
    LongQuery {
        /// Its size.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The query or the repository holds a NUL character.
    #[error("`{0}` holds a NUL character")]
    Nul(&'static str),
    /// The repository is named, but blank.
    #[error("`repository` is blank; leave it out to search all repositories")]
    BlankRepository,
    /// The limit is out of bounds.
    #[error("`limit` is {0}; it must be between 1 and {max}", max = super::MAX_LIMIT)]
    Limit(u64),
    /// No indexed repository has that name, id or path.
    #[error("no repository `{reference}` is indexed; known are {known}")]
    RepoNotFound {
        /// What was asked for, shortened.
        reference: String,
        /// Names of indexed repositories, a few at most.
        known: String,
    },
    /// Nothing is indexed.
    #[error("nothing is indexed yet; ingest a repository first")]
    IngestRequired,
    /// The query could not be embedded.
    #[error("cannot embed the query: {0}")]
    Embed(#[from] EmbedError),
    /// The store failed.
    #[error("cannot search the store: {0}")]
    Store(#[from] StoreError),
}

impl SearchError {
    /// Returns the kind of failure.
    pub fn code(&self) -> Code {
        match self {
            Self::BlankQuery
            | Self::LongQuery { .. }
            | Self::Nul(_)
            | Self::BlankRepository
            | Self::Limit(_) => Code::ValidationFailed,
            Self::RepoNotFound { .. } => Code::RepoNotFound,
            Self::IngestRequired => Code::IngestRequired,
            Self::Embed(cause) => cause.code(),
            Self::Store(cause) => cause.code(),
        }
    }
}

/// The most repositories that an error names.
const MAX_NAMED: usize = 10;
/// The most characters of a wrong name that an error repeats.
const MAX_REFERENCE: usize = 120;

/// Says that no root is called `reference`, and which there are.
pub(super) fn unknown_repository(reference: &str, roots: &[Root]) -> SearchError {
    let names: Vec<String> =
        roots.iter().take(MAX_NAMED).map(|root| format!("`{}`", root.name)).collect();
    let more = match roots.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    SearchError::RepoNotFound {
        reference: reference.chars().take(MAX_REFERENCE).collect(),
        known: format!("{}{more}", names.join(", ")),
    }
}

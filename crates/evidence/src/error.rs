//! Errors of finding evidence.

use codeinfo_core::{OmissionRule, UnknownRoot, error::ErrorCode, explain_omission, plain_name};
use codeinfo_store::StoreError;

/// Maximum characters of a path or name in a message.
const MAX_CHARS: usize = 200;

/// A failure to find evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The name is blank, too long, or contains control characters.
    #[error("`name` {0}")]
    Name(&'static str),
    /// The pattern is invalid or too large.
    #[error("`pattern` {0}")]
    Pattern(String),
    /// No indexed file or folder has this path.
    #[error(
        "no indexed file or folder is `{}`{}{}",
        sanitize_path(.path),
        .omitted.as_ref().map(|why| format!(": {why}")).unwrap_or_default(),
        render_path_list("; similar: ", .similar)
    )]
    NotFound {
        /// Path of the request.
        path: String,
        /// A few files with the same name.
        similar: Vec<String>,
        /// Reason if the path was left out of the index.
        omitted: Option<String>,
    },
    /// Several files or folders match the path.
    #[error("`{}` may be one of {count}{}", sanitize_path(.path), render_path_list(": ", .several))]
    Ambiguous {
        /// Path of the request.
        path: String,
        /// Some of the matches.
        several: Vec<String>,
        /// Number of matches.
        count: usize,
    },
    /// The path is a folder, which has no lines.
    #[error("`{}` is a folder", sanitize_path(.0))]
    IsFolder(String),
    /// The index has no content of the file.
    #[error("{}", .1.map_or_else(
        || format!("nothing of `{}` is indexed: it is empty", sanitize_path(.0)),
        |rule| explain_omission(rule, .0)
    ))]
    NoContent(String, Option<OmissionRule>),
    /// A repository, by name, cannot be compared with a commit.
    #[error("`{}` cannot be compared with a commit: {}", sanitize_path(.0), .1)]
    Commit(String, String),
    /// The history of a repository or definition, by name, cannot be read.
    #[error("the history of `{}` cannot be read: {}", sanitize_path(.0), .1)]
    History(String, String),
    /// No repository is named, and several are indexed.
    #[error("several repositories are indexed; name one with `repository`")]
    SeveralRepositories,
    /// The file is being indexed.
    #[error("`{}` is being indexed again", sanitize_path(.0))]
    InProgress(String),
    /// No indexed repository has that name, id or path.
    #[error(transparent)]
    RepoNotFound(#[from] UnknownRoot),
    /// Nothing is indexed.
    #[error("nothing is indexed yet; index a repository with `codeinfo ingest PATH`")]
    IngestRequired,
    /// A folder does not respond, or too many requests wait for one.
    #[error("the files could not be read in time")]
    Stalled,
    /// The store failed.
    #[error("cannot read what is indexed: {0}")]
    Store(#[from] StoreError),
}

impl EvidenceError {
    /// Returns the error code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound { .. } => ErrorCode::FileNotFound,
            Self::Name(_)
            | Self::Pattern(_)
            | Self::Ambiguous { .. }
            | Self::IsFolder(_)
            | Self::Commit(..)
            | Self::History(..)
            | Self::SeveralRepositories
            | Self::NoContent(..) => ErrorCode::ValidationFailed,
            Self::RepoNotFound(_) => ErrorCode::RepoNotFound,
            Self::IngestRequired => ErrorCode::IngestRequired,
            Self::InProgress(_) | Self::Stalled => ErrorCode::Busy,
            Self::Store(cause) => cause.code(),
        }
    }
}

/// Returns a path in one line, without backticks.
fn sanitize_path(path: &str) -> String {
    plain_name(path, MAX_CHARS).replace('`', "'")
}

fn render_path_list(before: &str, paths: &[String]) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let paths: Vec<String> =
        paths.iter().map(|path| format!("`{}`", sanitize_path(path))).collect();
    format!("{before}{}", paths.join(", "))
}

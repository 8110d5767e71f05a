//! Why there is no evidence.

use codeinfo_core::{OmissionRule, UnknownRoot, error::Code, explain_omission, plain_name};
use codeinfo_store::StoreError;

/// The most characters of a path or name that are repeated.
const MAX_CHARS: usize = 200;

/// A failure to find evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// It is no name that could stand in a line.
    #[error("`name` {0}")]
    Name(&'static str),
    /// The pattern is invalid or too large.
    #[error("`pattern` {0}")]
    Pattern(String),
    /// No indexed file or folder has this path.
    #[error(
        "no indexed file or folder is `{}`{}{}",
        plain(.path),
        .omitted.as_ref().map(|why| format!(": {why}")).unwrap_or_default(),
        also("; similar: ", .similar)
    )]
    NotFound {
        /// As it was given.
        path: String,
        /// Files of the same name, a few at most.
        similar: Vec<String>,
        /// Why it was left out, if that is so.
        omitted: Option<String>,
    },
    /// Several files or folders may be meant.
    #[error("`{}` may be one of {count}{}", plain(.path), also(": ", .several))]
    Ambiguous {
        /// As it was given.
        path: String,
        /// Some of them.
        several: Vec<String>,
        /// How many there are.
        count: usize,
    },
    /// It is a folder, which has no lines.
    #[error("`{}` is a folder", plain(.0))]
    IsFolder(String),
    /// The index has nothing of the file's content.
    #[error("{}", .1.map_or_else(
        || format!("nothing of `{}` is indexed: it is empty", plain(.0)),
        |rule| explain_omission(rule, .0)
    ))]
    NoContent(String, Option<OmissionRule>),
    /// The file is being indexed at this moment.
    #[error("`{}` is being indexed again", plain(.0))]
    InProgress(String),
    /// No indexed repository has that name, id or path.
    #[error(transparent)]
    RepoNotFound(#[from] UnknownRoot),
    /// Nothing is indexed.
    #[error("nothing is indexed yet; index a repository with `codeinfo ingest PATH`")]
    IngestRequired,
    /// A folder does not answer, or too many requests wait for one.
    #[error("the files could not be read in time")]
    Stalled,
    /// The store failed.
    #[error("cannot read what is indexed: {0}")]
    Store(#[from] StoreError),
}

impl EvidenceError {
    /// Returns the kind of failure.
    pub fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code::FileNotFound,
            Self::Name(_)
            | Self::Pattern(_)
            | Self::Ambiguous { .. }
            | Self::IsFolder(_)
            | Self::NoContent(..) => Code::ValidationFailed,
            Self::RepoNotFound(_) => Code::RepoNotFound,
            Self::IngestRequired => Code::IngestRequired,
            Self::InProgress(_) | Self::Stalled => Code::Busy,
            Self::Store(cause) => cause.code(),
        }
    }
}

/// A path in one line.
fn plain(path: &str) -> String {
    plain_name(path, MAX_CHARS).replace('`', "'")
}

fn also(before: &str, paths: &[String]) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let paths: Vec<String> = paths.iter().map(|path| format!("`{}`", plain(path))).collect();
    format!("{before}{}", paths.join(", "))
}

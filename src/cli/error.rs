//! Errors of the command line.

use codeinfo_citations::DocumentError;
use codeinfo_ingest::RunState;

/// Failure of a command, in words for the person who typed it.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The server could not be reached or closed the connection.
    #[error("cannot talk to the server at {url}: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("{message}")]
    Refused { code: String, message: String },
    #[error("cannot use the path `{path}`: {source}")]
    Path {
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// A name or description was given for several folders.
    #[error("`--name` and `--description` need a single folder")]
    SeveralFolders,
    /// An ingest run did not complete.
    #[error("indexing `{path}` ended as {state}: {reason}")]
    Run { path: String, state: RunState, reason: String },
    #[error("no answer ({code}): {message}")]
    Unanswered { code: String, message: String },
    /// The person pressed Ctrl-C.
    #[error("the question was stopped")]
    Interrupted,
    /// No server runs whose page could be opened.
    #[error("no server runs on this DATA_DIR; start it with `codeinfo serve`")]
    NoServer,
    /// A check failed; the details are already printed.
    #[error("some checks failed")]
    Checks,
    #[error("cannot check `{path}`: {reason}")]
    Unreadable { path: String, reason: String },
    /// The arguments are invalid.
    #[error("{0}")]
    Usage(String),
    /// A reply has an unexpected form.
    #[error("the server replied something else than expected: {0}")]
    Reply(#[from] serde_json::Error),
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The terminal cannot be written.
    #[error("cannot write to the terminal: {0}")]
    Terminal(#[from] std::io::Error),
}

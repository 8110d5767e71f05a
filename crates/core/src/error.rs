//! Error codes, one for every error of the product, and advice about failures of the system.

use std::{error::Error, fmt, io};

/// Advice for when no thread or process can be started.
pub const THREAD_LIMIT_ADVICE: &str =
    "raise the limit of processes: `ulimit -u`, or `pids_limit` of the container";

/// Kind of a failure, as clients see it. Each edge maps it to an HTTP status or a JSON-RPC error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// An argument is missing, malformed or out of bounds.
    ValidationFailed,
    /// No indexed repository has the name, id or path.
    RepoNotFound,
    /// No folder with this path is among those that may be listed.
    FolderNotFound,
    /// No ingest run has the id.
    RunNotFound,
    /// No conversation has the id.
    ConversationNotFound,
    /// The request has no credentials or invalid ones.
    Unauthorized,
    /// The client lacks permission for the request.
    Forbidden,
    /// An active token has the name.
    TokenExists,
    /// No token has the name.
    TokenNotFound,
    /// No turn has the id.
    TurnNotFound,
    /// No indexed file has the path.
    FileNotFound,
    /// Stored conversations cannot be read or written.
    ArchiveUnavailable,
    /// Tokens or stored configurations cannot be read or written.
    VaultUnavailable,
    /// Nothing has been indexed yet.
    IngestRequired,
    /// A bound on queued or concurrent work was reached. A later retry helps.
    Busy,
    /// The embedding model cannot be used.
    EmbedModelMissing,
    /// The store was filled with another embedding model.
    EmbedModelMismatch,
    /// The store cannot be opened, reached or written.
    StoreUnavailable,
    /// Codex cannot be used: not found, signed out, ended, or its model service is unavailable.
    LlmUnavailable,
    /// No toolkit has the name.
    ToolkitNotFound,
    /// The toolkit does not run or is not trustworthy.
    ToolkitUnavailable,
    /// Codex ran the turn and it failed.
    TurnFailed,
    /// The conversation no longer fits the model's context window.
    ContextWindowExceeded,
    /// The turn reached its time limit.
    TurnTimedOut,
    /// The owner of the work cancelled it, or the server is stopping.
    Cancelled,
    /// A bug in CodeInfo. Details are only in the log.
    Internal,
}

impl ErrorCode {
    /// Returns the wire form, such as `REPO_NOT_FOUND`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ValidationFailed => "VALIDATION_FAILED",
            Self::RepoNotFound => "REPO_NOT_FOUND",
            Self::FolderNotFound => "FOLDER_NOT_FOUND",
            Self::RunNotFound => "RUN_NOT_FOUND",
            Self::ConversationNotFound => "CONVERSATION_NOT_FOUND",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Forbidden => "FORBIDDEN",
            Self::TokenExists => "TOKEN_EXISTS",
            Self::TokenNotFound => "TOKEN_NOT_FOUND",
            Self::TurnNotFound => "TURN_NOT_FOUND",
            Self::FileNotFound => "FILE_NOT_FOUND",
            Self::ArchiveUnavailable => "ARCHIVE_UNAVAILABLE",
            Self::VaultUnavailable => "VAULT_UNAVAILABLE",
            Self::IngestRequired => "INGEST_REQUIRED",
            Self::Busy => "BUSY",
            Self::EmbedModelMissing => "EMBED_MODEL_MISSING",
            Self::EmbedModelMismatch => "EMBED_MODEL_MISMATCH",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::LlmUnavailable => "CODE_INFO_LLM_UNAVAILABLE",
            Self::ToolkitNotFound => "TOOLKIT_NOT_FOUND",
            Self::ToolkitUnavailable => "TOOLKIT_UNAVAILABLE",
            Self::TurnFailed => "TURN_FAILED",
            Self::ContextWindowExceeded => "CONTEXT_WINDOW_EXCEEDED",
            Self::TurnTimedOut => "TURN_TIMED_OUT",
            Self::Cancelled => "CANCELLED",
            Self::Internal => "INTERNAL",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Joins a failure and its causes into one line, without causes that end the text before them.
pub fn format_error_chain(failure: &dyn Error) -> String {
    let mut line = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.ends_with(&text) {
            line.extend([": ", &text]);
        }
        cause = error.source();
    }
    line
}

/// Returns advice about a failure of the system, such as a full disk or missing permissions. Such a
/// failure does not mean that a file is damaged. `None` for other failures.
pub fn system_advice(error: &io::Error) -> Option<&'static str> {
    use io::ErrorKind;
    let advice = match error.kind() {
        ErrorKind::OutOfMemory | ErrorKind::WouldBlock => {
            "nothing is damaged: give the process more memory and threads and start it again"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "nothing is damaged: give its user read and write access to the folder and everything in it"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            "nothing is damaged: make room on its disk, or raise the limit of file sizes, and start again"
        }
        ErrorKind::ResourceBusy
        | ErrorKind::Interrupted
        | ErrorKind::StaleNetworkFileHandle
        | ErrorKind::TimedOut => DISK_AWAY,
        _ => return advice_by_errno(error),
    };
    Some(advice)
}

const DISK_AWAY: &str = "nothing is damaged: check that its disk is mounted, and start again";

/// Returns advice about errors for which the standard library has no kind.
#[cfg(unix)]
fn advice_by_errno(error: &io::Error) -> Option<&'static str> {
    use rustix::io::Errno;
    match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => Some(
            "nothing is damaged: allow the process to open more files (`ulimit -n 4096`) and start it again",
        ),
        Errno::IO => Some("the disk reports errors: check the system's log before anything else"),
        Errno::NOLCK => Some(DISK_AWAY),
        _ => None,
    }
}

#[cfg(not(unix))]
fn advice_by_errno(_: &io::Error) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open `a`: {0}")]
    struct RepeatingError(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start")]
    struct NamingError(#[source] RepeatingError);

    #[test]
    fn an_error_chain_names_each_cause_once() {
        let failure = NamingError(RepeatingError(io::Error::other("disk full")));
        assert_eq!(format_error_chain(&failure), "cannot start: cannot open `a`: disk full");
    }

    #[cfg(unix)]
    #[test]
    fn exhausted_resources_and_refusals_have_advice_and_missing_files_have_none() {
        use rustix::io::Errno;
        let short = [
            [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::ACCESS, Errno::PERM],
            [Errno::ROFS, Errno::NOSPC, Errno::DQUOT, Errno::FBIG, Errno::IO, Errno::BUSY],
        ];
        for code in short.as_flattened() {
            assert!(system_advice(&io::Error::from(*code)).is_some(), "{code}");
        }
        for code in [Errno::NOENT, Errno::NOTDIR, Errno::ISDIR, Errno::INVAL, Errno::EXIST] {
            assert_eq!(system_advice(&io::Error::from(code)), None);
        }
        assert!(system_advice(&io::ErrorKind::OutOfMemory.into()).is_some());
        assert_eq!(system_advice(&io::ErrorKind::InvalidData.into()), None);
    }
}

//! The one vocabulary of failure: every error of ours carries exactly one [`Code`].
#![warn(missing_docs)]

use std::{error::Error, fmt};

/// What kind of failure happened, in the words clients see. Each edge maps codes to HTTP status or
/// JSON-RPC error once, in its `error.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// An argument is missing, malformed or out of bounds.
    ValidationFailed,
    /// No indexed repository has that name, id or path.
    RepoNotFound,
    /// There is no such folder among those that may be listed.
    FolderNotFound,
    /// No ingest run has that id.
    RunNotFound,
    /// No conversation has that id.
    ConversationNotFound,
    /// The request does not say who asks, or says so wrongly.
    Unauthorized,
    /// Who asks may not do that.
    Forbidden,
    /// A token of that name lives already.
    TokenExists,
    /// No token has that name.
    TokenNotFound,
    /// No turn has that id.
    TurnNotFound,
    /// No indexed file has that path.
    FileNotFound,
    /// Kept conversations cannot be read or written.
    ArchiveUnavailable,
    /// Tokens or stored configurations cannot be read or written.
    VaultUnavailable,
    /// Nothing has been indexed yet.
    IngestRequired,
    /// A bound on queued or concurrent work was reached; trying later helps.
    Busy,
    /// The embedding model cannot be used.
    EmbedModelMissing,
    /// The store was filled with another embedding model.
    EmbedModelMismatch,
    /// The store cannot be opened, reached or written.
    StoreUnavailable,
    /// Codex cannot be used: not found, signed out, gone, or its model service is away.
    LlmUnavailable,
    /// No toolkit has that name.
    ToolkitNotFound,
    /// The toolkit does not run, or cannot be believed.
    ToolkitUnavailable,
    /// Codex ran the turn and it failed.
    TurnFailed,
    /// The conversation no longer fits the model's context window.
    ContextWindowExceeded,
    /// The turn reached its time limit.
    TurnTimedOut,
    /// The work was cancelled by its owner or by the server stopping.
    Cancelled,
    /// A bug of ours; details are in the log only.
    Internal,
}

impl ErrorCode {
    /// Returns the wire form, for example `REPO_NOT_FOUND`.
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

/// Joins a failure and its causes into one line. A cause whose text its parent repeats stands once.
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::format_error_chain;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open `a`: {0}")]
    struct Repeats(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start")]
    struct Names(#[source] Repeats);

    #[test]
    fn a_chain_tells_each_cause_once() {
        let failure = Names(Repeats(io::Error::other("disk full")));
        assert_eq!(format_error_chain(&failure), "cannot start: cannot open `a`: disk full");
    }
}

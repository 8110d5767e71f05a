//! Errors of the Codex process.

use std::{io, path::PathBuf};

use codeinfo_core::error::ErrorCode;
use codeinfo_secrets::redact_message;

use super::presence::UnavailableReason;

const CHECK_VERSION: &str = "see that `codex --version` prints 0.169, which this server was made for, or later (`npm install -g \
     @openai/codex@latest`), and what `codex doctor` finds as the user who runs the server; then ask again";
const CHECK_SPEED: &str = "see that CODEX_BIN, or `codex` on PATH, is Codex, and raise CODEX_REQUEST_TIMEOUT_SECS if \
     the machine is slow";
const NAME_NATIVE: &str =
    "set CODEX_BIN to the native binary: in the npm package it is `vendor/<platform>/bin/codex`";
const INSTALL_INTERPRETER: &str = "install it (`node` is Node.js) so that it is on the server's PATH, or set CODEX_BIN to the native binary of \
     Codex, which needs none";

/// Failure of the Codex process or of a resource that it needs.
#[derive(Debug, thiserror::Error)]
pub enum CodexError {
    #[error("no Codex binary: {0}")]
    NotFound(String),
    #[error("`{path}` cannot be started")]
    Start {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The binary is a script whose interpreter is missing.
    #[error("`{0}`, which runs the script `codex`, is missing")]
    NoInterpreter(String),
    /// The process ended; the text says how and is safe to show.
    #[error("{0}")]
    Gone(String),
    /// The process ended `ends` times in a row, at last for this reason; the next start waits.
    #[error("{}, and {ends} times in a row", .last.reason)]
    Unstable { ends: u32, last: UnavailableReason },
    #[error("the server is stopping")]
    Stopping,
    #[error("Codex did not answer `{0}` in time")]
    TimedOut(&'static str),
    #[error("Codex refused `{method}` ({code}): {}", redact_message(.message))]
    Refused { method: &'static str, code: i64, message: String },
    /// The answer of Codex, or our request, does not have the known form.
    #[error("`{method}` of Codex is not in the known form")]
    Form {
        method: &'static str,
        #[source]
        source: serde_json::Error,
    },
    #[error("Codex's configuration cannot be used: {}", redact_message(.0))]
    Configuration(String),
    /// Codex has no sign-in.
    #[error("nobody is signed in to Codex")]
    SignedOut,
    #[error("`{variable}`, the key of model provider `{provider}`, is not set")]
    MissingKey { provider: String, variable: String },
    /// Codex does not confine the model's shell.
    #[error("Codex {version} does not confine the model's shell")]
    Unconfined { version: String },
    /// The native binary is missing, which the sandbox needs to start commands.
    #[error("the native binary of Codex is not found")]
    NoNative,
    #[error("the scratch folder `{path}` cannot be made")]
    Workdir {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The path contains a pattern character; Codex grants nothing by patterns.
    #[error("`{}` has one of `*?[` in it, and cannot be granted", .path.display())]
    Pattern { path: PathBuf },
    /// The thread does not exist or has another originator.
    #[error("Codex has no thread of ours with that id")]
    UnknownThread,
}

impl CodexError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_)
            | Self::Start { .. }
            | Self::NoInterpreter(_)
            | Self::Gone(_)
            | Self::Unstable { .. }
            | Self::TimedOut(_)
            | Self::Configuration(_)
            | Self::SignedOut
            | Self::MissingKey { .. }
            | Self::Unconfined { .. }
            | Self::NoNative
            | Self::Pattern { .. }
            | Self::Workdir { .. } => ErrorCode::LlmUnavailable,
            Self::Stopping => ErrorCode::Cancelled,
            Self::Refused { .. } | Self::Form { .. } => ErrorCode::TurnFailed,
            Self::UnknownThread => ErrorCode::ConversationNotFound,
        }
    }

    /// Returns the reason and the hint for the user, both safe to show.
    pub fn unavailable_reason(&self) -> UnavailableReason {
        let (reason, hint) = match self {
            Self::NotFound(looked) => (
                format!("the Codex command line is not found: {looked}"),
                "install it with `npm install -g @openai/codex` and sign in with `codex login`, or set \
                 CODEX_BIN to the path of the binary",
            ),
            Self::Start { source, .. } => (
                format!("the Codex binary cannot be started: {source}"),
                "set CODEX_BIN to a working Codex binary; `codex --version` must print a version",
            ),
            Self::Unstable { last, .. } => return last.clone(),
            Self::NoInterpreter(program) => (
                format!("`codex` is a script that needs `{program}`, which is missing"),
                INSTALL_INTERPRETER,
            ),
            Self::Gone(last) => (last.clone(), CHECK_VERSION),
            Self::TimedOut(_) => ("Codex does not answer".to_owned(), CHECK_SPEED),
            Self::Configuration(reason) => (
                format!("Codex cannot use its configuration: {}", redact_message(reason)),
                "repair config.toml in CODEX_HOME; `codex doctor` checks it",
            ),
            Self::SignedOut => (
                "Codex is signed out".to_owned(),
                "run `codex login` (or `codex login --with-api-key`) as the user who runs the \
                 server, with the same CODEX_HOME",
            ),
            Self::MissingKey { provider, variable } => (
                format!(
                    "the model provider `{provider}` needs the environment variable `{variable}`, \
                     which is not set"
                ),
                "set it where the server starts and start the server again, or put it into `.env` \
                 in CODEX_HOME",
            ),
            Self::Unconfined { version } => (
                format!(
                    "the installed Codex {version} does not keep the model's shell from files that \
                     are not indexed"
                ),
                "update Codex: `npm install -g @openai/codex`, or, where a container is the fence, \
                 set CODEX_SANDBOX=danger-full-access",
            ),
            Self::NoNative => (
                "`codex` is a script that does not lead to the native binary, without which the \
                 sandbox of the model's shell cannot start"
                    .to_owned(),
                NAME_NATIVE,
            ),
            Self::Pattern { .. } => (self.to_string(), "give it a path without them"),
            Self::Workdir { source, .. } => (
                format!("the scratch folder of Codex cannot be made: {source}"),
                "set CODEX_WORKDIR to a folder that the server may write",
            ),
            Self::Stopping => ("the server is stopping".to_owned(), "ask again when it is back"),
            Self::Refused { method, message, .. } => {
                (format!("Codex refused `{method}`: {}", redact_message(message)), CHECK_VERSION)
            }
            Self::Form { method, .. } => (
                format!("the installed Codex answers `{method}` in an unknown form"),
                CHECK_VERSION,
            ),
            Self::UnknownThread => (self.to_string(), "start a new conversation"),
        };
        UnavailableReason { reason, hint: hint.to_owned() }
    }
}

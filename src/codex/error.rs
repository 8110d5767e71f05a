//! Why Codex could not be used.

use std::{io, path::PathBuf};

use super::presence::Unavailable;
use crate::{error::Code, foreign::redact};

/// A failure of the Codex process or of what it needs.
#[derive(Debug, thiserror::Error)]
pub enum CodexError {
    /// No binary.
    #[error("no Codex binary: {0}")]
    NotFound(String),
    /// The binary cannot be run.
    #[error("`{path}` cannot be started")]
    Start {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The process ended; how, in a sentence that is safe to show.
    #[error("{0}")]
    Gone(String),
    /// It ended again and again, the last time like this; the next start waits.
    #[error("{last}, and {ends} times in a row")]
    Unstable { ends: u32, last: String },
    /// The server is stopping.
    #[error("the server is stopping")]
    Stopping,
    /// No answer in time.
    #[error("Codex did not answer `{0}` in time")]
    TimedOut(&'static str),
    /// Codex refused a request.
    #[error("Codex refused `{method}` ({code}): {}", redact(.message))]
    Refused { method: &'static str, code: i64, message: String },
    /// Codex's answer, or our request, is not in the known form.
    #[error("`{method}` of Codex is not in the known form")]
    Form {
        method: &'static str,
        #[source]
        source: serde_json::Error,
    },
    /// Codex cannot read its configuration.
    #[error("Codex's configuration cannot be used: {}", redact(.0))]
    Configuration(String),
    /// Nobody is signed in.
    #[error("nobody is signed in to Codex")]
    SignedOut,
    /// The key that the model provider names is not set.
    #[error("`{variable}`, the key of model provider `{provider}`, is not set")]
    MissingKey { provider: String, variable: String },
    /// It does not keep the model's shell from anything.
    #[error("Codex {version} does not confine the model's shell")]
    Unconfined { version: String },
    /// The native binary is not found, without which no command starts in the sandbox.
    #[error("the native binary of Codex is not found")]
    NoNative,
    /// The scratch folder cannot be made.
    #[error("the scratch folder `{path}` cannot be made")]
    Workdir {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Codex takes the path for a pattern, and grants nothing by patterns.
    #[error("`{}` has one of `*?[` in it, and cannot be granted", .path.display())]
    Pattern { path: PathBuf },
    /// The thread does not exist, or is not one of ours.
    #[error("Codex has no thread of ours with that id")]
    UnknownThread,
}

impl CodexError {
    pub fn code(&self) -> Code {
        match self {
            Self::NotFound(_)
            | Self::Start { .. }
            | Self::Gone(_)
            | Self::Unstable { .. }
            | Self::TimedOut(_)
            | Self::Configuration(_)
            | Self::SignedOut
            | Self::MissingKey { .. }
            | Self::Unconfined { .. }
            | Self::NoNative
            | Self::Pattern { .. }
            | Self::Workdir { .. } => Code::LlmUnavailable,
            Self::Stopping => Code::Cancelled,
            Self::Refused { .. } | Self::Form { .. } => Code::TurnFailed,
            Self::UnknownThread => Code::ConversationNotFound,
        }
    }

    /// Says what is wrong and what to do, in words that are safe to show.
    pub fn unavailable(&self) -> Unavailable {
        let (reason, hint) = match self {
            Self::NotFound(looked) => (
                format!("the Codex command line is not found: {looked}"),
                "install it with `npm install -g @openai/codex`, or set CODEX_BIN to the path of \
                 the binary",
            ),
            Self::Start { source, .. } => (
                format!("the Codex binary cannot be started: {source}"),
                "set CODEX_BIN to a working Codex binary; `codex --version` must print a version",
            ),
            Self::Gone(last) | Self::Unstable { last, .. } => {
                (last.clone(), "run `codex doctor` as the user who runs the server, then ask again")
            }
            Self::TimedOut(_) => (
                "Codex does not answer".to_owned(),
                "see the server's log, and raise CODEX_REQUEST_TIMEOUT_SECS if the machine is slow",
            ),
            Self::Configuration(reason) => (
                format!("Codex cannot use its configuration: {}", redact(reason)),
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
                "set CODEX_BIN to the native binary: in the npm package it is \
                 `vendor/<platform>/bin/codex`",
            ),
            Self::Pattern { .. } => (self.to_string(), "give it a path without them"),
            Self::Workdir { source, .. } => (
                format!("the scratch folder of Codex cannot be made: {source}"),
                "set CODEX_WORKDIR to a folder that the server may write",
            ),
            Self::Stopping => ("the server is stopping".to_owned(), "ask again when it is back"),
            Self::Refused { method, message, .. } => (
                format!("Codex refused `{method}`: {}", redact(message)),
                "see the server's log; Codex 0.169 is the version this server was made for",
            ),
            Self::Form { method, .. } => (
                format!("the installed Codex answers `{method}` in an unknown form"),
                "install the version this server was made for: \
                 `npm install -g @openai/codex@0.169.0`",
            ),
            Self::UnknownThread => (self.to_string(), "start a new conversation"),
        };
        Unavailable { reason, hint: hint.to_owned() }
    }
}

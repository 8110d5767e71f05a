//! Errors of the Codex process, and reasons why turns fail, in words that are safe to show.

use std::{io, path::PathBuf};

use codeinfo_core::error::ErrorCode;
use codeinfo_secrets::redact_message;
use serde_json::Value;

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
    #[error("`{method}` of Codex is not in the known form")]
    Form {
        method: &'static str,
        #[source]
        source: serde_json::Error,
    },
    #[error("Codex's configuration cannot be used: {}", redact_message(.0))]
    Configuration(String),
    #[error("nobody is signed in to Codex")]
    SignedOut,
    #[error("`{variable}`, the key of model provider `{provider}`, is not set")]
    MissingKey { provider: String, variable: String },
    #[error("Codex {version} does not confine the model's shell")]
    Unconfined { version: String },
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

/// Reason why Codex is unavailable, in sentences that are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableReason {
    pub reason: String,
    pub hint: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnError {
    pub kind: TurnErrorKind,
    /// Codex's message, without keys, paths and addresses.
    detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnErrorKind {
    /// The model service is unreachable, or answered with this HTTP status.
    Unreachable(Option<u16>),
    /// The sign-in or key was refused.
    Unauthorized,
    UsageLimit,
    /// The service is overloaded or has an internal failure.
    Overloaded,
    /// The answer broke off repeatedly.
    Disconnected,
    /// The conversation is too long for the model.
    ContextWindow,
    /// The model service refused the request, or Codex gave up for another reason.
    Other,
}

impl TurnError {
    /// Parses `turn.error`.
    pub(super) fn from_json(error: &Value) -> Self {
        let detail = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        let info = error.get("codexErrorInfo").unwrap_or(&Value::Null);
        Self { kind: classify_error(info, &detail), detail: redact_message(&detail) }
    }

    /// Returns Codex's message, for the log.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    pub fn code(&self) -> ErrorCode {
        match self.kind {
            TurnErrorKind::Unreachable(_)
            | TurnErrorKind::Unauthorized
            | TurnErrorKind::UsageLimit
            | TurnErrorKind::Overloaded
            | TurnErrorKind::Disconnected => ErrorCode::LlmUnavailable,
            TurnErrorKind::ContextWindow => ErrorCode::ContextWindowExceeded,
            TurnErrorKind::Other => ErrorCode::TurnFailed,
        }
    }

    /// Returns the reason, without keys, paths or addresses.
    pub fn reason(&self) -> String {
        match self.kind {
            TurnErrorKind::Unreachable(None) => "Codex cannot reach its model service".to_owned(),
            // The message of a client error says why, such as an unknown model.
            TurnErrorKind::Unreachable(Some(status @ 400..500)) if !self.detail.is_empty() => {
                format!(
                    "the model service answered Codex with HTTP status {status}: {}",
                    self.detail
                )
            }
            TurnErrorKind::Unreachable(Some(status)) => {
                format!("the model service answered Codex with HTTP status {status}")
            }
            TurnErrorKind::Unauthorized => {
                "the model service does not accept Codex's sign-in or key".to_owned()
            }
            TurnErrorKind::UsageLimit => {
                "the usage limit of the Codex account is reached".to_owned()
            }
            TurnErrorKind::Overloaded => "the model service is overloaded".to_owned(),
            TurnErrorKind::Disconnected => {
                "the model service broke off its answer and did so again when retried".to_owned()
            }
            TurnErrorKind::ContextWindow => {
                "the conversation no longer fits the model's context window".to_owned()
            }
            TurnErrorKind::Other if self.detail.is_empty() => {
                "Codex gave up without saying why".to_owned()
            }
            TurnErrorKind::Other => format!("Codex gave up: {}", self.detail),
        }
    }

    /// Returns advice for the user.
    pub fn hint(&self) -> &'static str {
        match self.kind {
            TurnErrorKind::Unreachable(Some(404)) | TurnErrorKind::Other
                if self.detail.contains("model") =>
            {
                "set CODEX_MODEL, or `model` in Codex's config.toml, to a model that the account has, then ask again"
            }
            TurnErrorKind::Unreachable(_) => {
                "check the network and `base_url` in Codex's config.toml, then ask again"
            }
            TurnErrorKind::Unauthorized => {
                "run `codex login` as the user who runs the server, then ask again"
            }
            TurnErrorKind::UsageLimit => {
                "wait until the limit resets, or sign in with another account: `codex login`"
            }
            TurnErrorKind::Overloaded | TurnErrorKind::Disconnected => "ask again in a while",
            TurnErrorKind::ContextWindow => "start a new conversation",
            TurnErrorKind::Other => "see the server's log, then ask again",
        }
    }
}

fn classify_error(info: &Value, detail: &str) -> TurnErrorKind {
    if let Some(name) = info.as_str() {
        return classify_named_error(name, detail);
    }
    // `{"httpConnectionFailed": {"httpStatusCode": 401}}` and similar objects.
    let Some((name, fields)) = info.as_object().and_then(|info| info.iter().next()) else {
        return TurnErrorKind::Other;
    };
    let status = fields.get("httpStatusCode").and_then(Value::as_u64);
    match (name.as_str(), status.and_then(|status| u16::try_from(status).ok())) {
        ("activeTurnNotSteerable", _) => TurnErrorKind::Other,
        (_, Some(401 | 403)) => TurnErrorKind::Unauthorized,
        (_, Some(429)) => TurnErrorKind::UsageLimit,
        ("responseStreamDisconnected", None) => TurnErrorKind::Disconnected,
        ("responseTooManyFailedAttempts", None) => TurnErrorKind::Overloaded,
        (_, status) => TurnErrorKind::Unreachable(status),
    }
}

fn classify_named_error(name: &str, detail: &str) -> TurnErrorKind {
    match name {
        "contextWindowExceeded" => TurnErrorKind::ContextWindow,
        "unauthorized" => TurnErrorKind::Unauthorized,
        "usageLimitExceeded" | "rateLimitExceeded" | "sessionBudgetExceeded" => {
            TurnErrorKind::UsageLimit
        }
        "serverOverloaded"
        | "internalServerError"
        | "flexUnavailable"
        | "policyCapacityUnavailable" => TurnErrorKind::Overloaded,
        // Codex 0.169 reports a stream that broke off for the last time as `other`; only the message differs.
        "other" if detail.starts_with("stream disconnected") => TurnErrorKind::Disconnected,
        _ => TurnErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(info: &Value, message: &str) -> (TurnErrorKind, ErrorCode) {
        let error = TurnError::from_json(&json!({ "message": message, "codexErrorInfo": info }));
        (error.kind, error.code())
    }

    #[test]
    fn a_service_that_is_away_is_unavailability_and_a_refusal_is_not() {
        use TurnErrorKind::{
            ContextWindow, Disconnected, Other, Overloaded, Unauthorized, Unreachable, UsageLimit,
        };
        let failed =
            |status: Value| json!({ "httpConnectionFailed": { "httpStatusCode": status } });
        let away = ErrorCode::LlmUnavailable;
        assert_eq!(error(&failed(json!(null)), ""), (Unreachable(None), away));
        assert_eq!(error(&failed(json!(503)), ""), (Unreachable(Some(503)), away));
        assert_eq!(error(&failed(json!(401)), ""), (Unauthorized, away));
        assert_eq!(error(&json!("usageLimitExceeded"), ""), (UsageLimit, away));
        assert_eq!(error(&json!("internalServerError"), ""), (Overloaded, away));
        assert_eq!(error(&json!("other"), "stream disconnected before"), (Disconnected, away));
        assert_eq!(error(&json!("other"), "bad request"), (Other, ErrorCode::TurnFailed));
        assert_eq!(error(&json!("newKind"), ""), (Other, ErrorCode::TurnFailed));
        assert_eq!(error(&json!(null), ""), (Other, ErrorCode::TurnFailed));
        let full = ErrorCode::ContextWindowExceeded;
        assert_eq!(error(&json!("contextWindowExceeded"), ""), (ContextWindow, full));
    }
}

//! What a failure looks like on the main API: one mapping from codes to statuses, one log line.

use std::error::Error;

use codeinfo_chat::{ChatError, Event, Outcome, archive::ArchiveError};
use codeinfo_codex::{CodexError, Unavailable};
use codeinfo_core::{
    InvalidId, InvalidPrincipal, InvalidQuestion,
    error::{Code, chain},
    telemetry::{Failures, TURN_FAILED},
};
use codeinfo_credentials::VaultError;
use codeinfo_http::{Response, reply};
use codeinfo_ingest::IngestError;
use codeinfo_search::{SearchError, evidence::EvidenceError};
use codeinfo_toolkits::RequestError;
use hyper::StatusCode;
use tracing::{error, warn};

use super::Services;

/// The listener, in lists of failures.
pub(super) const MAIN: &str = "main";
/// What monitors ask about.
const READY: &str = "/ready";

/// Why a request is not done.
#[derive(Debug)]
pub(super) enum ApiError {
    /// The HTTP layer refuses it.
    Refused(codeinfo_http::HttpError),
    /// The arguments are wrong, one sentence each.
    Arguments(Vec<String>),
    /// Codex cannot be used.
    Unavailable(Unavailable),
    /// A service failed.
    Failed { code: Code, message: String },
}

impl ApiError {
    /// Refuses a request that does not say who asks.
    pub(super) fn missing_token() -> Self {
        let needed = "this needs a token or the owner's key: send `Authorization: Bearer …`";
        Self::Refused(codeinfo_http::HttpError::Unauthorized(needed))
    }

    /// Says that the server is stopping.
    pub(super) fn stopping() -> Self {
        Self::Failed { code: Code::Cancelled, message: "the server is stopping".to_owned() }
    }

    /// Returns the code and the message of it, where there are neither a status nor details.
    pub(super) fn in_words(self) -> (&'static str, String) {
        match self {
            Self::Refused(error) => (error.code(), error.to_string()),
            Self::Arguments(faults) => (Code::ValidationFailed.as_str(), faults.join("; ")),
            Self::Unavailable(Unavailable { reason, hint }) => {
                (Code::LlmUnavailable.as_str(), format!("{reason}; {hint}"))
            }
            Self::Failed { code: Code::Internal, .. } => {
                Self::Refused(codeinfo_http::HttpError::Internal).in_words()
            }
            Self::Failed { code, message } => (code.as_str(), message),
        }
    }

    /// Returns the code and the message of what is wrong with the server, and not with a request.
    fn of_ours(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Refused(error @ codeinfo_http::HttpError::Internal) => {
                Some((error.code(), error.to_string()))
            }
            Self::Unavailable(Unavailable { reason, hint }) => {
                Some((Code::LlmUnavailable.as_str(), format!("{reason}; {hint}")))
            }
            Self::Failed { code: Code::Internal, .. } => {
                Self::Refused(codeinfo_http::HttpError::Internal).of_ours()
            }
            Self::Failed { code, message } if is_unavailable(*code) => {
                Some((code.as_str(), message.clone()))
            }
            Self::Refused(_) | Self::Arguments(_) | Self::Failed { .. } => None,
        }
    }

    /// Takes over a failure of a service and logs its chain of causes where it is ours.
    fn failed(code: Code, failure: &dyn Error) -> Self {
        if code == Code::Internal {
            error!(error = %chain(failure), "request failed");
        } else if is_unavailable(code) {
            warn!(error = %chain(failure), "service unavailable");
        }
        Self::Failed { code, message: failure.to_string() }
    }
}

/// Whether a code says that a part of the server cannot be used.
fn is_unavailable(code: Code) -> bool {
    match code {
        Code::EmbedModelMissing
        | Code::EmbedModelMismatch
        | Code::StoreUnavailable
        | Code::ToolkitUnavailable
        | Code::VaultUnavailable
        | Code::ArchiveUnavailable
        | Code::LlmUnavailable => true,
        Code::Internal
        | Code::ValidationFailed
        | Code::RepoNotFound
        | Code::FolderNotFound
        | Code::RunNotFound
        | Code::ConversationNotFound
        | Code::ToolkitNotFound
        | Code::Unauthorized
        | Code::Forbidden
        | Code::TokenExists
        | Code::TokenNotFound
        | Code::TurnNotFound
        | Code::FileNotFound
        | Code::IngestRequired
        | Code::Busy
        | Code::TurnFailed
        | Code::ContextWindowExceeded
        | Code::TurnTimedOut
        | Code::Cancelled => false,
    }
}

impl Services {
    /// Notes a failure that a client was told of, if it is one of the server. Monitors ask about those again and
    /// again.
    pub(super) fn note(&self, error: &ApiError, path: &str) {
        if let Some((code, message)) = error.of_ours().filter(|_| path != READY) {
            self.failures.note(MAIN, (code, &message), Some(path));
        }
    }
}

/// Notes how a turn failed, if it did and nobody wanted it.
pub(super) fn note_end(failures: &Failures, event: &Event, path: &str) {
    if let Event::Ended(Outcome { failure: Some(failure), .. }) = event
        && failure.code != Code::Cancelled
    {
        let message = match failure.code {
            Code::TurnFailed => TURN_FAILED,
            _ => failure.message.as_str(),
        };
        failures.note(MAIN, (failure.code.as_str(), message), Some(path));
    }
}

impl From<codeinfo_http::HttpError> for ApiError {
    fn from(error: codeinfo_http::HttpError) -> Self {
        Self::Refused(error)
    }
}

impl From<InvalidId> for ApiError {
    fn from(error: InvalidId) -> Self {
        Self::Arguments(vec![error.to_string()])
    }
}

impl From<InvalidQuestion> for ApiError {
    fn from(error: InvalidQuestion) -> Self {
        Self::Arguments(vec![error.to_string()])
    }
}

impl From<ChatError> for ApiError {
    fn from(failure: ChatError) -> Self {
        match failure {
            ChatError::Unavailable(why, _) => Self::Unavailable(why),
            failure => Self::failed(failure.code(), &failure),
        }
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Invalid(faults) => {
                Self::Arguments(faults.iter().map(|fault| format!("`toolkits`: {fault}")).collect())
            }
            RequestError::Nobody => Self::missing_token(),
        }
    }
}

impl From<CodexError> for ApiError {
    fn from(failure: CodexError) -> Self {
        match failure.code() {
            Code::LlmUnavailable => Self::Unavailable(failure.unavailable()),
            code => Self::failed(code, &failure),
        }
    }
}

impl From<IngestError> for ApiError {
    fn from(failure: IngestError) -> Self {
        Self::failed(failure.code(), &failure)
    }
}

impl From<SearchError> for ApiError {
    fn from(failure: SearchError) -> Self {
        Self::failed(failure.code(), &failure)
    }
}

impl From<EvidenceError> for ApiError {
    fn from(failure: EvidenceError) -> Self {
        Self::failed(failure.code(), &failure)
    }
}

impl From<InvalidPrincipal> for ApiError {
    fn from(error: InvalidPrincipal) -> Self {
        Self::Arguments(vec![error.to_string()])
    }
}

impl From<ArchiveError> for ApiError {
    fn from(failure: ArchiveError) -> Self {
        Self::failed(failure.code(), &failure)
    }
}

impl From<VaultError> for ApiError {
    fn from(failure: VaultError) -> Self {
        match failure {
            // With the header that belongs to it.
            VaultError::Unauthorized => Self::Refused(codeinfo_http::HttpError::Unauthorized(
                "the token is not known; it may have been revoked",
            )),
            failure => Self::failed(failure.code(), &failure),
        }
    }
}

impl From<ApiError> for Response {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Refused(error) => error.into(),
            ApiError::Arguments(faults) => {
                let code = Code::ValidationFailed;
                reply::error(status(code), code.as_str(), &faults.join("; "), &faults)
            }
            ApiError::Unavailable(Unavailable { reason, hint }) => {
                let code = Code::LlmUnavailable;
                reply::error(status(code), code.as_str(), &reason, &[hint])
            }
            ApiError::Failed { code: Code::Internal, .. } => {
                codeinfo_http::HttpError::Internal.into()
            }
            ApiError::Failed { code, message } => {
                reply::error(status(code), code.as_str(), &message, &[])
            }
        }
    }
}

fn status(code: Code) -> StatusCode {
    match code {
        Code::ValidationFailed => StatusCode::BAD_REQUEST,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::RepoNotFound
        | Code::FolderNotFound
        | Code::RunNotFound
        | Code::ConversationNotFound
        | Code::ToolkitNotFound
        | Code::TokenNotFound
        | Code::TurnNotFound
        | Code::FileNotFound => StatusCode::NOT_FOUND,
        Code::IngestRequired
        | Code::EmbedModelMismatch
        | Code::ContextWindowExceeded
        | Code::TokenExists => StatusCode::CONFLICT,
        Code::Busy => StatusCode::TOO_MANY_REQUESTS,
        Code::EmbedModelMissing
        | Code::StoreUnavailable
        | Code::VaultUnavailable
        | Code::ArchiveUnavailable
        | Code::ToolkitUnavailable
        | Code::LlmUnavailable
        | Code::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        Code::TurnFailed => StatusCode::BAD_GATEWAY,
        Code::TurnTimedOut => StatusCode::GATEWAY_TIMEOUT,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

//! Errors of the main API: one mapping from codes to statuses, one log line each.

use std::error::Error;

use codeinfo_chat::{ChatError, ChatEvent, TurnOutcome, archive::ArchiveError};
use codeinfo_codex::{CodexError, UnavailableReason};
use codeinfo_core::{
    InvalidId, InvalidPrincipal, InvalidQuestion,
    error::{ErrorCode, format_error_chain},
    telemetry::{FailureLog, TURN_FAILED},
};
use codeinfo_credentials::CredentialError;
use codeinfo_evidence::{EvidenceError, ScipFileError};
use codeinfo_http::{HttpError, Response, error_response};
use codeinfo_ingest::IngestError;
use codeinfo_search::SearchError;
use codeinfo_toolkits::RequestError;
use hyper::StatusCode;
use tracing::{error, warn};

use super::ApiServices;

pub(super) const MAIN: &str = "main";
const READY: &str = "/ready";

#[derive(Debug)]
pub(super) enum ApiError {
    Refused(HttpError),
    /// The arguments have these faults, one sentence each.
    Arguments(Vec<String>),
    Unavailable(UnavailableReason),
    Failed {
        code: ErrorCode,
        message: String,
    },
}

impl ApiError {
    /// Refuses a request that has neither a token nor the owner's key.
    pub(super) fn missing_token() -> Self {
        let needed = "this needs a token or the owner's key: send `Authorization: Bearer …`";
        Self::Refused(HttpError::Unauthorized(needed))
    }

    pub(super) fn server_stopping() -> Self {
        Self::Failed { code: ErrorCode::Cancelled, message: "the server is stopping".to_owned() }
    }

    /// Returns the code and the message, for protocols without statuses and details.
    pub(super) fn into_code_and_message(self) -> (&'static str, String) {
        match self {
            Self::Refused(error) => (error.code(), error.to_string()),
            Self::Arguments(faults) => (ErrorCode::ValidationFailed.as_str(), faults.join("; ")),
            Self::Unavailable(UnavailableReason { reason, hint }) => {
                (ErrorCode::LlmUnavailable.as_str(), format!("{reason}; {hint}"))
            }
            Self::Failed { code: ErrorCode::Internal, .. } => {
                Self::Refused(HttpError::Internal).into_code_and_message()
            }
            Self::Failed { code, message } => (code.as_str(), message),
        }
    }

    /// Returns the code and the message of a fault of the server, not of the request.
    fn server_fault(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Refused(error @ HttpError::Internal) => Some((error.code(), error.to_string())),
            Self::Unavailable(UnavailableReason { reason, hint }) => {
                Some((ErrorCode::LlmUnavailable.as_str(), format!("{reason}; {hint}")))
            }
            Self::Failed { code: ErrorCode::Internal, .. } => {
                Self::Refused(HttpError::Internal).server_fault()
            }
            Self::Failed { code, message } if is_unavailable(*code) => {
                Some((code.as_str(), message.clone()))
            }
            Self::Refused(_) | Self::Arguments(_) | Self::Failed { .. } => None,
        }
    }

    /// Converts the failure of a service. Logs its chain of causes when the server is at fault.
    fn from_failure(code: ErrorCode, failure: &dyn Error) -> Self {
        if code == ErrorCode::Internal {
            error!(error = %format_error_chain(failure), "request failed");
        } else if is_unavailable(code) {
            warn!(error = %format_error_chain(failure), "service unavailable");
        }
        Self::Failed { code, message: failure.to_string() }
    }
}

fn is_unavailable(code: ErrorCode) -> bool {
    match code {
        ErrorCode::EmbedModelMissing
        | ErrorCode::EmbedModelMismatch
        | ErrorCode::StoreUnavailable
        | ErrorCode::ToolkitUnavailable
        | ErrorCode::VaultUnavailable
        | ErrorCode::ArchiveUnavailable
        | ErrorCode::LlmUnavailable => true,
        ErrorCode::Internal
        | ErrorCode::ValidationFailed
        | ErrorCode::RepoNotFound
        | ErrorCode::FolderNotFound
        | ErrorCode::RunNotFound
        | ErrorCode::ConversationNotFound
        | ErrorCode::ToolkitNotFound
        | ErrorCode::Unauthorized
        | ErrorCode::Forbidden
        | ErrorCode::TokenExists
        | ErrorCode::TokenNotFound
        | ErrorCode::TurnNotFound
        | ErrorCode::FileNotFound
        | ErrorCode::IngestRequired
        | ErrorCode::Busy
        | ErrorCode::TurnFailed
        | ErrorCode::ContextWindowExceeded
        | ErrorCode::TurnTimedOut
        | ErrorCode::Cancelled => false,
    }
}

impl ApiServices {
    /// Records a fault of the server, except from `/ready`, which monitors poll.
    pub(super) fn record_failure(&self, error: &ApiError, path: &str) {
        if let Some((code, message)) = error.server_fault().filter(|_| path != READY) {
            self.failures.record_failure(MAIN, code, &message, Some(path));
        }
    }
}

/// Records the failure of a turn, unless the turn was cancelled.
pub(super) fn note_end(failures: &FailureLog, event: &ChatEvent, path: &str) {
    if let ChatEvent::Ended(TurnOutcome { failure: Some(failure), .. }) = event
        && failure.code != ErrorCode::Cancelled
    {
        let message = match failure.code {
            ErrorCode::TurnFailed => TURN_FAILED,
            _ => failure.message.as_str(),
        };
        failures.record_failure(MAIN, failure.code.as_str(), message, Some(path));
    }
}

impl From<HttpError> for ApiError {
    fn from(error: HttpError) -> Self {
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
            failure => Self::from_failure(failure.code(), &failure),
        }
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Invalid(faults) => {
                Self::Arguments(faults.iter().map(|fault| format!("`toolkits`: {fault}")).collect())
            }
            RequestError::MissingPrincipal => Self::missing_token(),
        }
    }
}

impl From<CodexError> for ApiError {
    fn from(failure: CodexError) -> Self {
        match failure.code() {
            ErrorCode::LlmUnavailable => Self::Unavailable(failure.unavailable_reason()),
            code => Self::from_failure(code, &failure),
        }
    }
}

impl From<IngestError> for ApiError {
    fn from(failure: IngestError) -> Self {
        Self::from_failure(failure.code(), &failure)
    }
}

impl From<SearchError> for ApiError {
    fn from(failure: SearchError) -> Self {
        Self::from_failure(failure.code(), &failure)
    }
}

impl From<EvidenceError> for ApiError {
    fn from(failure: EvidenceError) -> Self {
        Self::from_failure(failure.code(), &failure)
    }
}

impl From<ScipFileError> for ApiError {
    fn from(failure: ScipFileError) -> Self {
        Self::from_failure(failure.code(), &failure)
    }
}

impl From<InvalidPrincipal> for ApiError {
    fn from(error: InvalidPrincipal) -> Self {
        Self::Arguments(vec![error.to_string()])
    }
}

impl From<ArchiveError> for ApiError {
    fn from(failure: ArchiveError) -> Self {
        Self::from_failure(failure.code(), &failure)
    }
}

impl From<CredentialError> for ApiError {
    fn from(failure: CredentialError) -> Self {
        match failure {
            // `HttpError::Unauthorized` adds the header that belongs to it.
            CredentialError::Unauthorized => Self::Refused(HttpError::Unauthorized(
                "the token is not known; it may have been revoked",
            )),
            failure => Self::from_failure(failure.code(), &failure),
        }
    }
}

impl From<ApiError> for Response {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Refused(error) => error.into(),
            ApiError::Arguments(faults) => {
                let code = ErrorCode::ValidationFailed;
                error_response(status_for_code(code), code.as_str(), &faults.join("; "), &faults)
            }
            ApiError::Unavailable(UnavailableReason { reason, hint }) => {
                let code = ErrorCode::LlmUnavailable;
                error_response(status_for_code(code), code.as_str(), &reason, &[hint])
            }
            ApiError::Failed { code: ErrorCode::Internal, .. } => HttpError::Internal.into(),
            ApiError::Failed { code, message } => {
                error_response(status_for_code(code), code.as_str(), &message, &[])
            }
        }
    }
}

fn status_for_code(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::ValidationFailed => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::RepoNotFound
        | ErrorCode::FolderNotFound
        | ErrorCode::RunNotFound
        | ErrorCode::ConversationNotFound
        | ErrorCode::ToolkitNotFound
        | ErrorCode::TokenNotFound
        | ErrorCode::TurnNotFound
        | ErrorCode::FileNotFound => StatusCode::NOT_FOUND,
        ErrorCode::IngestRequired
        | ErrorCode::EmbedModelMismatch
        | ErrorCode::ContextWindowExceeded
        | ErrorCode::TokenExists => StatusCode::CONFLICT,
        ErrorCode::Busy => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::EmbedModelMissing
        | ErrorCode::StoreUnavailable
        | ErrorCode::VaultUnavailable
        | ErrorCode::ArchiveUnavailable
        | ErrorCode::ToolkitUnavailable
        | ErrorCode::LlmUnavailable
        | ErrorCode::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::TurnFailed => StatusCode::BAD_GATEWAY,
        ErrorCode::TurnTimedOut => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

//! What a failure looks like on the main API: one mapping from codes to statuses, one log line.

use std::error::Error;

use hyper::StatusCode;
use tracing::{error, warn};

use crate::{
    archive::ArchiveError,
    chat::ChatError,
    codex::{CodexError, Unavailable},
    domain::{InvalidId, InvalidPrincipal, InvalidQuestion},
    error::{Code, chain},
    evidence::EvidenceError,
    gateway::RequestError,
    ingest::IngestError,
    net::{self, Response, reply},
    search::SearchError,
    vault::VaultError,
};

/// Why a request is not done.
#[derive(Debug)]
pub(super) enum ApiError {
    /// The HTTP layer refuses it.
    Refused(net::HttpError),
    /// The arguments are wrong, one sentence each.
    Arguments(Vec<String>),
    /// Codex cannot be used.
    Unavailable(Unavailable),
    /// A service failed.
    Failed { code: Code, message: String },
}

impl ApiError {
    /// Refuses a request that does not say who asks.
    pub(super) fn nobody() -> Self {
        let needed = "this needs a token or the owner's key: send `Authorization: Bearer …`";
        Self::Refused(net::HttpError::Unauthorized(needed))
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
                Self::Refused(net::HttpError::Internal).in_words()
            }
            Self::Failed { code, message } => (code.as_str(), message),
        }
    }

    /// Takes over a failure of a service and logs its chain of causes where it is ours.
    fn failed(code: Code, failure: &dyn Error) -> Self {
        match code {
            Code::Internal => error!(error = %chain(failure), "request failed"),
            Code::EmbedModelMissing
            | Code::EmbedModelMismatch
            | Code::StoreUnavailable
            | Code::ToolkitUnavailable
            | Code::VaultUnavailable
            | Code::ArchiveUnavailable
            | Code::LlmUnavailable => warn!(error = %chain(failure), "service unavailable"),
            Code::ValidationFailed
            | Code::RepoNotFound
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
            | Code::Cancelled => {}
        }
        Self::Failed { code, message: failure.to_string() }
    }
}

impl From<net::HttpError> for ApiError {
    fn from(error: net::HttpError) -> Self {
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
            RequestError::Nobody => Self::nobody(),
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
            VaultError::Unauthorized => Self::Refused(net::HttpError::Unauthorized(
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
            ApiError::Failed { code: Code::Internal, .. } => net::HttpError::Internal.into(),
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

//! What a failure looks like on the main API: one mapping from codes to statuses, one log line.

use std::error::Error;

use hyper::StatusCode;
use tracing::{error, warn};

use crate::{
    chat::ChatError,
    codex::{CodexError, Unavailable},
    domain::{InvalidId, InvalidQuestion},
    error::{Code, chain},
    ingest::IngestError,
    net::{self, Response, reply},
    search::SearchError,
};

/// Why a request is not done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The HTTP layer refuses it.
    Refused(net::Fault),
    /// The arguments are at fault, one sentence each.
    Arguments(Vec<String>),
    /// Codex cannot be used.
    Unavailable(Unavailable),
    /// A service failed.
    Failed { code: Code, message: String },
}

impl Fault {
    /// Takes over a failure of a service and logs its chain of causes where it is ours.
    fn failed(code: Code, failure: &dyn Error) -> Self {
        match code {
            Code::Internal => error!(error = %chain(failure), "request failed"),
            Code::EmbedModelMissing
            | Code::EmbedModelMismatch
            | Code::StoreUnavailable
            | Code::LlmUnavailable => warn!(error = %chain(failure), "service unavailable"),
            Code::ValidationFailed
            | Code::RepoNotFound
            | Code::RunNotFound
            | Code::ConversationNotFound
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

impl From<net::Fault> for Fault {
    fn from(fault: net::Fault) -> Self {
        Self::Refused(fault)
    }
}

impl From<InvalidId> for Fault {
    fn from(fault: InvalidId) -> Self {
        Self::Arguments(vec![fault.to_string()])
    }
}

impl From<InvalidQuestion> for Fault {
    fn from(fault: InvalidQuestion) -> Self {
        Self::Arguments(vec![fault.to_string()])
    }
}

impl From<ChatError> for Fault {
    fn from(failure: ChatError) -> Self {
        match failure {
            ChatError::Unavailable(why, _) => Self::Unavailable(why),
            failure => Self::failed(failure.code(), &failure),
        }
    }
}

impl From<CodexError> for Fault {
    fn from(failure: CodexError) -> Self {
        match failure.code() {
            Code::LlmUnavailable => Self::Unavailable(failure.unavailable()),
            code => Self::failed(code, &failure),
        }
    }
}

impl From<IngestError> for Fault {
    fn from(failure: IngestError) -> Self {
        Self::failed(failure.code(), &failure)
    }
}

impl From<SearchError> for Fault {
    fn from(failure: SearchError) -> Self {
        Self::failed(failure.code(), &failure)
    }
}

impl From<Fault> for Response {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(fault) => fault.into(),
            Fault::Arguments(faults) => {
                let code = Code::ValidationFailed;
                reply::error(status(code), code.as_str(), &faults.join("; "), &faults)
            }
            Fault::Unavailable(Unavailable { reason, hint }) => {
                let code = Code::LlmUnavailable;
                reply::error(status(code), code.as_str(), &reason, &[hint])
            }
            Fault::Failed { code: Code::Internal, .. } => net::Fault::Internal.into(),
            Fault::Failed { code, message } => {
                reply::error(status(code), code.as_str(), &message, &[])
            }
        }
    }
}

fn status(code: Code) -> StatusCode {
    match code {
        Code::ValidationFailed => StatusCode::BAD_REQUEST,
        Code::RepoNotFound | Code::RunNotFound | Code::ConversationNotFound => {
            StatusCode::NOT_FOUND
        }
        Code::IngestRequired | Code::EmbedModelMismatch | Code::ContextWindowExceeded => {
            StatusCode::CONFLICT
        }
        Code::Busy => StatusCode::TOO_MANY_REQUESTS,
        Code::EmbedModelMissing
        | Code::StoreUnavailable
        | Code::LlmUnavailable
        | Code::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        Code::TurnFailed => StatusCode::BAD_GATEWAY,
        Code::TurnTimedOut => StatusCode::GATEWAY_TIMEOUT,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

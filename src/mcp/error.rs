//! What a failure looks like on the MCP server: one mapping, one log line.

use std::error::Error as _;

use codeinfo_mcp::{CallError, Error, ToolResult};
use serde_json::json;
use tracing::{error, warn};

use super::tool;
use crate::{
    chat::{ChatError, Failure, Outcome},
    codex::Unavailable,
    domain::ConversationId,
    error::Code,
};

/// Says that Codex cannot be used, in the words that callers wait for.
pub(super) fn unavailable(why: &Unavailable, conversation: Option<ConversationId>) -> Error {
    let mut data = json!({ "reason": why.reason, "hint": why.hint });
    if let (Some(id), Some(members)) = (conversation, data.as_object_mut()) {
        members.insert("conversationId".to_owned(), json!(id));
    }
    Error::new(-32001, Code::LlmUnavailable.as_str()).with(data)
}

/// Returns the end of a call whose turn ran.
pub(super) fn ended(
    outcome: &Outcome,
    form: &tool::Form,
    notice: Option<&str>,
) -> Result<ToolResult, CallError> {
    match &outcome.failure {
        Some(Failure { code: Code::LlmUnavailable, message, hint }) => {
            warn!(reason = %message, "codex was lost in a turn");
            let why = Unavailable { reason: message.clone(), hint: hint.clone() };
            return Err(CallError::Error(unavailable(&why, Some(outcome.conversation))));
        }
        Some(Failure { code: Code::Internal, message, .. }) => {
            error!(error = %message, "turn failed");
            return Err(CallError::Error(Error::internal()));
        }
        Some(failure) => warn!(code = %failure.code, reason = %failure.message, "turn failed"),
        None => {}
    }
    tool::result(outcome, form, notice).map_err(|cause| internal(&cause))
}

/// Returns the end of a call whose question was not taken.
pub(super) fn refused(
    failure: &ChatError,
    conversation: Option<ConversationId>,
    notice: Option<&str>,
) -> Result<ToolResult, CallError> {
    if let ChatError::Unavailable(why, conversation) = failure {
        warn!(reason = %why.reason, "codex is unavailable");
        return Err(CallError::Error(unavailable(why, *conversation)));
    }
    match failure.code() {
        Code::ConversationNotFound | Code::RepoNotFound | Code::ValidationFailed => {
            Err(CallError::Arguments(vec![failure.to_string()]))
        }
        Code::Internal => Err(internal(failure)),
        code => {
            warn!(%code, error = %failure, cause = failure.source(), "question refused");
            let failure = Failure { code, message: failure.to_string(), hint: String::new() };
            tool::refused(conversation, &failure, notice).map_err(|cause| internal(&cause))
        }
    }
}

/// Hides a bug from the client and leaves it in the log.
pub(super) fn internal(cause: &(dyn std::error::Error + 'static)) -> CallError {
    error!(error = cause, "tool failed");
    CallError::Error(Error::internal())
}

//! What a failure looks like on the MCP server: one mapping, one log line.

use std::error::Error as _;

use codeinfo_chat::{ChatError, Failure, Outcome};
use codeinfo_codex::Unavailable;
use codeinfo_core::{
    ConversationId,
    error::Code,
    telemetry::{Failures, TURN_FAILED},
};
use codeinfo_mcp::{CallError, Error, ToolResult};
use serde_json::json;
use tracing::{error, warn};

use super::tool::{self, Wording};

/// The listener, in lists of failures.
const MCP: &str = "mcp";
/// What a bug looks like to a client.
const INTERNAL: &str = "an internal error happened; the log of the server says more";

/// Notes a failure for people who look at the server, unless somebody wanted it.
fn note(form: &tool::Form, code: Code, message: &str) {
    if code != Code::Cancelled {
        form.failures.note(MCP, (code.as_str(), message), None);
    }
}

/// Says why Codex cannot be used, and what to do.
fn explain_absence(why: &Unavailable) -> String {
    format!("{}; {}", why.reason, why.hint)
}

/// Notes that Codex cannot be used.
pub(super) fn note_away(failures: &Failures, why: &Unavailable) {
    failures.note(MCP, (Code::LlmUnavailable.as_str(), &explain_absence(why)), None);
}

/// Returns the error that says that Codex cannot be used.
pub(super) fn unavailable(
    why: &Unavailable,
    conversation: Option<ConversationId>,
    wording: Wording,
) -> Error {
    let mut data = json!({ "reason": why.reason, "hint": why.hint });
    if let (Some(id), Some(members)) = (conversation, data.as_object_mut()) {
        members.insert("conversationId".to_owned(), json!(id));
    }
    let code = Code::LlmUnavailable.as_str();
    let message = match wording {
        Wording::Code => code.to_owned(),
        Wording::Explained => format!("{code}: {}", explain_absence(why)),
    };
    Error::new(-32001, message).with(data)
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
            note_away(&form.failures, &why);
            let error = unavailable(&why, Some(outcome.conversation), form.wording);
            return Err(CallError::Error(error));
        }
        Some(Failure { code: Code::Internal, message, .. }) => {
            error!(error = %message, "turn failed");
            note(form, Code::Internal, INTERNAL);
            return Err(CallError::Error(Error::internal()));
        }
        Some(failure) => {
            warn!(code = %failure.code, reason = %failure.message, "turn failed");
            let message = match failure.code {
                Code::TurnFailed => TURN_FAILED,
                _ => failure.message.as_str(),
            };
            note(form, failure.code, message);
        }
        None => {}
    }
    tool::result(outcome, form, notice).map_err(|cause| internal(&cause, form))
}

/// Returns the end of a call whose question was not taken.
pub(super) fn refused(
    failure: &ChatError,
    conversation: Option<ConversationId>,
    form: &tool::Form,
    notice: Option<&str>,
) -> Result<ToolResult, CallError> {
    if let ChatError::Unavailable(why, conversation) = failure {
        warn!(reason = %why.reason, "codex is unavailable");
        note_away(&form.failures, why);
        return Err(CallError::Error(unavailable(why, *conversation, form.wording)));
    }
    match failure.code() {
        Code::ConversationNotFound | Code::RepoNotFound | Code::ValidationFailed => {
            Err(CallError::Arguments(vec![failure.to_string()]))
        }
        Code::Internal => Err(internal(failure, form)),
        code => {
            warn!(%code, error = %failure, cause = failure.source(), "question refused");
            note(form, code, &failure.to_string());
            let failure = Failure { code, message: failure.to_string(), hint: String::new() };
            tool::refused(conversation, &failure, notice).map_err(|cause| internal(&cause, form))
        }
    }
}

/// Hides a bug from the client and leaves it in the log.
fn internal(cause: &(dyn std::error::Error + 'static), form: &tool::Form) -> CallError {
    note(form, Code::Internal, INTERNAL);
    error!(error = cause, "tool failed");
    CallError::Error(Error::internal())
}

//! Converts the end of a question into the result or error of its call, and logs each failure.

use std::error::Error as _;

use codeinfo_chat::{ChatError, TurnFailure, TurnOutcome};
use codeinfo_codex::UnavailableReason;
use codeinfo_core::{
    ConversationId, Segment,
    error::ErrorCode,
    telemetry::{FailureLog, TURN_FAILED},
};
use codeinfo_mcp::{JsonRpcError, McpToolResult, ToolCallError};
use serde_json::json;
use tracing::{error, warn};

use super::{
    question::{ErrorWording, ResponseForm},
    result::{self, ResultError, ResultHead},
};

const MCP: &str = "mcp";
const INTERNAL: &str = "an internal error happened; the log of the server says more";

/// Records a failure, unless the call was cancelled.
fn record_failure(form: &ResponseForm, code: ErrorCode, message: &str) {
    if code != ErrorCode::Cancelled {
        form.failures.record_failure(MCP, code.as_str(), message, None);
    }
}

fn explain_unavailability(why: &UnavailableReason) -> String {
    format!("{}; {}", why.reason, why.hint)
}

pub(super) fn record_unavailability(failures: &FailureLog, why: &UnavailableReason) {
    failures.record_failure(
        MCP,
        ErrorCode::LlmUnavailable.as_str(),
        &explain_unavailability(why),
        None,
    );
}

pub(super) fn unavailable_error(
    why: &UnavailableReason,
    conversation: Option<ConversationId>,
    wording: ErrorWording,
) -> JsonRpcError {
    let mut data = json!({ "reason": why.reason, "hint": why.hint });
    if let (Some(id), Some(members)) = (conversation, data.as_object_mut()) {
        members.insert("conversationId".to_owned(), json!(id));
    }
    let code = ErrorCode::LlmUnavailable.as_str();
    let message = match wording {
        ErrorWording::Code => code.to_owned(),
        ErrorWording::Explained => format!("{code}: {}", explain_unavailability(why)),
    };
    JsonRpcError::new(-32001, message).with_data(data)
}

/// Returns the end of a call whose turn ran.
pub(super) fn build_turn_result(
    outcome: &TurnOutcome,
    form: &ResponseForm,
    notice: Option<&str>,
) -> Result<McpToolResult, ToolCallError> {
    match &outcome.failure {
        Some(TurnFailure { code: ErrorCode::LlmUnavailable, message, hint }) => {
            warn!(reason = %message, "codex was lost in a turn");
            let why = UnavailableReason { reason: message.clone(), hint: hint.clone() };
            record_unavailability(&form.failures, &why);
            let error = unavailable_error(&why, Some(outcome.conversation), form.wording);
            return Err(ToolCallError::Error(error));
        }
        Some(TurnFailure { code: ErrorCode::Internal, message, .. }) => {
            error!(error = %message, "turn failed");
            record_failure(form, ErrorCode::Internal, INTERNAL);
            return Err(ToolCallError::Error(JsonRpcError::internal_error()));
        }
        Some(failure) => {
            warn!(code = %failure.code, reason = %failure.message, "turn failed");
            let message = match failure.code {
                ErrorCode::TurnFailed => TURN_FAILED,
                _ => failure.message.as_str(),
            };
            record_failure(form, failure.code, message);
        }
        None => {}
    }
    write_outcome(outcome, form, notice).map_err(|cause| hide_internal_error(&cause, form))
}

pub(super) fn build_refusal(
    failure: &ChatError,
    conversation: Option<ConversationId>,
    form: &ResponseForm,
    notice: Option<&str>,
) -> Result<McpToolResult, ToolCallError> {
    if let ChatError::Unavailable(why, conversation) = failure {
        warn!(reason = %why.reason, "codex is unavailable");
        record_unavailability(&form.failures, why);
        return Err(ToolCallError::Error(unavailable_error(why, *conversation, form.wording)));
    }
    match failure.code() {
        ErrorCode::ConversationNotFound | ErrorCode::RepoNotFound | ErrorCode::ValidationFailed => {
            Err(ToolCallError::Arguments(vec![failure.to_string()]))
        }
        ErrorCode::Internal => Err(hide_internal_error(failure, form)),
        code => {
            warn!(%code, error = %failure, cause = failure.source(), "question refused");
            record_failure(form, code, &failure.to_string());
            let failure = TurnFailure { code, message: failure.to_string(), hint: String::new() };
            write_refusal(conversation, &failure, notice)
                .map_err(|cause| hide_internal_error(&cause, form))
        }
    }
}

/// Writes the outcome of a turn. A failed turn keeps its segments.
fn write_outcome(
    outcome: &TurnOutcome,
    form: &ResponseForm,
    notice: Option<&str>,
) -> Result<McpToolResult, serde_json::Error> {
    let conversation_id = Some(outcome.conversation);
    let head = ResultHead { notice, conversation_id, model_id: Some(&outcome.model_id) };
    let segments: Vec<&Segment> =
        outcome.segments.iter().filter(|segment| form.segments.includes(segment)).collect();
    let error = outcome.failure.as_ref().map(to_result_error);
    let text = result::write_result(&head, &segments, error.as_ref(), form.max_bytes)?;
    Ok(match outcome.failure {
        None => McpToolResult::text(text),
        Some(_) => McpToolResult::error(text),
    })
}

fn write_refusal(
    conversation: Option<ConversationId>,
    failure: &TurnFailure,
    notice: Option<&str>,
) -> Result<McpToolResult, serde_json::Error> {
    let head = ResultHead { notice, conversation_id: conversation, model_id: None };
    result::write_result(&head, &[], Some(&to_result_error(failure)), usize::MAX)
        .map(McpToolResult::error)
}

fn to_result_error(failure: &TurnFailure) -> ResultError<'_> {
    ResultError { code: failure.code.as_str(), message: &failure.message }
}

fn hide_internal_error(
    cause: &(dyn std::error::Error + 'static),
    form: &ResponseForm,
) -> ToolCallError {
    record_failure(form, ErrorCode::Internal, INTERNAL);
    error!(error = cause, "tool failed");
    ToolCallError::Error(JsonRpcError::internal_error())
}

//! The tool `codebase_question`: its definition, arguments and result.

use std::sync::Arc;

use codeinfo_chat::{TurnFailure, TurnOutcome};
use codeinfo_core::{
    ConversationId, InvalidQuestion, MAX_QUESTION_BYTES, Question, Segment, telemetry::FailureLog,
};
use codeinfo_mcp::{McpTool, McpToolResult, SchemaError, ToolIdempotence};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::result::{self, ResultError, ResultHead};
use crate::mcp_http::ClientFolder;

/// Description of the tool, with placeholders for the repositories and for the maximum size of a
/// reply.
const DESCRIPTION: &str = "\
Answers a question about the indexed repositories{repositories}: finds the implementation of something, where it is defined, its usages, \
callers and references; explains architecture, how and why code works, what a change affects. \
Call it to explore or search code, instead of grep or before you read many files; not to look up one known file or name, \
nor to change code. Ask one whole question in plain words. It takes one to three minutes and returns JSON of at most {kilobytes} KB, {conversationId, modelId, segments}: \
read the last segment of type `answer`, which cites files and lines; its `checked` says which citations are confirmed, unconfirmed or wrong. \
`vector_summary` names the files that were looked at. For a follow-up pass the conversationId back.";

/// Member of `params._meta` that names the only repository of a question.
const REPOSITORY_META: &str = "codeinfo/repository";
/// Member that lists the requested kinds of segments.
const SEGMENTS_META: &str = "codeinfo/segments";
/// Member that selects toolkits.
pub(super) const TOOLKITS_META: &str = "codeinfo/toolkits";

/// Arguments of a call, as sent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuestionArguments {
    question: String,
    conversation_id: Option<String>,
}

/// Returns the description of `codebase_question`. `repositories` is empty or lists names in
/// parentheses.
pub(super) fn build_description(repositories: &str, max_bytes: usize) -> String {
    let kilobytes = max_bytes.div_ceil(1000).to_string();
    DESCRIPTION.replace("{kilobytes}", &kilobytes).replace("{repositories}", repositories)
}

/// Returns `codebase_question`, with a description that names no repositories.
pub(super) fn codebase_question(max_bytes: usize) -> Result<McpTool, SchemaError> {
    let arguments = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["question"],
        "properties": {
            "question": {
                "type": "string",
                "minLength": 1,
                // A text has at least as many bytes as characters.
                "maxLength": MAX_QUESTION_BYTES,
                "description": "The whole question in plain words, with any names you already know.",
            },
            "conversationId": {
                "type": "string",
                "minLength": 1,
                "description": "For a follow-up: the conversationId of the former answer. Leave it out to start a new conversation.",
            },
        },
    });
    // The same question asked twice begins two conversations.
    let changing = ToolIdempotence::Changing;
    let description = build_description("", max_bytes);
    let tool = McpTool::new(
        "codebase_question",
        "Ask about the codebase",
        &description,
        arguments,
        changing,
    )?;
    // Some clients show a model only the names of tools until it looks for one; with one tool, that
    // saves nothing.
    Ok(tool.with_listed_meta("anthropic/alwaysLoad", json!(true)))
}

/// Validates arguments and returns the question with its conversation, or every error.
pub(super) fn parse_arguments(
    tool: &McpTool,
    arguments: Value,
) -> Result<(Question, Option<ConversationId>), Vec<String>> {
    let QuestionArguments { question, conversation_id } =
        tool.arguments().validate_and_parse(arguments)?;
    let conversation = conversation_id.map(|id| id.parse::<ConversationId>()).transpose();
    match (question.parse::<Question>(), conversation) {
        (Ok(question), Ok(conversation)) => Ok((question, conversation)),
        (question, conversation) => {
            let error = question.err().as_ref().map(InvalidQuestion::to_string);
            let malformed = conversation.err().map(|error| format!("`conversationId`: {error}"));
            Err(error.into_iter().chain(malformed).collect())
        }
    }
}

/// Returns the repository to which a call is limited, or its fault.
pub(super) fn parse_repository(meta: &Map<String, Value>) -> Result<Option<String>, String> {
    match meta.get(REPOSITORY_META) {
        None => Ok(None),
        Some(Value::String(reference)) if !reference.trim().is_empty() => {
            Ok(Some(reference.clone()))
        }
        Some(_) => Err(format!("`_meta.{REPOSITORY_META}` must be a name, an id or a path")),
    }
}

/// Removes the toolkits of a call and returns them as sent.
pub(super) fn take_toolkits(meta: &mut Map<String, Value>) -> Option<Value> {
    meta.remove(TOOLKITS_META)
}

/// Form of a result: its kinds of segments, its maximum size and the place of its client.
pub(super) struct ResponseForm {
    pub(super) segments: ResponseOptions,
    pub(super) max_bytes: usize,
    pub(super) place: Option<Arc<ClientFolder>>,
    /// True if the conversation was told before what its results miss.
    pub(super) is_follow_up: bool,
    pub(super) wording: ErrorWording,
    /// Log for the failures of calls.
    pub(super) failures: FailureLog,
}

impl ResponseForm {
    /// Describes what a result misses, once a conversation.
    pub(super) async fn describe_index_gaps(&self) -> Option<String> {
        self.place.as_ref().filter(|_| !self.is_follow_up)?.describe_index_gaps().await
    }
}

/// Wording of the error for an unavailable Codex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorWording {
    /// Only the code, which callers of port 5011 expect.
    Code,
    /// With reason and hint, because few clients show a model the `data` of an error.
    Explained,
}

/// Kinds of segments that a call requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseOptions {
    thinking: bool,
    vector_summary: bool,
    answer: bool,
}

impl ResponseOptions {
    /// Parses the requested kinds; without a list, all kinds. Returns the fault of an invalid list.
    pub(super) fn parse(meta: &Map<String, Value>) -> Result<Self, String> {
        let Some(given) = meta.get(SEGMENTS_META) else {
            return Ok(Self { thinking: true, vector_summary: true, answer: true });
        };
        let mut wanted = Self { thinking: false, vector_summary: false, answer: false };
        let wrong = || {
            format!(
                "`_meta.{SEGMENTS_META}` must be a list of `thinking`, `vector_summary` and `answer`"
            )
        };
        let kinds = given.as_array().filter(|kinds| !kinds.is_empty()).ok_or_else(wrong)?;
        for kind in kinds {
            let kind = match kind.as_str() {
                Some("thinking") => &mut wanted.thinking,
                Some("vector_summary") => &mut wanted.vector_summary,
                Some("answer") => &mut wanted.answer,
                Some(_) | None => return Err(wrong()),
            };
            *kind = true;
        }
        Ok(wanted)
    }

    fn includes(self, segment: &Segment) -> bool {
        match segment {
            Segment::Thinking { .. } => self.thinking,
            Segment::VectorSummary { .. } => self.vector_summary,
            Segment::Answer { .. } => self.answer,
        }
    }
}

/// Writes the outcome of a turn. A failed turn keeps its segments.
pub(super) fn build_result(
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

/// Writes a failure that happened before there was a turn.
pub(super) fn build_refusal(
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

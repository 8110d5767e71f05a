//! The tool: its definition, its arguments, its result.

use codeinfo_mcp::{Idempotence, SchemaError, Tool, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    chat::{Failure, Outcome},
    domain::{ConversationId, InvalidQuestion, MAX_QUESTION_BYTES, Question, Segment},
};

const DESCRIPTION: &str = "\
Answers a question about the indexed repositories. Call it to learn how something works, where it is done, what uses it or why, \
before reading files yourself: it searches every repository and verifies what it says in the code. Ask one whole question in plain words. \
It returns JSON {conversationId, modelId, segments}: read the last segment of type `answer`; `vector_summary` names the files it is based on. \
For a follow-up pass the conversationId back. It may take minutes.";

/// Where a call names the only repository that its question is about, within `params._meta`.
const REPOSITORY_META: &str = "codeinfo/repository";
/// What a call says of toolkits.
pub(super) const TOOLKITS_META: &str = "codeinfo/toolkits";

/// What a client asks, as sent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    question: String,
    conversation_id: Option<String>,
}

/// Returns `codebase_question`.
pub(super) fn codebase_question() -> Result<Tool, SchemaError> {
    let arguments = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["question"],
        "properties": {
            "question": {
                "type": "string",
                "minLength": 1,
                // More characters are more bytes, too.
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
    let changing = Idempotence::Changing;
    Tool::new("codebase_question", "Ask about the codebase", DESCRIPTION, arguments, changing)
}

/// Validates arguments and returns what is asked, or every error.
pub(super) fn asked(
    tool: &Tool,
    arguments: Value,
) -> Result<(Question, Option<ConversationId>), Vec<String>> {
    let Arguments { question, conversation_id } = tool.arguments().read(arguments)?;
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

/// Returns the repository that a call is confined to, or what is wrong with it.
pub(super) fn repository(meta: &Map<String, Value>) -> Result<Option<String>, String> {
    match meta.get(REPOSITORY_META) {
        None => Ok(None),
        Some(Value::String(reference)) if !reference.trim().is_empty() => {
            Ok(Some(reference.clone()))
        }
        Some(_) => Err(format!("`_meta.{REPOSITORY_META}` must be a name, an id or a path")),
    }
}

/// Returns what a call says of toolkits, as it was sent.
pub(super) fn toolkits(meta: &mut Map<String, Value>) -> Option<Value> {
    meta.remove(TOOLKITS_META)
}

/// The text of a result. Field names are a wire promise.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    conversation_id: Option<ConversationId>,
    model_id: Option<&'a str>,
    segments: &'a [Segment],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<WireError<'a>>,
}

#[derive(Serialize)]
struct WireError<'a> {
    code: &'a str,
    message: &'a str,
}

/// Writes what a turn came to; a failed turn keeps the segments it had.
pub(super) fn result(outcome: &Outcome) -> Result<ToolResult, serde_json::Error> {
    let wire = Wire {
        conversation_id: Some(outcome.conversation),
        model_id: Some(&outcome.model_id),
        segments: &outcome.segments,
        error: outcome.failure.as_ref().map(wire_error),
    };
    let text = serde_json::to_string(&wire)?;
    Ok(match outcome.failure {
        None => ToolResult::text(text),
        Some(_) => ToolResult::error(text),
    })
}

/// Writes a failure before there was a turn.
pub(super) fn refused(
    conversation: Option<ConversationId>,
    failure: &Failure,
) -> Result<ToolResult, serde_json::Error> {
    let error = Some(wire_error(failure));
    let wire = Wire { conversation_id: conversation, model_id: None, segments: &[], error };
    serde_json::to_string(&wire).map(ToolResult::error)
}

fn wire_error(failure: &Failure) -> WireError<'_> {
    WireError { code: failure.code.as_str(), message: &failure.message }
}

//! A call of `codebase_question`: the definition of the tool, and a parsed call.

use std::sync::Arc;

use codeinfo_chat::TurnRequest;
use codeinfo_core::{
    ConversationId, InvalidQuestion, MAX_QUESTION_BYTES, Question, Segment, telemetry::FailureLog,
};
use codeinfo_mcp::{McpTool, SchemaError, ToolIdempotence};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{QuestionEndpoint, result::max_shown_bytes};
use crate::mcp_http::ClientFolder;

/// Description of the tool, with placeholders for repositories and the maximum size of a reply.
const DESCRIPTION: &str = "\
Answers a question about the indexed repositories{repositories}: finds the implementation of something, where it is defined, its usages, \
callers and references; explains architecture, how and why code works, since when and why it is so, what a change affects. \
Call it to explore or search code, instead of grep or before you read many files; not to look up one known file or name, \
nor to change code. Ask one whole question in plain words. It takes one to three minutes and returns JSON of at most {kilobytes} KB, {conversationId, modelId, segments}: \
read the last segment of type `answer`, which cites files and lines; its `checked` says which citations are confirmed, unconfirmed or wrong. \
`vector_summary` names the files that were looked at. For a follow-up pass the conversationId back.";

/// Member of `params._meta` that names the only repository of a question.
const REPOSITORY_META: &str = "codeinfo/repository";
/// Member that lists the requested kinds of segments.
const SEGMENTS_META: &str = "codeinfo/segments";
const TOOLKITS_META: &str = "codeinfo/toolkits";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuestionArguments {
    question: String,
    conversation_id: Option<String>,
}

pub(super) struct QuestionCall {
    pub(super) request: TurnRequest,
    pub(super) form: ResponseForm,
}

/// Form of a result: its kinds of segments, its maximum size and the folder of its client.
pub(super) struct ResponseForm {
    pub(super) segments: ResponseOptions,
    pub(super) max_bytes: usize,
    pub(super) folder: Option<Arc<ClientFolder>>,
    /// True if the conversation was told before what its results miss.
    pub(super) is_follow_up: bool,
    pub(super) wording: ErrorWording,
    pub(super) failures: FailureLog,
}

impl ResponseForm {
    /// Describes what a result misses, once a conversation.
    pub(super) async fn describe_index_gaps(&self) -> Option<String> {
        self.folder.as_ref().filter(|_| !self.is_follow_up)?.describe_index_gaps().await
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseOptions {
    thinking: bool,
    vector_summary: bool,
    answer: bool,
}

impl ResponseOptions {
    /// Parses the requested kinds; without a list, all kinds. Returns the fault of an invalid list.
    fn parse(meta: &Map<String, Value>) -> Result<Self, String> {
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

    pub(super) fn includes(self, segment: &Segment) -> bool {
        match segment {
            Segment::Thinking { .. } => self.thinking,
            Segment::VectorSummary { .. } => self.vector_summary,
            Segment::Answer { .. } => self.answer,
        }
    }
}

impl QuestionEndpoint {
    pub(super) fn parse_question(
        &self,
        tool: &McpTool,
        arguments: Value,
        mut meta: Map<String, Value>,
    ) -> Result<QuestionCall, Vec<String>> {
        let context = self.context.for_call(&meta, &self.relays);
        let toolkits = meta.remove(TOOLKITS_META).map(|toolkits| {
            let parsed = self.chat.parse_toolkits(toolkits, context.principal.as_ref());
            parsed.map_err(|error| format!("`_meta.{TOOLKITS_META}`: {error}"))
        });
        let parts = (
            parse_arguments(tool, arguments),
            parse_repository(&meta),
            toolkits.transpose(),
            ResponseOptions::parse(&meta),
        );
        let ((question, conversation), repository, toolkits, segments) = match parts {
            (Ok(asked), Ok(repository), Ok(toolkits), Ok(segments)) => {
                (asked, repository, toolkits, segments)
            }
            (asked, repository, toolkits, segments) => {
                let mut faults = asked.err().unwrap_or_default();
                faults.extend(
                    [repository.err(), toolkits.err(), segments.err()].into_iter().flatten(),
                );
                return Err(faults);
            }
        };
        let form = ResponseForm {
            segments,
            max_bytes: self.max_bytes.min(max_shown_bytes(&meta)),
            folder: context.folder,
            is_follow_up: conversation.is_some(),
            wording: self.wording,
            failures: self.failures.clone(),
        };
        let request = TurnRequest {
            repository,
            toolkits,
            principal: context.principal,
            revoked: context.revoked,
            ..TurnRequest::new(question, conversation)
        };
        Ok(QuestionCall { request, form })
    }
}

/// Returns the tool's description; `repositories` is empty or lists names in parentheses.
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
        "codebase_question", "Ask about the codebase", &description, arguments, changing,
    )?;
    // Some clients show a model only names of tools at first; with one tool, that saves nothing.
    Ok(tool.with_listed_meta("anthropic/alwaysLoad", json!(true)))
}

/// Validates arguments and returns the question with its conversation, or every error.
fn parse_arguments(
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
fn parse_repository(meta: &Map<String, Value>) -> Result<Option<String>, String> {
    match meta.get(REPOSITORY_META) {
        None => Ok(None),
        Some(Value::String(reference)) if !reference.trim().is_empty() => {
            Ok(Some(reference.clone()))
        }
        Some(_) => Err(format!("`_meta.{REPOSITORY_META}` must be a name, an id or a path")),
    }
}

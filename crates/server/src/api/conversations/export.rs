//! Exports a conversation as Markdown or JSON.

use std::fmt::Write as _;

use codeinfo_core::{ConversationId, Principal, TurnId};
use codeinfo_http::{Response, reply};
use hyper::{
    StatusCode,
    header::{CONTENT_DISPOSITION, HeaderValue},
};
use serde_json::Value;

use super::{RenderedConversation, load_conversation};
use crate::api::{
    ApiServices,
    error::ApiError,
    parameters::{invalid_argument, parse_query, unknown_parameter},
    turns::{self, MarkupFormat, NumberedFrame, RenderedTurn, final_answer},
};

#[derive(Default)]
pub(in crate::api) struct ExportParameters {
    format: ExportFormat,
    turn: Option<TurnId>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ExportFormat {
    #[default]
    Markdown,
    Json,
}

impl ExportParameters {
    pub(in crate::api) fn parse(query: Option<&str>) -> Result<Self, ApiError> {
        let mut parameters = Self::default();
        for (name, value) in parse_query(query) {
            match (&*name, &*value) {
                ("format", "markdown") => parameters.format = ExportFormat::Markdown,
                ("format", "json") => parameters.format = ExportFormat::Json,
                ("format", _) => {
                    return Err(invalid_argument("`format` must be `markdown` or `json`"));
                }
                ("turn", id) => parameters.turn = Some(id.parse()?),
                _ => return Err(unknown_parameter(&name, "`format` and `turn`")),
            }
        }
        Ok(parameters)
    }
}

pub(in crate::api) async fn export_conversation(
    services: &ApiServices,
    id: ConversationId,
    parameters: ExportParameters,
    principal: Option<&Principal>,
) -> Result<Response, ApiError> {
    let mut conversation =
        load_conversation(&services.turns, id, MarkupFormat::Markdown, principal).await?;
    if let Some(turn) = parameters.turn {
        conversation.turns.retain(|rendered| rendered.turn_id == turn);
        if conversation.turns.is_empty() {
            return Err(turns::unknown_turn());
        }
    }
    let (mut response, extension) = match parameters.format {
        ExportFormat::Markdown => (
            reply::text_response("text/markdown; charset=utf-8", render_markdown(&conversation)),
            "md",
        ),
        ExportFormat::Json => (reply::json_response(StatusCode::OK, &conversation), "json"),
    };
    // The id has only characters that a header allows.
    let name = format!("attachment; filename=\"codeinfo-{id}.{extension}\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(CONTENT_DISPOSITION, name);
    }
    Ok(response)
}

/// Renders each question as a heading, its searches and their files as a list, then the answer.
fn render_markdown(conversation: &RenderedConversation) -> String {
    let mut out = format!("# {}\n", one_line(&conversation.head.title));
    for turn in &conversation.turns {
        let _ = write_turn(&mut out, turn);
    }
    out
}

fn write_turn(out: &mut String, turn: &RenderedTurn) -> std::fmt::Result {
    let mut lines = turn.question.lines();
    writeln!(out, "\n## {}\n", one_line(lines.next().unwrap_or_default()))?;
    let rest = lines.collect::<Vec<_>>().join("\n");
    if !rest.trim().is_empty() {
        writeln!(out, "{}\n", rest.trim())?;
    }
    writeln!(out, "Asked {}; {}.\n", turn.asked_at, turn.model_id)?;
    let found = turn.frames.iter().flat_map(list_searches).collect::<Vec<_>>();
    if !found.is_empty() {
        writeln!(out, "Searched:\n\n{}\n", found.join("\n"))?;
    }
    let last = turn.frames.last();
    let answer = last.and_then(|frame| match &*frame.name {
        "final" => final_answer(&frame.data).map(str::to_owned),
        "error" => {
            let message = frame.data.get("message").and_then(Value::as_str)?;
            let answers = turn.frames.iter().filter(|frame| frame.name == "answer");
            let texts = answers.filter_map(|frame| frame.data.get("text")?.as_str());
            let mut parts = texts.collect::<Vec<_>>();
            let message = format!("*{}*", one_line(message));
            parts.push(&message);
            Some(parts.join("\n\n"))
        }
        _ => None,
    });
    writeln!(
        out,
        "{}",
        answer.as_deref().unwrap_or("*The answer is still being written.*").trim_end()
    )
}

/// Returns one line for the subject of a search, or one for each file that it found.
fn list_searches(frame: &NumberedFrame) -> Vec<String> {
    match &*frame.name {
        "tool-request" => {
            let name = frame.data.get("name").and_then(Value::as_str).unwrap_or_default();
            let parameters = frame.data.get("parameters");
            let asked = ["query", "name", "path"]
                .into_iter()
                .find_map(|member| parameters?.get(member)?.as_str());
            asked.map(|asked| format!("* {name}: {}", one_line(asked))).into_iter().collect()
        }
        "vector_summary" => {
            let files = frame.data.get("files").and_then(Value::as_array);
            let line = |file: &Value| {
                let path = file.get("path")?.as_str()?;
                let ranges = file.get("ranges")?.as_array()?.iter().filter_map(Value::as_str);
                Some(format!("  * `{path}:{}`", ranges.collect::<Vec<_>>().join(",")))
            };
            files.into_iter().flatten().filter_map(line).collect()
        }
        _ => Vec::new(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! Renders turns for the page: with HTML beside their Markdown, which is never archived.

use codeinfo_chat::archive::{ArchivedFrame, ArchivedTurn, ConversationSummary, TurnState};
use codeinfo_citations::{CheckedCitation, render_cited_html, render_code_listing, render_html};
use codeinfo_core::{TurnId, error::ErrorCode};
use codeinfo_http::reply;
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::chat_frame::ChatFrame;

pub(super) const QUESTION: &str = "question";
pub(super) const ERROR: &str = "error";
const HTML: &str = "html";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenderedTurn {
    pub(crate) turn_id: TurnId,
    pub(crate) question: String,
    pub(crate) asked_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    state: TurnState,
    pub(crate) model_id: String,
    pub(crate) frames: Vec<NumberedFrame>,
}

/// A frame of a turn with its number, from 1.
#[derive(Serialize)]
pub(crate) struct NumberedFrame {
    id: usize,
    pub(crate) name: String,
    pub(crate) data: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkupFormat {
    Markdown,
    Html,
}

pub(super) fn is_end(name: &str) -> bool {
    matches!(name, "final" | ERROR)
}

pub(super) fn with_html(name: &str, data: &mut Value) {
    let written = match name {
        "thinking" | "answer" => data.get("text").and_then(Value::as_str).map(render_html),
        "tool-result" if data.get("source").is_some_and(|source| source == "local") => {
            let content = data.pointer("/result/content").and_then(Value::as_array);
            let texts = content.into_iter().flatten().filter_map(|part| part.get("text")?.as_str());
            render_code_listing(&texts.collect::<Vec<_>>().join("\n\n"))
        }
        "final" => final_answer(data).map(|answer| {
            let citations = data.get("citations").cloned().unwrap_or_default();
            // Citations written by another version fail to parse and are left unlinked.
            let citations: Vec<CheckedCitation> =
                serde_json::from_value(citations).unwrap_or_default();
            render_cited_html(answer, &citations)
        }),
        _ => None,
    };
    if let (Some(written), Value::Object(members)) = (written, data) {
        members.insert(HTML.to_owned(), written.into());
    }
}

pub(super) fn without_html(data: &mut Value) {
    if let Value::Object(members) = data {
        members.remove(HTML);
    }
}

pub(crate) fn final_answer(data: &Value) -> Option<&str> {
    let segments = data.get("segments")?.as_array()?;
    let is_answer = |segment: &&Value| segment.get("type").is_some_and(|kind| kind == "answer");
    segments.iter().rev().find(is_answer)?.get("text")?.as_str()
}

/// Returns the state of an archived turn; one that ran when the server ended counts as failed.
pub(super) fn final_state(turn: &ArchivedTurn) -> TurnState {
    match turn.state {
        TurnState::Running => TurnState::Failed,
        state => state,
    }
}

/// Returns the frames of an archived turn, with a closing frame if the server ended before it.
fn complete_frames(
    summary: &ConversationSummary,
    turn: ArchivedTurn,
    format: MarkupFormat,
) -> Vec<ArchivedFrame> {
    let mut frames = turn.frames;
    frames.retain(|frame| find_name(&frame.name).is_some());
    if !frames.last().is_some_and(|frame| is_end(&frame.name)) {
        let data = json!({
            "code": ErrorCode::Cancelled.as_str(),
            "message": "the server ended in the middle of the turn",
            "hint": "ask again",
            "conversationId": summary.id,
        });
        frames.push(ArchivedFrame { name: ERROR.to_owned(), data });
    }
    if format == MarkupFormat::Html {
        for frame in &mut frames {
            with_html(&frame.name, &mut frame.data);
        }
    }
    frames
}

/// Returns the events of an archived turn after the first `after`. A client may have received more
/// frames than were archived before the server ended; the closing event follows all of them.
pub(super) fn list_events(
    summary: &ConversationSummary,
    turn: ArchivedTurn,
    after: usize,
) -> Vec<reply::SseEvent> {
    let was_cut = turn.state == TurnState::Running;
    let line = |(frame, id): (ArchivedFrame, usize)| reply::SseEvent {
        id: Some(id),
        name: find_name(&frame.name),
        data: frame.data.to_string(),
    };
    let mut lines: Vec<reply::SseEvent> =
        complete_frames(summary, turn, MarkupFormat::Html).into_iter().zip(1..).map(line).collect();
    if let Some(end) = lines.last_mut().filter(|_| was_cut) {
        end.id = end.id.map(|id| id.max(after + 1));
    }
    lines.retain(|line| line.id.is_some_and(|id| after < id));
    lines
}

/// Renders a turn of a conversation. A `live` one has no end yet.
pub(crate) fn render_turn(
    summary: &ConversationSummary,
    turn: ArchivedTurn,
    format: MarkupFormat,
    live: bool,
) -> RenderedTurn {
    let state = if live { turn.state } else { final_state(&turn) };
    let (turn_id, model_id, question) = (turn.id, turn.model_id.clone(), turn.question.clone());
    let (asked_at, ended_at) = (turn.asked_at.to_string(), turn.ended_at.map(|at| at.to_string()));
    let frames = if state == TurnState::Running {
        let mut frames = turn.frames;
        if format == MarkupFormat::Html {
            for frame in &mut frames {
                with_html(&frame.name, &mut frame.data);
            }
        }
        frames
    } else {
        complete_frames(summary, turn, format)
    };
    let number_frame = |(ArchivedFrame { name, data }, id)| NumberedFrame { id, name, data };
    let frames = frames.into_iter().zip(1..).map(number_frame).collect();
    RenderedTurn { turn_id, question, asked_at, ended_at, state, model_id, frames }
}

/// Returns the name of a frame; `None` for one that is not known, which is dropped.
fn find_name(name: &str) -> Option<&'static str> {
    let mut names = ChatFrame::NAMES.into_iter().chain([QUESTION]);
    names.find(|known| *known == name)
}

//! Renders turns for the page: with HTML beside their Markdown, which is never archived.

use codeinfo_chat::archive::{ArchivedFrame, ArchivedTurn, ConversationSummary, TurnState};
use codeinfo_citations::{CheckedCitation, render_cited_html, render_code_listing, render_html};
use codeinfo_core::error::ErrorCode;
use codeinfo_http::sse;
use serde_json::{Value, json};

use crate::replies::{NumberedFrame, WholeTurn};

pub(super) const QUESTION: &str = "question";
pub(super) const ERROR: &str = "error";
/// Names of all frames; archived frames with other names are dropped.
const NAMES: [&str; 10] = [
    QUESTION,
    "thread",
    "warning",
    "thinking",
    "tool-request",
    "tool-result",
    "vector_summary",
    "answer",
    "final",
    ERROR,
];
const HTML: &str = "html";

/// Returns whether a frame with this name ends a turn.
pub(super) fn is_end(name: &str) -> bool {
    matches!(name, "final" | ERROR)
}

/// Adds the HTML of the Markdown in a frame.
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

/// Returns the text of the last answer.
pub(crate) fn final_answer(data: &Value) -> Option<&str> {
    let segments = data.get("segments")?.as_array()?;
    let is_answer = |segment: &&Value| segment.get("type").is_some_and(|kind| kind == "answer");
    segments.iter().rev().find(is_answer)?.get("text")?.as_str()
}

/// Returns the state of an archived turn. One that was running when the server ended counts as
/// failed.
pub(super) fn final_state(kept: &ArchivedTurn) -> TurnState {
    match kept.state {
        TurnState::Running => TurnState::Failed,
        state => state,
    }
}

/// Formats of the text in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkupFormat {
    Markdown,
    /// HTML beside the Markdown.
    Html,
}

/// Returns the frames of an archived turn, with a closing frame if the server ended before it.
fn complete_frames(
    summary: &ConversationSummary,
    kept: ArchivedTurn,
    format: MarkupFormat,
) -> Vec<ArchivedFrame> {
    let mut frames = kept.frames;
    frames.retain(|frame| NAMES.contains(&frame.name.as_str()));
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
    kept: ArchivedTurn,
    after: usize,
) -> Vec<sse::SseEvent> {
    let was_cut = kept.state == TurnState::Running;
    let line = |(frame, id): (ArchivedFrame, usize)| sse::SseEvent {
        id: Some(id),
        name: NAMES.into_iter().find(|name| *name == frame.name),
        data: frame.data.to_string(),
    };
    let mut lines: Vec<sse::SseEvent> =
        complete_frames(summary, kept, MarkupFormat::Html).into_iter().zip(1..).map(line).collect();
    if let Some(end) = lines.last_mut().filter(|_| was_cut) {
        end.id = end.id.map(|id| id.max(after + 1));
    }
    lines.retain(|line| line.id.is_some_and(|id| after < id));
    lines
}

/// Renders a turn of a conversation. A `live` one has no end yet.
pub(crate) fn shown_turn(
    summary: &ConversationSummary,
    kept: ArchivedTurn,
    format: MarkupFormat,
    live: bool,
) -> WholeTurn {
    let ended_at = kept.ended_at.map(|at| at.to_string());
    let turn_id = kept.id;
    let question = kept.question.clone();
    let model_id = kept.model_id.clone();
    let asked_at = kept.asked_at.to_string();
    let state = if live { kept.state } else { final_state(&kept) };
    let frames = if state == TurnState::Running {
        let mut frames = kept.frames;
        for frame in frames.iter_mut().filter(|_| format == MarkupFormat::Html) {
            with_html(&frame.name, &mut frame.data);
        }
        frames
    } else {
        complete_frames(summary, kept, format)
    };
    let numbered = |(frame, id): (ArchivedFrame, usize)| {
        let ArchivedFrame { name, data } = frame;
        NumberedFrame { id, name, data }
    };
    WholeTurn {
        turn_id,
        question,
        asked_at,
        ended_at,
        state,
        model_id,
        frames: frames.into_iter().zip(1..).map(numbered).collect(),
    }
}

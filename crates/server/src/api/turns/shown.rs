//! Turns as the page is shown them: with their Markdown as HTML, which is never kept.

use codeinfo_chat::archive::{ArchivedFrame, ArchivedTurn, ConversationSummary, TurnState};
use codeinfo_citations::{CheckedCitation, render_cited_html, render_code_listing, render_html};
use codeinfo_core::error::ErrorCode;
use codeinfo_http::sse;
use serde_json::{Value, json};

use crate::replies::{NumberedFrame, WholeTurn};

pub(super) const QUESTION: &str = "question";
pub(super) const ERROR: &str = "error";
/// The names of all frames, which those of kept ones are among.
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

/// Whether a frame of that name is the last one.
pub(super) fn is_end(name: &str) -> bool {
    matches!(name, "final" | ERROR)
}

/// Adds to what a frame says in Markdown the same in HTML.
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
            // Of another version, they are not linked.
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

/// Returns the answer that counts: the last one.
pub(crate) fn final_answer(data: &Value) -> Option<&str> {
    let segments = data.get("segments")?.as_array()?;
    let is_answer = |segment: &&Value| segment.get("type").is_some_and(|kind| kind == "answer");
    segments.iter().rev().find(is_answer)?.get("text")?.as_str()
}

/// Returns how a turn that is kept stands. One that ran when the server ended does not run any more.
pub(super) fn final_state(kept: &ArchivedTurn) -> TurnState {
    match kept.state {
        TurnState::Running => TurnState::Failed,
        state => state,
    }
}

/// What frames say their Markdown in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkupFormat {
    Markdown,
    /// In HTML, too.
    Html,
}

/// Returns the frames of a kept turn, with an end where the server's end left none.
fn complete_frames(
    summary: &ConversationSummary,
    kept: ArchivedTurn,
    with: MarkupFormat,
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
    if with == MarkupFormat::Html {
        for frame in &mut frames {
            with_html(&frame.name, &mut frame.data);
        }
    }
    frames
}

/// Returns the frames of a kept turn as they are streamed, after the first `after`. A client that watched when the
/// server ended may have had more than was kept: the end comes after all of them.
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

/// Returns a turn as a conversation shows it. One that is `live` has no end yet.
pub(crate) fn shown_turn(
    summary: &ConversationSummary,
    (kept, with): (ArchivedTurn, MarkupFormat),
    live: bool,
) -> WholeTurn {
    let ended_at = kept.ended_at.map(|at| at.to_string());
    let (turn_id, question, model_id) = (kept.id, kept.question.clone(), kept.model_id.clone());
    let asked_at = kept.asked_at.to_string();
    let state = if live { kept.state } else { final_state(&kept) };
    let frames = if state == TurnState::Running {
        let mut frames = kept.frames;
        for frame in frames.iter_mut().filter(|_| with == MarkupFormat::Html) {
            with_html(&frame.name, &mut frame.data);
        }
        frames
    } else {
        complete_frames(summary, kept, with)
    };
    let numbered = |(frame, id): (ArchivedFrame, usize)| {
        let ArchivedFrame { name, data } = frame;
        NumberedFrame { id, name, data }
    };
    let frames = frames.into_iter().zip(1..).map(numbered).collect();
    WholeTurn { turn_id, question, asked_at, ended_at, state, model_id, frames }
}

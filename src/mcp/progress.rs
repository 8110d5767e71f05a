//! A turn as the news of a running call.

use futures_util::{Stream, StreamExt, stream};
use tracing::{debug, error, info};

use super::fault;
use crate::{
    chat::{Ask, Chat, Event, Turn},
    rpc::{Error, Refusal, Update},
};

/// Most characters of one progress message; the whole text is in the result.
const MAX_CHARS: usize = 2000;

/// Where a call is.
enum Step {
    Asking(Chat, Box<Ask>),
    Running { turn: Turn, query: Option<String> },
    Over,
}

/// Asks, and returns the news until the end. Dropping the stream drops the turn.
pub(super) fn updates(chat: Chat, ask: Ask) -> impl Stream<Item = Update> + Send + 'static {
    let first = Step::Asking(chat, Box::new(ask));
    stream::unfold(first, |mut step| async move {
        loop {
            step = match step {
                Step::Over => return None,
                Step::Asking(chat, ask) => {
                    let conversation = ask.conversation;
                    match chat.ask(*ask).await {
                        Ok(turn) => Step::Running { turn, query: None },
                        Err(failure) => {
                            let end = fault::refused(&failure, conversation);
                            return Some((Update::Done(end), Step::Over));
                        }
                    }
                }
                Step::Running { mut turn, mut query } => match turn.next().await {
                    Some(Event::Ended(outcome)) => {
                        return Some((Update::Done(fault::ended(&outcome)), Step::Over));
                    }
                    Some(event) => match message(logged(event), &mut query) {
                        Some(text) => {
                            return Some((Update::Progress(text), Step::Running { turn, query }));
                        }
                        None => Step::Running { turn, query },
                    },
                    None => {
                        error!("turn ended without an outcome");
                        let end = Err(Refusal::Error(Error::internal()));
                        return Some((Update::Done(end), Step::Over));
                    }
                },
            };
        }
    })
}

/// Logs what is passed on: kinds and sizes always, the words themselves only for debugging.
fn logged(event: Event) -> Event {
    match &event {
        Event::Thread { .. } => debug!("thread known"),
        Event::Thinking { text } => {
            info!(segment.kind = "thinking", segment.bytes = text.len(), "segment");
            debug!(segment.text = %text, "segment text");
        }
        Event::Answer { text } => {
            info!(segment.kind = "answer", segment.bytes = text.len(), "segment");
            debug!(segment.text = %text, "segment text");
        }
        Event::VectorSummary { files } => {
            info!(segment.kind = "vector_summary", segment.files = files.len(), "segment");
        }
        Event::ToolRequest { name, source, .. } => {
            info!(tool.name = %name, tool.source = %source, "tool requested");
        }
        Event::ToolResult { name, source, error, .. } => {
            info!(tool.name = %name, tool.source = %source, failed = error.is_some(), "tool answered");
        }
        Event::Ended(_) => {}
    }
    event
}

/// Says in words what happened, if it is worth a line; remembers what is being searched for.
fn message(event: Event, query: &mut Option<String>) -> Option<String> {
    match event {
        Event::Thinking { text } | Event::Answer { text } => Some(shortened(&text)),
        Event::VectorSummary { files } => {
            let found = match files.len() {
                1 => "1 file".to_owned(),
                count => format!("{count} files"),
            };
            Some(match query.take() {
                Some(query) => format!("searched: {}: {found}", shortened(&query)),
                None => format!("searched: {found}"),
            })
        }
        Event::ToolRequest { parameters, .. } => {
            *query = parameters.get("query").and_then(|value| value.as_str()).map(str::to_owned);
            None
        }
        Event::Thread { .. } | Event::ToolResult { .. } | Event::Ended(_) => None,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

//! A turn as the progress of a running call.

use std::{collections::HashMap, sync::Arc};

use codeinfo_chat::{Ask, Chat, Event, Source, Turn};
use codeinfo_core::plain_name;
use codeinfo_mcp::{CallError, Error, Update};
use codeinfo_toolkits::spec::ToolkitName;
use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;
use tracing::{debug, error, info};

use super::{
    error,
    plain::{MAX_CHARS, plain},
    tool::Form,
};

/// Where a call is.
enum Step {
    Asking(Box<(Chat, Ask)>),
    Running { turn: Turn, queries: Queries },
    Over,
}

/// Asks, and returns progress until the end. Dropping the stream drops the turn.
pub(super) fn updates(
    chat: Chat,
    ask: Ask,
    form: Form,
) -> impl Stream<Item = Update> + Send + 'static {
    let (first, form) = (Step::Asking(Box::new((chat, ask))), Arc::new(form));
    stream::unfold((first, form), move |(mut step, form)| async move {
        let updates = |update, step| Some((update, (step, Arc::clone(&form))));
        loop {
            step = match step {
                Step::Over => return None,
                Step::Asking(asking) => {
                    let (chat, mut ask) = *asking;
                    if let (None, Some(place)) = (&ask.repository, &form.place) {
                        ask.tree = place.tree().await;
                    }
                    let conversation = ask.conversation;
                    match chat.ask(ask).await {
                        Ok(turn) => Step::Running { turn, queries: Queries::default() },
                        Err(failure) => {
                            let notice = form.notice().await;
                            let end =
                                error::refused(&failure, conversation, &form, notice.as_deref());
                            return updates(Update::Done(end), Step::Over);
                        }
                    }
                }
                Step::Running { mut turn, mut queries } => match turn.next().await {
                    Some(Event::Ended(outcome)) => {
                        let notice = form.notice().await;
                        let end = error::ended(&outcome, &form, notice.as_deref());
                        return updates(Update::Done(end), Step::Over);
                    }
                    Some(event) => match message(logged(event), &mut queries) {
                        Some(text) => {
                            return updates(
                                Update::Progress(text),
                                Step::Running { turn, queries },
                            );
                        }
                        None => Step::Running { turn, queries },
                    },
                    None => {
                        error!("turn ended without an outcome");
                        let end = Err(CallError::Error(Error::internal()));
                        return updates(Update::Done(end), Step::Over);
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
        Event::Warning { text } => info!(warning = %text, "warning"),
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
            let toolkit = source.toolkit().map(ToolkitName::as_str);
            info!(tool.name = %name, tool.toolkit = toolkit, "tool requested");
        }
        Event::ToolResult { name, source, error, .. } => {
            let (toolkit, failed) = (source.toolkit().map(ToolkitName::as_str), error.is_some());
            info!(tool.name = %name, tool.toolkit = toolkit, failed, "tool answered");
        }
        Event::Ended(_) => {}
    }
    event
}

/// Calls of our tools in words, such as "searched retry policy"; they may run at the same time.
#[derive(Default)]
struct Queries {
    by_call: HashMap<String, String>,
    /// Of the call that was answered last; its summary follows.
    answered: Option<String>,
}

/// Says in words what happened, if it is worth a line.
fn message(event: Event, queries: &mut Queries) -> Option<String> {
    match event {
        Event::Thinking { text } | Event::Answer { text } | Event::Warning { text } => {
            Some(plain(&text)).filter(|text| !text.is_empty())
        }
        Event::VectorSummary { files } => {
            let found = match files.len() {
                1 => "1 file".to_owned(),
                count => format!("{count} files"),
            };
            Some(match queries.answered.take() {
                Some(call) => format!("{call}: {found}"),
                None => format!("searched: {found}"),
            })
        }
        Event::ToolRequest { name, source: Source::Mcp(toolkit), .. } => {
            Some(format!("{toolkit} · {}", plain_name(&name, MAX_CHARS)))
        }
        Event::ToolResult { name, source: Source::Mcp(toolkit), error, .. } => {
            let error = plain_name(&error?, MAX_CHARS);
            Some(format!("{toolkit} · {} failed: {error}", plain_name(&name, MAX_CHARS)))
        }
        Event::ToolRequest { call_id, parameters, .. } => {
            queries.by_call.extend(describe_call(&parameters).map(|call| (call_id, call)));
            None
        }
        Event::ToolResult { call_id, .. } => {
            queries.answered = queries.by_call.remove(&call_id);
            None
        }
        Event::Thread { .. } | Event::Ended(_) => None,
    }
}

/// Describes a call of one of our tools by what it asks for.
fn describe_call(parameters: &Value) -> Option<String> {
    let members = [("query", "searched"), ("path", "read"), ("name", "looked for uses of")];
    members.into_iter().find_map(|(member, verb)| {
        let asked = parameters.get(member)?.as_str()?;
        Some(format!("{verb} {}", plain_name(asked, MAX_CHARS)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use codeinfo_chat::Stage;
    use codeinfo_core::Timestamp;

    #[test]
    fn calls_of_our_tools_are_told_by_what_they_ask_for() {
        let call = |parameters| describe_call(&parameters).unwrap_or_default();
        assert_eq!(call(json!({ "query": "retry", "repository": "a" })), "searched retry");
        assert_eq!(call(json!({ "path": "a.rs", "first": 3 })), "read a.rs");
        assert_eq!(call(json!({ "name": "retry" })), "looked for uses of retry");
        assert_eq!(call(json!({})), "");
    }

    #[test]
    fn calls_of_a_toolkit_are_named_and_so_are_their_failures() {
        let mut queries = Queries::default();
        let call = |source| Event::ToolRequest {
            call_id: "c".to_owned(),
            name: "log".to_owned(),
            source,
            timestamp: Timestamp::EPOCH,
            parameters: json!({ "query": "x" }),
        };
        let result = |error: Option<&str>| Event::ToolResult {
            call_id: "c".to_owned(),
            name: "log".to_owned(),
            source: Source::Mcp("git".parse().unwrap()),
            timestamp: Timestamp::EPOCH,
            stage: Stage::Error,
            result: None,
            error: error.map(str::to_owned),
        };
        let mut said = |event| message(event, &mut queries);
        let git = Source::Mcp("git".parse().unwrap());
        assert_eq!(said(call(git)).as_deref(), Some("git · log"));
        assert_eq!(said(result(None)), None);
        assert_eq!(said(result(Some("gone"))).as_deref(), Some("git · log failed: gone"));
        assert_eq!(said(call(Source::Local)), None);
    }
}

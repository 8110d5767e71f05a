//! Reports a turn as the progress of a running call.

use std::{collections::HashMap, sync::Arc};

use codeinfo_chat::{Chat, ChatEvent, ToolOwner, Turn, TurnRequest};
use codeinfo_core::plain_name;
use codeinfo_mcp::{CallUpdate, JsonRpcError, ToolCallError};
use codeinfo_toolkits::spec::ToolkitName;
use futures_util::{Stream, StreamExt, stream};
use pulldown_cmark::{Event, Parser, TagEnd};
use serde_json::Value;
use tracing::{debug, error, info};

use super::{outcome, question::QuestionCall};

/// Maximum characters of a line; the result has the whole text.
const MAX_CHARS: usize = 200;
/// Maximum bytes of Markdown that are parsed for a line.
const MAX_BYTES: usize = 4096;

enum CallStep {
    Asking(Box<(Chat, TurnRequest)>),
    Running { turn: Turn, queries: ToolQueries },
    Over,
}

impl QuestionCall {
    /// Starts a turn and streams its progress until the end. Dropping the stream drops the turn.
    pub(super) fn stream_updates(
        self,
        chat: Chat,
    ) -> impl Stream<Item = CallUpdate> + Send + 'static {
        let Self { request, form } = self;
        let first = CallStep::Asking(Box::new((chat, request)));
        stream::unfold((first, Arc::new(form)), move |(mut step, form)| async move {
            let updates = |update, step| Some((update, (step, Arc::clone(&form))));
            loop {
                step = match step {
                    CallStep::Over => return None,
                    CallStep::Asking(asking) => {
                        let (chat, mut request) = *asking;
                        if let (None, Some(folder)) = (&request.repository, &form.folder) {
                            request.tree = folder.find_tree().await;
                        }
                        let conversation = request.conversation;
                        match chat.ask(request).await {
                            Ok(turn) => CallStep::Running { turn, queries: ToolQueries::default() },
                            Err(failure) => {
                                let notice = form.describe_index_gaps().await;
                                let end = outcome::build_refusal(
                                    &failure,
                                    conversation,
                                    &form,
                                    notice.as_deref(),
                                );
                                return updates(CallUpdate::Done(end), CallStep::Over);
                            }
                        }
                    }
                    CallStep::Running { mut turn, mut queries } => match turn.next().await {
                        Some(ChatEvent::Ended(outcome)) => {
                            let notice = form.describe_index_gaps().await;
                            let end =
                                outcome::build_turn_result(&outcome, &form, notice.as_deref());
                            return updates(CallUpdate::Done(end), CallStep::Over);
                        }
                        Some(event) => match describe_event(log_event(event), &mut queries) {
                            Some(text) => {
                                return updates(
                                    CallUpdate::Progress(text),
                                    CallStep::Running { turn, queries },
                                );
                            }
                            None => CallStep::Running { turn, queries },
                        },
                        None => {
                            error!("turn ended without an outcome");
                            let end = Err(ToolCallError::Error(JsonRpcError::internal_error()));
                            return updates(CallUpdate::Done(end), CallStep::Over);
                        }
                    },
                };
            }
        })
    }
}

/// Logs the kind and size of an event; its text at debug level only.
fn log_event(event: ChatEvent) -> ChatEvent {
    match &event {
        ChatEvent::Thread { .. } => debug!("thread known"),
        ChatEvent::Warning { text } => info!(warning = %text, "warning"),
        ChatEvent::Thinking { text } => {
            info!(segment.kind = "thinking", segment.bytes = text.len(), "segment");
            debug!(segment.text = %text, "segment text");
        }
        ChatEvent::Answer { text } => {
            info!(segment.kind = "answer", segment.bytes = text.len(), "segment");
            debug!(segment.text = %text, "segment text");
        }
        ChatEvent::VectorSummary { files } => {
            info!(segment.kind = "vector_summary", segment.files = files.len(), "segment");
        }
        ChatEvent::ToolRequest { name, source, .. } => {
            let toolkit = source.toolkit().map(ToolkitName::as_str);
            info!(tool.name = %name, tool.toolkit = toolkit, "tool requested");
        }
        ChatEvent::ToolResult { name, source, error, .. } => {
            let toolkit = source.toolkit().map(ToolkitName::as_str);
            let failed = error.is_some();
            info!(tool.name = %name, tool.toolkit = toolkit, failed, "tool answered");
        }
        ChatEvent::Ended(_) => {}
    }
    event
}

/// Descriptions of running calls of built-in tools, which may overlap: "searched retry policy".
#[derive(Default)]
struct ToolQueries {
    by_call: HashMap<String, String>,
    /// Description of the call that was answered last; its summary follows.
    answered: Option<String>,
}

/// Describes an event in words, if it is worth a line.
fn describe_event(event: ChatEvent, queries: &mut ToolQueries) -> Option<String> {
    match event {
        ChatEvent::Thinking { text } | ChatEvent::Answer { text } | ChatEvent::Warning { text } => {
            Some(flatten_markdown(&text)).filter(|text| !text.is_empty())
        }
        ChatEvent::VectorSummary { files } => {
            let found = match files.len() {
                1 => "1 file".to_owned(),
                count => format!("{count} files"),
            };
            Some(match queries.answered.take() {
                Some(call) => format!("{call}: {found}"),
                None => format!("searched: {found}"),
            })
        }
        ChatEvent::ToolRequest { name, source: ToolOwner::Mcp(toolkit), .. } => {
            Some(format!("{toolkit} · {}", plain_name(&name, MAX_CHARS)))
        }
        ChatEvent::ToolResult { name, source: ToolOwner::Mcp(toolkit), error, .. } => {
            let error = plain_name(&error?, MAX_CHARS);
            Some(format!("{toolkit} · {} failed: {error}", plain_name(&name, MAX_CHARS)))
        }
        ChatEvent::ToolRequest { call_id, parameters, .. } => {
            queries.by_call.extend(describe_call(&parameters).map(|call| (call_id, call)));
            None
        }
        ChatEvent::ToolResult { call_id, .. } => {
            queries.answered = queries.by_call.remove(&call_id);
            None
        }
        ChatEvent::Thread { .. } | ChatEvent::Ended(_) => None,
    }
}

fn describe_call(parameters: &Value) -> Option<String> {
    let members = [("query", "searched"), ("path", "read"), ("name", "looked for uses of")];
    members.into_iter().find_map(|(member, verb)| {
        let asked = parameters.get(member)?.as_str()?;
        Some(format!("{verb} {}", plain_name(asked, MAX_CHARS)))
    })
}

/// Returns the first words of a Markdown text on one line.
fn flatten_markdown(text: &str) -> String {
    let (start, _) = text.split_at(text.floor_char_boundary(MAX_BYTES));
    let mut words = String::new();
    for event in Parser::new(start) {
        match event {
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) | Event::Html(text) => {
                words.push_str(&text);
            }
            Event::End(tag) if tag_is_block(tag) => words.push(' '),
            Event::SoftBreak | Event::HardBreak | Event::Rule => words.push(' '),
            _ => {}
        }
    }
    let line = words.split_whitespace().collect::<Vec<&str>>().join(" ");
    plain_name(&line, MAX_CHARS)
}

fn tag_is_block(tag: TagEnd) -> bool {
    !matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use codeinfo_chat::ToolCallStage;
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
        let mut queries = ToolQueries::default();
        let call = |source| ChatEvent::ToolRequest {
            call_id: "c".to_owned(),
            name: "log".to_owned(),
            source,
            timestamp: Timestamp::EPOCH,
            parameters: json!({ "query": "x" }),
        };
        let result = |error: Option<&str>| ChatEvent::ToolResult {
            call_id: "c".to_owned(),
            name: "log".to_owned(),
            source: ToolOwner::Mcp("git".parse().unwrap()),
            timestamp: Timestamp::EPOCH,
            stage: ToolCallStage::Error,
            result: None,
            error: error.map(str::to_owned),
        };
        let mut said = |event| describe_event(event, &mut queries);
        let git = ToolOwner::Mcp("git".parse().unwrap());
        assert_eq!(said(call(git)).as_deref(), Some("git · log"));
        assert_eq!(said(result(None)), None);
        assert_eq!(said(result(Some("gone"))).as_deref(), Some("git · log failed: gone"));
        assert_eq!(said(call(ToolOwner::Local)), None);
    }

    #[test]
    fn words_of_markdown_stand_on_one_line() {
        for (text, expected) in [
            ("**Reading the parser**", "Reading the parser"),
            ("# A\n\n* one\n* `two<T>`\n\n> three", "A one two<T> three"),
            (
                "see [the docs](http://x) of Vec<String>, *half*way",
                "see the docs of Vec<String>, halfway",
            ),
            ("```rust\nfn a() {}\n```", "fn a() {}"),
            ("a\u{1b}[31m b\u{202e}c", "a [31m bc"),
            ("", ""),
        ] {
            assert_eq!(flatten_markdown(text), expected, "{text:?}");
        }
        let long = flatten_markdown(&"word ".repeat(5000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (MAX_CHARS, true));
    }
}

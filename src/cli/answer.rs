//! Asks a question and shows the segments as they come.

use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CliError, Client, print};
use crate::domain::{FileSummary, Segment};

/// Longest event that is accepted; a result holds every segment of a long turn.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

#[derive(Deserialize)]
struct Failure {
    code: String,
    message: String,
    hint: String,
}

#[derive(Deserialize)]
struct Found {
    files: Vec<FileSummary>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Final {
    conversation_id: String,
    model_id: String,
    segments: Vec<Segment>,
}

/// Returns the body of `POST /chat`.
pub(super) fn body(
    question: &str,
    conversation: Option<String>,
    repository: Option<String>,
) -> Value {
    let mut body = json!({ "question": question });
    if let Some(body) = body.as_object_mut() {
        body.extend(conversation.map(|id| ("conversationId".to_owned(), id.into())));
        body.extend(repository.map(|name| ("repository".to_owned(), name.into())));
    }
    body
}

/// Asks over `POST /chat`: answers go to standard output, everything else to standard error.
pub(super) async fn ask(client: &Client, body: &Value, as_json: bool) -> Result<(), CliError> {
    let reply = client.stream(&["chat"], body).await?;
    let mut chunks = reply.bytes_stream();
    let mut pending = Vec::new();
    while let Some(chunk) = chunks.next().await {
        pending.extend_from_slice(&chunk.map_err(|error| client.lost(&error))?);
        while let Some(event) = take_event(&mut pending) {
            if show(client, &event, as_json)? == Next::End {
                return Ok(());
            }
        }
        if pending.len() > MAX_EVENT_BYTES {
            return Err(broken(client, "an event is too long"));
        }
    }
    Err(broken(client, "the stream ended before the answer"))
}

#[derive(PartialEq, Eq)]
enum Next {
    Event,
    End,
}

/// One server-sent event.
struct Event {
    name: String,
    data: String,
}

/// Cuts the first whole event from `pending` (WHATWG HTML, section 9.2.6, for a server that ends
/// lines with `\n`).
fn take_event(pending: &mut Vec<u8>) -> Option<Event> {
    let end = pending.windows(2).position(|pair| pair == b"\n\n")?;
    let block: Vec<u8> = pending.drain(..end + 2).collect();
    let text = String::from_utf8_lossy(&block);
    let field = |name: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(name));
        lines.map(|value| value.trim_start().to_owned()).collect::<Vec<_>>().join("\n")
    };
    Some(Event { name: field("event:"), data: field("data:") })
}

fn show(client: &Client, event: &Event, as_json: bool) -> Result<Next, CliError> {
    match event.name.as_str() {
        "final" if as_json => {
            print::json(&parsed(client, &event.data)?)?;
            return Ok(Next::End);
        }
        "final" => {
            let end: Final = parsed(client, &event.data)?;
            let answered = end.segments.iter().any(|part| matches!(part, Segment::Answer { .. }));
            if !answered {
                return Err(broken(client, "the result holds no answer"));
            }
            print::note(&format!(
                "{}; continue with: codeinfo ask --conversation {} QUESTION",
                end.model_id, end.conversation_id
            ))?;
            return Ok(Next::End);
        }
        "error" => {
            let failure: Failure = parsed(client, &event.data)?;
            let Failure { code, message, hint } = failure;
            return Err(CliError::Unanswered { code, message: format!("{message}; {hint}") });
        }
        _ if as_json => {}
        "thinking" => print::note(&format!("{}\n", text(client, event)?))?,
        "answer" => print::line(&text(client, event)?)?,
        "tool-request" => {
            let request: Value = parsed(client, &event.data)?;
            let parameter = |name: &str| request.get("parameters")?.get(name)?.as_str();
            let query = parameter("query").or_else(|| parameter("command"));
            let name = request.get("name").and_then(Value::as_str).unwrap_or("tool");
            let query = query.map_or_else(|| "…".to_owned(), print::name);
            print::note(&format!("{}: {query}", print::name(name)))?;
        }
        "vector_summary" => {
            files_found(&parsed::<Found>(client, &event.data)?.files)?;
        }
        _ => {}
    }
    Ok(Next::Event)
}

fn files_found(files: &[FileSummary]) -> Result<(), CliError> {
    for file in files {
        let ranges: Vec<String> = file.ranges.iter().map(ToString::to_string).collect();
        let path = print::name(&file.path);
        print::note(&format!("  {:.2}  {path}:{}", file.best, ranges.join(",")))?;
    }
    print::note("")
}

fn text(client: &Client, event: &Event) -> Result<String, CliError> {
    #[derive(Deserialize)]
    struct Text {
        text: String,
    }
    Ok(parsed::<Text>(client, &event.data)?.text)
}

fn parsed<T: serde::de::DeserializeOwned>(client: &Client, data: &str) -> Result<T, CliError> {
    serde_json::from_str(data).map_err(|error| broken(client, &error.to_string()))
}

fn broken(client: &Client, reason: &str) -> CliError {
    CliError::Unreachable { url: client.base().to_owned(), reason: reason.to_owned() }
}

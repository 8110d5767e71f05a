//! Asks a question and prints its segments as they arrive.

use codeinfo_citations::{CheckedCitation, CitationState, join_lines};
use codeinfo_core::{CitationCounts, ClaimCounts, FileSummary, LineRange, Segment};
use codeinfo_server::replies::{ChatFrame, StartTurnReply, ToolOrigin};
use futures_util::StreamExt;
use serde_json::{Value, json};
use sse_stream::{Sse, SseByteStream};

use super::{
    ApiClient, CliError,
    print::{print_json, print_line, print_note, scope_parameter, shorten_text, single_line},
};
use crate::install::ConsoleError;

/// Maximum bytes of a reply: far more than the texts of the longest turn and all its tool results.
const MAX_REPLY_BYTES: usize = 256 * 1024 * 1024;
/// Maximum characters of a query, a command or a failure in a line.
const MAX_SHOWN: usize = 200;
const LINES: &str = "ReadLines";
const USES: &str = "FindUses";

pub(super) fn build_turn_body(
    question: &str,
    conversation: Option<String>,
    repository: Option<String>,
    claim_check: Option<bool>,
) -> Value {
    let mut body = json!({ "question": question });
    if let Some(body) = body.as_object_mut() {
        body.extend(conversation.map(|id| ("conversationId".to_owned(), id.into())));
        body.extend(scope_parameter(repository).map(|(name, place)| (name, place.into())));
        body.extend(claim_check.map(|is_on| ("claimCheck".to_owned(), is_on.into())));
    }
    body
}

/// Asks over `POST /turns`, so that the page lists the conversation; stops an unwatched turn.
pub(super) async fn ask_question(
    client: &ApiClient,
    body: &Value,
    as_json: bool,
) -> Result<(), CliError> {
    let StartTurnReply { turn_id, .. } = client.post_and_wait(&["turns"], body).await?;
    let turn = turn_id.to_string();
    let ended = tokio::select! {
        ended = watch_turn(client, &turn, as_json) => ended,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map_err(|source| ConsoleError::new("wait for Ctrl-C", source))?;
            Err(CliError::Interrupted)
        }
    };
    if ended.is_err() {
        // A server that has ended has stopped the turn.
        drop(client.post::<Value>(&["turns", &turn, "stop"], &json!({})).await);
    }
    ended
}

/// Prints a turn to its end: answers to standard output, everything else to standard error.
async fn watch_turn(client: &ApiClient, turn: &str, as_json: bool) -> Result<(), CliError> {
    let reply = client.open_stream(&["turns", turn]).await?;
    let mut left = MAX_REPLY_BYTES;
    let bytes = reply.bytes_stream().map(|read| {
        let chunk = read.map_err(|error| client.connection_error(&error))?;
        left = left
            .checked_sub(chunk.len())
            .ok_or_else(|| broken_reply(client, "the reply is too long"))?;
        Ok::<_, CliError>(chunk)
    });
    let mut events = SseByteStream::new(bytes);
    // An answer may be corrected, so the last frame counts.
    let mut answers = Vec::new();
    let mut last_tool = String::new();
    while let Some(event) = events.next().await {
        let Sse { event, data, .. } = event.map_err(|error| explain_read_error(client, error))?;
        let data = data.unwrap_or_default();
        let frame = ChatFrame::parse(&event.unwrap_or_default(), &data)
            .map_err(|error| broken_reply(client, &error.to_string()))?;
        match frame {
            None => {}
            Some(end @ ChatFrame::Final { .. }) if as_json => {
                return print_json(&end.into_parts().1);
            }
            Some(ChatFrame::Final { conversation_id, model_id, segments, citations, .. }) => {
                print_answers(client, &segments, &citations)?;
                return print_note(&format!(
                    "{model_id}; continue with: codeinfo ask --conversation {conversation_id} QUESTION"
                ));
            }
            Some(ChatFrame::Answer { text }) => answers.push(text),
            Some(ChatFrame::Error { code, message, hint, .. }) => {
                answers.iter().filter(|_| !as_json).try_for_each(|text| print_line(text))?;
                return Err(CliError::Unanswered { code, message: format!("{message}; {hint}") });
            }
            Some(_) if as_json => {}
            Some(frame) => show_frame(&frame, &mut last_tool)?,
        }
    }
    Err(broken_reply(client, "the stream ended before the answer"))
}

/// Prints an event. `last_tool` is the built-in tool that ended last, to which files belong.
fn show_frame(frame: &ChatFrame, last_tool: &mut String) -> Result<(), CliError> {
    match frame {
        ChatFrame::Thinking { text } => print_note(&format!("{text}\n")),
        ChatFrame::Warning { message } => print_note(&format!("warning: {}", single_line(message))),
        ChatFrame::ToolRequest { name, origin, parameters, .. } => {
            print_note(&describe_call(name, origin, parameters))
        }
        ChatFrame::ToolResult { name, origin, result, error, .. } => {
            last_tool.clone_from(name);
            show_result(&name_tool(name, origin), result.as_ref(), error.as_deref())
        }
        ChatFrame::VectorSummary { files } => match last_tool.as_str() {
            // The line of the call already shows the file.
            LINES => Ok(()),
            // Nothing measures how well a use fits.
            tool => print_found_files(files, tool != USES),
        },
        ChatFrame::Thread { .. }
        | ChatFrame::Answer { .. }
        | ChatFrame::Final { .. }
        | ChatFrame::Error { .. } => Ok(()),
    }
}

/// Prints the failure of a call, or its number of uses. The files of other calls follow separately.
fn show_result(name: &str, result: Option<&Value>, error: Option<&str>) -> Result<(), CliError> {
    if let Some(error) = error {
        // The rest is advice for the model.
        let (first, _) = error.split_once(". ").unwrap_or((error, ""));
        let reason = shorten_text(&single_line(first), MAX_SHOWN);
        return print_note(&format!("{name} failed: {reason}"));
    }
    match result.and_then(|result| result.pointer("/content/0/text")?.as_str()) {
        Some(text) if name == USES => print_note(&format!("  {}", count_uses(text))),
        _ => Ok(()),
    }
}

/// Returns the counts at the end of the first line of uses: `2 definitions, 3 uses`.
fn count_uses(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    shorten_text(&single_line(first.rsplit(" shown: ").next().unwrap_or_default()), MAX_SHOWN)
}

/// Returns the name of a tool in the form that `codeinfo mcp call` accepts.
fn name_tool(name: &str, origin: &ToolOrigin) -> String {
    let toolkit = origin.toolkit.as_ref().map(|toolkit| format!("{}:", single_line(toolkit)));
    toolkit.unwrap_or_default() + &single_line(name)
}

/// Describes a call in a few words: `reads src/a.rs:1-20`.
fn describe_call(name: &str, origin: &ToolOrigin, parameters: &Value) -> String {
    let text = |key: &str| {
        let text = parameters.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.map(|text| shorten_text(&single_line(text), MAX_SHOWN))
    };
    let number = |key: &str| parameters.get(key).and_then(Value::as_u64);
    if origin.toolkit.is_some() {
        let members = parameters.as_object().filter(|members| !members.is_empty());
        let arguments = members.map(|_| format!(" {}", single_line(&parameters.to_string())));
        let shown = shorten_text(&arguments.unwrap_or_default(), MAX_SHOWN);
        return format!("calls {}{shown}", name_tool(name, origin));
    }
    let path = || {
        let path = text("path").unwrap_or_default();
        match (number("first"), number("last")) {
            (first, Some(last)) => format!("{path}:{}-{last}", first.unwrap_or(1)),
            (Some(first), None) => format!("{path}:{first}-"),
            (None, None) => path,
        }
    };
    let named = |keys: &[&str]| keys.iter().find_map(|key| text(key)).unwrap_or_default();
    match name {
        "VectorSearch" => {
            let place = if named(&["in"]) == "history" { " commits for" } else { "" };
            format!("searches{place} \"{}\"", named(&["query"]))
        }
        USES => {
            let kind = text("kind").unwrap_or_else(|| "uses".to_owned());
            format!("finds {kind} of `{}`", named(&["name", "pattern"]))
        }
        "Trace" => {
            let to = text("to").map(|to| format!(" to `{to}`")).unwrap_or_default();
            format!("follows calls from `{}`{to}", named(&["from"]))
        }
        "Impact" => {
            let since = text("since").unwrap_or_else(|| "HEAD".to_owned());
            format!("finds what changes since `{since}` reach")
        }
        "History" => format!("reads the history of `{}`", named(&["commit", "path", "symbol"])),
        LINES => format!("reads {}", path()),
        "Outline" => format!("outlines {}", path()),
        "ListIngestedRepositories" => "lists the indexed repositories".to_owned(),
        "shell" => format!("runs `{}`", named(&["command"])),
        // The query is unknown while the search runs.
        "web_search" => text("query").map_or_else(
            || "searches the web".to_owned(),
            |query| format!("searches the web for \"{query}\""),
        ),
        "discover_tools" => format!("looks for tools: \"{}\"", named(&["query"])),
        "get_tool_schema" => format!("looks at the tool {}", named(&["tool"])),
        "list_tool_domains" => "lists the domains of tools".to_owned(),
        "browse_tool_domain" => format!("lists the tools of {}", named(&["domain"])),
        "execute_tool" => format!("calls {}", named(&["tool"])),
        _ => single_line(name),
    }
}

/// Prints the answers, and the result of the last one's citation check.
fn print_answers(
    client: &ApiClient,
    segments: &[Segment],
    citations: &[CheckedCitation],
) -> Result<(), CliError> {
    let mut last = None;
    for segment in segments {
        if let Segment::Answer { text, checked } = segment {
            print_line(text)?;
            last = Some(checked);
        }
    }
    match last {
        Some(Some(checked)) => print_verdict(checked, citations),
        Some(None) => Ok(()),
        None => Err(broken_reply(client, "the result holds no answer")),
    }
}

/// Prints the counts of the citation check, and the citations that are not confirmed.
fn print_verdict(counts: &CitationCounts, citations: &[CheckedCitation]) -> Result<(), CliError> {
    let CitationCounts { citations: all, confirmed, unconfirmed, wrong, repaired, .. } = *counts;
    if all == 0 {
        return print_note("no place in the code is cited");
    }
    let counted = [
        (unconfirmed, "unconfirmed"),
        (wrong, "wrong"),
        (repaired, "put right"),
        (counts.dropped, "left out"),
    ];
    let nonzero = counted.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = nonzero.map(|(count, what)| format!("{count} {what}")).collect();
    let verdict = [format!("citations: {confirmed} of {all} confirmed"), parts.join(", ")];
    print_note(verdict.join("; ").trim_end_matches("; "))?;
    if let Some(claims) = counts.claims {
        let ClaimCounts { supported, contradicted, open } = claims;
        print_note(&format!(
            "sentences with citations: {supported} supported, {contradicted} contradicted, {open} open"
        ))?;
    }
    let doubtful = citations.iter().filter(|citation| citation.state != CitationState::Confirmed);
    for citation in doubtful {
        let colon = if citation.lines.is_empty() { "" } else { ":" };
        let path = single_line(&citation.path);
        let (lines, state) = (join_lines(&citation.lines), single_line(&citation.describe_state()));
        print_note(&format!("  {path}{colon}{lines}: {state}"))?;
    }
    Ok(())
}

fn print_found_files(files: &[FileSummary], has_scores: bool) -> Result<(), CliError> {
    for file in files {
        let ranges: Vec<String> = file.ranges.iter().copied().map(describe_range).collect();
        let path = single_line(&file.path);
        let score = if has_scores { format!("{:.2}  ", file.best) } else { String::new() };
        print_note(&format!("  {score}{path}:{}", ranges.join(",")))?;
    }
    print_note("")
}

/// Returns the lines of a range: `12-40`, or `12` for a single line.
fn describe_range(range: LineRange) -> String {
    if range.first == range.last { range.first.to_string() } else { range.to_string() }
}

fn explain_read_error(client: &ApiClient, error: sse_stream::Error) -> CliError {
    match error {
        sse_stream::Error::Body(error) => match error.downcast() {
            Ok(error) => *error,
            Err(error) => broken_reply(client, &error.to_string()),
        },
        error => broken_reply(client, &error.to_string()),
    }
}

fn broken_reply(client: &ApiClient, reason: &str) -> CliError {
    CliError::Unreachable { url: client.base_url().to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ToolOrigin, count_uses, describe_call};
    use codeinfo_server::replies::ToolEntrySource;

    #[test]
    fn calls_are_described_in_a_few_words() {
        let local = ToolOrigin { source: ToolEntrySource::Local, toolkit: None };
        for (name, parameters, words) in [
            ("VectorSearch", json!({ "query": "a \u{1b}[2J" }), "searches \"a  [2J\""),
            (
                "VectorSearch",
                json!({ "query": "a", "in": "history" }),
                "searches commits for \"a\"",
            ),
            ("FindUses", json!({ "name": "ClientIP" }), "finds uses of `ClientIP`"),
            ("FindUses", json!({ "pattern": "a.*b" }), "finds uses of `a.*b`"),
            ("FindUses", json!({ "name": "A.b", "kind": "callers" }), "finds callers of `A.b`"),
            ("Trace", json!({ "from": "a", "to": "b" }), "follows calls from `a` to `b`"),
            ("Impact", json!({ "since": "v1" }), "finds what changes since `v1` reach"),
            ("History", json!({ "path": "a.rs" }), "reads the history of `a.rs`"),
            ("History", json!({ "commit": "v1" }), "reads the history of `v1`"),
            ("ReadLines", json!({ "path": "a.go", "first": 4, "last": 5 }), "reads a.go:4-5"),
            ("ReadLines", json!({ "path": "src/gin.go" }), "reads src/gin.go"),
            ("Outline", json!({ "path": "src" }), "outlines src"),
            ("shell", json!({ "command": "ls" }), "runs `ls`"),
            ("web_search", json!({ "query": "gin" }), "searches the web for \"gin\""),
            ("web_search", json!({ "query": "" }), "searches the web"),
            ("ListIngestedRepositories", json!({}), "lists the indexed repositories"),
            ("discover_tools", json!({ "query": "log" }), "looks for tools: \"log\""),
            ("get_tool_schema", json!({ "tool": "mcp:git:log" }), "looks at the tool mcp:git:log"),
            ("list_tool_domains", json!({}), "lists the domains of tools"),
            ("browse_tool_domain", json!({ "domain": "git" }), "lists the tools of git"),
            ("unknown", json!([]), "unknown"),
        ] {
            assert_eq!(describe_call(name, &local, &parameters), words);
        }
        let git = ToolOrigin { source: ToolEntrySource::Mcp, toolkit: Some("git".to_owned()) };
        let hostile = describe_call("log\n\u{1b}[2J", &git, &Value::Null);
        assert_eq!(hostile.lines().count(), 1);
        assert_eq!(describe_call("log", &git, &Value::Null), "calls git:log");
        let given = describe_call("log", &git, &json!({ "path": "a\n" }));
        assert_eq!(given, "calls git:log {\"path\":\"a\\n\"}");
    }

    #[test]
    fn uses_are_counted_whatever_their_name_is() {
        let text = "3 places of \"a shown: b\" in 2 files, all shown: 1 definition, 2 uses\nmore";
        assert_eq!(count_uses(text), "1 definition, 2 uses");
        assert_eq!(count_uses("\"a\" is nowhere in the index\n"), "\"a\" is nowhere in the index");
    }
}

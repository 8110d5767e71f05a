//! Renders a conversation as Markdown for people.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::turns::final_answer;
use crate::replies::{NumberedFrame, WholeConversation, WholeTurn};

/// Renders each question as a heading, then its searches and their files as a list, then the
/// unchanged answer.
pub(super) fn render_markdown(whole: &WholeConversation) -> String {
    let mut out = format!("# {}\n", one_line(&whole.about.title));
    for turn in &whole.turns {
        let _ = write_turn(&mut out, turn);
    }
    out
}

fn write_turn(out: &mut String, turn: &WholeTurn) -> std::fmt::Result {
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

//! The tools and the questions of the measurement.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use codeinfo_toolkits::discovery::{ToolIndexEntry, parse_parameters};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Outcome;

/// A question and the tools any of which answers it.
#[derive(Deserialize)]
pub(crate) struct Question {
    #[serde(rename = "question")]
    pub(crate) text: String,
    pub(crate) kind: String,
    pub(crate) half: Half,
    pub(crate) tools: Vec<String>,
}

/// Weights may be chosen by one half; the other only reports.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Half {
    Tune,
    Report,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Server { toolkit: String },
    Tool(Tool),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    title: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    input_schema: Map<String, Value>,
}

/// Reads the definitions that `collect.py` collected.
pub(crate) fn tools() -> Outcome<Vec<ToolIndexEntry>> {
    let mut text = String::new();
    let file = fs::File::open(folder().join("tools.jsonl.gz"))?;
    flate2::read::GzDecoder::new(file).read_to_string(&mut text)?;
    let mut current = String::new();
    let mut tools = Vec::new();
    for line in text.lines() {
        match serde_json::from_str(line)? {
            Line::Server { toolkit } => current = toolkit,
            Line::Tool(tool) => tools.push(ToolIndexEntry {
                id: format!("mcp:{current}:{}", tool.name),
                toolkit: Some(current.parse()?),
                parameters: parse_parameters(&tool.input_schema),
                name: tool.name,
                title: tool.title,
                description: tool.description,
            }),
        }
    }
    Ok(tools)
}

pub(crate) fn questions() -> Outcome<Vec<Question>> {
    let text = fs::read_to_string(folder().join("questions.jsonl"))?;
    Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/discovery")
}

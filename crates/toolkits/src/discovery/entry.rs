//! Index entry of a tool, and its one-line signature.

use codeinfo_core::{plain_name, plain_word};
use serde::{Deserialize, Serialize};

use crate::spec::ToolkitName;

/// Domain of tools without a toolkit.
pub const LOCAL: &str = "local";
/// Maximum characters of an identifier and of a description in a signature, and maximum parameters there.
const MAX_ID_CHARS: usize = 200;
const MAX_SENTENCE_CHARS: usize = 200;
const MAX_SIGNED: usize = 12;

/// Tool to index, in the words of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolIndexEntry {
    /// `mcp:TOOLKIT:TOOL`, or the bare name of a local tool.
    pub id: String,
    pub toolkit: Option<ToolkitName>,
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub parameters: Vec<ToolParameter>,
}

/// Parameter of a tool; `PARENT.NAME` is a property of an object parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolParameter {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub required: bool,
}

impl ToolIndexEntry {
    /// Returns the toolkit's name, or [`LOCAL`].
    pub fn domain(&self) -> &str {
        self.toolkit.as_ref().map_or(LOCAL, ToolkitName::as_str)
    }

    /// Returns the identifier for models, as one plain word. It equals the identifier for every name that the
    /// protocol recommends.
    pub fn shown_id(&self) -> String {
        plain_word(&self.id, MAX_ID_CHARS)
    }
}

/// Renders a tool on one line: `mcp:git:log(path: string, limit?: integer)  "First sentence."`
pub fn render_signature(entry: &ToolIndexEntry) -> String {
    let is_top = |parameter: &&ToolParameter| !is_inner(parameter, &entry.parameters);
    let mut signed: Vec<String> =
        entry.parameters.iter().filter(is_top).take(MAX_SIGNED + 1).map(render_parameter).collect();
    if signed.len() > MAX_SIGNED {
        signed.pop();
        signed.push("…".to_owned());
    }
    let mut line = format!("{}({})", entry.shown_id(), signed.join(", "));
    let said = match first_sentence(&entry.description) {
        "" => entry.title.as_deref().unwrap_or_default(),
        sentence => sentence,
    };
    let said = quote_text(said, MAX_SENTENCE_CHARS);
    if said.len() > 2 {
        line.push_str("  ");
        line.push_str(&said);
    }
    line
}

/// Quotes a third party's text on one line of at most `max_chars`, such that it can neither start a line nor
/// end the quotation.
pub fn quote_text(text: &str, max_chars: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    format!("\"{}\"", plain_name(&words.join(" "), max_chars).trim().replace('"', "'"))
}

fn render_parameter(parameter: &ToolParameter) -> String {
    let mark = if parameter.required { "" } else { "?" };
    format!("{}{mark}: {}", plain_word(&parameter.name, MAX_ID_CHARS), parameter.kind)
}

/// Returns true if `parameter` is a property of another parameter in `all`.
fn is_inner(parameter: &ToolParameter, all: &[ToolParameter]) -> bool {
    let Some((parent, _)) = parameter.name.split_once('.') else { return false };
    all.iter().any(|other| other.name == parent)
}

/// Returns the first sentence or paragraph of a description.
pub(super) fn first_sentence(description: &str) -> &str {
    let text = description.trim();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let end = paragraph.match_indices(['.', '!', '?', '。']).find_map(|(at, mark)| {
        let end = at + mark.len();
        let after = paragraph.get(end..)?.chars().next();
        let is_end = after.is_none_or(char::is_whitespace) || mark == "。";
        // `e.g.` and `i.e.` do not end a sentence.
        let before = paragraph.get(..at)?;
        let is_short = before.ends_with("e.g") || before.ends_with("i.e");
        (is_end && !is_short).then_some(end)
    });
    end.and_then(|end| paragraph.get(..end)).unwrap_or(paragraph)
}

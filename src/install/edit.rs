//! Edits one server in the text of a file and keeps other text. Entries are independent of syntax.

mod json;
mod tables;

pub(super) use self::json::ListElement;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileSyntax {
    /// JSON with comments and trailing commas, which are preserved.
    Json,
    Toml,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryValue {
    Text(String),
    List(Vec<String>),
    Number(u32),
    Yes,
}

pub(super) type EntryMembers = Vec<(&'static str, EntryValue)>;

/// Member by which Gemini CLI and Qwen Code call the tools of a server without a prompt.
pub(super) const TRUST: &str = "trust";

/// Members that define the connection; an updated entry keeps no old ones of them.
pub(super) const TRANSPORT: [&str; 6] = ["type", "command", "args", "url", "httpUrl", "serverUrl"];

pub(super) const NAME: &str = "codeinfo";
/// Byte order mark, which some editors write before the text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reason not to edit a text, in words that follow "the file".
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct EditRefusal(String);

impl EditRefusal {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Returns `text` with the server in `section`. An existing one is updated and keeps other members.
pub(super) fn add_server(
    syntax: FileSyntax,
    section: &str,
    text: &str,
    entry: &EntryMembers,
) -> Result<String, EditRefusal> {
    edit_text(text, |text| match syntax {
        FileSyntax::Json => json::add_server(text, section, entry),
        FileSyntax::Toml => tables::add_server(text, section, entry),
    })
}

/// Returns `text` without the server, or unchanged if it has no server.
pub(super) fn remove_server(
    syntax: FileSyntax,
    section: &str,
    text: &str,
) -> Result<String, EditRefusal> {
    edit_text(text, |text| match syntax {
        FileSyntax::Json => json::remove_server(text, section),
        FileSyntax::Toml => tables::remove_server(text, section),
    })
}

pub(super) fn with_element(text: &str, element: &ListElement) -> Result<String, EditRefusal> {
    edit_text(text, |text| element.add_to(text))
}

pub(super) fn without_element(text: &str, element: &ListElement) -> Result<String, EditRefusal> {
    edit_text(text, |text| element.remove_from(text))
}

pub(super) fn has_element(text: &str, element: &ListElement) -> bool {
    without_element(text, element).is_ok_and(|without| without != text)
}

/// Returns whether member `name` of the server in `section` of a JSON file is `true`.
pub(super) fn is_set(section: &str, text: &str, name: &str) -> bool {
    json::find_member_value(text.trim_start_matches(BYTE_ORDER_MARK), section, name)
        == Some(true.into())
}

/// Returns whether a JSON text has only empty lists and objects below members with these names.
pub(super) fn is_emptied(text: &str, names: &[&str]) -> bool {
    json::is_emptied(text.trim_start_matches(BYTE_ORDER_MARK), names)
}

/// Returns a JSON text without member `name` of the server in `section`.
pub(super) fn without_member(section: &str, text: &str, name: &str) -> Result<String, EditRefusal> {
    edit_text(text, |text| json::without_member(text, section, name))
}

fn edit_text(
    text: &str,
    change: impl FnOnce(&str) -> Result<String, EditRefusal>,
) -> Result<String, EditRefusal> {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => Ok(format!("{BYTE_ORDER_MARK}{}", change(text)?)),
        None => change(text),
    }
}

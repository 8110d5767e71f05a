//! Changes one server in the text of a file, and nothing else of the text.

mod json;
mod tables;

pub(super) use self::json::lists::ListElement;
use super::entry::{EntryMembers, FileSyntax};

/// The name of the entry.
pub(super) const NAME: &str = "codeinfo";
/// What some editors put before the text of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a text is left as it is, in words that follow "the file".
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct EditRefusal(String);

impl EditRefusal {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Returns `text` with the server in `section`: added, or brought up to date where one is there, whose
/// further members stay.
pub(super) fn add_server(
    (syntax, section): (FileSyntax, &str),
    text: &str,
    entry: &EntryMembers,
) -> Result<String, EditRefusal> {
    edit_text(text, |text| match syntax {
        FileSyntax::Json => json::add_server(text, section, entry),
        FileSyntax::Toml => tables::add_server(text, section, entry),
    })
}

/// Returns `text` without the server; the same text where there is none.
pub(super) fn remove_server(
    (syntax, section): (FileSyntax, &str),
    text: &str,
) -> Result<String, EditRefusal> {
    edit_text(text, |text| match syntax {
        FileSyntax::Json => json::remove_server(text, section),
        FileSyntax::Toml => tables::remove_server(text, section),
    })
}

/// Returns `text` with `element` in its list.
pub(super) fn with_element(text: &str, element: &ListElement) -> Result<String, EditRefusal> {
    edit_text(text, |text| element.add_to(text))
}

/// Returns `text` without `element`.
pub(super) fn without_element(text: &str, element: &ListElement) -> Result<String, EditRefusal> {
    edit_text(text, |text| element.remove_from(text))
}

/// Returns whether `text` has `element`.
pub(super) fn has_element(text: &str, element: &ListElement) -> bool {
    without_element(text, element).is_ok_and(|without| without != text)
}

/// Returns whether member `name` of the server in `section` of a JSON file is `true`.
pub(super) fn is_set(section: &str, text: &str, name: &str) -> bool {
    json::find_member_value(text.trim_start_matches(BYTE_ORDER_MARK), section, name)
        == Some(true.into())
}

/// Returns whether a JSON text has nothing but empty lists and objects below members of these names.
pub(super) fn is_emptied(text: &str, names: &[&str]) -> bool {
    json::is_emptied(text.trim_start_matches(BYTE_ORDER_MARK), names)
}

/// Returns a JSON text with no member `name` of the server in `section`.
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

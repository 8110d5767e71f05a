//! What `GET /source` replies.

use serde::{Deserialize, Serialize};

/// Lines of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceLines {
    /// Absolute path as the client sees it.
    pub path: String,
    pub rel_path: String,
    pub repo: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// How many lines the file has.
    pub total: u32,
    /// The number of the first of `lines`.
    pub first: u32,
    /// That of the last.
    pub last: u32,
    pub lines: Vec<SourceLine>,
    /// `same`, `changed`, `gone`, `unreadable` or `elsewhere`.
    pub state: String,
    /// Whether there is a file at `path`.
    pub on_disk: bool,
    /// The address of the file on the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permalink: Option<String>,
    /// What to add to it for lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_anchor: Option<String>,
}

/// One line.
#[derive(Debug, Serialize, Deserialize)]
pub struct SourceLine {
    pub text: String,
    /// Start, end and class of its parts, in UTF-16 code units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<(u32, u32, char)>,
    /// Whether it is not as it was indexed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(value: &bool) -> bool {
    !value
}

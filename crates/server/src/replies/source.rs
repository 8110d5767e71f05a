//! Reply of `GET /source`.

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceLines {
    /// Absolute path as the client sees it.
    pub path: String,
    pub rel_path: String,
    pub repo: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Number of lines of the file.
    pub total: u32,
    /// Number of the first of `lines`.
    pub first: u32,
    /// Number of the last of `lines`.
    pub last: u32,
    pub lines: Vec<SourceLine>,
    /// One of `same`, `changed`, `gone`, `unreadable` and `elsewhere`.
    pub state: String,
    /// True if there is a file at `path`.
    pub on_disk: bool,
    /// Address of the file on the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permalink: Option<String>,
    /// Text to append to `permalink` for the lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_anchor: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SourceLine {
    pub text: String,
    /// Start, end and class of the parts, in UTF-16 code units.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<(u32, u32, char)>,
    /// True if the line differs from the indexed one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(value: &bool) -> bool {
    !value
}

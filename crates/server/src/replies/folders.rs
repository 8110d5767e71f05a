//! Replies of `GET /folders` and `GET /page/config`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub struct FoldersReply {
    /// The listed folder; `null` for the list of allowed folders.
    pub path: Option<PathBuf>,
    /// Parent folder, if it can be listed.
    pub parent: Option<PathBuf>,
    pub folders: Vec<ListedFolder>,
    /// True if there are more folders.
    pub truncated: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedFolder {
    pub name: String,
    pub path: PathBuf,
    /// True if a Git repository starts here.
    pub is_repository: bool,
    /// Name of the root that indexes this folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed: Option<String>,
}

/// Reply of `GET /page/config`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageConfig {
    pub editor: String,
    /// Link with the placeholders `{path}` and `{line}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_link: Option<String>,
    pub keeps_conversations: bool,
    pub version: String,
}

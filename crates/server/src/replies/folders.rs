//! What `GET /folders` and `GET /page/config` reply.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What `GET /folders` replies.
#[derive(Debug, Serialize, Deserialize)]
pub struct FoldersReply {
    /// The folder; `null` where the allowed folders are listed.
    pub path: Option<PathBuf>,
    /// The folder above, if it can be listed.
    pub parent: Option<PathBuf>,
    pub folders: Vec<ListedFolder>,
    /// Whether there are more.
    pub truncated: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedFolder {
    pub name: String,
    pub path: PathBuf,
    /// Whether a repository of Git starts here.
    pub is_repository: bool,
    /// The name by which it is indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed: Option<String>,
}

/// What `GET /page/config` replies.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageConfig {
    pub editor: String,
    /// A link with `{path}` and `{line}` to be replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_link: Option<String>,
    pub keeps_conversations: bool,
    pub version: String,
}

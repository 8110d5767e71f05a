//! What `GET /map` replies.

use codeinfo_core::{LineRange, TurnId};
use serde::{Deserialize, Serialize};

/// The folders of a repository.
#[derive(Debug, Serialize, Deserialize)]
pub struct FolderMap {
    pub repo: String,
    /// Ordered by path.
    pub folders: Vec<MapFolder>,
    /// Whether there are more.
    pub truncated: bool,
}

/// A folder: what is directly in it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapFolder {
    /// Below the root, which has the empty path.
    pub path: String,
    pub files: usize,
    pub bytes: u64,
    /// In how many conversations answers cite each of its files, together.
    pub cited: usize,
}

/// The files that an answer rests on.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileMap {
    pub turn_id: TurnId,
    /// Those that are cited first.
    pub files: Vec<MapFile>,
    pub links: Vec<MapLink>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MapFile {
    pub path: String,
    pub rel_path: String,
    pub repo: String,
    /// Whether the answer cites it; else a search found it.
    pub cited: bool,
    pub ranges: Vec<LineRange>,
}

/// How one of the files uses another.
#[derive(Debug, Serialize, Deserialize)]
pub struct MapLink {
    /// The place of a file in `files`.
    pub from: usize,
    pub to: usize,
    /// `calls` or `imports`.
    pub kind: String,
    pub names: Vec<String>,
}

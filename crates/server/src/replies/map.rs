//! Replies of `GET /map`.

use codeinfo_core::{LineRange, TurnId};
use serde::{Deserialize, Serialize};

/// Folders of a repository.
#[derive(Debug, Serialize, Deserialize)]
pub struct FolderMap {
    pub repo: String,
    /// Folders, ordered by path.
    pub folders: Vec<MapFolder>,
    /// True if there are more folders.
    pub truncated: bool,
}

/// Folder with the files directly in it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapFolder {
    /// Path below the root; empty for the root.
    pub path: String,
    pub files: usize,
    pub bytes: u64,
    /// Sum, over the files, of the conversations whose answers cite the file.
    pub cited: usize,
}

/// Files on which an answer is based.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileMap {
    pub turn_id: TurnId,
    /// Files, the cited ones first.
    pub files: Vec<MapFile>,
    pub links: Vec<MapLink>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MapFile {
    pub path: String,
    pub rel_path: String,
    pub repo: String,
    /// True if the answer cites the file; otherwise a search found it.
    pub cited: bool,
    pub ranges: Vec<LineRange>,
}

/// Use of one file by another.
#[derive(Debug, Serialize, Deserialize)]
pub struct MapLink {
    /// Index of a file in `files`.
    pub from: usize,
    pub to: usize,
    /// Either `calls` or `imports`.
    pub kind: String,
    pub names: Vec<String>,
}

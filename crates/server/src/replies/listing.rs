//! Reply of `POST /search`.

use codeinfo_core::{FileSummary, Hit};
use serde::{Deserialize, Serialize};

/// Results for people to look through.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchListing {
    pub results: Vec<ListedHit>,
    /// The same results by file.
    pub files: Vec<FileSummary>,
    /// Names and files of the query that are absent from everything searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    pub model_id: String,
}

/// Result with the parts of its score.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListedHit {
    #[serde(flatten)]
    pub hit: Hit,
    /// Parts of the score, the largest first.
    pub parts: Vec<ScorePart>,
    /// For each line of `chunk`: start, end and class of its parts, in UTF-16 code units.
    pub marks: Vec<Vec<(u32, u32, char)>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ScorePart {
    pub name: String,
    pub value: f64,
}

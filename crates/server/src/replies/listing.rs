//! What `POST /search` replies.

use codeinfo_core::{FileSummary, Hit};
use serde::{Deserialize, Serialize};

/// What was found, for people to look through.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchListing {
    /// Best first.
    pub results: Vec<ListedHit>,
    /// The same by file.
    pub files: Vec<FileSummary>,
    /// Names and files of the query that are nowhere in what was searched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    pub model_id: String,
}

/// A result.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListedHit {
    #[serde(flatten)]
    pub hit: Hit,
    /// What the score is made of, the largest first.
    pub parts: Vec<ScorePart>,
    /// For each line of `chunk`: start, end and class of its parts, in UTF-16 code units.
    pub marks: Vec<Vec<(u32, u32, char)>>,
}

/// A share of a score.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScorePart {
    pub name: String,
    pub value: f64,
}

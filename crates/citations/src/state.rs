//! States of checked citations of answers and of documents.

use serde::{Deserialize, Serialize};

/// Result of checking a citation of an answer. Stored conversations may have the former names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CitationState {
    /// The place exists, and the sentence fits these lines.
    Confirmed,
    /// The place exists, but nothing ties the sentence to these lines, or they could not be
    /// compared.
    #[serde(alias = "verified", alias = "moved", alias = "changed")]
    Unconfirmed,
    /// The file or the line is missing, or what the sentence names is missing or certainly
    /// elsewhere.
    #[serde(alias = "missing")]
    Wrong,
}

impl CitationState {
    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Unconfirmed => "unconfirmed",
            Self::Wrong => "wrong",
        }
    }
}

/// Result of checking a citation of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentCitationState {
    /// The lines exist and match the document.
    Verified,
    /// The cited content is at other, known lines.
    Moved,
    /// The lines have changed since they were cited.
    Changed,
    /// The file, the line or what the sentence names is missing.
    Missing,
}

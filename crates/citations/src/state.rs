//! The states of checked citations: of answers, and of documents.

use serde::{Deserialize, Serialize};

/// What the check of a citation of an answer came to. The former names are read from kept conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CitationState {
    /// The place exists, and something ties what is said to these very lines.
    Confirmed,
    /// The place exists, and nothing ties what is said to these lines; or it could not be compared.
    #[serde(alias = "verified", alias = "moved", alias = "changed")]
    Unconfirmed,
    /// There is no such file or line, or what is said of it is nowhere, or certainly elsewhere.
    #[serde(alias = "missing")]
    Wrong,
}

impl CitationState {
    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Unconfirmed => "unconfirmed",
            Self::Wrong => "wrong",
        }
    }
}

/// What became of a citation of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentCitationState {
    /// The lines are there, and have what is said of them.
    Verified,
    /// What is said of the lines is in others of the file, which are known.
    Moved,
    /// The lines are not as they were indexed.
    Changed,
    /// There is no such file, no such line, or nothing of what is said of it.
    Missing,
}

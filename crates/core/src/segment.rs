//! The ordered pieces of an answer.

use serde::{Deserialize, Serialize};

use super::{FileSummary, LineRange};

/// One piece of an answer, in the order in which Codex emitted it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Segment {
    /// A reasoning summary, whole.
    Thinking {
        /// The text of one reasoning item.
        text: String,
    },
    /// Files of which a search, `ReadLines` or `FindUses` showed lines to the model.
    VectorSummary {
        /// Each file once, best first.
        files: Vec<FileSummary>,
    },
    /// A message of the model to the person who asked.
    Answer {
        /// The text of one message item.
        text: String,
        /// What the check of its citations came to: of the final answer only, where it could be checked.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        checked: Option<CitationCounts>,
    },
}

/// What the check of an answer's citations came to. Field names are a wire promise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CitationCounts {
    /// How many the answer has.
    pub citations: usize,
    /// Places that exist, and whose lines fit what is said of them.
    pub confirmed: usize,
    /// Places that exist, or could not be looked up, and that nothing ties to what is said of them.
    pub unconfirmed: usize,
    /// Places that do not exist, or that certainly lack what is said of them. They are struck out or marked.
    pub wrong: usize,
    /// How many were wrong at first, and were put right by the model.
    pub repaired: usize,
    /// How many were wrong at first, and were left out by the model.
    pub dropped: usize,
    /// Citations that are not confirmed, in order of the answer.
    pub places: Vec<UnconfirmedCitation>,
    /// What the second reader found; absent if it was off or no sentence cites anything.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub claims: Option<ClaimCounts>,
    /// Repositories that the answer cites, each once, in its order.
    #[serde(default)]
    pub repositories: Vec<CitedRepository>,
}

/// A citation that is not confirmed. Field names are a wire promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnconfirmedCitation {
    /// Absolute path as the client sees it; as it is written where no file is meant.
    pub path: String,
    /// As they are written; none for a whole file.
    pub lines: Vec<LineRange>,
    /// `unconfirmed` or `wrong`.
    pub state: String,
}

impl CitationCounts {
    /// Whether the text of the answer has marks of the check.
    pub fn is_marked(&self) -> bool {
        self.wrong > 0 || self.claims.is_some_and(|claims| claims.contradicted > 0)
    }
}

/// A repository that an answer cites, and the state of its files that was indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CitedRepository {
    /// Name of the repository, or of a tree of it, such as `app@v1.2`.
    pub name: String,
    /// Full id of the commit whose files are indexed, or `working tree` for a folder.
    pub commit: String,
    /// End of the last completed run, as RFC 3339.
    pub indexed_at: Option<String>,
}

/// How many sentences with citations their cited lines bear out. Field names are a wire promise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimCounts {
    /// The lines say what the sentence says.
    pub supported: usize,
    /// A line shows that the sentence is false; it is marked in the text.
    pub contradicted: usize,
    /// Neither is known.
    pub open: usize,
}

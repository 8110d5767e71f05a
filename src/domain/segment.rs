//! The ordered pieces of an answer.

use serde::{Deserialize, Serialize};

use super::FileSummary;

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitationCounts {
    /// How many the answer has.
    pub citations: usize,
    /// Of these, how many are right.
    pub verified: usize,
    /// How many were wrong at first, and were put right or taken out by the model.
    pub repaired: usize,
    /// How many are wrong, and struck out.
    pub wrong: usize,
}

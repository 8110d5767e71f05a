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
    /// What one search showed to the model.
    VectorSummary {
        /// Each file once, best first.
        files: Vec<FileSummary>,
    },
    /// A message of the model to the person who asked.
    Answer {
        /// The text of one message item.
        text: String,
    },
}

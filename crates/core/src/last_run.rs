//! Outcome of the last run over a root.

use serde::{Deserialize, Serialize};

/// State of a root's index after the last run or a later check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum LastRun {
    /// The run succeeded or was cancelled. Also the state before the first run.
    Completed,
    /// The run failed.
    Failed {
        /// Reason, for people.
        reason: String,
        /// True if the run resumes by itself, because the store was unavailable.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumes: bool,
    },
    /// The run began and has not ended: it was killed, or a process is still working on it.
    ///
    /// Records of former versions without a state are read as this.
    #[default]
    Interrupted,
    /// A later check found the index damaged.
    Damaged,
    /// The index was of another model or layout and was discarded.
    Discarded,
}

impl LastRun {
    /// Returns whether the index needs no repair.
    pub fn is_completed(&self) -> bool {
        *self == Self::Completed
    }

    /// Returns what is wrong and what to do, for people. `None` for completed runs.
    pub fn error_message(&self) -> Option<&str> {
        match self {
            Self::Completed => None,
            Self::Failed { reason, .. } => Some(reason),
            Self::Interrupted => Some("the last run was interrupted; ingest again to complete it"),
            Self::Damaged => Some("its index was damaged; ingest again to repair it"),
            Self::Discarded => {
                Some("its index was of another model or version; `codeinfo serve` indexes it again")
            }
        }
    }
}

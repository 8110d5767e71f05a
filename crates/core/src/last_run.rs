//! What became of the last run over a root.

use serde::{Deserialize, Serialize};

/// The state in which the last run, or what was found since, leaves the index of a root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum LastRun {
    /// The run ended well or was cancelled; also before the first run.
    Completed,
    /// The run failed.
    Failed {
        /// Why, for people.
        reason: String,
        /// Whether it is continued without being asked for, as the store was away.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resumes: bool,
    },
    /// The run has begun and not ended: it was killed, or a process is at work on it. A record that
    /// says nothing is of a former version, and read like this.
    #[default]
    Interrupted,
    /// The index was found damaged since.
    Damaged,
    /// The index was of another model or layout, and was discarded.
    Discarded,
}

impl LastRun {
    /// Returns whether nothing is to be repaired.
    pub fn is_completed(&self) -> bool {
        *self == Self::Completed
    }

    /// Returns what is wrong and what to do, for people; nothing where all is well.
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

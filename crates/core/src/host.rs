//! A host of several that share a store.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One of several hosts that share a store, each of which has files of its own at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Host {
    /// No other one has it.
    pub id: Uuid,
    /// What the machine is called, for people.
    pub name: String,
}

impl Host {
    /// Stands for the host of a root that was indexed when all hosts were taken to have the same files.
    pub fn unknown() -> Self {
        Self { id: Uuid::nil(), name: "an unknown host".to_owned() }
    }

    /// Whether nobody knows which one it is.
    pub fn is_unknown(&self) -> bool {
        self.id.is_nil()
    }
}

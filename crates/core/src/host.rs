//! Hosts that share a store.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One of several hosts that share a store. Each host has its own files at a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Host {
    /// Unique id of the host.
    pub id: Uuid,
    /// Name of the machine, for people.
    pub name: String,
}

impl Host {
    /// Returns the placeholder for roots that were indexed before hosts were told apart.
    pub fn unknown() -> Self {
        Self { id: Uuid::nil(), name: "an unknown host".to_owned() }
    }

    /// Returns whether the host is the placeholder.
    pub fn is_unknown(&self) -> bool {
        self.id.is_nil()
    }
}

//! Identifiers. Each is parsed once at the edge, so a value is always well formed.

use std::{fmt, path::Path, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Host;

/// Error for a text that is not a UUID in its hyphenated form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`")]
pub struct InvalidId(pub String);

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(formatter)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                // `Uuid` also parses braced, URN and bare forms, but ids have only the hyphenated
                // spelling.
                let uuid = Uuid::try_parse(text).ok().filter(|_| text.len() == 36);
                uuid.map(Self).ok_or_else(|| InvalidId(text.chars().take(80).collect()))
            }
        }
    };
}

uuid_id! {
    /// Identifies one ingest run.
    RunId
}

impl RunId {
    /// Creates a random id.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

uuid_id! {
    /// Identifies one question asked on the page, with its outcome.
    TurnId
}

impl TurnId {
    /// Creates a random id.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

uuid_id! {
    /// Identifies one conversation. Equal to the Codex thread id.
    ConversationId
}

uuid_id! {
    /// Identifies one indexed root. A folder's id derives from its canonical path, so the same
    /// folder always has the same id. A commit's id derives from its repository and name.
    RootId
}

impl RootId {
    /// Returns the id of the root at `canonical`, a path with links resolved.
    pub fn from_path(canonical: &Path) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, canonical.as_os_str().as_encoded_bytes()))
    }

    /// Returns the id of the root at `canonical` on `host`. The id differs per host; without a host
    /// it equals [`Self::from_path`].
    pub fn from_host_path(host: Option<&Host>, canonical: &Path) -> Self {
        let path = canonical.as_os_str().as_encoded_bytes();
        host.map_or_else(|| Self::from_path(canonical), |host| Self(Uuid::new_v5(&host.id, path)))
    }

    /// Returns the id of the commit called `name` in the repository at `canonical` on `host`. No
    /// folder has the same id, whatever its name.
    pub fn of_commit(host: Option<&Host>, canonical: &Path, name: &str) -> Self {
        let path = canonical.as_os_str().as_encoded_bytes();
        let space = host.map_or(&Uuid::NAMESPACE_URL, |host| &host.id);
        // Paths contain no zero byte, so no path gives the same bytes.
        Self(Uuid::new_v5(space, &[path, b"\0", name.as_bytes()].concat()))
    }

    /// Returns the ids of the records that hold former versions of a repository's files, one
    /// version per path and record. No root has these ids.
    pub fn former_record_ids(owner: Self) -> [Self; 4] {
        [b"former", b"formr2", b"formr3", b"formr4"].map(|name| Self(Uuid::new_v5(&owner.0, name)))
    }
}

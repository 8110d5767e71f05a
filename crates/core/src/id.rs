//! Identifiers. Each is parsed once at the edge; holding one proves that it is well formed.

use std::{fmt, path::Path, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Host;

/// The text is not a UUID in its hyphenated form.
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
                // `Uuid` also reads braced, URN and bare forms; only one spelling is an id here.
                let uuid = Uuid::try_parse(text).ok().filter(|_| text.len() == 36);
                uuid.map(Self).ok_or_else(|| InvalidId(text.chars().take(80).collect()))
            }
        }
    };
}

uuid_id! {
    /// Names one ingest run.
    RunId
}

impl RunId {
    /// Makes a fresh random id.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

uuid_id! {
    /// Names one question that was asked on the page, and what came of it.
    TurnId
}

impl TurnId {
    /// Makes a fresh random id.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

uuid_id! {
    /// Names one conversation; equal to the Codex thread id.
    ConversationId
}

uuid_id! {
    /// Names one indexed root. Derived from its canonical path, so the same folder always has the
    /// same id, and of a commit from its repository and name.
    RootId
}

impl RootId {
    /// Returns the id of the root at `canonical`, a path with links resolved.
    pub fn from_path(canonical: &Path) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, canonical.as_os_str().as_encoded_bytes()))
    }

    /// Returns the id of the root at `canonical` on a host, which is another one on each; without hosts, [`Self::of`].
    pub fn from_host_path(host: Option<&Host>, canonical: &Path) -> Self {
        let path = canonical.as_os_str().as_encoded_bytes();
        host.map_or_else(|| Self::from_path(canonical), |host| Self(Uuid::new_v5(&host.id, path)))
    }

    /// Returns the id of a commit of the repository at `canonical` on a host, by what names it: that of no folder,
    /// whatever one is called.
    pub fn of_commit(host: Option<&Host>, canonical: &Path, name: &str) -> Self {
        let path = canonical.as_os_str().as_encoded_bytes();
        let space = host.map_or(&Uuid::NAMESPACE_URL, |host| &host.id);
        // No path has a zero byte.
        Self(Uuid::new_v5(space, &[path, b"\0", name.as_bytes()].concat()))
    }

    /// Returns the ids of the records of what the trees of a repository had before, each with one version of a path: no
    /// root has them.
    pub fn former_record_ids(owner: Self) -> [Self; 4] {
        [b"former", b"formr2", b"formr3", b"formr4"].map(|name| Self(Uuid::new_v5(&owner.0, name)))
    }
}

//! Identifiers: ids, hosts and principals. Each is parsed once at the edge, so a value is always well formed.

use std::{fmt, path::Path, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Name of the owner as a principal.
const OWNER: &str = "owner";
/// Maximum bytes of the name of a token.
const MAX_NAME_BYTES: usize = 64;

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
                // `Uuid` also parses braced, URN and bare forms, but ids have only the hyphenated spelling.
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
    /// Identifies one indexed root, by a folder's canonical path, or a commit's repository and name.
    RootId
}

impl RootId {
    /// Returns the id of the root at `canonical`, a path with links resolved.
    pub fn from_path(canonical: &Path) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, canonical.as_os_str().as_encoded_bytes()))
    }

    /// Returns the id of the root at `canonical` on `host`, which equals [`Self::from_path`] without a host.
    pub fn from_host_path(host: Option<&Host>, canonical: &Path) -> Self {
        let path = canonical.as_os_str().as_encoded_bytes();
        host.map_or_else(|| Self::from_path(canonical), |host| Self(Uuid::new_v5(&host.id, path)))
    }

    /// Returns the id of the commit `name` in the repository at `canonical` on `host`, which no folder has.
    pub fn from_commit(host: Option<&Host>, canonical: &Path, name: &str) -> Self {
        let path = canonical.as_os_str().as_encoded_bytes();
        let space = host.map_or(&Uuid::NAMESPACE_URL, |host| &host.id);
        // Paths contain no zero byte, so no path gives the same bytes.
        Self(Uuid::new_v5(space, &[path, b"\0", name.as_bytes()].concat()))
    }

    /// Returns the ids of the records that hold former versions of a repository's files; no root has them.
    pub fn former_record_ids(owner: Self) -> [Self; 4] {
        [b"former", b"formr2", b"formr3", b"formr4"].map(|name| Self(Uuid::new_v5(&owner.0, name)))
    }
}

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

/// Proven identity of a client. Data stored for one principal is never visible to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal(Arc<str>);

/// Error for a text that cannot be the name of a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the name of a token: it must be 1 to 64 letters, digits, `.`, `_` and `-`, and neither \
     `{OWNER}` nor dots alone"
)]
pub struct InvalidPrincipal(String);

impl Principal {
    /// Returns the owner of the server: the user who can read the key file in its data folder.
    pub fn owner() -> Self {
        Self(OWNER.into())
    }

    /// Returns the name of the token, or `owner`, which no token can have.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the principal is the owner.
    pub fn is_owner(&self) -> bool {
        &*self.0 == OWNER
    }
}

/// Parses the name of a token.
impl FromStr for Principal {
    type Err = InvalidPrincipal;

    fn from_str(text: &str) -> Result<Self, InvalidPrincipal> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let fits = !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(is_plain);
        // `.` and `..` have a meaning in the paths of URLs.
        let is_name = fits && !text.bytes().all(|byte| byte == b'.');
        if is_name && text != OWNER {
            return Ok(Self(text.into()));
        }
        Err(InvalidPrincipal(text.chars().take(80).collect()))
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Principal;

    #[test]
    fn a_name_is_short_and_plain_and_never_that_of_the_owner() {
        for name in ["a", "ci.build_1-2", "Owner", "..a", &"x".repeat(64)] {
            assert_eq!(name.parse::<Principal>().unwrap().as_str(), name);
        }
        for text in ["", "owner", ".", "..", "a b", "a/b", "é", "a\n", &"x".repeat(65)] {
            assert!(text.parse::<Principal>().is_err(), "{text:?}");
        }
        assert!(Principal::owner().is_owner());
        assert!(!"Owner".parse::<Principal>().unwrap().is_owner());
    }
}

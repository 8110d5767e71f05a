//! Principals: the owner of the server, or the holder of a named token.

use std::{fmt, str::FromStr, sync::Arc};

const OWNER: &str = "owner";
const MAX_NAME_BYTES: usize = 64;

/// Proven identity of a client. Data stored for one principal is never visible to another. Clones
/// share the name.
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

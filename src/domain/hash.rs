//! Content hashes that name file versions.
//!
//! A better chunker has another revision and so re-reads everything once. Size and modification
//! time spare the hash, except for files changed in the last two seconds.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// How a file was cut into chunks. The same content cut in another way is another version, so that
/// chunks of two cuts never mix under one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The way the current chunker cuts.
    Planned,
    /// By lines, because parsing took too long.
    Fallback,
}

/// Changes whenever the same text would be redacted or cut in another way, or get other terms or another vector;
/// files of another revision are read again. A test of `pipeline/read` fails where it has to move.
pub const REVISION: &str = "10-";

/// Returns the version of a file: the revision, then SHA-256 over its bytes and the way it was cut,
/// as 64 hex digits.
pub fn version(content: &[u8], cut: Cut) -> String {
    let mut hasher = Sha256::new();
    hasher.update(content);
    // After the content and of fixed length, so no two inputs run together.
    hasher.update([cut as u8]);
    REVISION.to_owned() + &hex(&hasher.finalize())
}

/// Returns the SHA-256 of some bytes, as 64 hex digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// Whether a version, of any revision, is that of this content, however it was cut.
pub fn is_of(known: &str, content: &[u8]) -> bool {
    let hash = |version: &str| version.rsplit('-').next().map(str::to_owned);
    let known = hash(known);
    [Cut::Planned, Cut::Fallback].into_iter().any(|cut| hash(&version(content, cut)) == known)
}

/// Whether a version is of the revision that is written now.
pub fn is_current(version: &str) -> bool {
    version.starts_with(REVISION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_by_content_and_by_cut() {
        let versions = [
            version(b"", Cut::Planned),
            version(b"", Cut::Fallback),
            version(b"a", Cut::Planned),
            version(b"b", Cut::Planned),
        ];
        for (at, version) in versions.iter().enumerate() {
            assert_eq!(version.len(), REVISION.len() + 64);
            assert!(is_current(version));
            assert!(!versions[..at].contains(version));
        }
        assert_eq!(versions[2], version(b"a", Cut::Planned));
        let former = versions[2].replace(REVISION, "1-");
        assert!(is_of(&former, b"a") && !is_of(&former, b"b") && is_of(&versions[1], b""));
    }
}

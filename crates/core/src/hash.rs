//! Content hashes that name file versions.
//!
//! A better chunker has another revision and so re-reads everything once. Size and modification
//! time spare the hash, except for files changed in the last two seconds.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::OmissionRule;

/// How a file was cut into chunks. The same content cut in another way is another version, so that
/// chunks of two cuts never mix under one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkingMethod {
    /// The way the current chunker cuts.
    Planned,
    /// By lines, because parsing took too long.
    Fallback,
}

/// Changes whenever the same text would be redacted or cut in another way, or get other terms or another vector;
/// files of another revision are read again. A test of `pipeline/read` fails where it has to move.
pub const REVISION: &str = "16-";
/// The first revision whose ids of chunks have the same order for each owner.
const FIRST_WITH_ORDERED_IDS: u32 = 16;
/// How many bytes of a hash a version has. It is kept with each chunk and, for each tree of a repository, with
/// each file; two contents of one version cannot be found.
const VERSION_BYTES: usize = 16;

/// Returns the version of a file: the revision, then the first half of SHA-256 over its bytes and the way it was
/// cut, as 32 hex digits.
pub fn compute_file_version(content: &[u8], cut: ChunkingMethod) -> String {
    let mut hasher = Sha256::new();
    hasher.update(content);
    // After the content and of fixed length, so no two inputs run together.
    hasher.update([cut as u8]);
    let digest = hasher.finalize();
    REVISION.to_owned() + &to_hex(digest.get(..VERSION_BYTES).unwrap_or_default())
}

/// Returns the SHA-256 of some bytes, as 64 hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

fn to_hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// Returns the version of a file that a rule about its content leaves out: the same, and a letter.
pub fn omitted_version(version: &str, rule: OmissionRule) -> String {
    version.chars().chain(rule.to_letter()).collect()
}

/// Returns the version of the content, and the rule that leaves it out.
pub fn split_omitted(version: &str) -> (&str, Option<OmissionRule>) {
    // No hex digit is one of the letters.
    let last = version.char_indices().next_back();
    match last.and_then(|(at, letter)| Some((at, OmissionRule::from_letter(letter)?))) {
        Some((at, rule)) => (version.get(..at).unwrap_or_default(), Some(rule)),
        None => (version, None),
    }
}

/// Whether a version, of any revision, is that of this content, however it was cut.
pub fn is_of(known: &str, content: &[u8]) -> bool {
    // Former revisions had the whole of the hash.
    let hash = |version: &str| -> String {
        let hash = version.rsplit('-').next().unwrap_or_default();
        hash.chars().take(2 * VERSION_BYTES).collect()
    };
    let known = hash(known);
    [ChunkingMethod::Planned, ChunkingMethod::Fallback]
        .into_iter()
        .any(|cut| hash(&compute_file_version(content, cut)) == known)
}

/// Whether a version is of the revision that is written now.
pub fn is_current(version: &str) -> bool {
    version.starts_with(REVISION)
}

/// Whether chunks of a version have ids whose order does not depend on their owner.
pub(super) fn has_ordered_ids(version: &str) -> bool {
    let revision = version.split_once('-').and_then(|(revision, _)| revision.parse().ok());
    revision.is_some_and(|revision: u32| FIRST_WITH_ORDERED_IDS <= revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_by_content_and_by_cut() {
        let versions = [
            compute_file_version(b"", ChunkingMethod::Planned),
            compute_file_version(b"", ChunkingMethod::Fallback),
            compute_file_version(b"a", ChunkingMethod::Planned),
            compute_file_version(b"b", ChunkingMethod::Planned),
        ];
        for (at, version) in versions.iter().enumerate() {
            assert_eq!(version.len(), REVISION.len() + 2 * VERSION_BYTES);
            assert!(is_current(version));
            assert!(!versions[..at].contains(version));
        }
        assert_eq!(versions[2], compute_file_version(b"a", ChunkingMethod::Planned));
        // Former revisions had the whole of it.
        let former = versions[2].replace(REVISION, "1-") + &"0".repeat(32);
        assert!(is_of(&former, b"a") && !is_of(&former, b"b") && is_of(&versions[1], b""));
    }

    #[test]
    fn a_version_says_by_which_rule_its_content_is_left_out() {
        let version = compute_file_version(b"a", ChunkingMethod::Planned);
        assert_eq!(split_omitted(&version), (version.as_str(), None));
        let rules = [OmissionRule::Minified, OmissionRule::Generated, OmissionRule::Drawing];
        for rule in rules.into_iter().chain([OmissionRule::Binary]) {
            let omitted = omitted_version(&version, rule);
            assert_eq!(split_omitted(&omitted), (version.as_str(), Some(rule)));
            assert!(is_of(&omitted, b"a") && is_current(&omitted));
        }
    }
}

//! Content hashes that name file versions.
//!
//! A new revision of the chunker makes every file be read once more. Equal size and modification
//! time make hashing unnecessary, except for files changed in the last two seconds.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::OmissionRule;

/// Method by which a file was cut into chunks, part of its version so that methods never mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkingMethod {
    /// Cut by the current chunker.
    Planned,
    /// Cut by lines, because parsing took too long.
    Fallback,
}

/// Revision of redaction, chunking, terms and vectors, raised when the same text would give another
/// result; files of others are read again. A test of `pipeline/read` fails when it must change.
pub const REVISION: &str = "17-";
/// First revision whose chunk ids have the same order for every owner.
const FIRST_WITH_ORDERED_IDS: u32 = 16;
/// Bytes of a hash in a version, stored per chunk and per file; collisions are infeasible to find.
const VERSION_BYTES: usize = 16;

/// Returns a file's version: revision, then 32 hex digits of SHA-256 over its bytes and `cut`.
pub fn compute_file_version(content: &[u8], cut: ChunkingMethod) -> String {
    let mut hasher = Sha256::new();
    hasher.update(content);
    // The suffix has a fixed length, so that different inputs never give the same bytes.
    hasher.update([cut as u8]);
    let digest = hasher.finalize();
    REVISION.to_owned() + &to_hex(digest.get(..VERSION_BYTES).unwrap_or_default())
}

/// Returns the SHA-256 of `bytes` as 64 hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

fn to_hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in bytes {
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// Returns the version of a file that a content rule omits: `version` and the letter of the rule.
pub fn omitted_version(version: &str, rule: OmissionRule) -> String {
    version.chars().chain(rule.to_letter()).collect()
}

/// Splits a version into the version of the content and the rule that omits it.
pub fn split_omitted(version: &str) -> (&str, Option<OmissionRule>) {
    // The letters of the rules are not hex digits.
    let last = version.char_indices().next_back();
    match last.and_then(|(at, letter)| Some((at, OmissionRule::from_letter(letter)?))) {
        Some((at, rule)) => (version.get(..at).unwrap_or_default(), Some(rule)),
        None => (version, None),
    }
}

/// Returns whether a version matches this content, in any revision and chunking method.
pub fn matches_content(known: &str, content: &[u8]) -> bool {
    // Former revisions stored the whole hash.
    let hash = |version: &str| -> String {
        let hash = version.rsplit('-').next().unwrap_or_default();
        hash.chars().take(2 * VERSION_BYTES).collect()
    };
    let known_hash = hash(known);
    [ChunkingMethod::Planned, ChunkingMethod::Fallback]
        .into_iter()
        .any(|cut| hash(&compute_file_version(content, cut)) == known_hash)
}

/// Returns whether a version has the current revision.
pub fn is_current(version: &str) -> bool {
    version.starts_with(REVISION)
}

/// Returns whether the chunk ids of a version have an order that does not depend on their owner.
pub(super) fn has_ordered_ids(version: &str) -> bool {
    let revision = version.split_once('-').and_then(|(revision, _)| revision.parse().ok());
    revision.is_some_and(|revision: u32| revision >= FIRST_WITH_ORDERED_IDS)
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
        // Former revisions stored the whole hash.
        let former = versions[2].replace(REVISION, "1-") + &"0".repeat(32);
        assert!(
            matches_content(&former, b"a")
                && !matches_content(&former, b"b")
                && matches_content(&versions[1], b"")
        );
    }

    #[test]
    fn a_version_contains_the_rule_that_omits_its_content() {
        let version = compute_file_version(b"a", ChunkingMethod::Planned);
        assert_eq!(split_omitted(&version), (version.as_str(), None));
        let rules = [OmissionRule::Minified, OmissionRule::Generated, OmissionRule::Drawing];
        for rule in rules.into_iter().chain([OmissionRule::Binary]) {
            let omitted = omitted_version(&version, rule);
            assert_eq!(split_omitted(&omitted), (version.as_str(), Some(rule)));
            assert!(matches_content(&omitted, b"a") && is_current(&omitted));
        }
    }
}

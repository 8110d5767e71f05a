//! What the store keeps of a file and of each chunk cut from it.

use std::{
    fs::Metadata,
    ops::Range,
    time::{SystemTime, UNIX_EPOCH},
};

use codeinfo_chunk::ChunkKind;
use codeinfo_lang::role::FileRole;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{RootId, hash};

/// One chunk: a run of whole lines of one file, as kept in the store beside its vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRecord {
    /// The root it was found in: one of those that have it.
    pub root: RootId,
    /// Path below the root, with `/` between parts.
    pub path: String,
    /// Content hash of the file version it was cut from (hex).
    pub version: String,
    /// Milliseconds since the Unix epoch when its file version was indexed.
    pub indexed_at_ms: u64,
    /// First line, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Enclosing definition, outermost first, such as `Store::open`; or a heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// What it is to the definition that `symbol` names.
    #[serde(default)]
    pub kind: ChunkKind,
    /// Qualified symbols of the definitions that start in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defines: Vec<String>,
    /// Types that those extend or implement which these definitions are in, or are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<String>,
    /// What its file is besides plain source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<FileRole>,
    /// Lower-case language name such as `rust`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The line that the enclosing definition starts with, where it starts above this chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The lines themselves, without a final newline.
    pub text: String,
}

/// One indexed file version; written after its chunks, so its presence proves that they are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The root it belongs to.
    pub root: RootId,
    /// Path below the root, with `/` between parts.
    pub path: String,
    /// Content hash (hex).
    pub version: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time as [`modified_ns`] returns it; 0 where it proves nothing.
    pub modified_ns: u64,
    /// How many chunks this version has in the store.
    pub chunks: u32,
}

impl FileRecord {
    /// Returns the ids of those of its chunks that are at these places in it, from 0. `owner` is that of its
    /// root.
    pub fn chunk_ids(&self, owner: RootId, places: Range<u32>) -> impl Iterator<Item = Uuid> {
        places.map(move |place| chunk_id(owner, &self.path, &self.version, place as usize))
    }
}

/// Returns the id of the chunk at a place in its file, from 0. It follows from what the chunk is, so that
/// writing it again changes nothing, and trees of one repository, which have one `owner`, share it.
///
/// Its first half follows from the content alone: ids order hits of one score and choose samples, which must not depend
/// on where or on which host a repository is.
pub fn chunk_id(owner: RootId, path: &str, version: &str, place: usize) -> Uuid {
    let name = format!("{path}\0{version}\0{place}");
    let of_owner = Uuid::new_v5(&owner.0, name.as_bytes());
    if !hash::has_ordered_ids(version) {
        return of_owner;
    }
    let of_content = Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes());
    Uuid::from_u64_pair(of_content.as_u64_pair().0, of_owner.as_u64_pair().1)
}

/// Returns when content or, where the platform says so, anything of a file last changed, in nanoseconds
/// since the Unix epoch: copying and unpacking may keep the first. Returns 0 where there is no such time.
pub fn modified_ns(metadata: &Metadata) -> u64 {
    let content = metadata.modified().map_or(0, nanoseconds_since_epoch);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (seconds, rest) = (metadata.ctime(), metadata.ctime_nsec());
        let anything = seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        content.max(u64::try_from(anything).unwrap_or(0))
    }
    #[cfg(not(unix))]
    content
}

/// Returns nanoseconds since the Unix epoch; 0 for times before it.
pub fn nanoseconds_since_epoch(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{
        super::hash::{ChunkingMethod, compute_file_version},
        *,
    };

    #[test]
    fn ids_of_all_owners_have_one_order_and_those_of_former_revisions_stay() {
        let owners = ["/one", "/two"].map(|path| RootId::from_path(path.as_ref()));
        let version = compute_file_version(b"text", ChunkingMethod::Planned);
        let by_id = |owner: RootId| {
            let mut places: Vec<usize> = (0..50).collect();
            places.sort_by_key(|place| chunk_id(owner, "a.rs", &version, *place));
            places
        };
        assert_eq!(by_id(owners[0]), by_id(owners[1]));
        let [one, two] = owners.map(|owner| chunk_id(owner, "a.rs", &version, 0));
        assert!(one != two && one.get_version_num() == 5);
        let former = chunk_id(owners[0], "a.rs", "15-00", 3);
        assert_eq!(former, Uuid::new_v5(&owners[0].0, b"a.rs\x0015-00\x003"));
    }
}

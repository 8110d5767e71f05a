//! Records that the store has for files and for the chunks cut from them.

use std::ops::Range;

use codeinfo_chunk::ChunkKind;
use codeinfo_lang::role::FileRole;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{RootId, hash};

/// One chunk: consecutive whole lines of one file, stored with its vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRecord {
    /// A root that contains the chunk. Other roots may share it.
    pub root: RootId,
    /// Path below the root, with `/` between parts.
    pub path: String,
    /// Content hash (hex) of the file version that the chunk was cut from.
    pub version: String,
    /// Time when the file version was indexed, in milliseconds since the Unix epoch.
    pub indexed_at_ms: u64,
    /// First line, counted from 1.
    pub start_line: u32,
    /// Last line, inclusive.
    pub end_line: u32,
    /// Qualified name of the enclosing definition, such as `Store::open`, or a heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Relation of the chunk to the definition that `symbol` names.
    #[serde(default)]
    pub kind: ChunkKind,
    /// Qualified symbols of the definitions that start in the chunk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defines: Vec<String>,
    /// Types that the chunk's definitions, or the types around them, extend or implement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bases: Vec<String>,
    /// Roles of the file other than plain source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<FileRole>,
    /// Lower-case language name such as `rust`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// First line of the enclosing definition, if it starts above this chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Text of the lines, without a final newline.
    pub text: String,
}

/// One indexed file version, written after its chunks, so its presence proves that they exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Root that contains the file.
    pub root: RootId,
    /// Path below the root, with `/` between parts.
    pub path: String,
    /// Content hash (hex).
    pub version: String,
    /// Size in bytes.
    pub size: u64,
    /// Modification time as returned by [`modified_ns`]; 0 if it proves nothing.
    pub modified_ns: u64,
    /// Number of chunks that the store has of this version.
    pub chunks: u32,
}

impl FileRecord {
    /// Returns the ids of the file's chunks at `places`, from 0; `owner` owns its root's chunks.
    pub fn chunk_ids(&self, owner: RootId, places: Range<u32>) -> impl Iterator<Item = Uuid> {
        places.map(move |place| chunk_id(owner, &self.path, &self.version, place as usize))
    }
}

/// Returns the id of the chunk at `place` in its file, counted from 0.
///
/// Writing a chunk again changes nothing, and trees of one repository, with one `owner`, share
/// chunks. The first half derives from the content alone: ids order hits of equal score and choose
/// samples, and neither may depend on where or on which host a repository is.
pub fn chunk_id(owner: RootId, path: &str, version: &str, place: usize) -> Uuid {
    let name = format!("{path}\0{version}\0{place}");
    let owner_id = Uuid::new_v5(&owner.0, name.as_bytes());
    if !hash::has_ordered_ids(version) {
        return owner_id;
    }
    let content_id = Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes());
    Uuid::from_u64_pair(content_id.as_u64_pair().0, owner_id.as_u64_pair().1)
}

/// Sparse vector of weighted terms.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermVector {
    /// Term ids, strictly ascending.
    pub indices: Vec<u32>,
    /// Weights, one per term id.
    pub values: Vec<f32>,
}

/// Returns the inverse document frequency of BM25 for a term; rare terms get high values.
#[expect(clippy::cast_precision_loss, reason = "it only needs to be about right")]
pub fn inverse_document_frequency(matching_documents: usize, total_documents: usize) -> f32 {
    let matching = matching_documents as f32;
    let total = total_documents as f32;
    (1.0 + (total - matching + 0.5) / (matching + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::{
        super::hash::{ChunkingMethod, compute_file_version},
        *,
    };

    #[test]
    fn chunk_ids_of_all_owners_have_one_order() {
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

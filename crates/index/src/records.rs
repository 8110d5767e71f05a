//! Records that the index stores, compressed one by one, so that a search reads only its results.

use std::collections::HashSet;

use codeinfo_chunk::ChunkKind;
use codeinfo_core::{ChunkRecord, FileRecord, RootId, TermVector};
use codeinfo_lang::role::FileRole;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Maximum number of chunks that one read returns; a larger limit is cut to it.
pub const MAX_PAGE: usize = 10_000;

/// The two vectors of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkVectors {
    /// Unit length, or all zeros for a text without known words.
    pub dense: Vec<f32>,
    /// BM25 term weights; a search multiplies them by inverse document frequency.
    pub sparse: TermVector,
}

/// A chunk to write, with its vectors. A chunk with the same id is replaced.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChunk {
    /// Unique among chunks.
    pub id: Uuid,
    /// Text and metadata of the chunk.
    pub record: ChunkRecord,
    /// Vectors by which the chunk is found.
    pub vectors: ChunkVectors,
}

/// A chunk as read back, without its vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredChunk {
    /// Id of the chunk.
    pub id: Uuid,
    /// Text and metadata of the chunk.
    pub record: ChunkRecord,
}

/// A chunk that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexHit {
    /// Id of the chunk.
    pub id: Uuid,
    /// Cosine similarity or sum of term weights; higher is nearer.
    pub score: f32,
    /// Text and metadata of the chunk.
    pub record: ChunkRecord,
}

/// Chunks that a search compares.
#[derive(Debug, Clone, Copy, Default)]
pub struct IndexScope<'a> {
    /// Owner of the chunks; `None` for all chunks.
    pub owner: Option<RootId>,
    /// Ids of the chunks; `None` for any id.
    pub among: Option<&'a HashSet<Uuid>>,
}

/// Disk space of the records of a root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageSize {
    /// Bytes on disk, or about to be written.
    pub bytes: u64,
    /// True if files are shared with other roots and `bytes` is a share by the number of chunks.
    pub is_estimate: bool,
}

/// Reaction to an index that another embedding model or an older version filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMismatch {
    /// Refuses to open it.
    Refuse,
    /// Drops the chunks and files of the former model or layout and keeps the roots.
    Discard,
}

/// Maximum bytes of a record, many times the size of a chunk; bounds what a damaged length can request.
const MAX_BYTES: usize = 16 << 20;

/// The stored form of a [`ChunkRecord`], without its root. Fields have no names and variants are numbers: adding or
/// moving any needs a new layout of the index, which a test enforces.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ChunkRecord")]
struct ChunkBody {
    #[serde(skip, default = "nil_root")]
    root: RootId,
    path: String,
    version: String,
    indexed_at_ms: u64,
    start_line: u32,
    end_line: u32,
    symbol: Option<String>,
    kind: ChunkKind,
    defines: Vec<String>,
    bases: Vec<String>,
    roles: Vec<FileRole>,
    language: Option<String>,
    signature: Option<String>,
    text: String,
}

/// The stored form of a [`FileRecord`], as that of chunks.
#[derive(Serialize, Deserialize)]
#[serde(remote = "FileRecord")]
struct FileBody {
    #[serde(skip, default = "nil_root")]
    root: RootId,
    path: String,
    version: String,
    size: u64,
    modified_ns: u64,
    chunks: u32,
}

/// Returns the root of a record that is being decoded.
fn nil_root() -> RootId {
    RootId(Uuid::nil())
}

pub(crate) fn encode_chunk(record: &ChunkRecord) -> Result<Vec<u8>, postcard::Error> {
    #[derive(Serialize)]
    struct Body<'a>(#[serde(serialize_with = "ChunkBody::serialize")] &'a ChunkRecord);
    compress(&Body(record))
}

pub(crate) fn encode_file(record: &FileRecord) -> Result<Vec<u8>, postcard::Error> {
    #[derive(Serialize)]
    struct Body<'a>(#[serde(serialize_with = "FileBody::serialize")] &'a FileRecord);
    compress(&Body(record))
}

/// Decodes a chunk of `root`; `None` if `body` is malformed.
pub(crate) fn decode_chunk(root: RootId, body: &[u8]) -> Option<ChunkRecord> {
    let bytes = decompress(body)?;
    let record = ChunkBody::deserialize(&mut postcard::Deserializer::from_bytes(&bytes)).ok()?;
    Some(ChunkRecord { root, ..record })
}

pub(crate) fn decode_file(root: RootId, body: &[u8]) -> Option<FileRecord> {
    let bytes = decompress(body)?;
    let record = FileBody::deserialize(&mut postcard::Deserializer::from_bytes(&bytes)).ok()?;
    Some(FileRecord { root, ..record })
}

/// Serializes and compresses a record. Fails if it is too large to be read again.
fn compress(record: &impl Serialize) -> Result<Vec<u8>, postcard::Error> {
    let body = postcard::to_stdvec(record)?;
    if body.len() > MAX_BYTES {
        return Err(postcard::Error::SerializeBufferFull);
    }
    Ok(lz4_flex::compress_prepend_size(&body))
}

fn decompress(body: &[u8]) -> Option<Vec<u8>> {
    let (length, packed) = lz4_flex::block::uncompressed_size(body).ok()?;
    (length <= MAX_BYTES).then(|| lz4_flex::decompress(packed, length).ok())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample() -> ChunkRecord {
        let record = json!({
            "root": RootId::from_path(std::path::Path::new("/r")), "path": "ä/日本.rs", "version": "7-ab",
            "indexed_at_ms": u64::MAX, "start_line": 1, "end_line": u32::MAX, "symbol": "A::b",
            "kind": "part", "defines": ["A", "A::b"], "bases": ["C"], "roles": ["test", "data"], "language": "rust",
            "signature": "fn b() {", "text": "a\u{0}\nb",
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn records_come_back_whole_and_nothing_else_is_one() {
        let chunk = sample();
        let body = encode_chunk(&chunk).unwrap();
        assert_eq!(decode_chunk(chunk.root, &body), Some(chunk.clone()));
        for end in 0..body.len() {
            assert_eq!(decode_chunk(chunk.root, &body[..end]), None);
        }
        let path = "p".to_owned();
        let (root, version) = (chunk.root, "v".to_owned());
        let record = FileRecord { root, path, version, size: 1, modified_ns: u64::MAX, chunks: 3 };
        let body = encode_file(&record).unwrap();
        assert_eq!(decode_file(root, &body), Some(record));
        // A damaged length requests no memory.
        assert_eq!(decode_file(root, &[0xff; 4]), None);
    }

    #[test]
    fn the_form_is_that_of_the_layout() {
        // When this fails, records of existing indexes would be misread: raise the layout.
        let form = crc32fast::hash(&encode_chunk(&sample()).unwrap());
        assert_eq!(format!("{form:08x}"), "c5b3b38c");
    }
}

//! Encoding of records in a segment: without the root, which the table has; compressed one by one, so
//! that a search reads only its results.
//!
//! Fields have no names and variants are numbers: adding or moving any needs a new layout of the
//! index, which a test of this file enforces.

use serde::{Deserialize, Serialize};

use codeinfo_chunk::ChunkKind;
use codeinfo_core::{ChunkRecord, FileRecord, RootId};
use codeinfo_lang::role::FileRole;

/// Maximum bytes of a record, many times the size of a chunk or a path. Bounds the memory that a damaged length
/// can request.
const MAX_BYTES: usize = 16 << 20;

/// A [`ChunkRecord`] without its root.
#[derive(Serialize, Deserialize)]
struct ChunkBody<'a> {
    path: &'a str,
    version: &'a str,
    indexed_at_ms: u64,
    start_line: u32,
    end_line: u32,
    symbol: Option<&'a str>,
    kind: ChunkKind,
    #[serde(borrow)]
    defines: Vec<&'a str>,
    #[serde(borrow)]
    bases: Vec<&'a str>,
    roles: Vec<FileRole>,
    language: Option<&'a str>,
    signature: Option<&'a str>,
    text: &'a str,
}

/// A [`FileRecord`] without its root.
#[derive(Serialize, Deserialize)]
struct FileBody<'a> {
    path: &'a str,
    version: &'a str,
    size: u64,
    modified_ns: u64,
    chunks: u32,
}

/// Encodes a chunk.
pub(crate) fn encode_chunk(record: &ChunkRecord) -> Result<Vec<u8>, postcard::Error> {
    compress(&ChunkBody {
        path: &record.path,
        version: &record.version,
        indexed_at_ms: record.indexed_at_ms,
        start_line: record.start_line,
        end_line: record.end_line,
        symbol: record.symbol.as_deref(),
        kind: record.kind,
        defines: record.defines.iter().map(String::as_str).collect(),
        bases: record.bases.iter().map(String::as_str).collect(),
        roles: record.roles.clone(),
        language: record.language.as_deref(),
        signature: record.signature.as_deref(),
        text: &record.text,
    })
}

/// Encodes the record of a file.
pub(crate) fn encode_file(record: &FileRecord) -> Result<Vec<u8>, postcard::Error> {
    let FileRecord { root: _, path, version, size, modified_ns, chunks } = record;
    let (size, modified_ns, chunks) = (*size, *modified_ns, *chunks);
    compress(&FileBody { path, version, size, modified_ns, chunks })
}

/// Decodes a chunk of `root`; `None` if `body` is malformed.
pub(crate) fn decode_chunk(root: RootId, body: &[u8]) -> Option<ChunkRecord> {
    let body = decompress(body)?;
    let chunk: ChunkBody<'_> = postcard::from_bytes(&body).ok()?;
    Some(ChunkRecord {
        root,
        path: chunk.path.to_owned(),
        version: chunk.version.to_owned(),
        indexed_at_ms: chunk.indexed_at_ms,
        start_line: chunk.start_line,
        end_line: chunk.end_line,
        symbol: chunk.symbol.map(ToOwned::to_owned),
        kind: chunk.kind,
        defines: chunk.defines.into_iter().map(ToOwned::to_owned).collect(),
        bases: chunk.bases.into_iter().map(ToOwned::to_owned).collect(),
        roles: chunk.roles,
        language: chunk.language.map(ToOwned::to_owned),
        signature: chunk.signature.map(ToOwned::to_owned),
        text: chunk.text.to_owned(),
    })
}

/// Decodes the record of a file of `root`; `None` if `body` is malformed.
pub(crate) fn decode_file(root: RootId, body: &[u8]) -> Option<FileRecord> {
    let body = decompress(body)?;
    let FileBody { path, version, size, modified_ns, chunks } = postcard::from_bytes(&body).ok()?;
    let (path, version) = (path.to_owned(), version.to_owned());
    Some(FileRecord { root, path, version, size, modified_ns, chunks })
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

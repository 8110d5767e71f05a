//! Records and indexes for unit tests.

use std::path::Path;

use codeinfo_core::{ChunkRecord, FileRecord, RootId, TermVector};
use serde_json::json;
use uuid::Uuid;

use crate::{ChunkVectors, NewChunk, OnMismatch};
use crate::{IndexOptions, open, writer::IndexWriter};

/// Length of vectors in unit tests.
pub(crate) const DIMENSIONS: usize = 2;
/// The root of all records in unit tests.
pub(crate) const ROOT: RootId = RootId(Uuid::from_u128(1));

pub(crate) fn id(number: u32) -> Uuid {
    Uuid::from_u128(number.into())
}

/// Returns a chunk with an id, and with that number as its one term.
pub(crate) fn chunk(number: u32) -> NewChunk {
    let record = json!({
        "root": ROOT, "path": "src/a.rs", "version": "1", "indexed_at_ms": 1,
        "start_line": number, "end_line": number, "symbol": "open", "text": "fn open() {}",
    });
    let record: ChunkRecord = serde_json::from_value(record).unwrap();
    let sparse = TermVector { indices: vec![number], values: vec![1.0] };
    let vectors = ChunkVectors { dense: vec![1.0, 0.0], sparse };
    NewChunk { id: id(number), record, vectors }
}

pub(crate) fn file(path: &str) -> FileRecord {
    let (path, version) = (path.to_owned(), "1".to_owned());
    FileRecord { root: ROOT, path, version, size: 1, modified_ns: 2, chunks: 3 }
}

pub(crate) fn open(folder: &Path) -> IndexWriter {
    let wanted = IndexOptions {
        model: "test@1".to_owned(),
        dimensions: DIMENSIONS,
        on_mismatch: OnMismatch::Refuse,
        repairs: false,
        checks_all: true,
        seal_chunks: 1000,
    };
    open::open_index(folder, &wanted).unwrap()
}

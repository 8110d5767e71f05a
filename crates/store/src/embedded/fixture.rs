//! Records and stores for the unit tests of this module.

use std::path::Path;

use codeinfo_core::{ChunkRecord, FileRecord, RootId, TermVector};
use serde_json::json;
use uuid::Uuid;

use super::{
    open::{self, Wanted},
    segment::Compare,
    writer::Writer,
};
use crate::{Chunk, OnMismatch, Vectors};

/// How long vectors are here.
pub(super) const DIMENSIONS: usize = 2;
/// The root that everything here belongs to.
pub(super) const ROOT: RootId = RootId(Uuid::from_u128(1));

pub(super) fn id(number: u32) -> Uuid {
    Uuid::from_u128(number.into())
}

/// Returns a chunk with an id, and with that number as its one term.
pub(super) fn chunk(number: u32) -> Chunk {
    let record = json!({
        "root": ROOT, "path": "src/a.rs", "version": "v", "indexed_at_ms": 1,
        "start_line": number, "end_line": number, "symbol": "open", "text": "fn open() {}",
    });
    let record: ChunkRecord = serde_json::from_value(record).unwrap();
    let sparse = TermVector { indices: vec![number], values: vec![1.0] };
    let vectors = Vectors { dense: vec![1.0, 0.0], sparse };
    Chunk { id: id(number), record, vectors }
}

pub(super) fn file(path: &str) -> FileRecord {
    let (path, version) = (path.to_owned(), "v".to_owned());
    FileRecord { root: ROOT, path, version, size: 1, modified_ns: 2, chunks: 3 }
}

/// Opens the store in `folder`.
pub(super) fn open(folder: &Path) -> Writer {
    let wanted = Wanted {
        model: "test@1".to_owned(),
        dimensions: DIMENSIONS,
        on_mismatch: OnMismatch::Refuse,
        repairs: false,
        compare: Compare::All,
        seal_chunks: 1000,
    };
    open::open(folder, &wanted).unwrap()
}

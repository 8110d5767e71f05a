//! Small stores of chunks with four numbers each, and the records that tests put into them.

use std::{path::Path, time::UNIX_EPOCH};

use codeinfo_core::{ChunkRecord, FileRecord, IndexCounts, Root, RootId, TermVector};
use codeinfo_store::{ChunkVectors, NewChunk, OnMismatch, ScoredChunk, StoreError, StoredChunk};
use serde_json::json;
use uuid::Uuid;

pub const DIMENSIONS: usize = 4;
/// The model of stores that are opened without naming one.
pub const MODEL: &str = "test@1";

pub use codeinfo_store::Store;

/// Storage in which an engine keeps one store of vectors of [`DIMENSIONS`]: opened again, it has what was written.
/// No store may be open in it when it is opened.
#[expect(async_fn_in_trait, reason = "no caller needs its futures to be `Send`")]
pub trait EngineStorage: Sized {
    /// Returns an empty one.
    async fn create() -> Self;
    async fn open_for_model(
        &self,
        model: &str,
        on_mismatch: OnMismatch,
    ) -> Result<Store, StoreError>;

    async fn open(&self) -> Store {
        self.open_for_model(MODEL, OnMismatch::Refuse).await.unwrap()
    }
}

pub async fn put_chunks(store: &Store, chunks: impl IntoIterator<Item = NewChunk>) {
    store.put_chunks(chunks.into_iter().collect()).await.unwrap();
}

pub async fn load_all_chunks(store: &Store) -> Vec<StoredChunk> {
    store.chunks(None, None, 10_000).await.unwrap()
}

/// The id of the root that [`make_root`] makes of this name.
pub fn make_root_id(name: &str) -> RootId {
    RootId::from_path(&Path::new("/repositories").join(name))
}

pub fn make_chunk(
    number: u64,
    root: &str,
    path: &str,
    dense: [f32; DIMENSIONS],
    terms: &[(u32, f32)],
) -> NewChunk {
    let (indices, values) = terms.iter().copied().unzip();
    let vectors = ChunkVectors { dense: dense.to_vec(), sparse: TermVector { indices, values } };
    NewChunk { id: make_chunk_id(number), record: make_chunk_record(root, path), vectors }
}

/// A vector that no other seed shares.
pub fn make_vector(seed: u64) -> [f32; DIMENSIONS] {
    let angle = f32::from(u16::try_from(seed % 10_000).unwrap());
    [angle.cos(), angle.sin(), (angle * 1.7).cos(), (angle * 1.7).sin()]
}

/// Returns the record of a chunk with the required fields alone.
pub fn make_chunk_record(name: &str, path: &str) -> ChunkRecord {
    let record = json!({
        "root": make_root_id(name), "path": path, "version": "v1", "indexed_at_ms": 1,
        "start_line": 1, "end_line": 1, "text": "",
    });
    serde_json::from_value(record).unwrap()
}

pub fn make_chunk_id(number: u64) -> Uuid {
    Uuid::from_u128(number.into())
}

pub fn read_chunk_numbers(stored: &[StoredChunk]) -> Vec<u64> {
    stored.iter().map(|stored| u64::try_from(stored.id.as_u128()).unwrap()).collect()
}

pub fn read_hit_numbers(found: &[ScoredChunk]) -> Vec<u64> {
    found.iter().map(|hit| u64::try_from(hit.id.as_u128()).unwrap()).collect()
}

pub fn make_root(name: &str) -> Root {
    let path = Path::new("/repositories").join(name);
    Root {
        id: make_root_id(name),
        name: name.to_owned(),
        description: Some(format!("all of {name}")),
        model_id: MODEL.to_owned(),
        last_ingest_at: Some(UNIX_EPOCH.into()),
        counts: IndexCounts { files: 1, chunks: 2, embedded: 2 },
        ..Root::from_folder(path)
    }
}

pub fn make_file_record(root: RootId, number: u32, version: &str) -> FileRecord {
    FileRecord {
        root,
        path: format!("src/{number:04}.rs"),
        version: version.to_owned(),
        size: 10,
        modified_ns: 1_700_000_000_123_456_789,
        chunks: 2,
    }
}

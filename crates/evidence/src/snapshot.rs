//! Rebuilds the text of files as they were indexed from their chunks.

use std::collections::HashMap;

use codeinfo_core::{ChunkRecord, FileRecord, Root, RootId};
use codeinfo_lang::{Language, detect, role::FileRole};
use codeinfo_store::{Store, StoreError};
use uuid::Uuid;

use super::{Evidence, EvidenceError};

/// A file as it was indexed.
#[derive(Debug)]
pub struct FileSnapshot {
    /// Record of the file.
    pub record: FileRecord,
    /// Chunks in the order of their lines.
    pub chunks: Vec<ChunkRecord>,
}

impl FileSnapshot {
    /// Returns the text.
    pub fn text(&self) -> String {
        join_chunks(&self.chunks)
    }

    /// Returns the roles of the file other than plain source.
    pub fn roles(&self) -> &[FileRole] {
        self.chunks.first().map(|chunk| chunk.roles.as_slice()).unwrap_or_default()
    }

    /// Returns the language with which the file was indexed.
    pub fn language(&self) -> Option<&'static Language> {
        detect::find_language(self.chunks.first()?.language.as_deref()?)
    }
}

impl Evidence {
    /// Reads files, as [`load_snapshots`] does.
    pub async fn load_snapshots(
        &self,
        records: Vec<FileRecord>,
    ) -> Result<Vec<FileSnapshot>, EvidenceError> {
        Ok(load_snapshots(&self.store, records).await?)
    }

    /// Reads one file; `None` if it is being replaced.
    pub(super) async fn load_snapshot(
        &self,
        record: &FileRecord,
    ) -> Result<Option<FileSnapshot>, EvidenceError> {
        Ok(self.load_snapshots(vec![record.clone()]).await?.pop())
    }
}

/// Reads files. Leaves out those that are being replaced, because some of their chunks are missing.
pub async fn load_snapshots(
    store: &Store,
    records: Vec<FileRecord>,
) -> Result<Vec<FileSnapshot>, StoreError> {
    let roots = store.roots().await?;
    let owners: HashMap<RootId, RootId> =
        roots.iter().map(|root| (root.id, root.chunk_owner())).collect();
    let mut places: HashMap<Uuid, (usize, usize)> = HashMap::new();
    for (file, record) in records.iter().enumerate() {
        let Some(owner) = owners.get(&record.root) else { continue };
        let ids = record.chunk_ids(*owner, 0..record.chunks).enumerate();
        places.extend(ids.map(|(place, id)| (id, (file, place))));
    }
    let chunks = store.chunks_by_id(places.keys().copied().collect()).await?;
    let mut chunks_by_file: Vec<Vec<(usize, ChunkRecord)>> =
        records.iter().map(|_| Vec::new()).collect();
    for chunk in chunks {
        if let Some((file, place)) = places.get(&chunk.id)
            && let Some(file_chunks) = chunks_by_file.get_mut(*file)
        {
            file_chunks.push((*place, chunk.record));
        }
    }
    let snapshot = |(record, mut chunks): (FileRecord, Vec<(usize, ChunkRecord)>)| {
        chunks.sort_unstable_by_key(|(place, _)| *place);
        chunks.dedup_by_key(|(place, _)| *place);
        let is_whole = chunks.len() == record.chunks as usize;
        is_whole.then(|| FileSnapshot {
            record,
            chunks: chunks.into_iter().map(|(_, chunk)| chunk).collect(),
        })
    };
    Ok(records.into_iter().zip(chunks_by_file).filter_map(snapshot).collect())
}

/// Returns the text of chunks that are in the order of their lines. The chunks of a file contain
/// every line that is not blank, and one line may be cut into several.
pub fn join_chunks(chunks: &[ChunkRecord]) -> String {
    let mut text = String::new();
    let mut line = 1;
    for chunk in chunks {
        for _ in line..chunk.start_line {
            text.push('\n');
        }
        text.push_str(&chunk.text);
        line = chunk.end_line;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Removes files known to be secrets and files without indexed content.
pub(super) fn retain_indexed(mut records: Vec<FileRecord>, root: &Root) -> Vec<FileRecord> {
    records.retain(|record| record.chunks > 0);
    root.retain_public_files(records)
}

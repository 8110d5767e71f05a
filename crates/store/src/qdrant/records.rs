//! The product's records as points, and back. Payloads are the records' JSON, which other versions of
//! the product read, too.

use std::collections::HashMap;

use codeinfo_core::{FileRecord, Host, Root, RootId};
use qdrant_client::qdrant as message;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    super::{Chunk, StoreError},
    convert::{self, Point, ROOT},
    names::Names,
};

/// Returns the points that keep chunks.
pub(super) fn chunks(chunks: Vec<Chunk>) -> Result<Vec<Point>, StoreError> {
    let point = |Chunk { id, record, vectors }| {
        Ok(Point { id, payload: payload(&record)?, vectors: Some(vectors) })
    };
    chunks.into_iter().map(point).collect()
}

/// Returns the points that keep the records of files.
pub(super) fn files(files: &[FileRecord]) -> Result<Vec<Point>, StoreError> {
    let point = |file: &FileRecord| {
        let id = file_id(file.root, &file.path);
        Ok(Point { id, payload: payload(file)?, vectors: None })
    };
    files.iter().map(point).collect()
}

/// The record of a root.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredRoot {
    #[serde(flatten)]
    root: Root,
    /// The generation of collections that its chunks are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generation: Option<String>,
}

impl StoredRoot {
    /// Returns the root as this host has it; without hosts, all have it. One whose chunks were in another generation
    /// than that of `names` was discarded.
    pub(super) fn into_root(self, own: Option<&Host>, names: &Names) -> Root {
        let Self { root, generation } = self;
        let has_chunks = names.has_chunks_of(generation.as_deref());
        let root = if has_chunks { root } else { root.without_index() };
        let of = |own: &Host| {
            root.host.clone().or(Some(Host::unknown())).filter(|host| host.id != own.id)
        };
        Root { host: own.and_then(of), ..root }
    }
}

/// Returns the point that keeps a root whose chunks are in `generation`. One of no other host is of this one.
pub(super) fn root(root: Root, own: Option<Host>, generation: &str) -> Result<Point, StoreError> {
    let root = Root { host: root.host.or(own), ..root };
    let id = root.id;
    let mut payload = payload(&StoredRoot { root, generation: Some(generation.to_owned()) })?;
    payload.insert(ROOT.to_owned(), id.to_string().into());
    Ok(Point { id: id.0, payload, vectors: None })
}

/// Returns the ids of files' records, which follow from where the files are.
pub(super) fn file_ids(root: RootId, paths: &[String]) -> Vec<Uuid> {
    paths.iter().map(|path| file_id(root, path)).collect()
}

fn file_id(root: RootId, path: &str) -> Uuid {
    Uuid::new_v5(&root.0, path.as_bytes())
}

/// Returns the payload of a record.
pub(super) fn payload<T: Serialize>(record: &T) -> serde_json::Result<Map<String, Value>> {
    serde_json::from_value(serde_json::to_value(record)?)
}

/// Returns the record of a payload.
pub(super) fn record<T: DeserializeOwned>(
    payload: HashMap<String, message::Value>,
) -> serde_json::Result<T> {
    serde_json::from_value(convert::object(payload).into())
}

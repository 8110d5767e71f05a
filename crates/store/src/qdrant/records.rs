//! Conversions between records and points. Payloads are the records' JSON, which other versions of
//! the product read as well.

use std::collections::HashMap;

use codeinfo_core::{FileRecord, Host, Root, RootId};
use qdrant_client::qdrant as message;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    super::{NewChunk, StoreError},
    convert::{self, NewPoint, ROOT},
    names::CollectionNames,
};

/// Converts chunks to points.
pub(super) fn chunk_points(chunks: Vec<NewChunk>) -> Result<Vec<NewPoint>, StoreError> {
    let point = |NewChunk { id, record, vectors }| {
        Ok(NewPoint { id, payload: to_payload(&record)?, vectors: Some(vectors) })
    };
    chunks.into_iter().map(point).collect()
}

/// Converts file records to points.
pub(super) fn file_points(files: &[FileRecord]) -> Result<Vec<NewPoint>, StoreError> {
    let point = |file: &FileRecord| {
        let id = file_id(file.root, &file.path);
        Ok(NewPoint { id, payload: to_payload(file)?, vectors: None })
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
    /// Returns the root as this host sees it; without hosts, all share it. A root whose chunks were in another generation
    /// than that of `names` was discarded.
    pub(super) fn into_root(self, own: Option<&Host>, names: &CollectionNames) -> Root {
        let Self { root, generation } = self;
        let has_chunks = names.has_chunks_of(generation.as_deref());
        let root = if has_chunks { root } else { root.without_index() };
        let of = |own: &Host| {
            root.host.clone().or(Some(Host::unknown())).filter(|host| host.id != own.id)
        };
        Root { host: own.and_then(of), ..root }
    }
}

/// Converts a root whose chunks are in `generation` to a point. A root without a host belongs to this one.
pub(super) fn root_point(
    root: Root,
    own: Option<Host>,
    generation: &str,
) -> Result<NewPoint, StoreError> {
    let root = Root { host: root.host.or(own), ..root };
    let id = root.id;
    let mut payload = to_payload(&StoredRoot { root, generation: Some(generation.to_owned()) })?;
    payload.insert(ROOT.to_owned(), id.to_string().into());
    Ok(NewPoint { id: id.0, payload, vectors: None })
}

/// Returns the ids of file records, which are derived from root and path.
pub(super) fn file_ids(root: RootId, paths: &[String]) -> Vec<Uuid> {
    paths.iter().map(|path| file_id(root, path)).collect()
}

fn file_id(root: RootId, path: &str) -> Uuid {
    Uuid::new_v5(&root.0, path.as_bytes())
}

/// Returns the payload of a record.
pub(super) fn to_payload<T: Serialize>(record: &T) -> serde_json::Result<Map<String, Value>> {
    serde_json::from_value(serde_json::to_value(record)?)
}

/// Returns the record of a payload.
pub(super) fn from_payload<T: DeserializeOwned>(
    payload: HashMap<String, message::Value>,
) -> serde_json::Result<T> {
    serde_json::from_value(convert::from_payload(payload).into())
}

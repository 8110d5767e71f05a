//! The product's records as points, and back. Payloads are the records' JSON, which other versions of
//! the product read, too.

use std::collections::HashMap;

use qdrant_client::qdrant as message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    super::{Chunk, StoreError},
    convert::{self, Point, ROOT},
};
use crate::domain::{FileRecord, Host, Root, RootId};

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

/// Returns the point that keeps a root. One of no other host is of this one.
pub(super) fn root(root: Root, own: Option<Host>) -> Result<Point, StoreError> {
    let root = Root { host: root.host.or(own), ..root };
    let mut payload = payload(&root)?;
    payload.insert(ROOT.to_owned(), root.id.to_string().into());
    Ok(Point { id: root.id.0, payload, vectors: None })
}

/// Returns a root as this host has it. Without hosts, all have it.
pub(super) fn placed(root: Root, own: Option<&Host>) -> Root {
    let of =
        |own: &Host| root.host.clone().or(Some(Host::unknown())).filter(|host| host.id != own.id);
    Root { host: own.and_then(of), ..root }
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

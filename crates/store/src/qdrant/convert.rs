//! Conversions between records and messages. Payloads are JSON, which other versions of the product read as well.

use std::collections::HashMap;

use codeinfo_core::{FileRecord, Host, Root, RootId};
use qdrant_client::qdrant::{
    self as message, Condition, DenseVector, FieldCondition, HasIdCondition, ListValue, Match,
    NamedVectors, NullValue, PointId, PointStruct, PointsIdsList, SparseVector, Struct, Value,
    Vector, condition::ConditionOneOf, r#match::MatchValue, point_id::PointIdOptions,
    points_selector::PointsSelectorOneOf, value::Kind, vectors::VectorsOptions,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Number};
use uuid::Uuid;

use super::names::CollectionNames;
use crate::{ChunkVectors, NewChunk, StoreError};

pub(super) const DENSE: &str = "dense";
/// Name of the sparse vector.
pub(super) const TERMS: &str = "terms";

/// The field of every payload that names its root.
pub(super) const ROOT: &str = "root";

/// A point to write. One with the same id is replaced.
pub(super) struct NewPoint {
    pub(super) id: Uuid,
    pub(super) payload: Map<String, serde_json::Value>,
    pub(super) vectors: Option<ChunkVectors>,
}

/// Selects points by their ids. The server then asks only the shards that have them.
pub(super) fn select_ids(ids: &[Uuid]) -> PointsSelectorOneOf {
    PointsSelectorOneOf::Points(PointsIdsList { ids: point_ids(ids) })
}

pub(super) fn filter_root(root: RootId) -> message::Filter {
    filter_keyword(ROOT, &root.to_string())
}

pub(super) fn filter_ids(owner: RootId, ids: &[Uuid]) -> message::Filter {
    let mut filter = filter_root(owner);
    let has_id = point_ids(ids);
    let one_of = ConditionOneOf::HasId(HasIdCondition { has_id });
    filter.must.push(Condition { condition_one_of: Some(one_of) });
    filter
}

pub(super) fn point_ids(ids: &[Uuid]) -> Vec<PointId> {
    ids.iter().copied().map(to_point_id).collect()
}

pub(super) fn filter_keyword(key: &str, value: &str) -> message::Filter {
    let is = Some(Match { match_value: Some(MatchValue::Keyword(value.to_owned())) });
    let field = FieldCondition { key: key.to_owned(), r#match: is, ..Default::default() };
    let must = vec![Condition { condition_one_of: Some(ConditionOneOf::Field(field)) }];
    message::Filter { must, ..Default::default() }
}

pub(super) fn to_point_struct(point: NewPoint) -> PointStruct {
    // Empty sparse vectors are written as well: a replaced point must not keep its former terms.
    let named = point.vectors.map_or_else(HashMap::new, |ChunkVectors { dense, sparse }| {
        HashMap::from([
            (DENSE.to_owned(), dense_vector(dense)),
            (TERMS.to_owned(), sparse_vector(sparse.indices, sparse.values)),
        ])
    });
    let vectors = VectorsOptions::Vectors(NamedVectors { vectors: named });
    PointStruct {
        id: Some(to_point_id(point.id)),
        payload: to_message_payload(point.payload),
        vectors: Some(message::Vectors { vectors_options: Some(vectors) }),
    }
}

pub(super) fn estimate_bytes(point: &NewPoint) -> usize {
    let vectors = point
        .vectors
        .as_ref()
        .map_or(0, |both| both.dense.len() * 4 + both.sparse.indices.len() * 9);
    let field =
        |(key, value): (&String, &serde_json::Value)| key.len() + estimate_value_bytes(value);
    64 + vectors + point.payload.iter().map(field).sum::<usize>()
}

pub(super) fn to_point_id(id: Uuid) -> PointId {
    PointId { point_id_options: Some(PointIdOptions::Uuid(id.to_string())) }
}

/// Returns the id of a point that we wrote; all have UUIDs.
pub(super) fn from_point_id(id: Option<PointId>) -> Option<Uuid> {
    match id?.point_id_options? {
        PointIdOptions::Uuid(id) => id.parse().ok(),
        PointIdOptions::Num(_) => None,
    }
}

fn to_message_payload(object: Map<String, serde_json::Value>) -> HashMap<String, Value> {
    object.into_iter().map(|(key, json)| (key, to_value(json))).collect()
}

pub(super) fn from_payload(payload: HashMap<String, Value>) -> Map<String, serde_json::Value> {
    payload.into_iter().map(|(key, value)| (key, from_value(value))).collect()
}

fn dense_vector(data: Vec<f32>) -> Vector {
    let vector = message::vector::Vector::Dense(DenseVector { data });
    Vector { vector: Some(vector), ..Default::default() }
}

fn sparse_vector(indices: Vec<u32>, values: Vec<f32>) -> Vector {
    let vector = message::vector::Vector::Sparse(SparseVector { values, indices });
    Vector { vector: Some(vector), ..Default::default() }
}

fn to_value(json: serde_json::Value) -> Value {
    let kind = match json {
        serde_json::Value::Null => Kind::NullValue(NullValue::NullValue.into()),
        serde_json::Value::Bool(value) => Kind::BoolValue(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Kind::IntegerValue(whole),
            None => Kind::DoubleValue(number.as_f64().unwrap_or_default()),
        },
        serde_json::Value::String(text) => Kind::StringValue(text),
        serde_json::Value::Array(items) => {
            Kind::ListValue(ListValue { values: items.into_iter().map(to_value).collect() })
        }
        serde_json::Value::Object(object) => {
            Kind::StructValue(Struct { fields: to_message_payload(object) })
        }
    };
    Value { kind: Some(kind) }
}

fn from_value(value: Value) -> serde_json::Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => serde_json::Value::Null,
        Some(Kind::BoolValue(value)) => value.into(),
        Some(Kind::IntegerValue(whole)) => whole.into(),
        Some(Kind::DoubleValue(number)) => {
            Number::from_f64(number).map_or(serde_json::Value::Null, Into::into)
        }
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(from_value).collect(),
        Some(Kind::StructValue(object_value)) => from_payload(object_value.fields).into(),
    }
}

fn estimate_value_bytes(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => text.len() + 8,
        serde_json::Value::Array(items) => items.iter().map(estimate_value_bytes).sum(),
        serde_json::Value::Object(object) => {
            object.iter().map(|(key, value)| key.len() + estimate_value_bytes(value)).sum()
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => 16,
    }
}

pub(super) fn chunk_points(chunks: Vec<NewChunk>) -> Result<Vec<NewPoint>, StoreError> {
    let point = |NewChunk { id, record, vectors }| {
        Ok(NewPoint { id, payload: to_payload(&record)?, vectors: Some(vectors) })
    };
    chunks.into_iter().map(point).collect()
}

pub(super) fn file_points(files: &[FileRecord]) -> Result<Vec<NewPoint>, StoreError> {
    let point = |file: &FileRecord| {
        let id = file_id(file.root, &file.path);
        Ok(NewPoint { id, payload: to_payload(file)?, vectors: None })
    };
    files.iter().map(point).collect()
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredRoot {
    #[serde(flatten)]
    root: Root,
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
        let other_host = |own: &Host| {
            root.host.clone().or(Some(Host::unknown())).filter(|host| host.id != own.id)
        };
        Root { host: own.and_then(other_host), ..root }
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

pub(super) fn file_ids(root: RootId, paths: &[String]) -> Vec<Uuid> {
    paths.iter().map(|path| file_id(root, path)).collect()
}

fn file_id(root: RootId, path: &str) -> Uuid {
    Uuid::new_v5(&root.0, path.as_bytes())
}

pub(super) fn to_payload<T: Serialize>(
    record: &T,
) -> serde_json::Result<Map<String, serde_json::Value>> {
    serde_json::from_value(serde_json::to_value(record)?)
}

pub(super) fn parse_record<T: DeserializeOwned>(
    payload: HashMap<String, Value>,
) -> serde_json::Result<T> {
    serde_json::from_value(from_payload(payload).into())
}

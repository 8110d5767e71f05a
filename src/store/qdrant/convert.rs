//! Our words in the server's messages, and back.

use std::collections::HashMap;

use qdrant_client::qdrant::{
    self as message, Condition, DenseVector, FieldCondition, HasIdCondition, ListValue, Match,
    NamedVectors, NullValue, PointId, PointStruct, PointsIdsList, RepeatedStrings, SparseVector,
    Struct, Value, Vector, condition::ConditionOneOf, r#match::MatchValue,
    point_id::PointIdOptions, points_selector::PointsSelectorOneOf, value::Kind,
    vectors::VectorsOptions,
};
use serde_json::{Map, Number};
use uuid::Uuid;

use super::super::{Filter, Point, Vectors};

/// Name of the dense vector.
pub(super) const DENSE: &str = "dense";
/// Name of the sparse vector.
pub(super) const TERMS: &str = "terms";

/// What a filter selects.
pub(super) enum Selection {
    /// No point can match.
    Nothing,
    /// Those that match, or all without a filter.
    Points(Option<message::Filter>),
}

/// Returns the server's form of a filter.
pub(super) fn selection(filter: &Filter) -> Selection {
    if filter.selects_nothing() {
        return Selection::Nothing;
    }
    let one_of = |(field, values): &(super::super::Field, Vec<String>)| {
        let strings = RepeatedStrings { strings: values.clone() };
        condition(field.key(), MatchValue::Keywords(strings))
    };
    let ids = filter.ids.iter().map(|ids| has_id(ids));
    let must: Vec<Condition> = filter.must.iter().map(one_of).chain(ids).collect();
    let must_not = filter.must_not.iter().filter(|(_, values)| !values.is_empty());
    let must_not: Vec<Condition> = must_not.map(one_of).collect();
    if must.is_empty() && must_not.is_empty() {
        return Selection::Points(None);
    }
    Selection::Points(Some(message::Filter { must, must_not, ..Default::default() }))
}

/// Returns the server's form of a filter for a deletion; `None` if no point can match. Told ids alone, the
/// server asks only the shards that have them.
pub(super) fn selector(filter: &Filter) -> Option<PointsSelectorOneOf> {
    match (selection(filter), &filter.ids) {
        (Selection::Nothing, _) => None,
        (Selection::Points(_), Some(ids))
            if filter.must.is_empty() && filter.must_not.is_empty() =>
        {
            Some(PointsSelectorOneOf::Points(PointsIdsList { ids: point_ids(ids) }))
        }
        (Selection::Points(filter), _) => {
            Some(PointsSelectorOneOf::Filter(filter.unwrap_or_default()))
        }
    }
}

fn point_ids(ids: &[Uuid]) -> Vec<PointId> {
    ids.iter().copied().map(id).collect()
}

fn has_id(ids: &[Uuid]) -> Condition {
    let has_id = point_ids(ids);
    Condition { condition_one_of: Some(ConditionOneOf::HasId(HasIdCondition { has_id })) }
}

/// Selects points whose `key` has one value.
pub(super) fn equals(key: &str, value: &str) -> message::Filter {
    let must = vec![condition(key, MatchValue::Keyword(value.to_owned()))];
    message::Filter { must, ..Default::default() }
}

/// Returns the server's form of a point.
pub(super) fn point(point: Point) -> PointStruct {
    // Empty sparse vectors are written too: a replaced point must not keep its former terms.
    let vectors = point.vectors.map_or_else(HashMap::new, |Vectors { dense, sparse }| {
        HashMap::from([
            (DENSE.to_owned(), dense_vector(dense)),
            (TERMS.to_owned(), sparse_vector(sparse.indices, sparse.values)),
        ])
    });
    let vectors = VectorsOptions::Vectors(NamedVectors { vectors });
    PointStruct {
        id: Some(id(point.id)),
        payload: payload(point.payload),
        vectors: Some(message::Vectors { vectors_options: Some(vectors) }),
    }
}

/// Returns about how many bytes a point has on its way.
pub(super) fn size(point: &Point) -> usize {
    let vectors = point.vectors.as_ref();
    let vectors = vectors.map_or(0, |both| both.dense.len() * 4 + both.sparse.indices.len() * 9);
    let text = |(key, value): (&String, &serde_json::Value)| key.len() + length(value);
    64 + vectors + point.payload.iter().map(text).sum::<usize>()
}

pub(super) fn id(id: Uuid) -> PointId {
    PointId { point_id_options: Some(PointIdOptions::Uuid(id.to_string())) }
}

/// Returns the id of a point that we wrote; all have UUIDs.
pub(super) fn our_id(id: Option<PointId>) -> Option<Uuid> {
    match id?.point_id_options? {
        PointIdOptions::Uuid(id) => id.parse().ok(),
        PointIdOptions::Num(_) => None,
    }
}

pub(super) fn payload(object: Map<String, serde_json::Value>) -> HashMap<String, Value> {
    object.into_iter().map(|(key, json)| (key, value(json))).collect()
}

pub(super) fn object(payload: HashMap<String, Value>) -> Map<String, serde_json::Value> {
    payload.into_iter().map(|(key, value)| (key, json(value))).collect()
}

fn condition(key: &str, value: MatchValue) -> Condition {
    let is = Some(Match { match_value: Some(value) });
    let field = FieldCondition { key: key.to_owned(), r#match: is, ..Default::default() };
    Condition { condition_one_of: Some(ConditionOneOf::Field(field)) }
}

fn dense_vector(data: Vec<f32>) -> Vector {
    let vector = message::vector::Vector::Dense(DenseVector { data });
    Vector { vector: Some(vector), ..Default::default() }
}

fn sparse_vector(indices: Vec<u32>, values: Vec<f32>) -> Vector {
    let vector = message::vector::Vector::Sparse(SparseVector { values, indices });
    Vector { vector: Some(vector), ..Default::default() }
}

fn value(json: serde_json::Value) -> Value {
    let kind = match json {
        serde_json::Value::Null => Kind::NullValue(NullValue::NullValue.into()),
        serde_json::Value::Bool(value) => Kind::BoolValue(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Kind::IntegerValue(whole),
            None => Kind::DoubleValue(number.as_f64().unwrap_or_default()),
        },
        serde_json::Value::String(text) => Kind::StringValue(text),
        serde_json::Value::Array(items) => {
            Kind::ListValue(ListValue { values: items.into_iter().map(value).collect() })
        }
        serde_json::Value::Object(object) => Kind::StructValue(Struct { fields: payload(object) }),
    };
    Value { kind: Some(kind) }
}

fn json(value: Value) -> serde_json::Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => serde_json::Value::Null,
        Some(Kind::BoolValue(value)) => value.into(),
        Some(Kind::IntegerValue(whole)) => whole.into(),
        Some(Kind::DoubleValue(number)) => {
            Number::from_f64(number).map_or(serde_json::Value::Null, Into::into)
        }
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::ListValue(list)) => list.values.into_iter().map(json).collect(),
        Some(Kind::StructValue(object_value)) => object(object_value.fields).into(),
    }
}

fn length(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => text.len() + 8,
        serde_json::Value::Array(items) => items.iter().map(length).sum(),
        serde_json::Value::Object(object) => {
            object.iter().map(|(key, value)| key.len() + length(value)).sum()
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => 16,
    }
}

//! Conversions between messages and the engine's types. Messages that our store never sends are refused, so that
//! none is ignored.

use std::collections::{BTreeMap, HashMap};

use qdrant_client::qdrant::{
    self as message, condition::ConditionOneOf, r#match::MatchValue as Sent,
    point_id::PointIdOptions, query, value::Kind, vector_input::Variant, vectors::VectorsOptions,
    vectors_config,
};
use qdrant_edge::{
    Condition, FieldCondition, Filter, JsonPath, Match, MatchValue, NamedQuery, Payload, PointId,
    PointStructPersisted, QuantizationSearchParams, QueryEnum, Record, ScoredPoint, SearchParams,
    SparseVector, ValueVariants, VectorInternal, VectorPersisted, VectorStructPersisted,
};
use serde_json::{Map, Value};
use tonic::Status;

pub(super) fn parse_key(name: &str) -> Result<JsonPath, Status> {
    name.parse().map_err(|()| Status::invalid_argument(format!("`{name}` is no field")))
}

pub(super) fn convert_filter(filter: message::Filter) -> Result<Filter, Status> {
    if filter.min_should.is_some() || !filter.must_not.is_empty() {
        return Err(unsupported_kind("a filter"));
    }
    let conditions = |all: Vec<message::Condition>| {
        let all: Vec<Condition> =
            all.into_iter().map(convert_condition).collect::<Result<_, _>>()?;
        Ok::<_, Status>((!all.is_empty()).then_some(all))
    };
    Ok(Filter {
        should: conditions(filter.should)?,
        min_should: None,
        must: conditions(filter.must)?,
        must_not: None,
    })
}

fn convert_condition(condition: message::Condition) -> Result<Condition, Status> {
    let field = match condition.condition_one_of {
        Some(ConditionOneOf::Field(field)) => field,
        Some(ConditionOneOf::HasId(ids)) => {
            let ids = ids.has_id.into_iter().map(convert_id).collect::<Result<_, _>>()?;
            return Ok(Condition::HasId(ids));
        }
        _ => return Err(unsupported_kind("a condition")),
    };
    let Some(Sent::Keyword(word)) = field.r#match.and_then(|wanted| wanted.match_value) else {
        return Err(unsupported_kind("a match"));
    };
    let wanted = Match::Value(MatchValue { value: ValueVariants::String(word) });
    Ok(Condition::Field(FieldCondition::new_match(parse_key(&field.key)?, wanted)))
}

pub(super) fn convert_id(id: message::PointId) -> Result<PointId, Status> {
    match id.point_id_options {
        Some(PointIdOptions::Uuid(id)) => {
            let id = id.parse().map_err(|_| Status::invalid_argument(format!("bad id `{id}`")))?;
            Ok(PointId::Uuid(id))
        }
        Some(PointIdOptions::Num(_)) | None => Err(unsupported_kind("an id")),
    }
}

pub(super) fn convert_point(
    point: message::PointStruct,
    dense: &BTreeMap<String, usize>,
) -> Result<PointStructPersisted, Status> {
    let vectors = point.vectors.and_then(|vectors| vectors.vectors_options);
    let Some(VectorsOptions::Vectors(named)) = vectors else {
        return Err(Status::invalid_argument("Expected some vectors"));
    };
    let mut vectors = HashMap::new();
    for (name, vector) in named.vectors {
        let vector = match vector.vector {
            Some(message::vector::Vector::Dense(vector)) => {
                if dense.get(&name) != Some(&vector.data.len()) {
                    let got = vector.data.len();
                    let message = format!("Wrong input: `{name}` has {got} numbers");
                    return Err(Status::invalid_argument(message));
                }
                VectorPersisted::Dense(vector.data)
            }
            Some(message::vector::Vector::Sparse(vector)) => {
                if vector.indices.len() != vector.values.len() {
                    return Err(Status::invalid_argument("a term without a weight"));
                }
                let (indices, values) = (vector.indices, vector.values);
                VectorPersisted::Sparse(SparseVector { indices, values })
            }
            _ => return Err(unsupported_kind("a vector")),
        };
        vectors.insert(name, vector);
    }
    Ok(PointStructPersisted {
        id: convert_id(point.id.ok_or_else(|| unsupported_kind("a point"))?)?,
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(Payload(to_json_object(point.payload))),
    })
}

pub(super) fn convert_query(
    query: Option<message::Query>,
    using: Option<String>,
) -> Result<QueryEnum, Status> {
    let Some(query::Variant::Nearest(near)) = query.and_then(|query| query.variant) else {
        return Err(unsupported_kind("a query"));
    };
    let query = match near.variant {
        Some(Variant::Dense(vector)) => VectorInternal::Dense(vector.data),
        Some(Variant::Sparse(vector)) => {
            let (indices, values) = (vector.indices, vector.values);
            VectorInternal::Sparse(SparseVector { indices, values })
        }
        _ => return Err(unsupported_kind("a vector")),
    };
    Ok(QueryEnum::Nearest(NamedQuery { query, using }))
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped over")]
pub(super) fn convert_params(params: message::SearchParams) -> SearchParams {
    let quantization = params.quantization.map(|rounded| QuantizationSearchParams {
        ignore: rounded.ignore.unwrap_or_default(),
        rescore: rounded.rescore,
        oversampling: rounded.oversampling,
    });
    SearchParams {
        exact: params.exact.unwrap_or_default(),
        hnsw_ef: params.hnsw_ef.map(|in_view| usize::try_from(in_view).unwrap()),
        quantization,
        ..SearchParams::default()
    }
}

pub(super) fn read_dense_params(
    config: Option<message::VectorsConfig>,
) -> Result<Vec<(String, message::VectorParams)>, Status> {
    match config.and_then(|config| config.config) {
        None => Ok(Vec::new()),
        Some(vectors_config::Config::ParamsMap(params)) => Ok(params.map.into_iter().collect()),
        Some(vectors_config::Config::Params(_)) => Err(unsupported_kind("a vector without a name")),
    }
}

pub(super) fn convert_record(record: Record) -> message::RetrievedPoint {
    message::RetrievedPoint {
        id: Some(convert_point_id(record.id)),
        payload: to_message_fields(record.payload.unwrap_or_default().0),
        ..Default::default()
    }
}

/// Returns whether a call requests payloads, all or none.
pub(super) fn wants_payload(selector: Option<message::WithPayloadSelector>) -> bool {
    let options = selector.and_then(|selector| selector.selector_options);
    options == Some(message::with_payload_selector::SelectorOptions::Enable(true))
}

pub(super) fn convert_hit(point: ScoredPoint) -> message::ScoredPoint {
    message::ScoredPoint {
        id: Some(convert_point_id(point.id)),
        payload: to_message_fields(point.payload.unwrap_or_default().0),
        score: point.score,
        version: point.version,
        ..Default::default()
    }
}

fn convert_point_id(id: PointId) -> message::PointId {
    let id = match id {
        PointId::Uuid(id) => PointIdOptions::Uuid(id.to_string()),
        PointId::NumId(number) => PointIdOptions::Num(number),
    };
    message::PointId { point_id_options: Some(id) }
}

pub(super) fn to_json_object(fields: HashMap<String, message::Value>) -> Map<String, Value> {
    fields.into_iter().map(|(key, value)| (key, to_json(value))).collect()
}

pub(super) fn to_message_fields(object: Map<String, Value>) -> HashMap<String, message::Value> {
    object.into_iter().map(|(key, json)| (key, to_message_value(json))).collect()
}

fn to_json(value: message::Value) -> Value {
    match value.kind.unwrap() {
        Kind::NullValue(_) => Value::Null,
        Kind::BoolValue(value) => value.into(),
        Kind::IntegerValue(number) => number.into(),
        Kind::DoubleValue(number) => number.into(),
        Kind::StringValue(text) => text.into(),
        Kind::ListValue(list) => list.values.into_iter().map(to_json).collect(),
        Kind::StructValue(inner) => to_json_object(inner.fields).into(),
    }
}

fn to_message_value(json: Value) -> message::Value {
    let kind = match json {
        Value::Null => Kind::NullValue(0),
        Value::Bool(value) => Kind::BoolValue(value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Kind::IntegerValue(number),
            None => Kind::DoubleValue(number.as_f64().unwrap()),
        },
        Value::String(text) => Kind::StringValue(text),
        Value::Array(items) => Kind::ListValue(message::ListValue {
            values: items.into_iter().map(to_message_value).collect(),
        }),
        Value::Object(object) => {
            Kind::StructValue(message::Struct { fields: to_message_fields(object) })
        }
    };
    message::Value { kind: Some(kind) }
}

fn unsupported_kind(what: &str) -> Status {
    Status::unimplemented(format!("{what} of a kind that the stand-in does not know"))
}

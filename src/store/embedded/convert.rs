//! Our words in the engine's, and back.

use std::collections::HashMap;

use qdrant_edge::{
    self as engine, AnyVariants, Condition, FieldCondition, HasIdCondition, JsonPath, Match,
    PointId, PointStructPersisted, SparseVector, ValueVariants, VectorPersisted,
    VectorStructPersisted,
};
use uuid::Uuid;

use super::super::{Field, Filter, Point, StoreError, Vectors};

/// Name of the dense vector.
pub(super) const DENSE: &str = "dense";
/// Name of the sparse vector.
pub(super) const TERMS: &str = "terms";

/// Returns the payload key of a field.
pub(super) fn key(field: Field) -> Result<JsonPath, StoreError> {
    let name = field.key();
    name.parse().map_err(|()| StoreError::Engine {
        action: "name a payload field",
        reason: format!("`{name}` is not a path"),
    })
}

/// Returns the engine's form of a filter.
pub(super) fn selection(filter: &Filter) -> Result<Selection, StoreError> {
    if filter.selects_nothing() {
        return Ok(Selection::Nothing);
    }
    let must_not = filter.must_not.iter().filter(|(_, values)| !values.is_empty());
    let mut must = filter.must.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
    must.extend(filter.ids.as_deref().map(one_of));
    let must_not = must_not.map(condition).collect::<Result<Vec<_>, _>>()?;
    if must.is_empty() && must_not.is_empty() {
        return Ok(Selection::Points(None));
    }
    Ok(Selection::Points(Some(engine::Filter {
        should: None,
        min_should: None,
        must: (!must.is_empty()).then_some(must),
        must_not: (!must_not.is_empty()).then_some(must_not),
    })))
}

/// What a filter selects.
pub(super) enum Selection {
    /// No point can match.
    Nothing,
    /// Those that match, or all without a filter.
    Points(Option<engine::Filter>),
}

/// Returns the engine's form of a point that has the form of its collection.
pub(super) fn point(point: Point) -> PointStructPersisted {
    let vectors = point.vectors.map_or_else(HashMap::new, |vectors| {
        let Vectors { dense, sparse } = vectors;
        let sparse = SparseVector { indices: sparse.indices, values: sparse.values };
        // Empty sparse vectors are written too: a replaced point would keep its former terms.
        HashMap::from([
            (DENSE.to_owned(), VectorPersisted::Dense(dense)),
            (TERMS.to_owned(), VectorPersisted::Sparse(sparse)),
        ])
    });
    PointStructPersisted {
        id: PointId::Uuid(point.id),
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(engine::Payload(point.payload)),
    }
}

/// Returns the id of a point that we wrote; all have UUIDs.
pub(super) fn id(id: PointId) -> Option<Uuid> {
    match id {
        PointId::Uuid(id) => Some(id),
        PointId::NumId(_) => None,
    }
}

fn one_of(ids: &[Uuid]) -> Condition {
    Condition::HasId(HasIdCondition { has_id: ids.iter().map(|id| PointId::Uuid(*id)).collect() })
}

fn condition((field, values): &(Field, Vec<String>)) -> Result<Condition, StoreError> {
    let condition = match values.as_slice() {
        // Matching any of several makes the engine remember each point, so as to give it once.
        [value] => Match::new_value(ValueVariants::String(value.clone())),
        values => Match::new_any(AnyVariants::Strings(values.iter().cloned().collect())),
    };
    Ok(Condition::Field(FieldCondition::new_match(key(*field)?, condition)))
}

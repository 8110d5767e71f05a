//! Removes second copies of points, which a kill while segments are rebuilt can leave behind.
//!
//! The engine writes a rebuilt segment before it deletes the old ones and does not compare segments
//! when it opens them: a point found in both would be counted twice.

use std::collections::HashMap;

use qdrant_edge::{
    Condition, CountRequest, Filter, HasIdCondition, PointId, PointOperations, Record,
    ScrollRequest, UpdateOperation, VectorInternal, VectorStructInternal, WithPayloadInterface,
    WithVector,
};
use tracing::info;

use super::{
    super::{Collection, Point, StoreError, Vectors},
    convert::{self, DENSE, TERMS},
    entry::Entry,
    shard::Shard,
    writer::Writer,
};
use crate::domain::Sparse;

/// How many points are compared, and if need be rewritten, at a time.
const PAGE: usize = 256;

/// Leaves one copy of each point, the newest.
pub(super) fn remove_copies(writer: &mut Writer) -> Result<(), StoreError> {
    for collection in Collection::ALL {
        let mut offset = None;
        let mut rewritten = 0;
        loop {
            let (ids, next) = page(writer.shards().get(collection), offset)?;
            if ids.len() < copies(writer.shards().get(collection), &ids)? {
                rewritten += ids.len();
                rewrite(writer, collection, ids)?;
            }
            match next {
                Some(next) => offset = Some(next),
                None => break,
            }
        }
        if rewritten > 0 {
            info!(?collection, points = rewritten, "removed second copies after a crash");
        }
    }
    Ok(())
}

fn page(
    shard: &Shard,
    offset: Option<PointId>,
) -> Result<(Vec<PointId>, Option<PointId>), StoreError> {
    let request = ScrollRequest {
        offset,
        limit: Some(PAGE),
        filter: None,
        with_payload: Some(WithPayloadInterface::Bool(false)),
        with_vector: WithVector::Bool(false),
        order_by: None,
    };
    let (records, next) = shard.call("compare segments", |engine| engine.scroll(request))?;
    Ok((records.into_iter().map(|record| record.id).collect(), next))
}

fn copies(shard: &Shard, ids: &[PointId]) -> Result<usize, StoreError> {
    let has_id = HasIdCondition { has_id: ids.iter().copied().collect() };
    let filter = Some(Filter::new_must(Condition::HasId(has_id)));
    shard.call("compare segments", |engine| engine.count(CountRequest { filter, exact: true }))
}

/// Writes the newest copy of each point again. The journal has the points before any copy goes.
fn rewrite(
    writer: &mut Writer,
    collection: Collection,
    ids: Vec<PointId>,
) -> Result<(), StoreError> {
    let shard = writer.shards().get(collection);
    let records = shard.call("compare segments", |engine| {
        let payload = Some(WithPayloadInterface::Bool(true));
        engine.retrieve(&ids, payload, Some(WithVector::Bool(true)))
    })?;
    let entry = Entry::Upsert(collection, records.into_iter().filter_map(point).collect());
    writer.prepare(&entry)?;
    let delete = UpdateOperation::PointOperation(PointOperations::DeletePoints { ids });
    let shard = writer.shards().get(collection);
    let applied = shard.update("compare segments", delete).and_then(|()| shard.apply(entry));
    writer.settle(applied)
}

fn point(record: Record) -> Option<Point> {
    let named = match record.vector {
        Some(VectorStructInternal::Named(named)) => named,
        _ => HashMap::default(),
    };
    let sparse = match named.get(TERMS) {
        Some(VectorInternal::Sparse(terms)) => {
            Sparse { indices: terms.indices.clone(), values: terms.values.clone() }
        }
        _ => Sparse::default(),
    };
    let vectors = match named.get(DENSE) {
        Some(VectorInternal::Dense(dense)) => Some(Vectors { dense: dense.clone(), sparse }),
        _ => None,
    };
    let payload = record.payload.unwrap_or_default().0;
    Some(Point { id: convert::id(record.id)?, payload, vectors })
}

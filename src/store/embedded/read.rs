//! Reads of one collection: nearest, lexical, scroll and count.

use std::collections::HashMap;

use qdrant_edge::{
    CountRequest, NamedQuery, PointId, QuantizationSearchParams, QueryEnum, ScrollRequest,
    SearchParams, SearchRequest, SparseVector, VectorInternal, WithPayloadInterface, WithVector,
};
use uuid::Uuid;

use super::{
    super::{Filter, MAX_PAGE, Scored, StoreError, Stored},
    convert::{self, DENSE, Selection, TERMS},
    shard::Shard,
};
use crate::domain::Sparse;

/// How many times more points than asked for are found by rounded vectors and compared by whole
/// ones.
const OVERSAMPLING: f64 = 1.5;
/// How many points a search keeps in view while it follows links. Of the nearest hundred among 99,000, links
/// led to 91 in 100 with a hundred in view, and to 97 with this many, for about one more millisecond.
const IN_VIEW: usize = 512;
/// How many hits beyond the limit are asked for at first, to see whether the last one is tied.
const TIE_MARGIN: usize = 16;
/// How often a search is repeated because points it found were deleted before they were read.
const MAX_TRIES: usize = 3;
/// The most hits that are looked at to order a tie; a larger tie is ordered within these.
const MAX_TIED: usize = 2 * MAX_PAGE;

impl Shard {
    pub(super) fn nearest(
        &self,
        to: Vec<f32>,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        if to.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let query = NamedQuery { query: VectorInternal::Dense(to), using: Some(DENSE.to_owned()) };
        self.search(&QueryEnum::Nearest(query), filter, limit)
    }

    pub(super) fn lexical(
        &self,
        terms: Sparse,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        if terms.indices.is_empty() {
            return Ok(Vec::new());
        }
        let terms = SparseVector { indices: terms.indices, values: terms.values };
        let query =
            NamedQuery { query: VectorInternal::Sparse(terms), using: Some(TERMS.to_owned()) };
        self.search(&QueryEnum::Nearest(query), filter, limit)
    }

    pub(super) fn scroll(
        &self,
        filter: &Filter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        // The engine's offset is inclusive.
        let offset = match after.map(|after| after.as_u128().checked_add(1)) {
            Some(None) => return Ok(Vec::new()),
            Some(Some(next)) => Some(PointId::Uuid(Uuid::from_u128(next))),
            None => None,
        };
        let limit = limit.min(MAX_PAGE);
        let Selection::Points(filter) = convert::selection(filter)? else {
            return Ok(Vec::new());
        };
        if limit == 0 {
            return Ok(Vec::new());
        }
        let request = ScrollRequest {
            offset,
            limit: Some(limit),
            filter,
            with_payload: Some(WithPayloadInterface::Bool(true)),
            with_vector: WithVector::Bool(false),
            order_by: None,
        };
        let (records, _) = self.call("scroll", |engine| engine.scroll(request))?;
        let stored = records.into_iter().filter_map(|record| {
            let payload = record.payload.unwrap_or_default().0;
            Some(Stored { id: convert::id(record.id)?, payload })
        });
        Ok(stored.collect())
    }

    pub(super) fn count(&self, filter: &Filter) -> Result<u64, StoreError> {
        let Selection::Points(filter) = convert::selection(filter)? else {
            return Ok(0);
        };
        let request = CountRequest { filter, exact: true };
        let count = self.call("count", |engine| engine.count(request))?;
        Ok(count as u64)
    }

    fn search(
        &self,
        query: &QueryEnum,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        let limit = limit.min(MAX_PAGE);
        let Selection::Points(filter) = convert::selection(filter)? else {
            return Ok(Vec::new());
        };
        if limit == 0 {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for _ in 0..MAX_TRIES {
            let mut best = self.best(query, filter.as_ref(), limit)?;
            best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.truncate(limit);
            found = self.with_payloads(&best)?;
            // A point deleted between the two reads has been replaced by a newer one.
            if found.len() == best.len() {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the best points, at least `limit` and so many that no point tied with the last of
    /// those is missing, because the engine returns tied points in no fixed order.
    fn best(
        &self,
        query: &QueryEnum,
        filter: Option<&qdrant_edge::Filter>,
        limit: usize,
    ) -> Result<Vec<(Uuid, f32)>, StoreError> {
        let mut ask = limit + TIE_MARGIN;
        let how = self.how(filter.is_some())?;
        loop {
            let request = SearchRequest {
                query: query.clone(),
                filter: filter.cloned(),
                params: Some(how),
                limit: ask,
                offset: 0,
                with_payload: Some(WithPayloadInterface::Bool(false)),
                with_vector: Some(WithVector::Bool(false)),
                score_threshold: None,
            };
            let found = self.call("search", |engine| engine.search(request))?;
            let score = |at: usize| found.get(at).map(|point| point.score);
            let complete = found.len() < ask || score(limit - 1) != score(found.len() - 1);
            if complete || MAX_TIED <= ask {
                let best = found.iter().filter_map(|point| {
                    Some((convert::id(point.id)?, point.score)).filter(|(_, score)| !score.is_nan())
                });
                return Ok(best.collect());
            }
            ask = (ask * 4).min(MAX_TIED);
        }
    }

    /// The approximate index loses matches under a filter; looking at all the points that a filter
    /// leaves is fast. Without that index every search looks at all, first by rounded vectors.
    fn how(&self, is_filtered: bool) -> Result<SearchParams, StoreError> {
        let rounded = QuantizationSearchParams {
            ignore: false,
            rescore: Some(true),
            oversampling: Some(OVERSAMPLING),
        };
        Ok(SearchParams {
            exact: is_filtered && self.has_graph()?,
            hnsw_ef: Some(IN_VIEW),
            quantization: Some(rounded),
            ..SearchParams::default()
        })
    }

    /// Reads the payloads; a point that was deleted since it was found is left out.
    fn with_payloads(&self, best: &[(Uuid, f32)]) -> Result<Vec<Scored>, StoreError> {
        let ids: Vec<PointId> = best.iter().map(|(id, _)| PointId::Uuid(*id)).collect();
        let with_payload = Some(WithPayloadInterface::Bool(true));
        let records = self.call("read payloads", |engine| {
            engine.retrieve(&ids, with_payload, Some(WithVector::Bool(false)))
        })?;
        let mut payloads: HashMap<PointId, _> =
            records.into_iter().map(|record| (record.id, record.payload)).collect();
        let scored = best.iter().filter_map(|(id, score)| {
            let payload = payloads.remove(&PointId::Uuid(*id))?.unwrap_or_default().0;
            Some(Scored { id: *id, score: *score, payload })
        });
        Ok(scored.collect())
    }
}

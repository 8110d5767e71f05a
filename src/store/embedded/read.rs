//! Reads of one collection: nearest, lexical, scroll and count.

use std::collections::HashMap;

use qdrant_edge::{
    CountRequest, NamedQuery, PointId, QuantizationSearchParams, QueryEnum, ScrollRequest,
    SearchParams, SearchRequest, SparseVector, VectorInternal, WithPayloadInterface, WithVector,
};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    super::{
        Filter, MAX_PAGE, Scored, StoreError, Stored,
        best::{self, Hit},
        hnsw,
    },
    convert::{self, DENSE, Selection, TERMS},
    shard::Shard,
};
use crate::domain::Sparse;

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

    /// Hands every payload to `take`, in order of id.
    pub(super) fn each(
        &self,
        mut take: impl FnMut(Map<String, Value>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.scroll(&Filter::default(), after, MAX_PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id);
            page.into_iter().try_for_each(|stored| take(stored.payload))?;
        }
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
        for _ in 0..best::MAX_TRIES {
            let best = self.best(query, filter.as_ref(), limit)?;
            found = self.with_payloads(&best)?;
            // A point deleted between the two reads has been replaced by a newer one.
            if found.len() == best.len() {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the best `limit` hits, those tied with the last of them by id.
    fn best(
        &self,
        query: &QueryEnum,
        filter: Option<&qdrant_edge::Filter>,
        limit: usize,
    ) -> Result<Vec<Hit>, StoreError> {
        let mut ask = best::first_ask(limit);
        let how = self.how(filter)?;
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
            let Some(next) = best::next_ask(&found, |point| point.score, ask, limit) else {
                let hits =
                    found.iter().filter_map(|point| Some((convert::id(point.id)?, point.score)));
                return Ok(best::ordered(hits, limit));
            };
            ask = next;
        }
    }

    /// The approximate index loses matches under a filter; looking at all the points that a filter
    /// leaves is fast. Without that index every search looks at all, first by rounded vectors, and so
    /// does the engine where a filter leaves few, unless it is asked to be exact.
    fn how(&self, filter: Option<&qdrant_edge::Filter>) -> Result<SearchParams, StoreError> {
        let leaves_many = || {
            let request = CountRequest { filter: filter.cloned(), exact: false };
            self.call("count", |engine| engine.count(request)).map(|left| self.few() <= left)
        };
        let rounded = QuantizationSearchParams {
            ignore: false,
            rescore: Some(true),
            oversampling: Some(hnsw::OVERSAMPLING),
        };
        Ok(SearchParams {
            exact: filter.is_some() && self.has_graph()? && leaves_many()?,
            hnsw_ef: Some(hnsw::EF),
            quantization: Some(rounded),
            ..SearchParams::default()
        })
    }

    /// Reads the payloads; a point that was deleted since it was found is left out.
    fn with_payloads(&self, best: &[Hit]) -> Result<Vec<Scored>, StoreError> {
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

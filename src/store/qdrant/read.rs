//! Reads: nearest, lexical, scroll and count.
//!
//! Scores are those of the embedded engine to 1e-5. The frequency of a term is counted in each
//! shard and includes deleted chunks until the server cleans up.

use std::collections::HashMap;

use qdrant_client::qdrant::{
    CountPoints, DenseVector, GetPoints, QuantizationSearchParams, Query, QueryPoints, ScoredPoint,
    ScrollPoints, SearchParams, SparseVector, VectorInput, WithPayloadSelector, query,
    vector_input::Variant, with_payload_selector::SelectorOptions,
};
use uuid::Uuid;

use super::{
    super::{
        Collection, Filter, MAX_PAGE, Scored, StoreError, Stored,
        best::{self, Hit},
        hnsw,
    },
    Server,
    convert::{self, DENSE, Selection, TERMS},
};
use crate::domain::Sparse;

/// How many points one reply carries.
const PAGE: usize = 1000;

impl Server {
    pub(super) async fn nearest(
        &self,
        to: Vec<f32>,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        if to.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let variant = Variant::Dense(DenseVector { data: to });
        self.search(variant, DENSE, filter, limit).await
    }

    pub(super) async fn lexical(
        &self,
        terms: Sparse,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        if terms.indices.is_empty() {
            return Ok(Vec::new());
        }
        let terms = SparseVector { values: terms.values, indices: terms.indices };
        self.search(Variant::Sparse(terms), TERMS, filter, limit).await
    }

    pub(super) async fn scroll(
        &self,
        from: Collection,
        filter: &Filter,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<Stored>, StoreError> {
        let limit = limit.min(MAX_PAGE);
        let Selection::Points(filter) = convert::selection(filter) else {
            return Ok(Vec::new());
        };
        let mut stored: Vec<Stored> = Vec::new();
        let mut after = after;
        while stored.len() < limit {
            // The server's offset is inclusive.
            let offset = match after.map(|after| after.as_u128().checked_add(1)) {
                Some(None) => break,
                Some(Some(next)) => Some(convert::id(Uuid::from_u128(next))),
                None => None,
            };
            let wanted = (limit - stored.len()).min(PAGE);
            let request = ScrollPoints {
                filter: filter.clone(),
                offset,
                limit: u32::try_from(wanted).ok(),
                with_payload: Some(payloads(true)),
                ..Default::default()
            };
            let page = self.read("scroll", |node, names| {
                let collection_name = names.of(from);
                let request = ScrollPoints { collection_name, ..request.clone() };
                async move { node.points().scroll(request).await }
            });
            let page = page.await?.result;
            let is_last = page.len() < wanted;
            stored.extend(page.into_iter().filter_map(|point| {
                let payload = convert::object(point.payload);
                Some(Stored { id: convert::our_id(point.id)?, payload })
            }));
            after = stored.last().map(|stored| stored.id);
            if is_last || after.is_none() {
                break;
            }
        }
        Ok(stored)
    }

    pub(super) async fn count(&self, of: Collection, filter: &Filter) -> Result<u64, StoreError> {
        let Selection::Points(filter) = convert::selection(filter) else {
            return Ok(0);
        };
        let request = CountPoints { filter, exact: Some(true), ..Default::default() };
        let counted = self.read("count", |node, names| {
            let request = CountPoints { collection_name: names.of(of), ..request.clone() };
            async move { node.points().count(request).await }
        });
        Ok(counted.await?.result.unwrap_or_default().count)
    }

    async fn search(
        &self,
        to: Variant,
        using: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        let limit = limit.min(MAX_PAGE);
        let Selection::Points(filter) = convert::selection(filter) else {
            return Ok(Vec::new());
        };
        if limit == 0 {
            return Ok(Vec::new());
        }
        let nearest = query::Variant::Nearest(VectorInput { variant: Some(to) });
        let request = QueryPoints {
            query: Some(Query { variant: Some(nearest) }),
            using: Some(using.to_owned()),
            params: Some(how(filter.is_some())),
            filter,
            with_payload: Some(payloads(false)),
            ..Default::default()
        };
        let mut found = Vec::new();
        for _ in 0..best::MAX_TRIES {
            let best = self.best(&request, limit).await?;
            found = self.with_payloads(&best).await?;
            // A point deleted between the two reads has been replaced by a newer one.
            if found.len() == best.len() {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the best `limit` hits, those tied with the last of them by id.
    async fn best(&self, request: &QueryPoints, limit: usize) -> Result<Vec<Hit>, StoreError> {
        let mut ask = best::first_ask(limit);
        loop {
            let found = self.read("search", |node, names| {
                let collection_name = names.of(Collection::Chunks);
                let limit = Some(ask as u64);
                let request = QueryPoints { collection_name, limit, ..request.clone() };
                async move { node.points().query(request).await }
            });
            let found = found.await?.result;
            let Some(next) = best::next_ask(&found, |point| point.score, ask, limit) else {
                let hit = |point: ScoredPoint| Some((convert::our_id(point.id)?, point.score));
                return Ok(best::ordered(found.into_iter().filter_map(hit), limit));
            };
            ask = next;
        }
    }

    /// Reads the payloads; a point that was deleted since it was found is left out.
    async fn with_payloads(&self, best: &[Hit]) -> Result<Vec<Scored>, StoreError> {
        let mut payloads_by_id = HashMap::with_capacity(best.len());
        for some in best.chunks(PAGE) {
            let request = GetPoints {
                ids: some.iter().map(|(id, _)| convert::id(*id)).collect(),
                with_payload: Some(payloads(true)),
                ..Default::default()
            };
            let points = self.read("read payloads", |node, names| {
                let collection_name = names.of(Collection::Chunks);
                let request = GetPoints { collection_name, ..request.clone() };
                async move { node.points().get(request).await }
            });
            payloads_by_id.extend(points.await?.result.into_iter().filter_map(|point| {
                Some((convert::our_id(point.id)?, convert::object(point.payload)))
            }));
        }
        let scored = best.iter().filter_map(|(id, score)| {
            let payload = payloads_by_id.remove(id)?;
            Some(Scored { id: *id, score: *score, payload })
        });
        Ok(scored.collect())
    }
}

/// The approximate index loses matches under a filter; looking at all the points that a filter
/// leaves is fast, because nearly all filters name a root.
fn how(is_filtered: bool) -> SearchParams {
    let rounded = QuantizationSearchParams {
        ignore: Some(false),
        rescore: Some(true),
        oversampling: Some(hnsw::OVERSAMPLING),
    };
    SearchParams {
        exact: Some(is_filtered),
        hnsw_ef: Some(hnsw::EF as u64),
        quantization: Some(rounded),
        ..Default::default()
    }
}

pub(super) fn payloads(are_wanted: bool) -> WithPayloadSelector {
    WithPayloadSelector { selector_options: Some(SelectorOptions::Enable(are_wanted)) }
}

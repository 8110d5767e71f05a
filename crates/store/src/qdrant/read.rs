//! Reads: nearest, lexical, by page, by id, and count.
//!
//! Scores of the same chunks are those of the embedded engine to 2e-4. The frequency of a term is counted in each
//! shard and includes deleted chunks until the server cleans up.

use std::collections::HashMap;

use codeinfo_core::{RootId, TermVector};
use qdrant_client::qdrant::{
    CountPoints, DenseVector, Filter, GetPoints, QuantizationSearchParams, Query, QueryPoints,
    ScoredPoint, ScrollPoints, SearchParams, SparseVector, VectorInput, WithPayloadSelector, query,
    vector_input::Variant, with_payload_selector::SelectorOptions,
};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::{
    QdrantServer,
    best::{self, PointScore},
    convert::{self, DENSE, TERMS},
    graph,
    names::CollectionKind,
    records,
};
use crate::{MAX_PAGE, QueryTarget, ScoredChunk, StoreError};

/// Number of points of one reply.
const PAGE: usize = 1000;

impl QdrantServer {
    /// Finds the best chunks that match a filter.
    pub(super) async fn search_chunks(
        &self,
        target: QueryTarget,
        filter: Option<Filter>,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, StoreError> {
        let (vector, using) = match target {
            QueryTarget::Vector(data) if data.iter().any(|value| *value != 0.0) => {
                (Variant::Dense(DenseVector { data }), DENSE)
            }
            QueryTarget::Terms(TermVector { indices, values }) if !indices.is_empty() => {
                (Variant::Sparse(SparseVector { values, indices }), TERMS)
            }
            QueryTarget::Vector(_) | QueryTarget::Terms(_) => return Ok(Vec::new()),
        };
        self.search_vector(vector, using, filter, limit.min(MAX_PAGE)).await
    }

    /// Reads records with their ids, in order of id, starting after `after`.
    pub(super) async fn read_page<T: DeserializeOwned>(
        &self,
        from: CollectionKind,
        of: Option<RootId>,
        mut after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<(Uuid, T)>, StoreError> {
        let filter = of.map(convert::filter_root);
        let mut records: Vec<(Uuid, T)> = Vec::new();
        while records.len() < limit {
            // The server's offset is inclusive.
            let offset = match after.map(|after| after.as_u128().checked_add(1)) {
                Some(None) => break,
                Some(Some(next)) => Some(convert::to_point_id(Uuid::from_u128(next))),
                None => None,
            };
            let wanted = (limit - records.len()).min(PAGE);
            let request = ScrollPoints {
                filter: filter.clone(),
                offset,
                limit: u32::try_from(wanted).ok(),
                with_payload: Some(payload_selector(true)),
                ..Default::default()
            };
            let reading = self.read(from.read_action(), |node, names| {
                let collection_name = names.name(from);
                let request = ScrollPoints { collection_name, ..request.clone() };
                async move { node.points_client().scroll(request).await }
            });
            let page = reading.await?.result;
            let is_last = page.len() < wanted;
            for point in page {
                let Some(id) = convert::from_point_id(point.id) else { continue };
                records.push((id, records::from_payload(point.payload)?));
            }
            after = records.last().map(|(id, _)| *id);
            if is_last || after.is_none() {
                break;
            }
        }
        Ok(records)
    }

    /// Reads all records, or all of a root.
    pub(super) async fn read_all<T: DeserializeOwned>(
        &self,
        from: CollectionKind,
        of: Option<RootId>,
    ) -> Result<Vec<T>, StoreError> {
        let records = self.read_page(from, of, None, usize::MAX).await?;
        Ok(records.into_iter().map(|(_, record)| record).collect())
    }

    /// Reads records by their ids; missing ones are skipped.
    pub(super) async fn read_by_id<T: DeserializeOwned>(
        &self,
        from: CollectionKind,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, T>, StoreError> {
        let mut records = HashMap::with_capacity(ids.len());
        for some in ids.chunks(PAGE) {
            let request = GetPoints {
                ids: convert::point_ids(some),
                with_payload: Some(payload_selector(true)),
                ..Default::default()
            };
            let points = self.read(from.read_action(), |node, names| {
                let request = GetPoints { collection_name: names.name(from), ..request.clone() };
                async move { node.points_client().get(request).await }
            });
            for point in points.await?.result {
                let Some(id) = convert::from_point_id(point.id) else { continue };
                records.insert(id, records::from_payload(point.payload)?);
            }
        }
        Ok(records)
    }

    /// Counts chunks.
    pub(super) async fn count_chunks(&self, of: Option<RootId>) -> Result<u64, StoreError> {
        let filter = of.map(convert::filter_root);
        let request = CountPoints { filter, exact: Some(true), ..Default::default() };
        let counted = self.read("count the chunks", |node, names| {
            let collection_name = names.name(CollectionKind::Chunks);
            let request = CountPoints { collection_name, ..request.clone() };
            async move { node.points_client().count(request).await }
        });
        Ok(counted.await?.result.unwrap_or_default().count)
    }

    async fn search_vector(
        &self,
        to: Variant,
        using: &str,
        of: Option<Filter>,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, StoreError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let nearest = query::Variant::Nearest(VectorInput { variant: Some(to) });
        let request = QueryPoints {
            query: Some(Query { variant: Some(nearest) }),
            using: Some(using.to_owned()),
            params: Some(search_params(of.is_some())),
            filter: of,
            with_payload: Some(payload_selector(false)),
            ..Default::default()
        };
        // With their records, which saves a round trip; only if more hits are tied, records are read separately.
        let ask = best::first_request(limit);
        let with_records =
            QueryPoints { with_payload: Some(payload_selector(true)), ..request.clone() };
        let mut found = self.query_points(&with_records, ask).await?;
        let Some(more) = best::next_request(&found, |point| point.score, ask, limit) else {
            let mut payloads: HashMap<Uuid, _> = HashMap::with_capacity(found.len());
            for point in &mut found {
                let payload = std::mem::take(&mut point.payload);
                payloads.extend(convert::from_point_id(point.id.clone()).map(|id| (id, payload)));
            }
            let scored = |(id, score)| {
                let record = records::from_payload(payloads.remove(&id)?);
                Some(record.map(|record| ScoredChunk { id, score, record, also: Vec::new() }))
            };
            return Ok(best_hits(found, limit)
                .into_iter()
                .filter_map(scored)
                .collect::<Result<_, _>>()?);
        };
        self.search_tied(&request, more, limit).await
    }

    /// Returns the best `limit` chunks, of at least `ask` hits.
    async fn search_tied(
        &self,
        request: &QueryPoints,
        ask: usize,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, StoreError> {
        let mut found = Vec::new();
        for _ in 0..best::MAX_TRIES {
            let best = self.find_best(request, ask, limit).await?;
            let ids: Vec<Uuid> = best.iter().map(|(id, _)| *id).collect();
            let mut records = self.read_by_id(CollectionKind::Chunks, &ids).await?;
            let scored = |(id, score)| {
                Some(ScoredChunk { id, score, record: records.remove(&id)?, also: Vec::new() })
            };
            let asked = best.len();
            found = best.into_iter().filter_map(scored).collect();
            // A newer point replaced one that was deleted between the two reads.
            if found.len() == asked {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the best `limit` hits, those tied with the last of them by id.
    async fn find_best(
        &self,
        request: &QueryPoints,
        mut ask: usize,
        limit: usize,
    ) -> Result<Vec<PointScore>, StoreError> {
        loop {
            let found = self.query_points(request, ask).await?;
            let Some(next) = best::next_request(&found, |point| point.score, ask, limit) else {
                return Ok(best_hits(found, limit));
            };
            ask = next;
        }
    }

    async fn query_points(
        &self,
        request: &QueryPoints,
        limit: usize,
    ) -> Result<Vec<ScoredPoint>, StoreError> {
        let found = self.read("search", |node, names| {
            let collection_name = names.name(CollectionKind::Chunks);
            let limit = Some(limit as u64);
            let request = QueryPoints { collection_name, limit, ..request.clone() };
            async move { node.points_client().query(request).await }
        });
        Ok(found.await?.result)
    }
}

/// Returns the best `limit` hits.
fn best_hits(found: Vec<ScoredPoint>, limit: usize) -> Vec<PointScore> {
    let hit = |point: ScoredPoint| Some((convert::from_point_id(point.id)?, point.score));
    best::sort_best(found.into_iter().filter_map(hit), limit)
}

/// Returns exact search for filters: the approximate index would lose matches, and reading all points of a root is fast.
fn search_params(is_filtered: bool) -> SearchParams {
    let rounded = QuantizationSearchParams {
        ignore: Some(false),
        rescore: Some(true),
        oversampling: Some(graph::OVERSAMPLING),
    };
    SearchParams {
        exact: Some(is_filtered),
        hnsw_ef: Some(graph::SEARCH_CANDIDATES as u64),
        quantization: Some(rounded),
        ..Default::default()
    }
}

pub(super) fn payload_selector(are_wanted: bool) -> WithPayloadSelector {
    WithPayloadSelector { selector_options: Some(SelectorOptions::Enable(are_wanted)) }
}

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
    super::{
        MAX_PAGE, Scored, StoreError,
        best::{self, Hit},
    },
    Server,
    convert::{self, DENSE, TERMS},
    hnsw,
    names::Collection,
    records,
};

/// How many points one reply carries.
const PAGE: usize = 1000;

impl Server {
    pub(super) async fn nearest(
        &self,
        to: Vec<f32>,
        of: Option<Filter>,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        if to.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        let variant = Variant::Dense(DenseVector { data: to });
        self.search(variant, DENSE, of, limit).await
    }

    pub(super) async fn lexical(
        &self,
        terms: TermVector,
        of: Option<Filter>,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        if terms.indices.is_empty() {
            return Ok(Vec::new());
        }
        let terms = SparseVector { values: terms.values, indices: terms.indices };
        self.search(Variant::Sparse(terms), TERMS, of, limit).await
    }

    /// Reads records with their ids, in order of id, starting after `after`.
    pub(super) async fn scroll<T: DeserializeOwned>(
        &self,
        from: Collection,
        of: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<(Uuid, T)>, StoreError> {
        let filter = of.map(convert::of_root);
        let mut records: Vec<(Uuid, T)> = Vec::new();
        let mut after = after;
        while records.len() < limit {
            // The server's offset is inclusive.
            let offset = match after.map(|after| after.as_u128().checked_add(1)) {
                Some(None) => break,
                Some(Some(next)) => Some(convert::id(Uuid::from_u128(next))),
                None => None,
            };
            let wanted = (limit - records.len()).min(PAGE);
            let request = ScrollPoints {
                filter: filter.clone(),
                offset,
                limit: u32::try_from(wanted).ok(),
                with_payload: Some(payloads(true)),
                ..Default::default()
            };
            let page = self.read(from.read_action(), |node, names| {
                let collection_name = names.of(from);
                let request = ScrollPoints { collection_name, ..request.clone() };
                async move { node.points().scroll(request).await }
            });
            let page = page.await?.result;
            let is_last = page.len() < wanted;
            for point in page {
                let Some(id) = convert::our_id(point.id) else { continue };
                records.push((id, records::record(point.payload)?));
            }
            after = records.last().map(|(id, _)| *id);
            if is_last || after.is_none() {
                break;
            }
        }
        Ok(records)
    }

    /// Reads all records, or all of a root.
    pub(super) async fn all<T: DeserializeOwned>(
        &self,
        from: Collection,
        of: Option<RootId>,
    ) -> Result<Vec<T>, StoreError> {
        let records = self.scroll(from, of, None, usize::MAX).await?;
        Ok(records.into_iter().map(|(_, record)| record).collect())
    }

    /// Reads records by their ids; those that are not there are left out.
    pub(super) async fn named<T: DeserializeOwned>(
        &self,
        from: Collection,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, T>, StoreError> {
        let mut records = HashMap::with_capacity(ids.len());
        for some in ids.chunks(PAGE) {
            let request = GetPoints {
                ids: convert::point_ids(some),
                with_payload: Some(payloads(true)),
                ..Default::default()
            };
            let points = self.read(from.read_action(), |node, names| {
                let request = GetPoints { collection_name: names.of(from), ..request.clone() };
                async move { node.points().get(request).await }
            });
            for point in points.await?.result {
                let Some(id) = convert::our_id(point.id) else { continue };
                records.insert(id, records::record(point.payload)?);
            }
        }
        Ok(records)
    }

    /// Counts chunks.
    pub(super) async fn count(&self, of: Option<RootId>) -> Result<u64, StoreError> {
        let filter = of.map(convert::of_root);
        let request = CountPoints { filter, exact: Some(true), ..Default::default() };
        let counted = self.read("count the chunks", |node, names| {
            let collection_name = names.of(Collection::Chunks);
            let request = CountPoints { collection_name, ..request.clone() };
            async move { node.points().count(request).await }
        });
        Ok(counted.await?.result.unwrap_or_default().count)
    }

    async fn search(
        &self,
        to: Variant,
        using: &str,
        of: Option<Filter>,
        limit: usize,
    ) -> Result<Vec<Scored>, StoreError> {
        let limit = limit.min(MAX_PAGE);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let nearest = query::Variant::Nearest(VectorInput { variant: Some(to) });
        let request = QueryPoints {
            query: Some(Query { variant: Some(nearest) }),
            using: Some(using.to_owned()),
            params: Some(how(of.is_some())),
            filter: of,
            with_payload: Some(payloads(false)),
            ..Default::default()
        };
        // With their records, which saves a round trip; only where more of them are tied, these are read by themselves.
        let ask = best::first_ask(limit);
        let with_records = QueryPoints { with_payload: Some(payloads(true)), ..request.clone() };
        let mut found = self.query(&with_records, ask).await?;
        let Some(more) = best::next_ask(&found, |point| point.score, ask, limit) else {
            let mut payloads: HashMap<Uuid, _> = HashMap::with_capacity(found.len());
            for point in &mut found {
                let payload = std::mem::take(&mut point.payload);
                payloads.extend(convert::our_id(point.id.clone()).map(|id| (id, payload)));
            }
            let scored = |(id, score)| {
                let record = records::record(payloads.remove(&id)?);
                Some(record.map(|record| Scored { id, score, record, also: Vec::new() }))
            };
            return Ok(hits(found, limit)
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
    ) -> Result<Vec<Scored>, StoreError> {
        let mut found = Vec::new();
        for _ in 0..best::MAX_TRIES {
            let best = self.best(request, ask, limit).await?;
            let ids: Vec<Uuid> = best.iter().map(|(id, _)| *id).collect();
            let mut records = self.named(Collection::Chunks, &ids).await?;
            let scored = |(id, score)| {
                Some(Scored { id, score, record: records.remove(&id)?, also: Vec::new() })
            };
            let asked = best.len();
            found = best.into_iter().filter_map(scored).collect();
            // A point deleted between the two reads has been replaced by a newer one.
            if found.len() == asked {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the best `limit` hits, those tied with the last of them by id.
    async fn best(
        &self,
        request: &QueryPoints,
        mut ask: usize,
        limit: usize,
    ) -> Result<Vec<Hit>, StoreError> {
        loop {
            let found = self.query(request, ask).await?;
            let Some(next) = best::next_ask(&found, |point| point.score, ask, limit) else {
                return Ok(hits(found, limit));
            };
            ask = next;
        }
    }

    async fn query(
        &self,
        request: &QueryPoints,
        limit: usize,
    ) -> Result<Vec<ScoredPoint>, StoreError> {
        let found = self.read("search", |node, names| {
            let collection_name = names.of(Collection::Chunks);
            let limit = Some(limit as u64);
            let request = QueryPoints { collection_name, limit, ..request.clone() };
            async move { node.points().query(request).await }
        });
        Ok(found.await?.result)
    }
}

/// Returns the best `limit` hits.
fn hits(found: Vec<ScoredPoint>, limit: usize) -> Vec<Hit> {
    let hit = |point: ScoredPoint| Some((convert::our_id(point.id)?, point.score));
    best::ordered(found.into_iter().filter_map(hit), limit)
}

/// The approximate index loses matches under a filter; looking at all the points of a root is fast.
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

//! Reads: nearest, lexical, by page, by id, and count.
//!
//! Scores equal those of the embedded engine to 2e-4. Each shard counts the frequency of a term, with deleted chunks
//! until the server cleans up. Tied points, which a server returns in no fixed order, are ordered here.

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
    convert::{self, DENSE, TERMS},
    names::CollectionKind,
    setup::{OVERSAMPLING, SEARCH_CANDIDATES},
};
use crate::{MAX_PAGE, QueryTarget, ScoredChunk, StoreError};

/// Number of points of one reply.
const PAGE: usize = 1000;

/// Maximum number of repetitions of a search whose results were deleted before they were read.
const MAX_TRIES: usize = 3;
/// Number of hits beyond the limit that are requested at first, to see whether the last one is tied.
const TIE_MARGIN: usize = 16;
/// Maximum number of hits that are read to order a tie; a larger tie is ordered within these.
const MAX_TIED: usize = 2 * MAX_PAGE;

type PointScore = (Uuid, f32);

impl QdrantServer {
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
        root: Option<RootId>,
        mut after: Option<Uuid>,
        limit: usize,
    ) -> Result<Vec<(Uuid, T)>, StoreError> {
        let filter = root.map(convert::filter_root);
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
                records.push((id, convert::parse_record(point.payload)?));
            }
            after = records.last().map(|(id, _)| *id);
            if is_last || after.is_none() {
                break;
            }
        }
        Ok(records)
    }

    pub(super) async fn read_all<T: DeserializeOwned>(
        &self,
        from: CollectionKind,
        root: Option<RootId>,
    ) -> Result<Vec<T>, StoreError> {
        let records = self.read_page(from, root, None, usize::MAX).await?;
        Ok(records.into_iter().map(|(_, record)| record).collect())
    }

    /// Reads records by their ids; missing ones are skipped.
    pub(super) async fn read_by_id<T: DeserializeOwned>(
        &self,
        from: CollectionKind,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, T>, StoreError> {
        let mut records = HashMap::with_capacity(ids.len());
        for page_ids in ids.chunks(PAGE) {
            let request = GetPoints {
                ids: convert::point_ids(page_ids),
                with_payload: Some(payload_selector(true)),
                ..Default::default()
            };
            let points = self.read(from.read_action(), |node, names| {
                let request = GetPoints { collection_name: names.name(from), ..request.clone() };
                async move { node.points_client().get(request).await }
            });
            for point in points.await?.result {
                let Some(id) = convert::from_point_id(point.id) else { continue };
                records.insert(id, convert::parse_record(point.payload)?);
            }
        }
        Ok(records)
    }

    pub(super) async fn count_chunks(&self, root: Option<RootId>) -> Result<u64, StoreError> {
        let filter = root.map(convert::filter_root);
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
        target: Variant,
        using: &str,
        filter: Option<Filter>,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, StoreError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let nearest = query::Variant::Nearest(VectorInput { variant: Some(target) });
        let request = QueryPoints {
            query: Some(Query { variant: Some(nearest) }),
            using: Some(using.to_owned()),
            params: Some(search_params(filter.is_some())),
            filter,
            with_payload: Some(payload_selector(false)),
            ..Default::default()
        };
        // With their records, which saves a round trip; only if more hits are tied, records are read separately.
        let requested = limit + TIE_MARGIN;
        let with_records =
            QueryPoints { with_payload: Some(payload_selector(true)), ..request.clone() };
        let mut found = self.query_points(&with_records, requested).await?;
        let Some(more) = next_request(&found, |point| point.score, requested, limit) else {
            let mut payloads: HashMap<Uuid, _> = HashMap::with_capacity(found.len());
            for point in &mut found {
                let payload = std::mem::take(&mut point.payload);
                payloads.extend(convert::from_point_id(point.id.clone()).map(|id| (id, payload)));
            }
            let scored = |(id, score)| {
                let record = convert::parse_record(payloads.remove(&id)?);
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
        for _ in 0..MAX_TRIES {
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
            let Some(next) = next_request(&found, |point| point.score, ask, limit) else {
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

fn best_hits(found: Vec<ScoredPoint>, limit: usize) -> Vec<PointScore> {
    let hit = |point: ScoredPoint| Some((convert::from_point_id(point.id)?, point.score));
    sort_best(found.into_iter().filter_map(hit), limit)
}

/// Returns exact search for filters: the approximate index would lose matches, and reading all points of a root is fast.
fn search_params(is_filtered: bool) -> SearchParams {
    let rounded = QuantizationSearchParams {
        ignore: Some(false),
        rescore: Some(true),
        oversampling: Some(OVERSAMPLING),
    };
    SearchParams {
        exact: Some(is_filtered),
        hnsw_ef: Some(SEARCH_CANDIDATES as u64),
        quantization: Some(rounded),
        ..Default::default()
    }
}

pub(super) fn payload_selector(are_wanted: bool) -> WithPayloadSelector {
    WithPayloadSelector { selector_options: Some(SelectorOptions::Enable(are_wanted)) }
}

/// Returns the number of hits to request instead, if `found`, best first, of `requested` ones may lack hits
/// that are tied with the last of the best `limit`.
fn next_request<T>(
    found: &[T],
    score: impl Fn(&T) -> f32,
    requested: usize,
    limit: usize,
) -> Option<usize> {
    let score = |at: usize| found.get(at).map(&score);
    let is_complete = found.len() < requested || score(limit - 1) != score(found.len() - 1);
    (!is_complete && requested < MAX_TIED).then(|| (requested * 4).min(MAX_TIED))
}

/// Sorts hits, tied ones by id, drops those without a score, and keeps the best `limit`.
fn sort_best(found: impl IntoIterator<Item = PointScore>, limit: usize) -> Vec<PointScore> {
    let mut hits: Vec<PointScore> =
        found.into_iter().filter(|(_, score)| !score.is_nan()).collect();
    hits.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(limit);
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(scores: &[f32], requested: usize, limit: usize) -> Option<usize> {
        next_request(scores, |score| *score, requested, limit)
    }

    #[test]
    fn more_hits_are_asked_for_while_the_last_may_be_tied() {
        assert_eq!(ask(&[3.0, 2.0, 2.0], 3, 2), Some(12));
        assert_eq!(ask(&[3.0, 2.0, 1.0], 3, 2), None);
        assert_eq!(ask(&[3.0, 2.0, 2.0], 4, 2), None);
        assert_eq!(ask(&[2.0; 9], 9, 2), Some(36));
        assert_eq!(ask(&vec![2.0; MAX_TIED], MAX_TIED, 2), None);
    }

    #[test]
    fn tied_hits_come_by_id_and_hits_without_score_not_at_all() {
        let hit = |id, score| (Uuid::from_u128(id), score);
        let found = [hit(3, 1.0), hit(9, f32::NAN), hit(1, 1.0), hit(2, 2.0)];
        assert_eq!(sort_best(found, 2), [hit(2, 2.0), hit(1, 1.0)]);
    }
}

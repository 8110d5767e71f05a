//! Finds chunks: dense and lexical neighbours, fused and ranked.
//!
//! Fusing, ranking, grouping and rendering are pure; only [`Search::find`] asks the store,
//! and [`Search::freshness`] the disk.

mod candidate;
mod error;
mod excerpt;
#[cfg(test)]
mod fixture;
mod freshness;
mod fuse;
mod group;
mod intent;
mod query;
mod rank;

use std::{collections::HashMap, path::Path, sync::Arc};

use crate::{
    config::PathMap,
    domain::{FileSummary, Hit, Root, RootId},
    embed::{Embedder, lexical},
    store::{Catalog, Field, Filter, Scored, StoreError, VectorStore},
};

use self::{candidate::Candidate, intent::Intent};
pub use self::{
    error::SearchError,
    excerpt::{Excerpt, excerpt},
    freshness::Freshness,
    query::{DEFAULT_LIMIT, MAX_LIMIT, MAX_QUERY_BYTES, Query},
};

/// How many neighbours of each kind are fused. Several times the most results, as the two lists
/// differ and ranking moves candidates up.
const CANDIDATES: usize = 100;

/// Searches one store.
#[derive(Clone)]
pub struct Search {
    store: Arc<dyn VectorStore>,
    catalog: Catalog,
    embedder: Arc<dyn Embedder>,
    path_map: PathMap,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Best first; equal scores in a fixed order.
    pub hits: Vec<Hit>,
    /// The same by file, each file once, ordered by its best hit.
    pub files: Vec<FileSummary>,
    /// Embedding model, as `name@version`.
    pub model_id: String,
}

impl Search {
    /// Makes a search over `store`, whose vectors are of `embedder`.
    pub fn new(
        store: Arc<dyn VectorStore>,
        embedder: Arc<dyn Embedder>,
        path_map: PathMap,
    ) -> Self {
        Self { catalog: Catalog::new(Arc::clone(&store)), store, embedder, path_map }
    }

    /// Finds the chunks that answer `query`, best first.
    ///
    /// The score of a hit is between 0 and 1 and falls with its rank. It is the share of what a
    /// chunk can attain at most: 1 for one that leads both lists and that every rule favours.
    pub async fn find(&self, query: &Query) -> Result<Found, SearchError> {
        let roots = self.catalog.roots().await?;
        if roots.is_empty() {
            return Err(SearchError::IngestRequired);
        }
        let filter = match query.repository() {
            Some(reference) => {
                let root = self.path_map.root(&roots, reference);
                let root = root.ok_or_else(|| error::unknown_repository(reference, &roots))?;
                Filter::default().with(Field::Root, [root.id.to_string()])
            }
            None => Filter::default(),
        };
        let intent = Intent::of(query.text());
        let (dense, lexical) = futures_util::try_join!(
            self.dense(query.text(), filter.clone()),
            self.lexical(query.text(), filter)
        )?;
        let mut candidates = fuse::fuse(dense, lexical, rank::weights(intent.kind))
            .map_err(StoreError::Malformed)?;
        candidate::drop_stale(&mut candidates);
        let folders: HashMap<RootId, &Path> =
            roots.iter().map(|root| (root.id, root.path.as_path())).collect();
        candidate::drop_twins(&mut candidates, &folders);
        let ranked = rank::rank(candidates, &intent, query.limit());
        Ok(self.found(ranked, &roots))
    }

    async fn dense(&self, text: &str, filter: Filter) -> Result<Vec<Scored>, SearchError> {
        let vector = self.embedder.query(text.to_owned()).await?;
        // A text without known words points nowhere, so that nothing is near it.
        if vector.iter().all(|value| *value == 0.0) {
            return Ok(Vec::new());
        }
        Ok(self.store.nearest(vector, filter, CANDIDATES).await?)
    }

    async fn lexical(&self, text: &str, filter: Filter) -> Result<Vec<Scored>, SearchError> {
        let terms = lexical::query(text);
        if terms.indices.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.store.lexical(terms, filter, CANDIDATES).await?)
    }

    fn found(&self, ranked: Vec<Candidate>, roots: &[Root]) -> Found {
        let model_id = self.embedder.model().id();
        let by_id: HashMap<RootId, &Root> = roots.iter().map(|root| (root.id, root)).collect();
        let hits: Vec<Hit> = ranked
            .into_iter()
            .filter_map(|candidate| {
                let root = by_id.get(&candidate.record.root)?;
                Some(self.hit(candidate, root, &model_id))
            })
            .collect();
        Found { files: group::by_file(&hits), hits, model_id }
    }

    fn hit(&self, Candidate { id, record, score }: Candidate, root: &Root, model: &str) -> Hit {
        Hit {
            repo: root.name.clone(),
            path: self.path_map.shown(&root.path.join(&record.path)).display().to_string(),
            rel_path: record.path,
            start_line: record.start_line,
            end_line: record.end_line,
            symbol: record.symbol,
            language: record.language,
            score: (f64::from(score) * 1e4).round() / 1e4,
            chunk: record.text,
            chunk_id: id.to_string(),
            model_id: model.to_owned(),
            line_count: record.end_line.saturating_sub(record.start_line) + 1,
            signature: record.signature,
        }
    }
}

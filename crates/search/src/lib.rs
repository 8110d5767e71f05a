//! Finds chunks: dense and lexical neighbours, fused and ranked.
//!
//! Fusing, ranking, grouping and rendering are pure. Only [`Search::find_chunks`] reads the store,
//! and only [`Search::check_freshness`] also reads the disk.
//!
//! While an index run has written new chunks and not yet deleted the old ones, a search may find
//! two versions of a path. The later one counts.

mod absent;
mod also;
mod between;
mod candidate;
mod error;
pub mod evidence;
mod exact;
mod exact_name;
mod excerpt;
mod files;
#[cfg(test)]
mod fixture;
mod fold;
mod freshness;
mod fuse;
mod group;
mod intent;
mod language;
mod purpose;
mod query;
mod rank;
pub mod render;
mod scope;
mod sight;
mod weights;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use codeinfo_core::{FileSummary, Hit, PathMap, Root, RootId, TermVector};
use codeinfo_embed::{Embedder, lexical};
use codeinfo_store::{QueryTarget, RememberedRoots, ScoredChunk, Store};
use codeinfo_worktree::roots::{FolderCheck, find_root};
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, task::spawn_blocking};
use uuid::Uuid;

pub use self::{
    absent::DocumentedName,
    also::NameLocation,
    error::SearchError,
    excerpt::{Excerpt, render_excerpt},
    freshness::ResultFreshness,
    query::{DEFAULT_LIMIT, MAX_LIMIT, MAX_LISTED, MAX_QUERY_BYTES, SearchQuery},
    weights::SearchWeights,
};
use self::{
    absent::{AbsentTerms, QueryContext},
    candidate::SearchCandidate,
    intent::{QueryIntent, QueryKind},
    scope::TermSampleCache,
    sight::SearchScope,
};

/// Neighbours of each list that are fused in a search of one repository. A multiple of the maximum
/// results, because the lists differ and ranking moves candidates up.
const CANDIDATES: usize = 100;
/// The same in a search of all repositories, which takes a fifth longer with a hundred.
const CANDIDATES_EVERYWHERE: usize = 70;

/// Maximum neighbours of each list that are read to filter them by language.
const MAX_CANDIDATES: usize = 20_000;
/// Maximum neighbours that are read to drop other versions of the same code in a search of all
/// repositories.
const MAX_VERSIONS: usize = 1_000;
/// Candidates above which ranking moves to a blocking thread.
const MANY: usize = 800;

/// Inputs for finding neighbours.
struct NeighbourQuery<'a> {
    text: &'a str,
    terms: TermVector,
    sight: &'a SearchScope,
    lists: fuse::ListWeights,
}

/// Searches one store.
#[derive(Clone)]
pub struct Search {
    store: Store,
    embedder: Arc<dyn Embedder>,
    path_map: PathMap,
    weights: SearchWeights,
    scopes: Arc<TermSampleCache>,
    /// Limits concurrent checks of files.
    checks: Arc<Semaphore>,
    folders: FolderCheck,
}

/// Results of a search. The field names are part of the wire format of `POST /tools/vector-search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResults {
    /// Best first; equal scores in a fixed order.
    #[serde(rename = "results")]
    pub hits: Vec<Hit>,
    /// Hits summarised by file, ordered by the best hit.
    pub files: Vec<FileSummary>,
    /// Names and files of the query that occur nowhere in the searched roots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// Plain words of the query that no indexed text contains in any form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent_words: Vec<String>,
    /// Names of the query that occur only in documents.
    #[serde(skip)]
    pub documented: Vec<DocumentedName>,
    /// Hint for the client, such as about the language of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// Other definitions, if the query consists of one name.
    #[serde(skip)]
    pub also: Vec<NameLocation>,
    /// Embedding model, as `name@version`.
    pub model_id: String,
}

impl Search {
    /// Creates a search over `store`, whose vectors come from `embedder`.
    pub fn new(store: Store, embedder: Arc<dyn Embedder>, path_map: PathMap) -> Self {
        let checks = Arc::new(Semaphore::new(freshness::MAX_CHECKS));
        Self {
            store,
            embedder,
            path_map,
            weights: SearchWeights::SHIPPED,
            scopes: Arc::default(),
            checks,
            folders: FolderCheck::default(),
        }
    }

    /// Replaces the weights.
    #[must_use]
    pub fn with_weights(self, weights: SearchWeights) -> Self {
        Self { weights, ..self }
    }

    /// Finds the chunks that answer `query`, best first.
    ///
    /// The score of a hit is between 0 and 1 and falls with its rank. It is the share of the
    /// maximum that a chunk can attain: 1 for one that leads both lists and has all features.
    pub async fn find_chunks(&self, query: &SearchQuery) -> Result<SearchResults, SearchError> {
        if let Some(RememberedRoots { roots, store }) = self.store.remembered_roots() {
            // The current roots are read concurrently, so that this takes no extra time.
            let search = Self { store, ..self.clone() };
            let (now, found) =
                futures_util::join!(self.store.roots(), search.find_in(query, &roots));
            let current = now?;
            return if current == *roots { found } else { self.find_in(query, &current).await };
        }
        self.find_in(query, &self.store.roots().await?).await
    }

    async fn find_in(
        &self,
        query: &SearchQuery,
        roots: &[Root],
    ) -> Result<SearchResults, SearchError> {
        if roots.is_empty() {
            return Err(SearchError::IngestRequired);
        }
        if let Some((first, second)) = query.compared_trees() {
            return self.find_between(query, [first, second], roots).await;
        }
        let root = match query.repository() {
            Some(reference) => Some(&find_root(&self.path_map, roots, reference).await?),
            None => None,
        };
        // A single root needs no filter, and an approximate index works best without one.
        let sight = match root.filter(|_| roots.len() > 1) {
            Some(root) => SearchScope::for_root(root.id),
            None => SearchScope::for_tree(query.tree(), roots),
        };
        let intent = self.build_intent(query.text(), root, roots).await;
        let terms = self.build_query_terms(query.text(), &intent, root, roots).await?;
        let lists = rank::choose_list_weights(intent.kind, &self.weights);
        let neighbours = NeighbourQuery { text: query.text(), terms, sight: &sight, lists };
        let owners = roots.iter().map(|root| (root.id, root.chunk_owner())).collect();
        let limit = if root.is_some() { CANDIDATES } else { CANDIDATES_EVERYWHERE };
        let mut candidates = self.distinct_candidates(&neighbours, query, limit, &owners).await?;
        let asked = QueryContext {
            text: query.text(),
            intent: &intent,
            candidates: &candidates,
            sight: &sight,
            roots,
        };
        // Concurrently, because each lookup is a round trip if the store is on a server.
        let (named_files, (exact, holders), mut absent) = futures_util::try_join!(
            self.find_named_files(&intent, &sight, roots, &candidates),
            self.find_exact(query.text(), &intent, &sight, &candidates),
            self.find_absent(&asked),
        )?;
        let more = [named_files, holders].concat();
        absent.drop_found(&more);
        let intent_with_names = intent.with_exact(exact);
        let mut known: HashSet<Uuid> = candidates.iter().map(|candidate| candidate.id).collect();
        let accepted = more
            .into_iter()
            .filter(|candidate| query.accepts_language(candidate.record.language.as_deref()));
        candidates.extend(accepted.filter(|candidate| known.insert(candidate.id)));
        candidate::drop_other_trees(&mut candidates, &owners);
        candidate::drop_duplicates(&mut candidates, roots);
        let definitions = also::find_defining_chunks(&candidates, &intent_with_names);
        let asked_names = intent_with_names.names.clone();
        let ranked = self.rank_candidates(candidates, intent_with_names, query.limit()).await?;
        let is_shown = |shown: &SearchCandidate, id: Uuid| {
            shown.id == id || shown.copies.iter().any(|copy| copy.id == id)
        };
        let also = definitions
            .into_iter()
            .filter(|chunk| !ranked.iter().any(|shown| is_shown(shown, chunk.id)))
            .filter_map(|chunk| self.locate_definition(&chunk, roots))
            .collect();
        let AbsentTerms { names, documented, words } = absent;
        let notice = language::find_hint(query.text(), &asked_names, &ranked, &words);
        let found = self.build_results(ranked, roots);
        Ok(SearchResults { absent: names, absent_words: words, documented, also, notice, ..found })
    }

    /// Parses the intent of a query for a search of `root`, or of all `roots`.
    async fn build_intent(&self, text: &str, root: Option<&Root>, roots: &[Root]) -> QueryIntent {
        let parsed = QueryIntent::parse(text);
        let scoped = match root {
            None => parsed
                .widen_to_roots(roots)
                .with_missing_roots(self.folders.find_missing_unless_all(roots).await),
            Some(root) => parsed.narrow_to_repository(text, &root.name),
        };
        let near_weight = self.weights.near;
        let near = |word: &str| {
            if near_weight > 0.0 { self.embedder.similar_words(word) } else { Vec::new() }
        };
        scoped.with_near(near)
    }

    /// Returns candidates, read in growing numbers until at least half of them are distinct texts.
    async fn distinct_candidates(
        &self,
        neighbours: &NeighbourQuery<'_>,
        query: &SearchQuery,
        limit: usize,
        owners: &HashMap<RootId, RootId>,
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        let mut fetched = limit.max(query.limit());
        loop {
            let mut candidates = self.fetch_candidates(neighbours, query, fetched).await?;
            let found = candidates.len();
            candidate::drop_other_trees(&mut candidates, owners);
            if found / 2 <= fold::count_texts(&candidates)
                || found < fetched
                || MAX_VERSIONS <= fetched
            {
                return Ok(candidates);
            }
            fetched *= 4;
        }
    }

    /// Ranks candidates; more than [`MANY`] of them on a blocking thread.
    async fn rank_candidates(
        &self,
        candidates: Vec<SearchCandidate>,
        intent: QueryIntent,
        limit: usize,
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        let weights = self.weights;
        if candidates.len() <= MANY {
            return Ok(rank::rank_candidates(candidates, &intent, &weights, limit));
        }
        let rank = move || rank::rank_candidates(candidates, &intent, &weights, limit);
        spawn_blocking(rank).await.map_err(|_| SearchError::Stopped)
    }

    /// Returns the searchable roots, ordered by name.
    pub async fn list_roots(&self) -> Result<Vec<Root>, SearchError> {
        Ok(self.store.roots().await?)
    }

    /// Returns the roots whose folder is gone.
    pub async fn find_gone(&self, roots: &[Root]) -> HashSet<RootId> {
        self.folders.find_missing(roots).await
    }

    /// Returns the nearest `limit` of each list, fused. If the query is limited to some languages,
    /// only chunks in them, from more neighbours where they are few.
    async fn fetch_candidates(
        &self,
        NeighbourQuery { text, terms, sight, lists }: &NeighbourQuery<'_>,
        query: &SearchQuery,
        limit: usize,
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        let mut limit = if query.is_of_languages() { MAX_LISTED } else { limit };
        loop {
            let limit_of = |weight: f32| if weight > 0.0 { limit } else { 0 };
            let (dense, lexical) = futures_util::try_join!(
                self.find_dense_neighbours(text, sight, limit_of(lists.dense)),
                self.find_lexical_neighbours(terms.clone(), sight, limit_of(lists.lexical))
            )?;
            let is_all = dense.len() < limit && lexical.len() < limit;
            let mut candidates = fuse::fuse_lists(dense, lexical, *lists);
            candidates
                .retain(|candidate| query.accepts_language(candidate.record.language.as_deref()));
            let is_enough = !query.is_of_languages() || query.limit() <= candidates.len();
            if is_all || is_enough || MAX_CANDIDATES <= limit {
                return Ok(candidates);
            }
            limit = MAX_CANDIDATES;
        }
    }

    async fn find_dense_neighbours(
        &self,
        text: &str,
        sight: &SearchScope,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, SearchError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let vector = self.embedder.embed_query(text.to_owned()).await?;
        Ok(sight.read_best_chunks(&self.store, QueryTarget::Vector(vector), limit).await?)
    }

    /// Returns the weighted terms for the lexical search.
    async fn build_query_terms(
        &self,
        text: &str,
        intent: &QueryIntent,
        root: Option<&Root>,
        roots: &[Root],
    ) -> Result<TermVector, SearchError> {
        let paths = intent.paths.iter().map(|asked| asked.path.as_str());
        let mut terms = lexical::query_with_files(text, paths);
        let is_sentence = intent.kind == QueryKind::Prose && !intent.words.is_empty();
        if is_sentence {
            lexical::weigh_stop_words(&mut terms, 1.0 - self.weights.stop_word_discount);
        }
        let Some(root) = root else { return Ok(terms) };
        let exponent = self.weights.repository_idf;
        self.scopes.correct_term_weights(&mut terms, root, roots, &self.store, exponent).await?;
        Ok(terms)
    }

    async fn find_lexical_neighbours(
        &self,
        terms: TermVector,
        sight: &SearchScope,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, SearchError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        Ok(sight.read_best_chunks(&self.store, QueryTarget::Terms(terms), limit).await?)
    }

    fn build_results(&self, ranked: Vec<SearchCandidate>, roots: &[Root]) -> SearchResults {
        let model_id = self.embedder.model().id();
        let by_id: HashMap<RootId, &Root> = roots.iter().map(|root| (root.id, root)).collect();
        let hits: Vec<Hit> = ranked
            .into_iter()
            .filter_map(|candidate| {
                let root = by_id.get(&candidate.record.root)?;
                let also = candidate.also.iter().filter_map(|id| by_id.get(id));
                let mut also_in: Vec<String> = also.map(|root| root.name.clone()).collect();
                let copies = candidate.copies.iter();
                also_in.extend(copies.map(|copy| format!("{}:{}", copy.path, copy.line)));
                Some(Hit { also_in, ..self.build_hit(candidate, root, &model_id) })
            })
            .collect();
        SearchResults { files: group::by_file(&hits), hits, model_id, ..SearchResults::default() }
    }

    fn locate_definition(
        &self,
        chunk: &also::DefiningChunk,
        roots: &[Root],
    ) -> Option<NameLocation> {
        let root = roots.iter().find(|root| root.id == chunk.root)?;
        let path = self.path_map.to_client_path(&root.path.join(&chunk.path)).display().to_string();
        Some(NameLocation { path, line: chunk.line })
    }

    fn build_hit(
        &self,
        SearchCandidate { id, record, score, parts, .. }: SearchCandidate,
        root: &Root,
        model: &str,
    ) -> Hit {
        Hit {
            repo: root.name.clone(),
            path: self.path_map.to_client_path(&root.path.join(&record.path)).display().to_string(),
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
            also_in: Vec::new(),
            host: root.host.as_ref().map(|host| host.name.clone()),
            only_in: None,
            parts,
        }
    }
}

//! Finds chunks: dense and lexical neighbours, fused and ranked.
//!
//! Fusing, ranking, grouping and rendering are pure. Only [`Search::find_chunks`] reads the store,
//! and only [`Search::check_freshness`] also reads the disk.
//!
//! During an index run, a search may find two versions of a path; the later one counts.

mod absent;
mod between;
mod candidate;
mod error;
mod exact;
mod exact_name;
mod excerpt;
mod file_diff;
#[cfg(test)]
mod fixture;
mod freshness;
mod intent;
mod language_hint;
mod long_text;
mod package;
mod purpose;
mod query;
mod rank;
mod reader;
mod results;
mod scope;
mod weights;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use codeinfo_core::{PathMap, Root, RootId, TermVector};
use codeinfo_embed::{Embedder, lexical};
use codeinfo_store::{QueryTarget, RememberedRoots, Store};
use codeinfo_worktree::roots::{FolderCheck, find_root};
use tokio::{sync::Semaphore, task::spawn_blocking};
use uuid::Uuid;

use self::{
    absent::AbsentTerms,
    candidate::{ListWeights, SearchCandidate},
    intent::{QueryIntent, QueryKind},
    long_text::LongText,
    scope::{SearchScope, TermSampleCache},
};
pub use self::{
    absent::DocumentedName,
    error::SearchError,
    excerpt::{Excerpt, render_excerpt},
    file_diff::{DiffHunk, FileDiff, UnmatchedFiles},
    freshness::ResultFreshness,
    query::{DEFAULT_LIMIT, MAX_LIMIT, MAX_LISTED, MAX_QUERY_BYTES, SearchQuery},
    results::{NameLocation, SearchResults},
    weights::SearchWeights,
};

/// Neighbours of each list that are fused in a search of one repository. A multiple of the maximum
/// results, because the lists differ and ranking moves candidates up.
const CANDIDATES: usize = 100;
/// The same in a search of all repositories, which takes a fifth longer with a hundred.
const CANDIDATES_EVERYWHERE: usize = 70;

/// Maximum neighbours of each list that are read to filter them by language.
const MAX_CANDIDATES: usize = 20_000;
/// Maximum neighbours read to drop versions of the same code in a search of all repositories.
const MAX_VERSIONS: usize = 1_000;
/// Candidates above which ranking moves to a blocking thread.
const MAX_RANKED_INLINE: usize = 800;

/// Searches one store.
#[derive(Clone)]
pub struct Search {
    store: Store,
    embedder: Arc<dyn Embedder>,
    path_map: PathMap,
    weights: SearchWeights,
    term_samples: Arc<TermSampleCache>,
    checks: Arc<Semaphore>,
    folders: FolderCheck,
}

struct NeighbourQuery<'a> {
    query: &'a SearchQuery,
    terms: TermVector,
    lists: ListWeights,
    long: Option<LongText>,
    scope: &'a SearchScope,
    owners: HashMap<RootId, RootId>,
}

/// Inputs for lookups that complement the neighbours of a query.
struct LookupContext<'a> {
    intent: &'a QueryIntent,
    scope: &'a SearchScope,
    roots: &'a [Root],
    candidates: &'a [SearchCandidate],
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
            term_samples: Arc::default(),
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
            let (current, results) =
                futures_util::join!(self.store.roots(), search.search_roots(query, &roots));
            let current = current?;
            return if current == *roots {
                results
            } else {
                self.search_roots(query, &current).await
            };
        }
        self.search_roots(query, &self.store.roots().await?).await
    }

    async fn search_roots(
        &self,
        query: &SearchQuery,
        roots: &[Root],
    ) -> Result<SearchResults, SearchError> {
        if roots.is_empty() {
            return Err(SearchError::IngestRequired);
        }
        if let Some(trees) = query.compared_trees() {
            return self.find_between(query, trees, roots).await;
        }
        let root = match query.repository() {
            Some(reference) => Some(&find_root(&self.path_map, roots, reference).await?),
            None => None,
        };
        // A single root needs no filter, and an approximate index works best without one.
        let scope = &match root.filter(|_| roots.len() > 1) {
            Some(root) => SearchScope::for_root(&self.store, root.id),
            None => SearchScope::for_tree(&self.store, query.tree(), roots),
        };
        let intent = self.build_intent(query.text(), root, roots).await;
        let neighbours = NeighbourQuery {
            query,
            terms: self.build_query_terms(&intent, root, roots).await?,
            lists: rank::choose_list_weights(intent.kind, &self.weights),
            long: intent.long.clone(),
            scope,
            owners: roots.iter().map(|root| (root.id, root.chunk_owner())).collect(),
        };
        let limit = if root.is_some() { CANDIDATES } else { CANDIDATES_EVERYWHERE };
        let mut candidates = self.find_neighbours(&neighbours, limit).await?;
        let context = LookupContext { intent: &intent, scope, roots, candidates: &candidates };
        // Concurrently, because each lookup is a round trip if the store is on a server.
        let (named_files, (exact, holders), mut absent) = futures_util::try_join!(
            self.find_named_files(&context),
            self.find_exact(&context),
            self.find_absent(&context),
        )?;
        let looked_up = [named_files, holders].concat();
        absent.drop_present(&looked_up);
        let intent = QueryIntent { exact, ..intent };
        let mut known: HashSet<Uuid> = candidates.iter().map(|candidate| candidate.id).collect();
        candidates.extend(looked_up.into_iter().filter(|candidate| {
            query.accepts_language(candidate.record.language.as_deref())
                && known.insert(candidate.id)
        }));
        candidate::drop_other_trees(&mut candidates, &neighbours.owners);
        candidate::drop_duplicates(&mut candidates, roots);
        let definitions = results::find_defining_chunks(&candidates, &intent);
        let names = intent.names.clone();
        self.compare_names(&mut candidates, &intent);
        let ranked = self.rank_candidates(candidates, intent, query.limit()).await?;
        let AbsentTerms { names: absent, documented, words: absent_words } = absent;
        Ok(SearchResults {
            other_definitions: self.locate_other_definitions(definitions, &ranked, roots),
            notice: language_hint::find_hint(query.text(), &names, &ranked, &absent_words),
            absent,
            absent_words,
            documented,
            ..self.build_results(ranked, roots)
        })
    }

    /// Parses the intent of a query for a search of `root`, or of all `roots`.
    async fn build_intent(&self, text: &str, root: Option<&Root>, roots: &[Root]) -> QueryIntent {
        let parsed = QueryIntent::parse(text);
        let scoped = match root {
            Some(root) => parsed.narrow_to_repository(&root.name),
            None => QueryIntent {
                missing_roots: self.folders.find_missing_unless_all(roots).await,
                ..parsed.widen_to_roots(roots)
            },
        };
        if self.weights.near > 0.0 {
            scoped.with_near(|word| self.embedder.similar_words(word))
        } else {
            scoped
        }
    }

    async fn build_query_terms(
        &self,
        intent: &QueryIntent,
        root: Option<&Root>,
        roots: &[Root],
    ) -> Result<TermVector, SearchError> {
        let paths = intent.paths.iter().map(|named| named.path.as_str());
        let mut terms = match &intent.long {
            Some(parts) => parts.weigh_terms(paths),
            None => lexical::query_with_files(&intent.text, paths),
        };
        if intent.kind == QueryKind::Prose && !intent.words.is_empty() {
            lexical::weigh_stop_words(&mut terms, 1.0 - self.weights.stop_word_discount);
        }
        if let Some(root) = root {
            let exponent = self.weights.repository_idf;
            let samples = &self.term_samples;
            samples.correct_term_weights(&mut terms, root, roots, &self.store, exponent).await?;
        }
        Ok(terms)
    }

    /// Returns candidates, read in growing numbers until at least half of them are distinct texts.
    async fn find_neighbours(
        &self,
        neighbours: &NeighbourQuery<'_>,
        limit: usize,
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        let mut limit = limit.max(neighbours.query.limit());
        loop {
            let mut candidates = self.fetch_candidates(neighbours, limit).await?;
            let found = candidates.len();
            candidate::drop_other_trees(&mut candidates, &neighbours.owners);
            if found / 2 <= candidate::count_texts(&candidates)
                || found < limit
                || MAX_VERSIONS <= limit
            {
                return Ok(candidates);
            }
            limit *= 4;
        }
    }

    /// Returns the nearest `limit` of each list, fused. If the query is limited to some languages,
    /// only chunks in them, from more neighbours where they are few.
    async fn fetch_candidates(
        &self,
        NeighbourQuery { query, terms, lists, long, scope, .. }: &NeighbourQuery<'_>,
        limit: usize,
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        let mut limit = if query.has_languages() { MAX_LISTED } else { limit };
        loop {
            let find_dense = async {
                if lists.dense <= 0.0 {
                    return Ok(Vec::new());
                }
                let vector = self.embed_query(query.text(), long.as_ref()).await?;
                Ok::<_, SearchError>(scope.search(QueryTarget::Vector(vector), limit).await?)
            };
            let find_lexical = async {
                if lists.lexical <= 0.0 {
                    return Ok(Vec::new());
                }
                Ok(scope.search(QueryTarget::Terms(terms.clone()), limit).await?)
            };
            let (dense, lexical) = futures_util::try_join!(find_dense, find_lexical)?;
            let is_all = dense.len() < limit && lexical.len() < limit;
            let mut candidates = candidate::fuse_lists(dense, lexical, *lists);
            candidates
                .retain(|candidate| query.accepts_language(candidate.record.language.as_deref()));
            let is_enough = !query.has_languages() || query.limit() <= candidates.len();
            if is_all || is_enough || MAX_CANDIDATES <= limit {
                return Ok(candidates);
            }
            limit = MAX_CANDIDATES;
        }
    }

    /// Returns the vector of a query; for a long text, the sum of those of its body and its title.
    async fn embed_query(
        &self,
        text: &str,
        long: Option<&LongText>,
    ) -> Result<Vec<f32>, SearchError> {
        let Some(parts) = long else {
            return Ok(self.embedder.embed_query(text.to_owned()).await?);
        };
        let (body, title) = futures_util::try_join!(
            self.embedder.embed_query(parts.body()),
            self.embedder.embed_query(parts.title.clone())
        )?;
        Ok(long_text::join_vectors(&body, &title))
    }

    /// Compares the names of candidates with a question that is long enough to mean them without
    /// their words. A long text has too many others.
    fn compare_names(&self, candidates: &mut [SearchCandidate], intent: &QueryIntent) {
        if !intent.has_name_meaning() || self.weights.name_meaning <= 0.0 {
            return;
        }
        let names: Vec<[&str; 2]> = candidates.iter().map(SearchCandidate::names).collect();
        let shares = self.embedder.compare_names(&intent.text, &names);
        for (candidate, share) in candidates.iter_mut().zip(shares) {
            candidate.name_meaning = share;
        }
    }

    /// Ranks candidates; more than [`MAX_RANKED_INLINE`] of them on a blocking thread.
    async fn rank_candidates(
        &self,
        candidates: Vec<SearchCandidate>,
        intent: QueryIntent,
        limit: usize,
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        let weights = self.weights;
        if candidates.len() <= MAX_RANKED_INLINE {
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
    pub async fn find_missing_roots(&self, roots: &[Root]) -> HashSet<RootId> {
        self.folders.find_missing(roots).await
    }
}

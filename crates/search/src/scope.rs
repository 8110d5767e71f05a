//! Scope of a search, and the rarity of terms within it.
//!
//! The engine weights a term by its rarity in the whole store, but the rarity in the searched
//! repository counts: `tokio` is everywhere in one and distinctive in the next. The quotient of
//! both, estimated from the first chunks by id (a hash, so a random sample), corrects the weights.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use codeinfo_core::{ChunkRecord, Root, RootId, TermVector};
use codeinfo_embed::{EmbeddingDocument, lexical};
use codeinfo_store::{ChunkQuery, QueryTarget, ScoredChunk, Store, StoreError};
use futures_util::try_join;

/// Store limited to all roots, one root, or all except the other trees of one repository.
pub(super) struct SearchScope {
    store: Store,
    only: Option<RootId>,
    /// The selected tree of a repository, and the other trees.
    tree: Option<(RootId, HashSet<RootId>)>,
}

impl SearchScope {
    pub(super) fn for_root(store: &Store, root: RootId) -> Self {
        Self { store: store.clone(), only: Some(root), tree: None }
    }

    /// Includes all of `roots` except the other trees of the repository of `tree`.
    pub(super) fn for_tree(store: &Store, tree: Option<RootId>, roots: &[Root]) -> Self {
        let tree_root = tree.and_then(|tree| roots.iter().find(|root| root.id == tree));
        let tree_and_others = tree_root.map(|tree| {
            let others = roots.iter().filter(|root| tree.is_other_tree(root));
            (tree.id, others.map(|root| root.id).collect::<HashSet<_>>())
        });
        let tree = tree_and_others.filter(|(_, others)| !others.is_empty());
        Self { store: store.clone(), only: None, tree }
    }

    pub(super) fn contains_root(&self, root: RootId) -> bool {
        let is_out = self.tree.as_ref().is_some_and(|(_, others)| others.contains(&root));
        !is_out && self.only.is_none_or(|only| only == root)
    }

    /// Reads the best `limit` chunks in scope.
    pub(super) async fn search(
        &self,
        target: QueryTarget,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, StoreError> {
        let query = ChunkQuery { target, scope: self.only.into(), limit };
        let found = self.store.search(query.clone()).await?;
        let count = found.len();
        let is_all = count < limit;
        let mut seen: Vec<ScoredChunk> =
            found.into_iter().filter_map(|chunk| self.map_to_tree(chunk)).collect();
        // Chunks of other trees took the place of some of this tree.
        if let Some((tree, _)) = self.tree.as_ref().filter(|_| !is_all && seen.len() < count) {
            let known: HashSet<_> = seen.iter().map(|chunk| chunk.id).collect();
            let tree_query = ChunkQuery { scope: Some(*tree).into(), ..query };
            let tree_chunks = self.store.search(tree_query).await?;
            seen.extend(tree_chunks.into_iter().filter(|chunk| !known.contains(&chunk.id)));
            seen.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
            seen.truncate(limit);
        }
        Ok(seen)
    }

    /// Returns a chunk as one of the selected tree; `None` if only other trees contain it.
    fn map_to_tree(&self, mut found: ScoredChunk) -> Option<ScoredChunk> {
        let Some((tree, others)) = &self.tree else { return Some(found) };
        let root = found.record.root;
        if others.contains(&root) {
            let at = found.also.iter().position(|other| other == tree)?;
            found.also.remove(at);
            found.also.push(root);
            found.record.root = *tree;
        }
        Some(found)
    }
}

/// Chunks per sample, which the first search of a repository waits for. A term of one chunk in a
/// hundred then occurs in about five; four times as many chunks change no figure of the benchmark.
const SAMPLE: usize = 500;
/// Chunks after which other tasks get their turn.
const TURN: usize = 125;
/// A sample expires after the number of chunks has changed by more than one in this many.
const TOLERANCE: u64 = 10;
/// Maximum factor by which a term's weight changes, up or down.
const MAX_FACTOR: f32 = 4.0;

/// Cache of samples of repositories and of the whole store.
#[derive(Default)]
pub(super) struct TermSampleCache {
    known: Mutex<HashMap<Option<RootId>, Arc<TermSample>>>,
}

/// Number of chunks in a sample that contain each term.
struct TermSample {
    /// Number of chunks in the repository or store.
    population: u64,
    /// Number of sampled chunks.
    size: usize,
    counts: HashMap<u32, usize>,
}

impl TermSampleCache {
    /// Corrects the weights of a query's terms for a search in `root`, to the power of `exponent`.
    pub(super) async fn correct_term_weights(
        &self,
        terms: &mut TermVector,
        root: &Root,
        roots: &[Root],
        store: &Store,
        exponent: f32,
    ) -> Result<(), StoreError> {
        if roots.len() < 2 {
            return Ok(());
        }
        let all = roots.iter().map(|root| root.counts.chunks).sum();
        let (here, everywhere) = try_join!(
            self.get_or_load_sample(Some(root.id), root.counts.chunks, store),
            self.get_or_load_sample(None, all, store)
        )?;
        for (term, weight) in terms.indices.iter().zip(&mut terms.values) {
            let quotient = here.inverse_document_frequency(*term)
                / everywhere.inverse_document_frequency(*term);
            *weight *= quotient.clamp(1.0 / MAX_FACTOR, MAX_FACTOR).powf(exponent);
        }
        Ok(())
    }

    async fn get_or_load_sample(
        &self,
        root: Option<RootId>,
        population: u64,
        store: &Store,
    ) -> Result<Arc<TermSample>, StoreError> {
        let known = self.lock_samples().get(&root).map(Arc::clone);
        if let Some(known) = known.filter(|known| known.matches_population(population)) {
            return Ok(known);
        }
        let sample = Arc::new(TermSample::load_from_store(root, population, store).await?);
        self.lock_samples().insert(root, Arc::clone(&sample));
        Ok(sample)
    }

    /// Locks the samples. Those of removed roots remain until the process ends; they are small.
    fn lock_samples(&self) -> MutexGuard<'_, HashMap<Option<RootId>, Arc<TermSample>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TermSample {
    async fn load_from_store(
        root: Option<RootId>,
        population: u64,
        store: &Store,
    ) -> Result<Self, StoreError> {
        let mut sample = Self { population, size: 0, counts: HashMap::new() };
        for batch in store.chunks(root, None, SAMPLE).await?.chunks(TURN) {
            for stored in batch {
                sample.add_chunk(&stored.record);
            }
            tokio::task::yield_now().await;
        }
        Ok(sample)
    }

    fn add_chunk(&mut self, chunk: &ChunkRecord) {
        for term in lexical::weigh_document(&EmbeddingDocument::from(chunk)).indices {
            *self.counts.entry(term).or_default() += 1;
        }
        self.size += 1;
    }

    fn matches_population(&self, population: u64) -> bool {
        self.population.abs_diff(population) <= self.population / TOLERANCE
    }

    /// Returns the inverse document frequency of a term, with the formula of the engine.
    fn inverse_document_frequency(&self, term: u32) -> f32 {
        let with = self.counts.get(&term).copied().unwrap_or_default();
        codeinfo_core::inverse_document_frequency(with, self.size)
    }
}

#[cfg(test)]
mod tests {
    use codeinfo_core::task::Tasks;
    use codeinfo_store::{ChunkVectors, EmbeddedEngine, NewChunk, OnMismatch, StoreMode};
    use uuid::Uuid;

    use super::{
        super::fixture::{record, root},
        *,
    };

    fn sample(texts: &[&str]) -> TermSample {
        let population = texts.len() as u64;
        let mut sample = TermSample { population, size: 0, counts: HashMap::new() };
        for text in texts {
            sample.add_chunk(&record("", None, text));
        }
        sample
    }

    #[test]
    fn a_term_in_few_chunks_is_rare() {
        let sample = sample(&["alpha beta", "alpha", "alpha gamma gamma", "alpha"]);
        let idf = |word: &str| {
            let terms = lexical::extract_query_terms(word);
            sample.inverse_document_frequency(terms.indices[0])
        };
        assert!(idf("alpha") < idf("beta"));
        assert!((idf("beta") - idf("gamma")).abs() < 1e-6);
        assert!(idf("beta") < idf("delta"));
    }

    /// Chunks of a root with a word in common, and one chunk with another word.
    fn chunks(root: &Root, everywhere: &str, once: &str) -> Vec<NewChunk> {
        let text = |n| if n == 7 { format!("{everywhere} {once}") } else { everywhere.to_owned() };
        let chunk = |n: u8| NewChunk {
            id: Uuid::new_v5(&root.id.0, &[n]),
            record: ChunkRecord { root: root.id, ..record("a.rs", None, &text(n)) },
            vectors: ChunkVectors { dense: vec![1.0], sparse: TermVector::default() },
        };
        (0..20).map(chunk).collect()
    }

    #[tokio::test]
    async fn a_term_is_weighted_by_its_rarity_in_the_searched_repository() {
        let folder = tempfile::TempDir::new().unwrap();
        let settings = codeinfo_store::EmbeddedStoreSettings {
            seal_chunks: 4096,
            background_merge: false,
            repairs: true,
        };
        let at = folder.path().join("store");
        let refuse = OnMismatch::Refuse;
        let tasks = Tasks::default();
        let opened = EmbeddedEngine::open(&at, "test@1", 1, refuse, &settings, tasks.clone());
        let store = Store::new(opened.await.unwrap(), StoreMode::Flat, tasks);
        let roots = ["/repositories/one", "/repositories/two"].map(root);
        store.put_chunks(chunks(&roots[0], "wombat", "okapi")).await.unwrap();
        store.put_chunks(chunks(&roots[1], "okapi", "wombat")).await.unwrap();
        let samples = TermSampleCache::default();
        for (root, common, rare) in [(&roots[0], "wombat", "okapi"), (&roots[1], "okapi", "wombat")]
        {
            // Both words occur in equally many chunks of the store.
            let mut weights = Vec::new();
            for word in [common, rare] {
                let mut terms = lexical::extract_query_terms(word);
                let before = terms.values[0];
                samples.correct_term_weights(&mut terms, root, &roots, &store, 1.0).await.unwrap();
                weights.push(terms.values[0] / before);
            }
            assert!(weights[0] < 0.5 && weights[1] > 2.0, "{}: {weights:?}", root.name);
        }
    }

    #[test]
    fn a_sample_expires_when_the_number_of_chunks_changes() {
        let sample = TermSample { population: 100, size: 100, counts: HashMap::new() };
        assert!(sample.matches_population(90) && sample.matches_population(110));
        assert!(
            !sample.matches_population(89)
                && !sample.matches_population(111)
                && !sample.matches_population(0)
        );
    }
}

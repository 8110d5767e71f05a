//! Finds the differences between two trees of a repository that match a query.

mod diffs;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use codeinfo_core::{FileRecord, Root, RootId, TermVector};
use codeinfo_store::{ChunkQuery, ChunkSet, ScoredChunk};
use codeinfo_worktree::roots::find_root;
use futures_util::{StreamExt, TryStreamExt, stream, try_join};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use self::diffs::ComparedCandidates;
use super::{
    CANDIDATES, QueryIntent, Search, SearchError, SearchQuery, SearchResults,
    candidate::{self, ListWeights, SearchCandidate},
    rank,
};

/// Maximum neighbours read per tree. Unchanged parts of changed files are dropped from them later.
const MAX_NEIGHBOURS: usize = 6_400;
/// Chunks of changed files that are compared per read.
const PAGE: usize = 500;
/// Maximum concurrent reads.
const PAGES: usize = 4;

struct TreeDifference {
    tree: Root,
    /// Files that the other tree lacks or has in another version, by path.
    files: HashMap<String, FileRecord>,
    /// Chunks of these files.
    among: ChunkSet,
}

struct QueryVectors {
    vector: Vec<f32>,
    terms: TermVector,
    lists: ListWeights,
}

impl Search {
    /// Finds the chunks that match a query and that only one of two trees has.
    ///
    /// A chunk counts as common to both if the other tree has its text at the same path, or the
    /// whole file at another. A definition that differs appears in both versions.
    pub(super) async fn find_between(
        &self,
        query: &SearchQuery,
        trees: [&str; 2],
        roots: &[Root],
    ) -> Result<SearchResults, SearchError> {
        let [first, second] = self.resolve_trees(trees, roots).await?;
        let intent = QueryIntent::parse(query.text())
            .narrow_to_repository(&first.name)
            .with_near(|word| self.embedder.similar_words(word));
        let vectors = QueryVectors {
            vector: self.embedder.embed_query(query.text().to_owned()).await?,
            terms: self.build_query_terms(&intent, Some(&first), roots).await?,
            lists: rank::choose_list_weights(intent.kind, &self.weights),
        };
        let weights = self.weights;
        // Some are dropped when their files are compared.
        let max_compared = 2 * query.limit();
        let first_id = first.id;
        let names = [first.name.clone(), second.name.clone()];
        let files = try_join!(self.store.files(first.id), self.store.files(second.id))?;
        let comparing = spawn_blocking(move || {
            let sides = [
                TreeDifference::compare_files(first, &files.0, &files.1),
                TreeDifference::compare_files(second, &files.1, &files.0),
            ];
            drop(files);
            sides
        });
        let [first, second] = &comparing.await.map_err(|_| SearchError::Stopped)?;
        let mut limit = CANDIDATES;
        let differing = loop {
            let ((mut differing, is_first_all), (second_differing, is_second_all)) = try_join!(
                self.find_differing([first, second], &vectors, query, limit),
                self.find_differing([second, first], &vectors, query, limit)
            )?;
            differing.extend(second_differing);
            let is_all = is_first_all && is_second_all;
            if is_all || query.limit() <= differing.len() || MAX_NEIGHBOURS <= limit {
                break differing;
            }
            limit *= 4;
        };
        let rank = move || {
            let pool = differing.clone();
            pair_definitions(
                rank::rank_candidates(differing, &intent, &weights, max_compared),
                pool,
                first_id,
                max_compared,
            )
        };
        let ranked = spawn_blocking(rank).await.map_err(|_| SearchError::Stopped)?;
        let ComparedCandidates { candidates, diffs, also_differ } =
            self.compare_candidates(ranked, [first, second], query.limit()).await?;
        let built = self.build_results(candidates, roots);
        let mut results = SearchResults { diffs, also_differ, ..built };
        for hit in &mut results.hits {
            hit.only_in = Some(hit.repo.clone());
            hit.also_in.clear();
        }
        if results.hits.is_empty() {
            let [first, second] = names;
            let nothing = "no difference that fits the query was found between";
            results.notice = Some(format!("{nothing} `{first}` and `{second}`"));
        }
        Ok(results)
    }

    /// Returns the candidates of one tree that the other lacks, among the nearest `limit`, and true
    /// if there are no more.
    async fn find_differing(
        &self,
        [side, other]: [&TreeDifference; 2],
        QueryVectors { vector, terms, lists }: &QueryVectors,
        query: &SearchQuery,
        limit: usize,
    ) -> Result<(Vec<SearchCandidate>, bool), SearchError> {
        let limit_of = |weight: f32| if weight > 0.0 { limit } else { 0 };
        let dense_limit = limit_of(lists.dense);
        let lexical_limit = limit_of(lists.lexical);
        let (dense, lexical) = try_join!(
            self.store.search(ChunkQuery::nearest(vector.clone(), side.among.clone(), dense_limit)),
            self.store.search(ChunkQuery::lexical(
                terms.clone(),
                side.among.clone(),
                lexical_limit
            ))
        )?;
        let is_all = dense.len() < limit && lexical.len() < limit;
        let with_tree_root = |mut found: Vec<ScoredChunk>| {
            for chunk in &mut found {
                chunk.record.root = side.tree.id;
            }
            found
        };
        let mut candidates =
            candidate::fuse_lists(with_tree_root(dense), with_tree_root(lexical), *lists);
        candidates.retain(|candidate| query.accepts_language(candidate.record.language.as_deref()));
        self.drop_same(other, &mut candidates).await?;
        Ok((candidates, is_all))
    }

    async fn resolve_trees(
        &self,
        named: [&str; 2],
        roots: &[Root],
    ) -> Result<[Root; 2], SearchError> {
        let [first, second] = named;
        let first = find_root(&self.path_map, roots, first).await?;
        let second = find_root(&self.path_map, roots, second).await?;
        if first.id == second.id {
            return Err(SearchError::SameTree(first.name.clone()));
        }
        if first.chunk_owner() != second.chunk_owner() {
            return Err(SearchError::OtherRepository(first.name.clone(), second.name.clone()));
        }
        Ok([first, second])
    }

    /// Drops the candidates whose text the other tree has at the same path.
    async fn drop_same(
        &self,
        other: &TreeDifference,
        candidates: &mut Vec<SearchCandidate>,
    ) -> Result<(), SearchError> {
        let mut by_text: HashMap<(&str, &str), Vec<Uuid>> = HashMap::new();
        let mut ids: HashSet<Uuid> = HashSet::new();
        for SearchCandidate { id, record, .. } in candidates.iter() {
            by_text.entry((&record.path, &record.text)).or_default().push(*id);
            if let Some(file) = other.files.get(&record.path) {
                ids.extend(file.chunk_ids(other.among.owner, 0..file.chunks));
            }
        }
        let other_ids: Vec<Uuid> = ids.into_iter().collect();
        let mut same: HashSet<Uuid> = HashSet::new();
        let pages = other_ids.chunks(PAGE).map(<[Uuid]>::to_vec);
        let reading: Vec<_> = pages.map(|page| self.store.chunks_by_id(page)).collect();
        for stored in stream::iter(reading).buffered(PAGES).try_concat().await? {
            let text = (stored.record.path.as_str(), stored.record.text.as_str());
            same.extend(by_text.get(&text).into_iter().flatten());
        }
        candidates.retain(|candidate| !same.contains(&candidate.id));
        Ok(())
    }
}

impl TreeDifference {
    /// Compares the files of a tree with those of another. A moved file is not a difference.
    fn compare_files(tree: Root, files: &[FileRecord], other: &[FileRecord]) -> Self {
        let owner = tree.chunk_owner();
        let there: HashMap<&str, &FileRecord> =
            other.iter().map(|file| (file.path.as_str(), file)).collect();
        let versions: HashSet<&str> = other.iter().map(|file| file.version.as_str()).collect();
        let mut ids = HashSet::new();
        let mut differing = HashMap::new();
        for file in files {
            match there.get(file.path.as_str()) {
                Some(other) if other.version == file.version => continue,
                None if versions.contains(file.version.as_str()) => continue,
                Some(_) | None => {}
            }
            ids.extend(file.chunk_ids(owner, 0..file.chunks));
            differing.insert(file.path.clone(), file.clone());
        }
        Self { tree, files: differing, among: ChunkSet { owner, ids: Arc::new(ids) } }
    }
}

/// Returns the path and symbol of the chunk's definition and of those that start in it.
fn list_definition_keys(SearchCandidate { record, .. }: &SearchCandidate) -> Vec<(String, String)> {
    let symbols = record.symbol.iter().chain(&record.defines);
    symbols.map(|symbol| (record.path.clone(), symbol.clone())).collect()
}

/// Places the two versions of a definition next to each other, the one of tree `first` before.
fn pair_definitions(
    ranked: Vec<SearchCandidate>,
    pool: Vec<SearchCandidate>,
    first: RootId,
    limit: usize,
) -> Vec<SearchCandidate> {
    let mut places: HashMap<(String, String), Vec<SearchCandidate>> = HashMap::new();
    for candidate in pool {
        for place in list_definition_keys(&candidate) {
            places.entry(place).or_default().push(candidate.clone());
        }
    }
    let mut seen = HashSet::new();
    let mut paired = Vec::new();
    for candidate in ranked {
        if !seen.insert(candidate.id) {
            continue;
        }
        let alike = list_definition_keys(&candidate);
        let is_other = |other: &&SearchCandidate| {
            other.record.root != candidate.record.root && !seen.contains(&other.id)
        };
        let mut others = alike.iter().filter_map(|place| places.get(place)).flatten();
        let other = others.find(is_other).cloned();
        let Some(mut other) = other else {
            paired.push(candidate);
            continue;
        };
        seen.insert(other.id);
        other.score = candidate.score;
        other.parts = candidate.parts;
        if candidate.record.root == first {
            paired.extend([candidate, other]);
        } else {
            paired.extend([other, candidate]);
        }
    }
    paired.truncate(limit);
    paired
}

//! What differs between two trees of a repository, as far as it fits a query.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use codeinfo_core::{FileRecord, Root, RootId, Sparse};
use codeinfo_store::{ChunkQuery, ChunkSet, ScoredChunk};
use codeinfo_worktree::root_link::find_root;
use futures_util::{StreamExt, TryStreamExt, stream, try_join};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{
    CANDIDATES, Found, Intent, Query, Search, SearchError, candidate::Candidate, fuse, rank,
};

/// So many neighbours of each tree are looked for, at most: those of parts of a changed file that are as they were fall
/// out.
const MOST: usize = 6_400;
/// So many chunks of changed files are compared at a time.
const PAGE: usize = 500;
/// So many such reads are under way at a time.
const PAGES: usize = 4;

/// What one of two trees has and the other has not.
struct Side {
    tree: Root,
    /// The chunks of files that the other has not, or not like that.
    among: ChunkSet,
    /// Where files of one path differ, the chunks of that of the other tree.
    others: HashMap<String, Vec<Uuid>>,
}

/// The two forms of a query that chunks are compared with.
struct QueryVectors {
    vector: Vec<f32>,
    terms: Sparse,
    lists: fuse::Lists,
}

impl Search {
    /// Finds the chunks of two trees that answer a query and that the other tree has not: neither at that path, nor as
    /// a part of a whole file at another one. A definition that both have stands as it is in the first, then in the
    /// second.
    pub(super) async fn find_between(
        &self,
        query: &Query,
        (first, second): (&str, &str),
        roots: &[Root],
    ) -> Result<Found, SearchError> {
        let [first, second] = self.trees([first, second], roots).await?;
        let intent = Intent::of(query.text()).within(query.text(), &first.name);
        let intent = intent.with_near(|word| self.embedder.near(word));
        let vectors = QueryVectors {
            vector: self.embedder.query(query.text().to_owned()).await?,
            terms: self.terms(query.text(), &intent, Some(&first), roots).await?,
            lists: rank::lists(intent.kind, &self.weights),
        };
        let (weights, most, first_id) = (self.weights, query.limit(), first.id);
        let names = [first.name.clone(), second.name.clone()];
        let files = try_join!(self.store.files(first.id), self.store.files(second.id))?;
        let sides = spawn_blocking(move || {
            let sides = [
                Side::compare(first, &files.0, &files.1),
                Side::compare(second, &files.1, &files.0),
            ];
            drop(files);
            sides
        });
        let sides = sides.await.map_err(|_| SearchError::Stopped)?;
        let mut limit = CANDIDATES;
        let differing = loop {
            let ((mut differing, is_first_all), (of_second, is_second_all)) = try_join!(
                self.find_differing(&sides[0], &vectors, query, limit),
                self.find_differing(&sides[1], &vectors, query, limit)
            )?;
            differing.extend(of_second);
            let is_all = is_first_all && is_second_all;
            if is_all || query.limit() <= differing.len() || MOST <= limit {
                break differing;
            }
            limit *= 4;
        };
        let rank = move || {
            let pool = differing.clone();
            paired(rank::rank(differing, &intent, &weights, most), pool, first_id, most)
        };
        let ranked = spawn_blocking(rank).await.map_err(|_| SearchError::Stopped)?;
        let mut found = self.found(ranked, roots);
        for hit in &mut found.hits {
            hit.only_in = Some(hit.repo.clone());
            hit.also_in.clear();
        }
        if found.hits.is_empty() {
            let [first, second] = names;
            let nothing = "no difference that fits the query was found between";
            found.notice = Some(format!("{nothing} `{first}` and `{second}`"));
        }
        Ok(found)
    }

    /// Returns the candidates of one tree that the other lacks, among the nearest `limit`, and whether there are no more.
    async fn find_differing(
        &self,
        side: &Side,
        QueryVectors { vector, terms, lists }: &QueryVectors,
        query: &Query,
        limit: usize,
    ) -> Result<(Vec<Candidate>, bool), SearchError> {
        let limit_of = |weight: f32| if weight > 0.0 { limit } else { 0 };
        let (dense, lexical) = (limit_of(lists.dense), limit_of(lists.lexical));
        let (dense, lexical) = try_join!(
            self.store.search(ChunkQuery::nearest(vector.clone(), side.among.clone(), dense)),
            self.store.search(ChunkQuery::lexical(terms.clone(), side.among.clone(), lexical))
        )?;
        let is_all = dense.len() < limit && lexical.len() < limit;
        let of_tree = |mut found: Vec<ScoredChunk>| {
            for one in &mut found {
                one.record.root = side.tree.id;
            }
            found
        };
        let mut candidates = fuse::fuse(of_tree(dense), of_tree(lexical), *lists);
        candidates.retain(|candidate| query.takes(candidate.record.language.as_deref()));
        self.drop_same(side, &mut candidates).await?;
        Ok((candidates, is_all))
    }

    async fn trees(&self, named: [&str; 2], roots: &[Root]) -> Result<[Root; 2], SearchError> {
        let [first, second] = named;
        let first = find_root(&self.path_map, roots, first).await?;
        let second = find_root(&self.path_map, roots, second).await?;
        if first.id == second.id {
            return Err(SearchError::SameTree(first.name.clone()));
        }
        if first.owner() != second.owner() {
            return Err(SearchError::OtherRepository(first.name.clone(), second.name.clone()));
        }
        Ok([first, second])
    }

    /// Drops the candidates whose text the other tree has at the same path.
    async fn drop_same(
        &self,
        side: &Side,
        candidates: &mut Vec<Candidate>,
    ) -> Result<(), SearchError> {
        let mut by_text: HashMap<(&str, &str), Vec<Uuid>> = HashMap::new();
        let mut ids: HashSet<Uuid> = HashSet::new();
        for Candidate { id, record, .. } in candidates.iter() {
            by_text.entry((&record.path, &record.text)).or_default().push(*id);
            ids.extend(side.others.get(&record.path).into_iter().flatten());
        }
        let ids: Vec<Uuid> = ids.into_iter().collect();
        let mut same: HashSet<Uuid> = HashSet::new();
        let pages = ids.chunks(PAGE).map(<[Uuid]>::to_vec);
        let reading: Vec<_> = pages.map(|page| self.store.chunks_by_id(page)).collect();
        for stored in stream::iter(reading).buffered(PAGES).try_concat().await? {
            let text = (stored.record.path.as_str(), stored.record.text.as_str());
            same.extend(by_text.get(&text).into_iter().flatten());
        }
        candidates.retain(|candidate| !same.contains(&candidate.id));
        Ok(())
    }
}

impl Side {
    /// Compares the files of a tree with those of another one. A file that moved is no other one.
    fn compare(tree: Root, files: &[FileRecord], other: &[FileRecord]) -> Self {
        let owner = tree.owner();
        let there: HashMap<&str, &FileRecord> =
            other.iter().map(|file| (file.path.as_str(), file)).collect();
        let versions: HashSet<&str> = other.iter().map(|file| file.version.as_str()).collect();
        let (mut ids, mut others) = (HashSet::new(), HashMap::new());
        for file in files {
            match there.get(file.path.as_str()) {
                Some(other) if other.version == file.version => continue,
                None if versions.contains(file.version.as_str()) => continue,
                Some(other) => {
                    let of_other = other.chunk_ids(owner, 0..other.chunks).collect();
                    others.insert(file.path.clone(), of_other);
                }
                None => {}
            }
            ids.extend(file.chunk_ids(owner, 0..file.chunks));
        }
        Self { tree, among: ChunkSet { owner, ids: Arc::new(ids) }, others }
    }
}

/// Returns what a chunk is a part of, and what starts in it: paths and symbols.
fn definitions(Candidate { record, .. }: &Candidate) -> Vec<(String, String)> {
    let symbols = record.symbol.iter().chain(&record.defines);
    symbols.map(|symbol| (record.path.clone(), symbol.clone())).collect()
}

/// Puts what both trees have of a definition next to each other, that of `first` before.
fn paired(
    ranked: Vec<Candidate>,
    pool: Vec<Candidate>,
    first: RootId,
    limit: usize,
) -> Vec<Candidate> {
    let mut places: HashMap<(String, String), Vec<Candidate>> = HashMap::new();
    for candidate in pool {
        for place in definitions(&candidate) {
            places.entry(place).or_default().push(candidate.clone());
        }
    }
    let (mut seen, mut paired) = (HashSet::new(), Vec::new());
    for candidate in ranked {
        if !seen.insert(candidate.id) {
            continue;
        }
        let alike = definitions(&candidate);
        let is_other = |other: &&Candidate| {
            other.record.root != candidate.record.root && !seen.contains(&other.id)
        };
        let mut others = alike.iter().filter_map(|place| places.get(place)).flatten();
        let other = others.find(is_other).cloned();
        let Some(mut other) = other else {
            paired.push(candidate);
            continue;
        };
        seen.insert(other.id);
        (other.score, other.parts) = (candidate.score, candidate.parts);
        if candidate.record.root == first {
            paired.extend([candidate, other]);
        } else {
            paired.extend([other, candidate]);
        }
    }
    paired.truncate(limit);
    paired
}

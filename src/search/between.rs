//! What differs between two trees of a repository, as far as it fits a query.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream, try_join};
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::{
    CANDIDATES, Found, Intent, Neighbours, Query, Search, SearchError, candidate::Candidate, rank,
    sight::Sight,
};
use crate::{
    domain::{FileRecord, Root, RootId},
    root_link::find_root,
};

/// Of so many neighbours of each tree those that differ are looked for, at most: where trees are alike, most are not
/// among the nearest.
const MOST: usize = 6_400;
/// So many chunks of changed files are compared at a time.
const PAGE: usize = 500;
/// So many such reads are under way at a time.
const PAGES: usize = 4;

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
        let [first, second] = &self.trees([first, second], roots).await?;
        let intent = Intent::of(query.text()).within(query.text(), &first.name);
        let intent = intent.with_near(|word| self.embedder.near(word));
        let terms = self.terms(query.text(), &intent, Some(first), roots).await?;
        let lists = rank::lists(intent.kind, &self.weights);
        let mut limit = CANDIDATES;
        let differing = loop {
            let sights = [Sight::of(first.id), Sight::of(second.id)];
            let [of_first, of_second] = sights.each_ref().map(|sight| Neighbours {
                text: query.text(),
                terms: terms.clone(),
                sight,
                lists,
            });
            let of_both = try_join!(
                self.find_missing(&of_first, second, query, limit),
                self.find_missing(&of_second, first, query, limit)
            )?;
            let ((mut differing, is_first_all), (of_second, is_second_all)) = of_both;
            differing.extend(of_second);
            let is_all = is_first_all && is_second_all;
            if is_all || query.limit() <= differing.len() || MOST <= limit {
                break differing;
            }
            limit *= 4;
        };
        let (weights, most, first_id) = (self.weights, query.limit(), first.id);
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
            let (first, second) = (&first.name, &second.name);
            let nothing = "no difference that fits the query was found between";
            found.notice = Some(format!("{nothing} `{first}` and `{second}`"));
        }
        Ok(found)
    }

    /// Returns the candidates of one tree that another has not, and whether these are all that it has.
    async fn find_missing(
        &self,
        neighbours: &Neighbours<'_>,
        other: &Root,
        query: &Query,
        limit: usize,
    ) -> Result<(Vec<Candidate>, bool), SearchError> {
        let found = self.candidates(neighbours, query, limit).await?;
        let is_all = found.len() < limit;
        Ok((self.not_in(other, found).await?, is_all))
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

    /// Returns those of the candidates that a tree has not.
    async fn not_in(
        &self,
        other: &Root,
        mut candidates: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, SearchError> {
        let paths: HashSet<&String> =
            candidates.iter().map(|candidate| &candidate.record.path).collect();
        let paths: Vec<String> = paths.into_iter().cloned().collect();
        let there = self.store.files_at(other.id, paths).await?;
        let there: HashMap<&str, &FileRecord> =
            there.iter().map(|record| (record.path.as_str(), record)).collect();
        candidates.retain(|Candidate { record, .. }| {
            there.get(record.path.as_str()).is_none_or(|known| known.version != record.version)
        });
        // A file that moved is no other one.
        let is_new = |candidate: &Candidate| !there.contains_key(candidate.record.path.as_str());
        if candidates.iter().any(is_new) {
            let all = self.store.files(other.id).await?;
            let versions: HashSet<&str> = all.iter().map(|file| file.version.as_str()).collect();
            candidates.retain(|candidate| {
                !is_new(candidate) || !versions.contains(candidate.record.version.as_str())
            });
        }
        let changed: HashSet<&str> =
            candidates.iter().map(|candidate| candidate.record.path.as_str()).collect();
        let changed = changed.iter().filter_map(|path| there.get(path));
        let ids = changed.flat_map(|file| file.chunk_ids(other.owner(), 0..file.chunks));
        let ids: Vec<Uuid> = ids.collect();
        let mut same: HashSet<Uuid> = HashSet::new();
        let mut by_text: HashMap<(&str, &str), Vec<Uuid>> = HashMap::new();
        for Candidate { id, record, .. } in &candidates {
            by_text.entry((&record.path, &record.text)).or_default().push(*id);
        }
        let pages = ids.chunks(PAGE).map(<[Uuid]>::to_vec);
        let reading: Vec<_> = pages.map(|page| self.store.chunks_with(page)).collect();
        for stored in stream::iter(reading).buffered(PAGES).try_concat().await? {
            let text = (stored.record.path.as_str(), stored.record.text.as_str());
            same.extend(by_text.get(&text).into_iter().flatten());
        }
        candidates.retain(|candidate| !same.contains(&candidate.id));
        Ok(candidates)
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

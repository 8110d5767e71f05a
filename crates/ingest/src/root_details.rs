//! Details of roots, and the files that each tree of a repository adds to its other trees.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use codeinfo_core::{FileRecord, IndexCounts, LastRun, Root, RootId, Timestamp};
use codeinfo_lang::detect;
use codeinfo_store::StorageSize;
use serde::{Deserialize, Serialize};

use super::{Ingest, IngestError, PastRun, RootStatus, WatchStatus};

/// Maximum number of roots whose language counts are cached.
const MAX_CACHED_ROOTS: usize = 256;

/// Details of a root.
#[derive(Debug)]
pub struct RootDetails {
    pub status: RootStatus,
    /// Languages, most chunks first.
    pub languages: Vec<LanguageCount>,
    /// Last run that ended in this process.
    pub last_run: Option<PastRun>,
    pub watching: WatchStatus,
    /// Size on disk; `None` if the engine cannot tell.
    pub size: Option<StorageSize>,
}

/// Files and chunks of a root in one language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LanguageCount {
    /// Lower-case name of the language; `None` for text in no known language.
    pub language: Option<&'static str>,
    pub files: u64,
    pub chunks: u64,
}

/// State of a root that changes with its index.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexEdition {
    last_ingest_at: Option<Timestamp>,
    counts: IndexCounts,
    last_run: LastRun,
}

impl IndexEdition {
    fn from_root(root: &Root) -> Self {
        let Root { last_ingest_at, counts, last_run, .. } = root.clone();
        Self { last_ingest_at, counts, last_run }
    }
}

/// Language counts per root and edition, cached because a large root has records of 100,000 files.
#[derive(Debug, Default)]
pub(super) struct LanguageCache {
    known: Mutex<HashMap<RootId, (IndexEdition, Vec<LanguageCount>)>>,
}

impl LanguageCache {
    fn get(&self, root: &Root) -> Option<Vec<LanguageCount>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (edition, languages) = known.get(&root.id)?;
        (*edition == IndexEdition::from_root(root)).then(|| languages.clone())
    }

    fn insert(&self, root: &Root, languages: Vec<LanguageCount>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if MAX_CACHED_ROOTS <= known.len() {
            known.clear();
        }
        known.insert(root.id, (IndexEdition::from_root(root), languages));
    }
}

impl Ingest {
    /// Returns the details of a root, found by name, id or path.
    pub async fn describe_root(&self, reference: &str) -> Result<RootDetails, IngestError> {
        let statuses = self.list_roots().await?;
        let roots: Vec<Root> = statuses.iter().map(|status| status.root.clone()).collect();
        let found = self.path_map.find_root(&roots, reference).map(|root| root.id);
        let status = statuses
            .into_iter()
            .find(|status| Some(status.root.id) == found)
            .ok_or_else(|| IngestError::unknown_root(reference))?;
        let languages = self.load_languages(&status).await?;
        let id = status.root.id;
        let last_run = self.shared.lock_runs().last_run(id).cloned();
        let watching = self.shared.watches.watch_status(id);
        let size = self.shared.deps.store.size(id);
        Ok(RootDetails { status, languages, last_run, watching, size })
    }

    async fn load_languages(&self, status: &RootStatus) -> Result<Vec<LanguageCount>, IngestError> {
        let root = &status.root;
        if let Some(known) = self.shared.languages.get(root) {
            return Ok(known);
        }
        let records = self.shared.deps.store.files(root.id).await?;
        let counting = move || count_languages(&records);
        let languages = self.shared.deps.tasks.spawn_blocking(counting).await?;
        // While a run works, the records belong to no edition yet.
        if status.run_id.is_none() {
            self.shared.languages.insert(root, languages.clone());
        }
        Ok(languages)
    }
}

fn count_languages(records: &[FileRecord]) -> Vec<LanguageCount> {
    let mut counts: HashMap<Option<&'static str>, (u64, u64)> = HashMap::new();
    for record in records.iter().filter(|record| 0 < record.chunks) {
        let language = detect::detect_by_path(&record.path).map(|language| language.name);
        let (files, chunks) = counts.entry(language).or_default();
        *files += 1;
        *chunks += u64::from(record.chunks);
    }
    let mut languages: Vec<LanguageCount> = counts
        .into_iter()
        .map(|(language, (files, chunks))| LanguageCount { language, files, chunks })
        .collect();
    languages.sort_by_key(|count| (std::cmp::Reverse((count.chunks, count.files)), count.language));
    languages
}

/// Maximum files of a repository whose trees are compared, because that reads all their records.
const MAX_FILES: u64 = 300_000;
const MAX_CACHED_REPOSITORIES: usize = 64;

/// Files and chunks of a tree that no other tree of its repository has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeAdditions {
    pub files: u64,
    pub chunks: u64,
}

/// Trees of a repository and the time each was indexed.
type RepositoryEdition = Vec<(RootId, Option<Timestamp>)>;
type AdditionsByTree = HashMap<RootId, TreeAdditions>;

/// Additions of trees, cached per edition of their repository.
#[derive(Debug, Default)]
pub(super) struct AdditionsCache {
    known: Mutex<HashMap<RootId, (RepositoryEdition, AdditionsByTree)>>,
}

impl Ingest {
    /// Returns the additions of each root that shares its repository with another one. Omits
    /// repositories with more than `MAX_FILES` files.
    pub async fn load_tree_additions(
        &self,
        roots: &[Root],
    ) -> Result<AdditionsByTree, IngestError> {
        let mut repositories: HashMap<RootId, Vec<&Root>> = HashMap::new();
        for root in roots {
            repositories.entry(root.chunk_owner()).or_default().push(root);
        }
        let mut all = HashMap::new();
        for (owner, trees) in repositories {
            let files: u64 = trees.iter().map(|root| root.counts.files).sum();
            if trees.len() < 2 || MAX_FILES < files {
                continue;
            }
            let mut edition: RepositoryEdition =
                trees.iter().map(|root| (root.id, root.last_ingest_at)).collect();
            edition.sort_unstable_by_key(|(id, _)| *id);
            let known = self.shared.additions.get(owner, &edition);
            let added = if let Some(added) = known {
                added
            } else {
                let mut records = Vec::new();
                for root in &trees {
                    records.extend(self.shared.deps.store.files(root.id).await?);
                }
                let counting = move || count_additions(&records);
                let added = self.shared.deps.tasks.spawn_blocking(counting).await?;
                self.shared.additions.insert(owner, edition, added.clone());
                added
            };
            let of_tree =
                |root: &&Root| (root.id, added.get(&root.id).copied().unwrap_or_default());
            all.extend(trees.iter().map(of_tree));
        }
        Ok(all)
    }
}

impl AdditionsCache {
    fn get(&self, owner: RootId, edition: &RepositoryEdition) -> Option<AdditionsByTree> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, added) = known.get(&owner)?;
        (of == edition).then(|| added.clone())
    }

    fn insert(&self, owner: RootId, edition: RepositoryEdition, added: AdditionsByTree) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if MAX_CACHED_REPOSITORIES <= known.len() {
            known.clear();
        }
        known.insert(owner, (edition, added));
    }
}

fn count_additions(records: &[FileRecord]) -> AdditionsByTree {
    let (mut seen, mut shared) = (HashSet::new(), HashSet::new());
    for record in records {
        let version = (record.path.as_str(), record.version.as_str());
        if !seen.insert(version) {
            shared.insert(version);
        }
    }
    let mut added: AdditionsByTree = HashMap::new();
    for record in records.iter().filter(|record| 0 < record.chunks) {
        if !shared.contains(&(record.path.as_str(), record.version.as_str())) {
            let additions = added.entry(record.root).or_default();
            additions.files += 1;
            additions.chunks += u64::from(record.chunks);
        }
    }
    added
}

//! Files that each tree of a repository adds to its other trees.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use codeinfo_core::{FileRecord, Root, RootId, Timestamp};

use super::{Ingest, IngestError};

/// Maximum number of files of all trees of a repository. Larger ones are not compared, because each
/// listing would read all records.
const MAX_FILES: u64 = 300_000;
/// Maximum number of cached repositories.
const MAX_KNOWN: usize = 64;

/// Files and chunks of a tree that no other tree of its repository has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeAdditions {
    pub files: u64,
    pub chunks: u64,
}

/// Trees of a repository and the time each was indexed.
type RepositoryEdition = Vec<(RootId, Option<Timestamp>)>;
/// Additions of each tree of a repository.
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
        if MAX_KNOWN <= known.len() {
            known.clear();
        }
        known.insert(owner, (edition, added));
    }
}

/// Counts the files with chunks that only one tree has.
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

//! What each tree of a repository adds to the others.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use codeinfo_core::{FileRecord, Root, RootId, Timestamp};

use super::{Ingest, IngestError};

/// Repositories whose trees have more files in all are not compared: each listing would read them.
const MAX_FILES: u64 = 300_000;
/// The most repositories that are remembered.
const MAX_KNOWN: usize = 64;

/// What one tree has and no other tree of its repository.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeAdditions {
    pub files: u64,
    pub chunks: u64,
}

/// Trees of a repository, and when each was indexed.
type RepositoryEdition = Vec<(RootId, Option<Timestamp>)>;
/// What each tree of a repository adds.
type AdditionsByTree = HashMap<RootId, TreeAdditions>;

/// What trees add, counted once for each edition of a repository.
#[derive(Debug, Default)]
pub(super) struct AdditionsCache {
    known: Mutex<HashMap<RootId, (RepositoryEdition, AdditionsByTree)>>,
}

impl Ingest {
    /// Returns what each of these roots adds that has other trees beside it. Those of very large repositories are
    /// left out.
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

/// Counts the files with content that one tree alone has.
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
            let added = added.entry(record.root).or_default();
            added.files += 1;
            added.chunks += u64::from(record.chunks);
        }
    }
    added
}

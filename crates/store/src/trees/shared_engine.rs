//! Changes of an engine that worktrees share: releases chunks that no root needs, and keeps former versions for a while.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_core::{FileRecord, Root, RootId, Timestamp, hash, task::Tasks};
use uuid::Uuid;

use super::{
    family::{RootFamilies, RootFamily},
    view::{FileView, FileViews},
};
use crate::{Change, ChunkSelection, Engine, FileSelection, NewChunk, StoreError};

const MAX_FORMER_AGE: Duration = Duration::from_hours(7 * 24);
/// Minimum number of chunks of former versions that are kept; more are kept where the trees have more.
const MIN_FORMER_CHUNKS: u64 = 10_000;
/// Pause between two searches for former versions that can be removed.
const TIDY_INTERVAL: Duration = Duration::from_hours(1);
/// Maximum number of file records that are looked up at a time.
const MAX_PATHS: usize = 512;
/// Maximum number of chunks that one removal names.
const MAX_IDS: usize = 1024;

pub(super) struct SharedEngine {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) families: RootFamilies,
    pub(super) views: FileViews,
    pub(super) tasks: Tasks,
    /// Time of the last search for removable former versions, by owner.
    tidied: Mutex<HashMap<RootId, Instant>>,
}

impl SharedEngine {
    pub(super) fn new(engine: Arc<dyn Engine>, is_shared: bool, tasks: Tasks) -> Self {
        let (families, views) = (RootFamilies::new(is_shared), FileViews::new(is_shared));
        Self { engine, families, views, tasks, tidied: Mutex::default() }
    }

    /// Makes a change. The caller holds the order.
    pub(super) async fn apply(&self, change: Change) -> Result<(), StoreError> {
        match change {
            Change::PutRoot(root) => self.put_root(*root).await,
            Change::RemoveRoot { root, keeps_chunks: false } => self.remove_root(root).await,
            Change::RemoveRoot { root, keeps_chunks: true } => {
                self.remove_tree(root).await?;
                self.families.note_removed(root);
                Ok(())
            }
            Change::PutFiles(files) => {
                let mut by_root: HashMap<RootId, Vec<FileRecord>> = HashMap::new();
                for file in files {
                    by_root.entry(file.root).or_default().push(file);
                }
                for (root, files) in by_root {
                    self.put_files(root, files).await?;
                }
                Ok(())
            }
            Change::RemoveFiles { root, paths } => {
                let former = self.files_at(root, paths.clone()).await?;
                self.erase_files(root, paths).await?;
                self.release_versions(root, former, Vec::new()).await
            }
            Change::PutChunks(mut chunks) => {
                let family = self.family().await?;
                for NewChunk { record, .. } in &mut chunks {
                    record.root = family.owner(record.root);
                }
                self.engine.apply(Change::PutChunks(chunks)).await
            }
            Change::RemoveChunks(_) | Change::Flush => self.engine.apply(change).await,
        }
    }

    pub(super) async fn family(&self) -> Result<Arc<RootFamily>, StoreError> {
        match self.families.get() {
            Some(family) => Ok(family),
            None => self.load_family().await,
        }
    }

    async fn load_family(&self) -> Result<Arc<RootFamily>, StoreError> {
        let changes = self.families.changes();
        Ok(self.families.learn(&self.engine.roots().await?, changes))
    }

    /// Returns the current roots, which other processes may have changed.
    async fn current_family(&self) -> Result<Arc<RootFamily>, StoreError> {
        match self.families.get().filter(|_| !self.families.is_shared()) {
            Some(family) => Ok(family),
            None => self.load_family().await,
        }
    }

    async fn files_at(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> Result<Vec<FileRecord>, StoreError> {
        self.engine.files(FileSelection { root, paths: Some(paths) }).await
    }

    async fn all_files(&self, root: RootId) -> Result<Vec<FileRecord>, StoreError> {
        self.engine.files(FileSelection { root, paths: None }).await
    }

    /// Returns the versions that a root has of some paths. The caller holds the order.
    pub(super) async fn load_view(
        &self,
        root: RootId,
        paths: &BTreeSet<&str>,
    ) -> Result<FileView, StoreError> {
        if let Some(view) = self.views.get(root) {
            return Ok(view);
        }
        if self.views.are_kept() {
            return Ok(self.views.learn(root, &self.all_files(root).await?));
        }
        let owned = paths.iter().map(|path| (*path).to_owned()).collect();
        Ok(FileView::from_records(&self.files_at(root, owned).await?))
    }

    async fn write_files(&self, root: RootId, files: Vec<FileRecord>) -> Result<(), StoreError> {
        let outcome = self.engine.apply(Change::PutFiles(files.clone())).await;
        match &outcome {
            Ok(()) => self.views.note_written(root, &files),
            Err(_) => self.views.forget(root),
        }
        outcome
    }

    async fn erase_files(&self, root: RootId, paths: Vec<String>) -> Result<(), StoreError> {
        let outcome = self.engine.apply(Change::RemoveFiles { root, paths: paths.clone() }).await;
        match &outcome {
            Ok(()) => self.views.note_removed(root, &paths),
            Err(_) => self.views.forget(root),
        }
        outcome
    }

    async fn put_files(&self, root: RootId, files: Vec<FileRecord>) -> Result<(), StoreError> {
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let new_versions: HashMap<&str, &str> =
            files.iter().map(|file| (file.path.as_str(), file.version.as_str())).collect();
        let mut replaced = self.files_at(root, paths).await?;
        replaced.retain(|old| new_versions.get(old.path.as_str()) != Some(&old.version.as_str()));
        // A record without a version replaces one whose chunks are incomplete.
        let is_whole = |old: &FileRecord| {
            new_versions.get(old.path.as_str()).is_some_and(|version| !version.is_empty())
        };
        let (former, broken) = replaced.into_iter().partition(is_whole);
        self.write_files(root, files).await?;
        self.release_versions(root, former, broken).await
    }

    /// Keeps former versions for a while, except for broken ones, and removes the chunks that no root needs any more.
    async fn release_versions(
        &self,
        root: RootId,
        former: Vec<FileRecord>,
        broken: Vec<FileRecord>,
    ) -> Result<(), StoreError> {
        if former.is_empty() && broken.is_empty() {
            return Ok(());
        }
        let family = self.current_family().await?;
        let owner = family.owner(root);
        let is_worth_keeping = |record: &FileRecord| {
            // No run asks for versions of a former revision of the chunker.
            family.is_in_repository(root) && record.chunks > 0 && hash::is_current(&record.version)
        };
        let (former_to_keep, mut dropped): (Vec<FileRecord>, Vec<FileRecord>) =
            former.into_iter().partition(is_worth_keeping);
        dropped.extend(broken);
        dropped.extend(self.keep_former(owner, former_to_keep).await?);
        self.free_chunks(owner, dropped, &roots_needing(&family, owner, root)).await
    }

    /// Stores records of former versions and returns those that they replace: a path has as many as
    /// [`RootId::former_record_ids`] has ids.
    async fn keep_former(
        &self,
        owner: RootId,
        former: Vec<FileRecord>,
    ) -> Result<Vec<FileRecord>, StoreError> {
        if former.is_empty() {
            return Ok(Vec::new());
        }
        let paths: Vec<String> = former.iter().map(|record| record.path.clone()).collect();
        let mut slots = Vec::new();
        for id in RootId::former_record_ids(owner) {
            let records = self.files_at(id, paths.clone()).await?.into_iter();
            let stored: HashMap<String, FileRecord> =
                records.map(|record| (record.path.clone(), record)).collect();
            slots.push((id, stored, Vec::new()));
        }
        let now = Timestamp::now().as_milliseconds().saturating_mul(1_000_000);
        let mut replaced_records = Vec::new();
        for record in former {
            // The slot that has this version, else an empty one, else the one that was filled first.
            let best_slot =
                slots.iter_mut().min_by_key(|(_, stored, _)| match stored.get(&record.path) {
                    Some(other) if other.version == record.version => (0, 0),
                    None => (1, 0),
                    Some(other) => (2, other.modified_ns),
                });
            let Some((id, stored, new)) = best_slot else { continue };
            let replaced = stored.remove(&record.path);
            replaced_records.extend(replaced.filter(|replaced| replaced.version != record.version));
            new.push(FileRecord { root: *id, modified_ns: now, ..record });
        }
        for (id, _, new) in slots {
            if !new.is_empty() {
                self.write_files(id, new).await?;
            }
        }
        Ok(replaced_records)
    }

    /// Removes the chunks of those records that none of `roots` needs.
    async fn free_chunks(
        &self,
        owner: RootId,
        records: Vec<FileRecord>,
        roots: &[RootId],
    ) -> Result<(), StoreError> {
        let with_chunks: Vec<FileRecord> =
            records.into_iter().filter(|record| record.chunks > 0).collect();
        for page in with_chunks.chunks(MAX_PATHS) {
            let mut unneeded: Vec<&FileRecord> = page.iter().collect();
            for root in roots {
                let paths = unneeded.iter().map(|record| record.path.as_str()).collect();
                let view = self.load_view(*root, &paths).await?;
                unneeded.retain(|record| !view.has_version(&record.path, &record.version));
            }
            let ids: Vec<Uuid> = unneeded
                .into_iter()
                .flat_map(|record| record.chunk_ids(owner, 0..record.chunks))
                .collect();
            for page_ids in ids.chunks(MAX_IDS) {
                self.engine.apply(Change::RemoveChunks(page_ids.to_vec())).await?;
            }
        }
        Ok(())
    }

    async fn put_root(&self, root: Root) -> Result<(), StoreError> {
        // Before the root says that nothing needs repair.
        if root.last_run.is_completed() && root.repository.is_some() {
            self.remove_old_versions(&root).await?;
        }
        self.engine.apply(Change::PutRoot(Box::new(root.clone()))).await?;
        self.families.note_written(&root);
        Ok(())
    }

    /// Removes former versions of a repository that are too old or too many.
    async fn remove_old_versions(&self, root: &Root) -> Result<(), StoreError> {
        let owner = root.chunk_owner();
        {
            let mut tidied = self.tidied.lock().unwrap_or_else(PoisonError::into_inner);
            if tidied.get(&owner).is_some_and(|last| last.elapsed() < TIDY_INTERVAL) {
                return Ok(());
            }
            tidied.insert(owner, Instant::now());
        }
        let oldest = Timestamp::now()
            .as_milliseconds()
            .saturating_mul(1_000_000)
            .saturating_sub(u64::try_from(MAX_FORMER_AGE.as_nanos()).unwrap_or(u64::MAX));
        let family = self.current_family().await?;
        let max_chunks = family.count_chunks(owner).max(root.counts.chunks).max(MIN_FORMER_CHUNKS);
        let mut old = Vec::new();
        for id in RootId::former_record_ids(owner) {
            old.extend(self.all_files(id).await?);
        }
        old.sort_unstable_by_key(|record| Reverse(record.modified_ns));
        let mut chunks = 0;
        old.retain(|record| {
            chunks += u64::from(record.chunks);
            record.modified_ns < oldest || chunks > max_chunks
        });
        for page in old.chunks(MAX_PATHS) {
            for id in RootId::former_record_ids(owner) {
                let records = page.iter().filter(|record| record.root == id);
                let paths: Vec<String> = records.map(|record| record.path.clone()).collect();
                if !paths.is_empty() {
                    self.erase_files(id, paths).await?;
                }
            }
            let roots = roots_needing(&family, owner, root.id);
            self.free_chunks(owner, page.to_vec(), &roots).await?;
        }
        Ok(())
    }

    /// Removes all chunks that are stored under an owner, but not the root of that id.
    async fn remove_owned_chunks(&self, owner: RootId) -> Result<(), StoreError> {
        loop {
            let selection =
                ChunkSelection::Page { owner: Some(owner), after: None, limit: MAX_IDS };
            let page = self.engine.chunks(selection).await?;
            if page.is_empty() {
                return Ok(());
            }
            let ids = page.into_iter().map(|stored| stored.id).collect();
            self.engine.apply(Change::RemoveChunks(ids)).await?;
        }
    }

    async fn remove_root(&self, root: RootId) -> Result<(), StoreError> {
        let family = self.current_family().await?;
        let owner = family.owner(root);
        let siblings: Vec<RootId> = family.trees_of(owner).filter(|other| *other != root).collect();
        if siblings.is_empty() {
            for former in RootId::former_record_ids(owner) {
                self.remove_tree(former).await?;
            }
            if owner != root && family.contains(owner) {
                // That root is a tree of another repository now.
                self.remove_owned_chunks(owner).await?;
            } else if owner != root {
                self.engine.apply(Change::RemoveRoot { root: owner, keeps_chunks: false }).await?;
            }
            self.engine.apply(Change::RemoveRoot { root, keeps_chunks: false }).await?;
        } else {
            let records = self.all_files(root).await?;
            let needing: Vec<RootId> =
                siblings.into_iter().chain(RootId::former_record_ids(owner)).collect();
            self.free_chunks(owner, records, &needing).await?;
            self.engine.apply(Change::RemoveRoot { root, keeps_chunks: true }).await?;
        }
        self.views.forget(root);
        self.families.note_removed(root);
        Ok(())
    }

    /// Removes a root with its file records, but not its chunks.
    async fn remove_tree(&self, root: RootId) -> Result<(), StoreError> {
        self.engine.apply(Change::RemoveRoot { root, keeps_chunks: true }).await?;
        self.views.forget(root);
        Ok(())
    }
}

/// Returns the ids of all records that may need an owner's chunks: its trees, including `root`, and former versions.
fn roots_needing(family: &RootFamily, owner: RootId, root: RootId) -> Vec<RootId> {
    let mut roots: Vec<RootId> = family.trees_of(owner).chain([root]).collect();
    roots.sort_unstable();
    roots.dedup();
    roots.extend(RootId::former_record_ids(owner));
    roots
}

//! What changes an engine that several trees share, and what is known of them meanwhile.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{
    super::{StoreError, VectorStore},
    family::{Families, Family},
    view::{View, Views},
};
use crate::domain::{FileRecord, Root, RootId, Timestamp, hash};

/// How long what a path had before is kept.
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);
/// How often what is no longer kept is looked for.
const TIDIED_EVERY: Duration = Duration::from_hours(1);
/// How many records of files are looked up at a time.
const PATHS: usize = 512;
/// The most chunks that one removal names.
const IDS: usize = 1024;

/// The engine, and what is known of roots.
pub(super) struct Inner {
    pub(super) engine: Arc<dyn VectorStore>,
    pub(super) families: Families,
    pub(super) views: Views,
    /// When what a repository had before was last looked through.
    tidied: Mutex<HashMap<RootId, Instant>>,
}

impl Inner {
    pub(super) fn over(engine: Arc<dyn VectorStore>, is_shared: bool) -> Self {
        let (families, views) = (Families::new(is_shared), Views::new(is_shared));
        Self { engine, families, views, tidied: Mutex::default() }
    }

    pub(super) async fn family(&self) -> Result<Arc<Family>, StoreError> {
        if let Some(family) = self.families.get() {
            return Ok(family);
        }
        Ok(self.families.learn(&self.engine.roots().await?))
    }

    /// Returns the roots as they are now, which other processes may have changed.
    async fn family_now(&self) -> Result<Arc<Family>, StoreError> {
        match self.families.get().filter(|_| !self.families.is_shared()) {
            Some(family) => Ok(family),
            None => Ok(self.families.learn(&self.engine.roots().await?)),
        }
    }

    /// Returns what a root has of some paths. The caller holds the order.
    pub(super) async fn view(
        &self,
        root: RootId,
        paths: &BTreeSet<&str>,
    ) -> Result<View, StoreError> {
        if let Some(view) = self.views.get(root) {
            return Ok(view);
        }
        if self.views.is_kept() {
            return Ok(self.views.learn(root, &self.engine.files(root).await?));
        }
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        Ok(View::of(&self.engine.files_at(root, paths).await?))
    }

    /// Writes records of files of one root.
    async fn write(&self, root: RootId, files: Vec<FileRecord>) -> Result<(), StoreError> {
        let written = self.engine.put_files(files.clone()).await;
        match &written {
            Ok(()) => self.views.wrote(root, &files),
            Err(_) => self.views.forget(root),
        }
        written
    }

    async fn erase(&self, root: RootId, paths: Vec<String>) -> Result<(), StoreError> {
        let erased = self.engine.remove_files(root, paths.clone()).await;
        match &erased {
            Ok(()) => self.views.removed(root, &paths),
            Err(_) => self.views.forget(root),
        }
        erased
    }

    pub(super) async fn put_files(
        &self,
        root: RootId,
        files: Vec<FileRecord>,
    ) -> Result<(), StoreError> {
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let now: HashMap<&str, &str> =
            files.iter().map(|file| (file.path.as_str(), file.version.as_str())).collect();
        let mut before = self.engine.files_at(root, paths).await?;
        before.retain(|old| now.get(old.path.as_str()) != Some(&old.version.as_str()));
        self.write(root, files).await?;
        self.release(root, before).await
    }

    pub(super) async fn remove_files(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> Result<(), StoreError> {
        let before = self.engine.files_at(root, paths.clone()).await?;
        self.erase(root, paths).await?;
        self.release(root, before).await
    }

    /// Keeps what a root had before for a while, and takes out the chunks that nobody needs any more.
    async fn release(&self, root: RootId, before: Vec<FileRecord>) -> Result<(), StoreError> {
        if before.is_empty() {
            return Ok(());
        }
        let family = self.family_now().await?;
        let owner = family.owner(root);
        let is_kept = |record: &FileRecord| {
            // Of a former revision, none is asked for again.
            family.is_repository(root) && 0 < record.chunks && hash::is_current(&record.version)
        };
        let (former, mut gone): (Vec<FileRecord>, Vec<FileRecord>) =
            before.into_iter().partition(is_kept);
        if !former.is_empty() {
            let id = RootId::former(owner);
            let now = Timestamp::now().milliseconds().saturating_mul(1_000_000);
            let former: Vec<FileRecord> = former
                .into_iter()
                .map(|record| FileRecord { root: id, modified_ns: now, ..record })
                .collect();
            let paths = former.iter().map(|record| record.path.clone()).collect();
            gone.extend(self.engine.files_at(id, paths).await?);
            self.write(id, former).await?;
        }
        let mut roots: Vec<RootId> = family.of(owner).collect();
        if !roots.contains(&root) {
            roots.push(root);
        }
        roots.push(RootId::former(owner));
        self.free(owner, gone, &roots).await
    }

    /// Takes out the chunks of those records that none of `roots` needs.
    async fn free(
        &self,
        owner: RootId,
        records: Vec<FileRecord>,
        roots: &[RootId],
    ) -> Result<(), StoreError> {
        let mut records: Vec<FileRecord> =
            records.into_iter().filter(|record| 0 < record.chunks).collect();
        for some in records.chunks_mut(PATHS) {
            let mut some: Vec<&FileRecord> = some.iter().collect();
            for root in roots {
                let paths = some.iter().map(|record| record.path.as_str()).collect();
                let view = self.view(*root, &paths).await?;
                some.retain(|record| !view.has(&record.path, &record.version));
            }
            let ids: Vec<Uuid> = some
                .into_iter()
                .flat_map(|record| record.chunk_ids(owner, 0..record.chunks))
                .collect();
            for some in ids.chunks(IDS) {
                self.engine.remove_chunks(some.to_vec()).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn put_root(&self, root: Root) -> Result<(), StoreError> {
        let is_at_rest = root.last_run.is_completed() && root.repository.is_some();
        let owner = root.owner();
        self.engine.put_root(root.clone()).await?;
        self.families.wrote(&root);
        if is_at_rest {
            self.tidy(owner).await?;
        }
        Ok(())
    }

    /// Lets go of what trees of a repository had long ago.
    async fn tidy(&self, owner: RootId) -> Result<(), StoreError> {
        {
            let mut tidied = self.tidied.lock().unwrap_or_else(PoisonError::into_inner);
            if tidied.get(&owner).is_some_and(|at| at.elapsed() < TIDIED_EVERY) {
                return Ok(());
            }
            tidied.insert(owner, Instant::now());
        }
        let former = RootId::former(owner);
        let oldest = Timestamp::now()
            .milliseconds()
            .saturating_mul(1_000_000)
            .saturating_sub(u64::try_from(KEPT_FOR.as_nanos()).unwrap_or(u64::MAX));
        let mut old = self.engine.files(former).await?;
        old.retain(|record| record.modified_ns < oldest);
        if old.is_empty() {
            return Ok(());
        }
        let paths: Vec<String> = old.iter().map(|record| record.path.clone()).collect();
        self.erase(former, paths).await?;
        let roots: Vec<RootId> = self.family_now().await?.of(owner).collect();
        self.free(owner, old, &roots).await
    }

    pub(super) async fn remove_root(&self, root: RootId) -> Result<(), StoreError> {
        let family = self.family_now().await?;
        let owner = family.owner(root);
        let others: Vec<RootId> = family.of(owner).filter(|other| *other != root).collect();
        if others.is_empty() {
            let former = RootId::former(owner);
            self.engine.remove_tree(former).await?;
            self.views.forget(former);
            if owner != root {
                self.engine.remove_root(owner).await?;
            }
            self.engine.remove_root(root).await?;
        } else {
            let records = self.engine.files(root).await?;
            let needing: Vec<RootId> = others.into_iter().chain([RootId::former(owner)]).collect();
            self.free(owner, records, &needing).await?;
            self.engine.remove_tree(root).await?;
        }
        self.views.forget(root);
        self.families.removed(root);
        Ok(())
    }
}

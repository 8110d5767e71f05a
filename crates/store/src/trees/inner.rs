//! What changes an engine that several trees share, and what is known of them meanwhile.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_core::{FileRecord, Root, RootId, Timestamp, hash};
use uuid::Uuid;

use super::{
    super::{StoreError, VectorStore},
    family::{Families, Family},
    view::{View, Views},
};

/// How long what a path had before is kept.
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);
/// So many chunks of that are kept, or as many as the trees have.
const KEPT_CHUNKS: u64 = 10_000;
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
        match self.families.get() {
            Some(family) => Ok(family),
            None => self.loaded().await,
        }
    }

    async fn loaded(&self) -> Result<Arc<Family>, StoreError> {
        let changes = self.families.changes();
        Ok(self.families.learn(&self.engine.roots().await?, changes))
    }

    /// Returns the roots as they are now, which other processes may have changed.
    async fn family_now(&self) -> Result<Arc<Family>, StoreError> {
        match self.families.get().filter(|_| !self.families.is_shared()) {
            Some(family) => Ok(family),
            None => self.loaded().await,
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
        // A record without a version takes the place of one whose chunks are not all there.
        let is_whole =
            |old: &FileRecord| now.get(old.path.as_str()).is_some_and(|now| !now.is_empty());
        let (before, broken) = before.into_iter().partition(is_whole);
        self.write(root, files).await?;
        self.release(root, before, broken).await
    }

    pub(super) async fn remove_files(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> Result<(), StoreError> {
        let before = self.engine.files_at(root, paths.clone()).await?;
        self.erase(root, paths).await?;
        self.release(root, before, Vec::new()).await
    }

    /// Keeps what a root had before for a while, except for what is broken, and takes out the chunks that nobody needs
    /// any more.
    async fn release(
        &self,
        root: RootId,
        before: Vec<FileRecord>,
        broken: Vec<FileRecord>,
    ) -> Result<(), StoreError> {
        if before.is_empty() && broken.is_empty() {
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
        gone.extend(broken);
        gone.extend(self.keep(owner, former).await?);
        self.free(owner, gone, &needing(&family, owner, root)).await
    }

    /// Keeps records of what a repository had before, and returns those that made room for them: of a path, there are
    /// as many versions as [`RootId::former`] has ids.
    async fn keep(
        &self,
        owner: RootId,
        former: Vec<FileRecord>,
    ) -> Result<Vec<FileRecord>, StoreError> {
        if former.is_empty() {
            return Ok(Vec::new());
        }
        let paths: Vec<String> = former.iter().map(|record| record.path.clone()).collect();
        let mut places = Vec::new();
        for id in RootId::former_record_ids(owner) {
            let known = self.engine.files_at(id, paths.clone()).await?.into_iter();
            let known: HashMap<String, FileRecord> =
                known.map(|record| (record.path.clone(), record)).collect();
            places.push((id, known, Vec::new()));
        }
        let now = Timestamp::now().as_milliseconds().saturating_mul(1_000_000);
        let mut gone = Vec::new();
        for record in former {
            // Where it is already, else where nothing is, else in place of what was kept first.
            let place =
                places.iter_mut().min_by_key(|(_, known, _)| match known.get(&record.path) {
                    Some(known) if known.version == record.version => (0, 0),
                    None => (1, 0),
                    Some(known) => (2, known.modified_ns),
                });
            let Some((id, known, kept)) = place else { continue };
            gone.extend(known.remove(&record.path).filter(|known| known.version != record.version));
            kept.push(FileRecord { root: *id, modified_ns: now, ..record });
        }
        for (id, _, kept) in places {
            if !kept.is_empty() {
                self.write(id, kept).await?;
            }
        }
        Ok(gone)
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
        // Before the root says that nothing is to be repaired.
        if root.last_run.is_completed() && root.repository.is_some() {
            self.tidy(&root).await?;
        }
        self.engine.put_root(root.clone()).await?;
        self.families.wrote(&root);
        Ok(())
    }

    /// Lets go of what trees of a repository had long ago, and of what is more than they have.
    async fn tidy(&self, root: &Root) -> Result<(), StoreError> {
        let owner = root.chunk_owner();
        {
            let mut tidied = self.tidied.lock().unwrap_or_else(PoisonError::into_inner);
            if tidied.get(&owner).is_some_and(|at| at.elapsed() < TIDIED_EVERY) {
                return Ok(());
            }
            tidied.insert(owner, Instant::now());
        }
        let oldest = Timestamp::now()
            .as_milliseconds()
            .saturating_mul(1_000_000)
            .saturating_sub(u64::try_from(KEPT_FOR.as_nanos()).unwrap_or(u64::MAX));
        let family = self.family_now().await?;
        let most = family.chunks(owner).max(root.counts.chunks).max(KEPT_CHUNKS);
        let mut kept = Vec::new();
        for id in RootId::former_record_ids(owner) {
            kept.extend(self.engine.files(id).await?);
        }
        kept.sort_unstable_by_key(|record| Reverse(record.modified_ns));
        let mut chunks = 0;
        kept.retain(|record| {
            chunks += u64::from(record.chunks);
            record.modified_ns < oldest || most < chunks
        });
        for some in kept.chunks(PATHS) {
            for id in RootId::former_record_ids(owner) {
                let of_id = some.iter().filter(|record| record.root == id);
                let paths: Vec<String> = of_id.map(|record| record.path.clone()).collect();
                if !paths.is_empty() {
                    self.erase(id, paths).await?;
                }
            }
            self.free(owner, some.to_vec(), &needing(&family, owner, root.id)).await?;
        }
        Ok(())
    }

    /// Takes out all chunks that are kept under an owner, but not the root of that id.
    async fn remove_kept(&self, owner: RootId) -> Result<(), StoreError> {
        loop {
            let page = self.engine.chunks(Some(owner), None, IDS).await?;
            if page.is_empty() {
                return Ok(());
            }
            self.engine.remove_chunks(page.into_iter().map(|stored| stored.id).collect()).await?;
        }
    }

    pub(super) async fn remove_root(&self, root: RootId) -> Result<(), StoreError> {
        let family = self.family_now().await?;
        let owner = family.owner(root);
        let others: Vec<RootId> = family.of(owner).filter(|other| *other != root).collect();
        if others.is_empty() {
            for former in RootId::former_record_ids(owner) {
                self.engine.remove_tree(former).await?;
                self.views.forget(former);
            }
            if owner != root && family.knows(owner) {
                // That root is a tree of another repository now.
                self.remove_kept(owner).await?;
            } else if owner != root {
                self.engine.remove_root(owner).await?;
            }
            self.engine.remove_root(root).await?;
        } else {
            let records = self.engine.files(root).await?;
            let needing: Vec<RootId> =
                others.into_iter().chain(RootId::former_record_ids(owner)).collect();
            self.free(owner, records, &needing).await?;
            self.engine.remove_tree(root).await?;
        }
        self.views.forget(root);
        self.families.removed(root);
        Ok(())
    }
}

/// Returns the ids of all records that may need chunks of an owner: those of its trees, `also` among them, and of what
/// these had before.
fn needing(family: &Family, owner: RootId, also: RootId) -> Vec<RootId> {
    let mut roots: Vec<RootId> = family.of(owner).chain([also]).collect();
    roots.sort_unstable();
    roots.dedup();
    roots.extend(RootId::former_record_ids(owner));
    roots
}

//! Gives each root its own view of what the trees of one repository keep together.
//!
//! Worktrees hold mostly the same files. A chunk is kept once for a repository, under its [`Root::owner`]; a root
//! has records of its files, and has a chunk while its record of the chunk's path names the chunk's version. What
//! a search finds is looked up by that, and more is asked for where much falls out. A chunk goes when no root needs
//! it any more. Engines know nothing of this.
//!
//! In a git repository, what a path had before stays for a week, so that switching back to a branch embeds nothing:
//! the records of that are kept under [`RootId::former`], which no search looks at.

mod family;
mod ids;
mod inner;
mod kept;
mod memory;
mod view;

use std::{
    collections::{BTreeSet, HashMap},
    future::{Future, ready},
    sync::Arc,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, try_join_all},
};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{
    Among, Chunk, Health, Lease, MAX_PAGE, Remembered, Scored, Size, StoreError, Stored,
    VectorStore,
};
use codeinfo_core::{ChunkRecord, FileRecord, Host, Root, RootId, TermVector, task::Tasks};
use ids::Ids;
use inner::Inner;
use kept::Kept;
use memory::Memory;
use view::View;

/// How much more is asked for where too much fell out.
const MORE: usize = 4;
/// The same of a server, and the least that is asked of it for a root that has other trees beside it.
const MORE_OF_SERVER: usize = 16;
const MIN_OF_SERVER: usize = 32;
/// From so many on, the chunks of the one root that is asked about are looked for by their ids.
const MANY: usize = 2_000;
/// How often what was changed while it was read is read again.
const TRIES: usize = 3;

/// Wraps an engine. Clones share it.
#[derive(Clone)]
pub struct Trees {
    inner: Arc<Inner>,
    /// Held while a change is being made.
    order: Arc<Mutex<()>>,
    ids: Arc<Ids>,
    memory: Arc<Memory>,
    /// Whether reads may return what is remembered.
    is_remembering: bool,
    tasks: Tasks,
}

impl Trees {
    /// Wraps `engine`. Where other processes write to it, too, it `is_shared`, and what roots have is looked up
    /// each time, but for who uses [`VectorStore::remembered`].
    pub fn over(engine: Arc<dyn VectorStore>, is_shared: bool, tasks: Tasks) -> Self {
        let inner = Inner::over(engine, is_shared);
        let (order, ids, memory) = Default::default();
        Self { inner: Arc::new(inner), order, ids, memory, is_remembering: false, tasks }
    }

    /// Makes a change, after those asked for before, to its end also when the caller goes away: what is known of
    /// roots follows what was written.
    fn change<F>(
        &self,
        action: &'static str,
        change: impl FnOnce(Arc<Inner>) -> F + Send + 'static,
    ) -> BoxFuture<'_, Result<(), StoreError>>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        async move {
            let turn = Arc::clone(&self.order).lock_owned().await;
            let inner = Arc::clone(&self.inner);
            let work = async move {
                let done = change(inner).await;
                drop(turn);
                done
            };
            let failed = |error: tokio::task::JoinError| StoreError::Engine {
                action,
                reason: error.to_string(),
            };
            self.tasks.spawn_handle(work).await.map_err(failed)?
        }
        .boxed()
    }

    /// Reads from the engine until enough of what it returns is of a root, or there is no more. A root that has other
    /// trees beside it is read by the ids of its chunks, where these are remembered, or where most of what was read is
    /// not of it.
    async fn enough<F, G>(
        &self,
        of: Option<RootId>,
        limit: usize,
        read: impl Fn(Option<RootId>, usize) -> F,
        read_among: impl Fn(Among, usize) -> G,
    ) -> Result<Vec<Scored>, StoreError>
    where
        F: Future<Output = Result<Vec<Scored>, StoreError>>,
        G: Future<Output = Result<Vec<Scored>, StoreError>>,
    {
        let family = self.inner.family().await?;
        let owner = of.map(|root| family.owner(root));
        let limit = limit.min(MAX_PAGE);
        let has_others = owner.is_some_and(|owner| 1 < family.of(owner).count());
        let (mut wanted, mut more) = (limit, MORE);
        if has_others && self.is_remembering && 0 < limit {
            // Asking a server for more takes another round trip.
            (wanted, more) = ((2 * limit).max(MIN_OF_SERVER), MORE_OF_SERVER);
        }
        let mut tries = 0;
        loop {
            let before = self.inner.views.changes(of);
            let is_many = MANY.max(limit) < wanted;
            let among = match of.zip(owner) {
                Some((root, owner)) => self.among(root, owner, is_many, before).await?,
                None => None,
            };
            let (found, is_all) = if let Some(among) = among {
                (read_among(among, limit).await?, true)
            } else {
                let found = read(owner, wanted).await?;
                let is_all = found.len() < wanted || MAX_PAGE <= wanted;
                (found, is_all)
            };
            let mut kept = self.seen(of, found).await?;
            // What was read is of one moment, and what roots have of another.
            if before != self.inner.views.changes(of) && tries < TRIES {
                tries += 1;
                continue;
            }
            if is_all || limit <= kept.len() {
                kept.truncate(limit);
                return Ok(kept);
            }
            wanted = (wanted * more).min(MAX_PAGE);
        }
    }

    /// Leaves those that a root has, or any of them, and says which.
    async fn seen<T: Kept>(&self, of: Option<RootId>, found: Vec<T>) -> Result<Vec<T>, StoreError> {
        let family = self.inner.family().await?;
        let mut paths: HashMap<RootId, BTreeSet<&str>> = HashMap::new();
        for one in &found {
            let ChunkRecord { root, path, .. } = one.record();
            paths.entry(*root).or_default().insert(path);
        }
        let trees = paths.iter().flat_map(|(owner, paths)| {
            let trees = family.of(*owner).filter(|root| of.is_none_or(|of| of == *root));
            trees.map(move |root| (*owner, root, paths))
        });
        // On a server, each is a question of its own.
        let looking = trees.map(|(owner, root, paths)| async move {
            Ok::<_, StoreError>((owner, root, self.view(root, paths).await?))
        });
        let mut views: HashMap<RootId, Vec<(RootId, View)>> = HashMap::new();
        for (owner, root, view) in try_join_all(looking).await? {
            views.entry(owner).or_default().push((root, view));
        }
        let seen = found.into_iter().filter_map(|mut one| {
            let ChunkRecord { root, path, version, .. } = one.record();
            let of_owner = views.get(root)?.iter();
            let mut having =
                of_owner.filter(|(_, view)| view.has(path, version)).map(|(root, _)| *root);
            let (first, also) = (having.next()?, having.collect());
            one.set(first, also);
            Some(one)
        });
        Ok(seen.collect())
    }

    /// Returns what a root has of some paths.
    async fn view(&self, root: RootId, paths: &BTreeSet<&str>) -> Result<View, StoreError> {
        if let Some(files) = self.remembered_files(root) {
            return Ok(View::Remembered(files));
        }
        if let Some(view) = self.inner.views.get(root) {
            return Ok(view);
        }
        // What is written meanwhile must not be missed.
        let turn = if self.inner.views.is_kept() { Some(self.order.lock().await) } else { None };
        let view = self.inner.view(root, paths).await;
        drop(turn);
        view
    }
}

impl VectorStore for Trees {
    fn backend(&self) -> &'static str {
        self.inner.engine.backend()
    }

    fn host(&self) -> Option<Host> {
        self.inner.engine.host()
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, StoreError>> {
        async {
            let changes = self.inner.families.changes();
            let roots = self.inner.engine.roots().await?;
            if self.inner.families.is_shared() {
                self.inner.families.learn(&roots, changes);
                self.memory.follow(&roots);
            }
            Ok(roots)
        }
        .boxed()
    }

    fn remembered(&self) -> Option<Remembered> {
        let roots = self.memory.roots()?;
        Some(Remembered { roots, store: Arc::new(Self { is_remembering: true, ..self.clone() }) })
    }

    fn put_root(&self, root: Root) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change("write a root", move |inner| async move { inner.put_root(root).await })
    }

    fn remove_root(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change("remove a root", move |inner| async move { inner.remove_root(root).await })
    }

    fn remove_tree(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change("remove a root", move |inner| async move {
            inner.engine.remove_tree(root).await?;
            inner.views.forget(root);
            inner.families.removed(root);
            Ok(())
        })
    }

    fn files(&self, of: RootId) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        match self.remembered_files(of) {
            Some(files) => ready(Ok(files.by_path.values().cloned().collect())).boxed(),
            None => self.inner.engine.files(of),
        }
    }

    fn files_at(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        match self.remembered_files(root) {
            Some(files) => {
                let there = paths.iter().filter_map(|path| files.by_path.get(path));
                ready(Ok(there.cloned().collect())).boxed()
            }
            None => self.inner.engine.files_at(root, paths),
        }
    }

    fn put_files(&self, files: Vec<FileRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change("write files", move |inner| async move {
            let mut by_root: HashMap<RootId, Vec<FileRecord>> = HashMap::new();
            for file in files {
                by_root.entry(file.root).or_default().push(file);
            }
            for (root, files) in by_root {
                inner.put_files(root, files).await?;
            }
            Ok(())
        })
    }

    fn remove_files(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change(
            "remove files",
            move |inner| async move { inner.remove_files(root, paths).await },
        )
    }

    fn put_chunks(&self, mut chunks: Vec<Chunk>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change("write chunks", move |inner| async move {
            let family = inner.family().await?;
            for Chunk { record, .. } in &mut chunks {
                record.root = family.owner(record.root);
            }
            inner.engine.put_chunks(chunks).await
        })
    }

    fn remove_chunks(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change(
            "remove chunks",
            move |inner| async move { inner.engine.remove_chunks(ids).await },
        )
    }

    fn chunks(
        &self,
        of: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        async move {
            let limit = limit.min(MAX_PAGE);
            let family = self.inner.family().await?;
            let owner = of.map(|root| family.owner(root));
            if let (Some(root), Some(owner)) = (of, owner)
                && 1 < family.of(owner).count()
            {
                // Those of other trees may be very many more.
                let mut ids = ids::listed((&self.inner, &self.tasks), root, owner).await?;
                ids.sort_unstable();
                ids.retain(|id| after.is_none_or(|after| after < *id));
                ids.truncate(limit);
                let mut page = self.inner.engine.chunks_with(ids).await?;
                page.sort_unstable_by_key(|stored| stored.id);
                return self.seen(of, page).await;
            }
            let (mut all, mut after) = (Vec::new(), after);
            while all.len() < limit {
                let page = self.inner.engine.chunks(owner, after, limit).await?;
                let is_last = page.len() < limit;
                after = page.last().map(|stored| stored.id);
                all.extend(self.seen(of, page).await?);
                if is_last {
                    break;
                }
            }
            all.truncate(limit);
            Ok(all)
        }
        .boxed()
    }

    fn chunks_with(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        async move { self.seen(None, self.inner.engine.chunks_with(ids).await?).await }.boxed()
    }

    fn kept(
        &self,
        owner: RootId,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.inner.engine.chunks(Some(owner), after, limit)
    }

    fn count(&self, of: Option<RootId>) -> BoxFuture<'_, Result<u64, StoreError>> {
        async move {
            let Some(root) = of else { return self.inner.engine.count(None).await };
            let files = self.inner.engine.files(root).await?;
            Ok(files.iter().map(|file| u64::from(file.chunks)).sum())
        }
        .boxed()
    }

    fn nearest(
        &self,
        to: Vec<f32>,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        async move {
            let engine = &self.inner.engine;
            let read = |owner, limit| engine.nearest(to.clone(), owner, limit);
            let read_among = |among, limit| engine.nearest_among(to.clone(), among, limit);
            self.enough(of, limit, read, read_among).await
        }
        .boxed()
    }

    fn lexical(
        &self,
        terms: TermVector,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        async move {
            let engine = &self.inner.engine;
            let read = |owner, limit| engine.lexical(terms.clone(), owner, limit);
            let read_among = |among, limit| engine.lexical_among(terms.clone(), among, limit);
            self.enough(of, limit, read, read_among).await
        }
        .boxed()
    }

    fn nearest_among(
        &self,
        to: Vec<f32>,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.inner.engine.nearest_among(to, among, limit)
    }

    fn lexical_among(
        &self,
        terms: TermVector,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.inner.engine.lexical_among(terms, among, limit)
    }

    fn holders(
        &self,
        terms: TermVector,
        of: Option<RootId>,
    ) -> BoxFuture<'_, Result<Option<Vec<Scored>>, StoreError>> {
        async move {
            let family = self.inner.family().await?;
            let owner = of.map(|root| family.owner(root));
            match self.inner.engine.holders(terms, owner).await? {
                Some(found) => Ok(Some(self.seen(of, found).await?)),
                None => Ok(None),
            }
        }
        .boxed()
    }

    fn lease(&self, root: RootId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        self.inner.engine.lease(root)
    }

    fn is_leased(&self, root: RootId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.engine.is_leased(root)
    }

    fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>> {
        self.inner.engine.health()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        self.inner.engine.check_writes()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.change("flush", move |inner| async move { inner.engine.flush().await })
    }

    fn damage(&self) -> Option<String> {
        self.inner.engine.damage()
    }

    fn size(&self, of: RootId) -> Option<Size> {
        let family = self.inner.families.get();
        let owner = family.as_ref().map_or(of, |family| family.owner(of));
        let size = self.inner.engine.size(owner)?;
        let Some(family) = family.filter(|family| 1 < family.of(owner).count()) else {
            return Some(size);
        };
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is an estimate"
        )]
        let bytes = (size.bytes as f64 * family.share(of)) as u64;
        Some(Size { bytes, is_estimate: true })
    }

    fn stall(&self) -> Option<String> {
        self.inner.engine.stall()
    }
}

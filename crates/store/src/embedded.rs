//! The embedded engine: nothing to start, all in one folder, one process at a time.
//!
//! What is written makes segments, files that never change; a manifest names those that count. Reads see
//! the state of the moment at which they began and wait for nobody; changes go through one [`Writer`].
//! Everything that reads files or compares vectors runs off the runtime's workers.
//!
//! There is no journal. What was written since the last commit goes with a killed process, and the next
//! run writes it again: the index is derived data, damage is repaired from the repositories.

mod aside;
mod body;
mod build;
mod codes;
mod deletions;
mod find;
#[cfg(test)]
mod fixture;
mod held;
mod manifest;
mod merger;
mod numbers;
mod open;
mod places;
mod roster;
mod segment;
mod source;
mod state;
mod system;
mod table;
mod terms;
mod writer;

use std::{io, path::Path, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::{
    Among, Chunk, Health, Lease, OnMismatch, Scored, Size, StoreError, Stored, VectorStore, check,
};
use codeinfo_core::{FileRecord, Root, RootId, TermVector, task::Tasks};
use find::Of;
use merger::Merger;
use open::Wanted;
use roster::Roster;
use segment::Compare;
use state::{Current, State};
use writer::Writer;

/// The embedded engine. Dropping it commits, which blocks for some tenths of a second, and, unless the
/// process is stopping, waits for segments that are being merged.
pub struct Embedded {
    current: Current,
    writer: Arc<Mutex<Writer>>,
    merger: Merger,
    roster: Roster,
    background_merge: bool,
    dimensions: usize,
    tasks: Tasks,
}

impl Embedded {
    /// Opens the store in `folder`, creating it if needed, for vectors of `dimensions` made by
    /// `model` (its id).
    pub async fn open(
        folder: &Path,
        model: &str,
        dimensions: usize,
        on_mismatch: OnMismatch,
        settings: &crate::EmbeddedStoreSettings,
        tasks: Tasks,
    ) -> Result<Self, StoreError> {
        let crate::EmbeddedStoreSettings { repairs, seal_chunks, background_merge } = *settings;
        // What a command does not read, the next server compares.
        let is_brief = !background_merge && !repairs;
        let compare = if is_brief { Compare::Memory } else { Compare::All };
        let model = model.to_owned();
        let wanted = Wanted { model, dimensions, on_mismatch, repairs, compare, seal_chunks };
        let at = folder.to_owned();
        let writer = blocking(&tasks, "open the index", move || open::open(&at, &wanted)).await?;
        let (current, roster) = (writer.current().clone(), writer.roster().clone());
        let writer = Arc::new(Mutex::new(writer));
        let merger = Merger::of(Arc::clone(&writer));
        let store = Self { current, writer, merger, roster, background_merge, dimensions, tasks };
        // What a process that does not merge left.
        store.write("inspect its segments", |_| Ok(())).await?;
        Ok(store)
    }

    /// Returns the id of the model that filled the store in `folder`, and how long its vectors are;
    /// `None` if there is no store yet.
    pub async fn recorded(
        folder: &Path,
        tasks: &Tasks,
    ) -> Result<Option<(String, usize)>, StoreError> {
        let folder = folder.to_owned();
        blocking(tasks, "open the index", move || open::recorded(&folder)).await
    }

    /// Runs a read of the present state.
    fn read<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&State) -> io::Result<T> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let state = self.current.get();
        let work = move || {
            let failed =
                |error: io::Error| StoreError::Engine { action, reason: error.to_string() };
            work(&state).map_err(failed)
        };
        blocking(&self.tasks, action, work).boxed()
    }

    /// Makes a change, after all that were asked for before. It is made even if the future is dropped once
    /// it has begun.
    async fn write(
        &self,
        action: &'static str,
        change: impl FnOnce(&mut Writer) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let mut writer = Arc::clone(&self.writer).lock_owned().await;
        let merger = self.may_merge().then(|| self.merger.clone());
        let work = move || {
            change(&mut writer)?;
            if let Some(merger) = merger {
                merger.start(&mut writer);
            }
            Ok(())
        };
        blocking(&self.tasks, action, work).await
    }

    /// Whether merging in the background makes sense: not in a process that ends after one command.
    fn may_merge(&self) -> bool {
        self.background_merge && !self.tasks.stop_token().is_cancelled()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if !self.tasks.stop_token().is_cancelled() {
            self.merger.join();
        }
    }
}

impl VectorStore for Embedded {
    fn backend(&self) -> &'static str {
        "embedded"
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, StoreError>> {
        let mut roots: Vec<Root> = self.current.get().roots.values().cloned().collect();
        roots.sort_by(|a, b| a.name.cmp(&b.name));
        futures_util::future::ready(Ok(roots)).boxed()
    }

    fn put_root(&self, root: Root) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write("write the list of repositories", move |writer| writer.put_root(root)).boxed()
    }

    fn remove_root(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write("remove the repository", move |writer| writer.remove_root(root)).boxed()
    }

    fn remove_tree(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write("remove the repository", move |writer| writer.remove_tree(root)).boxed()
    }

    fn files(&self, of: RootId) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        self.read("read the index", move |state| state.files(of))
    }

    fn files_at(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        self.read("read the index", move |state| state.files_at(root, &paths))
    }

    fn chunks_with(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read("read the index", move |state| state.chunks_with(&ids))
    }

    fn put_files(&self, files: Vec<FileRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write("write the index", move |writer| writer.put_files(files)).boxed()
    }

    fn remove_files(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let remove = move |writer: &mut Writer| {
            writer.remove_files(root, &paths);
            Ok(())
        };
        self.write("write the index", remove).boxed()
    }

    fn put_chunks(&self, chunks: Vec<Chunk>) -> BoxFuture<'_, Result<(), StoreError>> {
        let checked = check::chunks(&chunks, self.dimensions);
        async move {
            checked?;
            self.write("write the index", move |writer| writer.put_chunks(chunks)).await
        }
        .boxed()
    }

    fn remove_chunks(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<(), StoreError>> {
        let remove = move |writer: &mut Writer| {
            writer.remove_chunks(ids);
            Ok(())
        };
        self.write("write the index", remove).boxed()
    }

    fn chunks(
        &self,
        of: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read("read the index", move |state| state.chunks(of, after, limit))
    }

    fn count(&self, of: Option<RootId>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.read("count the chunks", move |state| Ok(state.count(of)))
    }

    fn nearest(
        &self,
        to: Vec<f32>,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read("search", move |state| state.nearest(&to, Of { root: of, among: None }, limit))
    }

    fn nearest_among(
        &self,
        to: Vec<f32>,
        Among { owner, ids }: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        let search = move |state: &State| {
            state.nearest(&to, Of { root: Some(owner), among: Some(&ids) }, limit)
        };
        self.read("search", search)
    }

    fn lexical_among(
        &self,
        terms: TermVector,
        Among { owner, ids }: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        let search = move |state: &State| {
            state.lexical(&terms, Of { root: Some(owner), among: Some(&ids) }, limit)
        };
        self.read("search", search)
    }

    fn lexical(
        &self,
        terms: TermVector,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read("search", move |state| state.lexical(&terms, Of { root: of, among: None }, limit))
    }

    fn lease(&self, _: RootId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        // The lock of the folder keeps other processes away.
        async { Ok(Lease::granted()) }.boxed()
    }

    fn is_leased(&self, _: RootId) -> BoxFuture<'_, Result<bool, StoreError>> {
        async { Ok(false) }.boxed()
    }

    fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>> {
        let chunks = self.current.get().count(None);
        futures_util::future::ready(Ok(Health { chunks, ..Health::default() })).boxed()
    }

    fn damage(&self) -> Option<String> {
        self.roster.damage()
    }

    fn size(&self, of: RootId) -> Option<Size> {
        Some(self.current.get().size(of))
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        // Who holds the writer finds out.
        let check = |writer: &Writer| writer.check().and_then(|()| writer.check_room());
        self.writer.try_lock().map_or(Ok(()), |writer| check(&writer))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write("write the index to disk", Writer::commit).boxed()
    }
}

async fn blocking<T: Send + 'static>(
    tasks: &Tasks,
    action: &'static str,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tasks.spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => Err(StoreError::Engine { action, reason: error.to_string() }),
    }
}

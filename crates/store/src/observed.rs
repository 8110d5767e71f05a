//! A store that remembers whether its last read and its last write went well.
//!
//! An engine may answer whether it is there and fail all the same in what is asked of it. A read that
//! failed is tried again when somebody asks how the store is; a write that failed is reported until
//! one goes well.

use std::sync::{Arc, Mutex, PoisonError};

use codeinfo_core::{
    FileRecord, Host, Root, RootId, TermVector,
    error::{ErrorCode, format_error_chain},
};
use futures_util::{FutureExt, future::BoxFuture};
use uuid::Uuid;

use super::{
    Among, Chunk, Health, Lease, Remembered, Scored, Size, StoreError, Stored, VectorStore,
};

/// Wraps any store.
pub struct Observed {
    inner: Arc<dyn VectorStore>,
    failed_read: Mutex<Option<Read>>,
    failed_write: Mutex<Option<String>>,
}

/// A read, to be tried again.
type Read = Arc<dyn Fn(&dyn VectorStore) -> BoxFuture<'_, Result<(), StoreError>> + Send + Sync>;

impl Observed {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn VectorStore>) -> Self {
        Self { inner, failed_read: Mutex::default(), failed_write: Mutex::default() }
    }

    /// Reads, and notes how that ended.
    fn read<T: 'static>(
        &self,
        read: impl Fn(&dyn VectorStore) -> BoxFuture<'_, Result<T, StoreError>> + Send + Sync + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        async move {
            let ended = read(self.inner.as_ref()).await;
            if ended.is_ok() {
                self.note_read(None);
            } else if ended.as_ref().is_err_and(is_failure) {
                self.note_read(Some(Arc::new(move |store| {
                    let reading = read(store);
                    async move { reading.await.map(drop) }.boxed()
                })));
            }
            ended
        }
        .boxed()
    }

    fn note_read(&self, failed: Option<Read>) {
        *self.failed_read.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    }

    /// Notes how a write ended.
    fn written(&self, ended: Result<(), StoreError>) -> Result<(), StoreError> {
        let failed = ended
            .as_ref()
            .err()
            .filter(|error| is_failure(error))
            .map(|error| format_error_chain(error));
        if failed.is_some() || ended.is_ok() {
            *self.failed_write.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        }
        ended
    }

    /// Fails as the last write failed, if it did, and tries again a read that failed.
    async fn retry(&self) -> Result<(), StoreError> {
        let failed = self.failed_write.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(reason) = failed {
            return Err(StoreError::Engine { action: "make the last change", reason });
        }
        let read = self.failed_read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(read) = read {
            read(self.inner.as_ref()).await?;
            self.note_read(None);
        }
        Ok(())
    }
}

/// Whether the store is to blame, and not the caller or a store that has not been opened.
fn is_failure(error: &StoreError) -> bool {
    error.code() == ErrorCode::StoreUnavailable
        && !matches!(error, StoreError::NotYet { .. } | StoreError::Unopened(_))
}

impl VectorStore for Observed {
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    fn host(&self) -> Option<Host> {
        self.inner.host()
    }

    fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, StoreError>> {
        self.read(move |store| store.roots())
    }

    fn remembered(&self) -> Option<Remembered> {
        self.inner.remembered()
    }

    fn put_root(&self, root: Root) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.put_root(root).await) }.boxed()
    }

    fn remove_root(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.remove_root(root).await) }.boxed()
    }

    fn remove_tree(&self, root: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.remove_tree(root).await) }.boxed()
    }

    fn files(&self, of: RootId) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        self.read(move |store| store.files(of))
    }

    fn files_at(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
        self.read(move |store| store.files_at(root, paths.clone()))
    }

    fn chunks_with(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read(move |store| store.chunks_with(ids.clone()))
    }

    fn put_files(&self, files: Vec<FileRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.put_files(files).await) }.boxed()
    }

    fn remove_files(
        &self,
        root: RootId,
        paths: Vec<String>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.remove_files(root, paths).await) }.boxed()
    }

    fn put_chunks(&self, chunks: Vec<Chunk>) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.put_chunks(chunks).await) }.boxed()
    }

    fn remove_chunks(&self, ids: Vec<Uuid>) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.remove_chunks(ids).await) }.boxed()
    }

    fn chunks(
        &self,
        of: Option<RootId>,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read(move |store| store.chunks(of, after, limit))
    }

    fn kept(
        &self,
        owner: RootId,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        self.read(move |store| store.kept(owner, after, limit))
    }

    fn holders(
        &self,
        terms: TermVector,
        of: Option<RootId>,
    ) -> BoxFuture<'_, Result<Option<Vec<Scored>>, StoreError>> {
        self.read(move |store| store.holders(terms.clone(), of))
    }

    fn count(&self, of: Option<RootId>) -> BoxFuture<'_, Result<u64, StoreError>> {
        self.read(move |store| store.count(of))
    }

    fn nearest(
        &self,
        to: Vec<f32>,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read(move |store| store.nearest(to.clone(), of, limit))
    }

    fn lexical(
        &self,
        terms: TermVector,
        of: Option<RootId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read(move |store| store.lexical(terms.clone(), of, limit))
    }

    fn nearest_among(
        &self,
        to: Vec<f32>,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read(move |store| store.nearest_among(to.clone(), among.clone(), limit))
    }

    fn lexical_among(
        &self,
        terms: TermVector,
        among: Among,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        self.read(move |store| store.lexical_among(terms.clone(), among.clone(), limit))
    }

    fn lease(&self, root: RootId) -> BoxFuture<'_, Result<Lease, StoreError>> {
        self.inner.lease(root)
    }

    fn is_leased(&self, root: RootId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.inner.is_leased(root)
    }

    fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>> {
        async move {
            let health = self.inner.health().await?;
            self.retry().await?;
            Ok(health)
        }
        .boxed()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        self.inner.check_writes()
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.flush().await) }.boxed()
    }

    fn damage(&self) -> Option<String> {
        self.inner.damage()
    }

    fn size(&self, of: RootId) -> Option<Size> {
        self.inner.size(of)
    }

    fn stall(&self) -> Option<String> {
        self.inner.stall()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        path::PathBuf,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::*;

    /// Answers that it is there, and fails in everything else while it is sick.
    #[derive(Default)]
    struct Sick {
        fails: AtomicBool,
    }

    impl Sick {
        fn ends<T: Default + Send + 'static>(&self) -> BoxFuture<'_, Result<T, StoreError>> {
            let fault = || StoreError::Engine { action: "work", reason: "it is sick".to_owned() };
            let is_sick = self.fails.load(Ordering::Relaxed);
            async move { if is_sick { Err(fault()) } else { Ok(T::default()) } }.boxed()
        }
    }

    impl VectorStore for Sick {
        fn remove_tree(&self, _: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn backend(&self) -> &'static str {
            "sick"
        }

        fn roots(&self) -> BoxFuture<'_, Result<Vec<Root>, StoreError>> {
            self.ends()
        }

        fn put_root(&self, _: Root) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn remove_root(&self, _: RootId) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn files(&self, _: RootId) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
            self.ends()
        }

        fn files_at(
            &self,
            _: RootId,
            _: Vec<String>,
        ) -> BoxFuture<'_, Result<Vec<FileRecord>, StoreError>> {
            self.ends()
        }

        fn chunks_with(&self, _: Vec<Uuid>) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
            self.ends()
        }

        fn put_files(&self, _: Vec<FileRecord>) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn remove_files(&self, _: RootId, _: Vec<String>) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn put_chunks(&self, _: Vec<Chunk>) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn remove_chunks(&self, _: Vec<Uuid>) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn chunks(
            &self,
            _: Option<RootId>,
            _: Option<Uuid>,
            _: usize,
        ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
            self.ends()
        }

        fn count(&self, _: Option<RootId>) -> BoxFuture<'_, Result<u64, StoreError>> {
            self.ends()
        }

        fn nearest(
            &self,
            _: Vec<f32>,
            _: Option<RootId>,
            _: usize,
        ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
            self.ends()
        }

        fn lexical(
            &self,
            _: TermVector,
            _: Option<RootId>,
            _: usize,
        ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
            self.ends()
        }

        fn lease(&self, _: RootId) -> BoxFuture<'_, Result<Lease, StoreError>> {
            async { Ok(Lease::granted()) }.boxed()
        }

        fn nearest_among(
            &self,
            _: Vec<f32>,
            _: Among,
            _: usize,
        ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
            self.ends()
        }

        fn lexical_among(
            &self,
            _: TermVector,
            _: Among,
            _: usize,
        ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
            self.ends()
        }

        fn is_leased(&self, _: RootId) -> BoxFuture<'_, Result<bool, StoreError>> {
            self.ends()
        }

        fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>> {
            async { Ok(Health::default()) }.boxed()
        }

        fn check_writes(&self) -> Result<(), StoreError> {
            Ok(())
        }

        fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }
    }

    fn a_root(id: RootId) -> Root {
        Root { id, ..Root::from_folder(PathBuf::new()) }
    }

    #[tokio::test]
    async fn a_store_is_well_when_its_last_read_and_its_last_write_went_well() {
        let sick = Arc::new(Sick::default());
        let store = Observed::new(Arc::clone(&sick) as Arc<dyn VectorStore>);
        let is_well = async || store.health().await.is_ok();
        let set = |fails| sick.fails.store(fails, Ordering::Relaxed);
        let root = RootId(Uuid::nil());
        for read in 0..7 {
            set(true);
            // Nobody has read from it yet, so nothing is known.
            assert!(is_well().await, "{read}");
            let failed = match read {
                0 => store.nearest(vec![1.0], None, 1).await.is_err(),
                1 => store.lexical(TermVector::default(), None, 1).await.is_err(),
                2 => store.chunks(None, None, 1).await.is_err(),
                3 => store.count(None).await.is_err(),
                4 => store.roots().await.is_err(),
                5 => store.files(root).await.is_err(),
                _ => store.files_at(root, Vec::new()).await.is_err(),
            };
            assert!(failed && !is_well().await, "{read}");
            // A read is tried again when somebody asks.
            set(false);
            assert!(is_well().await, "{read}");
        }
        for _ in 0..2 {
            set(true);
            assert!(store.count(None).await.is_err() && !is_well().await);
            set(false);
            store.roots().await.unwrap();
            // Nothing is tried again once another read went well.
            set(true);
            assert!(is_well().await);
        }
        for write in 0..7 {
            set(true);
            let failed = match write {
                0 => store.put_chunks(Vec::new()).await.is_err(),
                1 => store.remove_chunks(Vec::new()).await.is_err(),
                2 => store.put_files(Vec::new()).await.is_err(),
                3 => store.remove_files(root, Vec::new()).await.is_err(),
                4 => store.put_root(a_root(root)).await.is_err(),
                5 => store.remove_root(root).await.is_err(),
                _ => store.flush().await.is_err(),
            };
            assert!(failed && !is_well().await, "{write}");
            set(false);
            assert!(!is_well().await, "a write is not repeated by asking, {write}");
            store.flush().await.unwrap();
            assert!(is_well().await, "{write}");
        }
    }
}

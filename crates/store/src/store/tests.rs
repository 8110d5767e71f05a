//! Tests of what health checks report after failed reads and writes.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::*;

/// An engine that may fail in everything but its health checks.
#[derive(Default)]
struct UnreliableEngine {
    fails: AtomicBool,
}

impl UnreliableEngine {
    fn answer<T: Default + Send + 'static>(&self) -> StoreFuture<'_, T> {
        let is_well = !self.fails.load(Ordering::Relaxed);
        let error = || StoreError::Engine { action: "answer", reason: "it fails".to_owned() };
        async move { is_well.then(T::default).ok_or_else(error) }.boxed()
    }
}

impl Engine for UnreliableEngine {
    fn backend(&self) -> &'static str {
        "unreliable"
    }

    fn roots(&self) -> StoreFuture<'_, Vec<Root>> {
        self.answer()
    }

    fn files(&self, _: FileSelection) -> StoreFuture<'_, Vec<FileRecord>> {
        self.answer()
    }

    fn chunks(&self, _: ChunkSelection) -> StoreFuture<'_, Vec<StoredChunk>> {
        self.answer()
    }

    fn count(&self, _: Option<RootId>) -> StoreFuture<'_, u64> {
        self.answer()
    }

    fn search(&self, _: ChunkQuery) -> StoreFuture<'_, Vec<ScoredChunk>> {
        self.answer()
    }

    fn apply(&self, _: Change) -> StoreFuture<'_, ()> {
        self.answer()
    }

    fn lease(&self, _: RootId) -> StoreFuture<'_, Lease> {
        async { Ok(Lease::permanent()) }.boxed()
    }

    fn is_leased(&self, _: RootId) -> StoreFuture<'_, bool> {
        self.answer()
    }

    fn health(&self) -> StoreFuture<'_, StoreHealth> {
        async { Ok(StoreHealth::default()) }.boxed()
    }

    fn check_writes(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_store_is_well_when_its_last_read_and_its_last_write_went_well() {
    let engine = Arc::new(UnreliableEngine::default());
    let shared = Arc::clone(&engine) as Arc<dyn Engine>;
    let store = Store::with_engine(shared, StoreMode::Flat, Tasks::default());
    let is_well = async || store.health().await.is_ok();
    let set = |fails| engine.fails.store(fails, Ordering::Relaxed);
    let root = RootId(Uuid::nil());
    for read in 0..8 {
        set(true);
        // There was no read yet, so nothing is known.
        assert!(is_well().await, "{read}");
        let failed = match read {
            0 => store.search(ChunkQuery::nearest(vec![1.0], None, 1)).await.is_err(),
            1 => store.search(ChunkQuery::lexical(TermVector::default(), None, 1)).await.is_err(),
            2 => store.chunks(None, None, 1).await.is_err(),
            3 => store.count(None).await.is_err(),
            4 => store.roots().await.is_err(),
            5 => store.files(root).await.is_err(),
            6 => store.chunks_with_terms(TermVector::default(), None).await.is_err(),
            _ => store.files_at(root, Vec::new()).await.is_err(),
        };
        assert!(failed && !is_well().await, "{read}");
        // A health check repeats the read.
        set(false);
        assert!(is_well().await, "{read}");
    }
    for _ in 0..2 {
        set(true);
        assert!(store.count(None).await.is_err() && !is_well().await);
        set(false);
        store.roots().await.unwrap();
        // Nothing is repeated once another read went well.
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
            4 => store
                .put_root(Root { id: root, ..Root::from_folder(PathBuf::new()) })
                .await
                .is_err(),
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

//! A store that is opened later: the suite through it, and what it answers until then.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use codeinfo_core::task::Tasks;
use codeinfo_store::{ChunkQuery, OnMismatch, Store, StoreError, StoreMode};
use codeinfo_test_support::{
    embedded::{StoreFolder, open_engine},
    store::{
        EngineStorage, make_chunk, make_chunk_id, make_file_record, make_root, make_root_id,
        put_chunks,
    },
};
use futures_util::{FutureExt, future::join_all};

use crate::suite::store_suite;

store_suite!(wrapper DeferredFolder);

/// A folder whose store opens at the second attempt.
struct DeferredFolder(StoreFolder);

impl EngineStorage for DeferredFolder {
    async fn create() -> Self {
        Self(StoreFolder::new())
    }

    async fn open_for_model(&self, _: &str, _: OnMismatch) -> Result<Store, StoreError> {
        Ok(open_deferred(&self.0, 1, StoreMode::Flat))
    }
}

/// Opens the folder's store after `failures` failed tries.
fn open_deferred(folder: &StoreFolder, failures: usize, mode: StoreMode) -> Store {
    let path = folder.path().to_owned();
    let tries = Arc::new(AtomicUsize::new(0));
    let open = move || {
        let (path, tries) = (path.clone(), Arc::clone(&tries));
        async move {
            match tries.fetch_add(1, Ordering::Relaxed) {
                earlier if earlier < failures => {
                    Err(StoreError::NotYet { reason: format!("try {earlier}") })
                }
                _ => open_engine(&path).await,
            }
        }
        .boxed()
    };
    Store::open_later(open, mode, &Tasks::default())
}

#[tokio::test]
async fn before_it_opens_a_private_store_is_empty_and_a_shared_one_says_why() {
    let folder = StoreFolder::new();
    let own = open_deferred(&folder, usize::MAX, StoreMode::Exclusive);
    let shared = open_deferred(&folder, usize::MAX, StoreMode::Shared);
    assert_eq!(own.count(None).await.unwrap(), 0);
    assert_eq!(own.search(ChunkQuery::nearest(vec![1.0; 4], None, 5)).await.unwrap(), []);
    let error = shared.count(None).await.unwrap_err();
    assert!(matches!(error, StoreError::NotYet { .. }), "{error}");
    assert_eq!(own.roots().await.unwrap(), []);
    assert!(shared.roots().await.is_err() && shared.files(make_root_id("a")).await.is_err());
    for store in [&own, &shared] {
        let one = make_chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[]);
        // Each waits a while for the store to open.
        let refused = join_all([
            store.put_chunks(vec![one]),
            store.remove_chunks(vec![make_chunk_id(1)]),
            store.put_files(vec![make_file_record(make_root_id("a"), 1, "v1")]),
            store.remove_files(make_root_id("a"), vec!["x".to_owned()]),
            store.put_root(make_root("a")),
            store.remove_root(make_root_id("a")),
        ]);
        for refused in refused.await {
            let error = refused.unwrap_err();
            assert!(error.to_string().contains("try "), "{error}");
        }
        assert!(store.health().await.is_err() && store.check_writes().is_err());
        store.flush().await.unwrap();
    }
}

#[tokio::test]
async fn a_write_opens_the_store_that_readers_then_see() {
    let folder = StoreFolder::new();
    let store = open_deferred(&folder, 2, StoreMode::Shared);
    put_chunks(&store, [make_chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[])]).await;
    assert_eq!(store.count(None).await.unwrap(), 1);
    assert!(store.health().await.is_ok() && store.check_writes().is_ok());
}

#[tokio::test]
async fn a_refused_store_is_not_tried_again_and_repeats_the_reason() {
    let refused = StoreError::NotYet { reason: "no model".to_owned() };
    let store = Store::unopenable(refused, StoreMode::Exclusive);
    for _ in 0..2 {
        let error = store.count(None).await.unwrap_err();
        assert!(matches!(&error, StoreError::Unopened(_)), "{error}");
        assert!(error.to_string().contains("no model"), "{error}");
    }
}

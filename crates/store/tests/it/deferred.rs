//! A store that is opened later: the suite through it, and what it answers until then.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use codeinfo_core::task::Tasks;
use codeinfo_store::{ChunkQuery, OnMismatch, Store, StoreError, StoreMode};
use codeinfo_test_support::{
    embedded::{Folder, open_engine},
    store::{Place, a_file, a_root, chunk, id, put, root},
};
use futures_util::FutureExt;

use crate::suite::store_suite;

store_suite!(wrapper Deferred);

/// A folder whose store opens at the second try.
struct Deferred(Folder);

impl Place for Deferred {
    async fn fresh() -> Self {
        Self(Folder::new())
    }

    async fn open_as(&self, _: &str, _: OnMismatch) -> Result<Store, StoreError> {
        Ok(deferred(&self.0, 1, StoreMode::Flat))
    }
}

/// Opens the folder's store after `failures` failed tries.
fn deferred(folder: &Folder, failures: usize, mode: StoreMode) -> Store {
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
async fn until_it_is_open_a_store_of_ones_own_is_empty_and_a_shared_one_says_why() {
    let folder = Folder::new();
    let own = deferred(&folder, usize::MAX, StoreMode::Exclusive);
    let shared = deferred(&folder, usize::MAX, StoreMode::Shared);
    assert_eq!(own.count(None).await.unwrap(), 0);
    assert_eq!(own.search(ChunkQuery::nearest(vec![1.0; 4], None, 5)).await.unwrap(), []);
    let error = shared.count(None).await.unwrap_err();
    assert!(matches!(error, StoreError::NotYet { .. }), "{error}");
    assert_eq!(own.roots().await.unwrap(), []);
    assert!(shared.roots().await.is_err() && shared.files(root("a")).await.is_err());
    for store in [&own, &shared] {
        let one = chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[]);
        let refused = [
            store.put_chunks(vec![one]).await,
            store.remove_chunks(vec![id(1)]).await,
            store.put_files(vec![a_file(root("a"), 1, "v1")]).await,
            store.remove_files(root("a"), vec!["x".to_owned()]).await,
            store.put_root(a_root("a")).await,
            store.remove_root(root("a")).await,
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            assert!(error.to_string().contains("try "), "{error}");
        }
        assert!(store.health().await.is_err() && store.check_writes().is_err());
        store.flush().await.unwrap();
    }
}

#[tokio::test]
async fn a_write_opens_the_store_that_readers_then_see() {
    let folder = Folder::new();
    let store = deferred(&folder, 2, StoreMode::Shared);
    put(&store, [chunk(1, "a", "x", [1.0, 0.0, 0.0, 0.0], &[])]).await;
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

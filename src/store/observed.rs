//! A store that remembers whether its last read and its last write went well.
//!
//! An engine may answer whether it is there and fail all the same in what is asked of it. A read that
//! failed is tried again when somebody asks how the store is; a write that failed is reported until
//! one goes well.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{FutureExt, future::BoxFuture};
use uuid::Uuid;

use super::{Collection, Filter, Health, Lease, Point, Scored, StoreError, Stored, VectorStore};
use crate::{
    domain::{RootId, Sparse},
    error::{Code, chain},
};

/// Wraps any store.
pub struct Observed {
    inner: Arc<dyn VectorStore>,
    failed_read: Mutex<Option<Read>>,
    failed_write: Mutex<Option<String>>,
}

/// A read, to be tried again.
#[derive(Clone)]
enum Read {
    Nearest(Vec<f32>, Filter, usize),
    Lexical(Sparse, Filter, usize),
    Scroll(Collection, Filter, Option<Uuid>, usize),
    Count(Collection, Filter),
}

impl Observed {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn VectorStore>) -> Self {
        Self { inner, failed_read: Mutex::default(), failed_write: Mutex::default() }
    }

    /// Notes how a read ended.
    fn read<T>(&self, read: Read, ended: Result<T, StoreError>) -> Result<T, StoreError> {
        let failed = ended.as_ref().err().filter(|error| is_failure(error)).map(|_| read);
        if failed.is_some() || ended.is_ok() {
            *self.failed_read.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        }
        ended
    }

    /// Notes how a write ended.
    fn written(&self, ended: Result<(), StoreError>) -> Result<(), StoreError> {
        let failed =
            ended.as_ref().err().filter(|error| is_failure(error)).map(|error| chain(error));
        if failed.is_some() || ended.is_ok() {
            *self.failed_write.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        }
        ended
    }

    /// Fails as the last write failed, if it did, and tries again a read that failed.
    async fn retry(&self) -> Result<(), StoreError> {
        let failed = self.failed_write.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(reason) = failed {
            return Err(StoreError::Engine { action: "make its last change", reason });
        }
        let read = self.failed_read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match read {
            None => Ok(()),
            Some(Read::Nearest(to, filter, limit)) => {
                self.nearest(to, filter, limit).await.map(drop)
            }
            Some(Read::Lexical(terms, filter, limit)) => {
                self.lexical(terms, filter, limit).await.map(drop)
            }
            Some(Read::Scroll(from, filter, after, limit)) => {
                self.scroll(from, filter, after, limit).await.map(drop)
            }
            Some(Read::Count(of, filter)) => self.count(of, filter).await.map(drop),
        }
    }
}

/// Whether the store is to blame, and not the caller or a store that has not been opened.
fn is_failure(error: &StoreError) -> bool {
    error.code() == Code::StoreUnavailable
        && !matches!(error, StoreError::NotYet { .. } | StoreError::Unopened(_))
}

impl VectorStore for Observed {
    fn backend(&self) -> &'static str {
        self.inner.backend()
    }

    fn upsert(
        &self,
        into: Collection,
        points: Vec<Point>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.upsert(into, points).await) }.boxed()
    }

    fn delete(&self, from: Collection, filter: Filter) -> BoxFuture<'_, Result<(), StoreError>> {
        async move { self.written(self.inner.delete(from, filter).await) }.boxed()
    }

    fn nearest(
        &self,
        to: Vec<f32>,
        filter: Filter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        let read = Read::Nearest(to.clone(), filter.clone(), limit);
        async move { self.read(read, self.inner.nearest(to, filter, limit).await) }.boxed()
    }

    fn lexical(
        &self,
        terms: Sparse,
        filter: Filter,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
        let read = Read::Lexical(terms.clone(), filter.clone(), limit);
        async move { self.read(read, self.inner.lexical(terms, filter, limit).await) }.boxed()
    }

    fn scroll(
        &self,
        from: Collection,
        filter: Filter,
        after: Option<Uuid>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
        let read = Read::Scroll(from, filter.clone(), after, limit);
        async move { self.read(read, self.inner.scroll(from, filter, after, limit).await) }.boxed()
    }

    fn count(&self, of: Collection, filter: Filter) -> BoxFuture<'_, Result<u64, StoreError>> {
        let read = Read::Count(of, filter.clone());
        async move { self.read(read, self.inner.count(of, filter).await) }.boxed()
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

    fn stall(&self) -> Option<String> {
        self.inner.stall()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

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
        fn backend(&self) -> &'static str {
            "sick"
        }

        fn upsert(&self, _: Collection, _: Vec<Point>) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn delete(&self, _: Collection, _: Filter) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }

        fn nearest(
            &self,
            _: Vec<f32>,
            _: Filter,
            _: usize,
        ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
            self.ends()
        }

        fn lexical(
            &self,
            _: Sparse,
            _: Filter,
            _: usize,
        ) -> BoxFuture<'_, Result<Vec<Scored>, StoreError>> {
            self.ends()
        }

        fn scroll(
            &self,
            _: Collection,
            _: Filter,
            _: Option<Uuid>,
            _: usize,
        ) -> BoxFuture<'_, Result<Vec<Stored>, StoreError>> {
            self.ends()
        }

        fn count(&self, _: Collection, _: Filter) -> BoxFuture<'_, Result<u64, StoreError>> {
            self.ends()
        }

        fn lease(&self, _: RootId) -> BoxFuture<'_, Result<Lease, StoreError>> {
            async { Ok(Lease::granted()) }.boxed()
        }

        fn is_leased(&self, _: RootId) -> BoxFuture<'_, Result<bool, StoreError>> {
            self.ends()
        }

        fn health(&self) -> BoxFuture<'_, Result<Health, StoreError>> {
            async { Ok(Health { version: None, chunks: 0 }) }.boxed()
        }

        fn check_writes(&self) -> Result<(), StoreError> {
            Ok(())
        }

        fn flush(&self) -> BoxFuture<'_, Result<(), StoreError>> {
            self.ends()
        }
    }

    #[tokio::test]
    async fn a_store_is_well_when_its_last_read_and_its_last_write_went_well() {
        let sick = Arc::new(Sick::default());
        let store = Observed::new(Arc::clone(&sick) as Arc<dyn VectorStore>);
        let is_well = async || store.health().await.is_ok();
        let set = |fails| sick.fails.store(fails, Ordering::Relaxed);
        for read in 0..4 {
            set(true);
            // Nobody has read from it yet, so nothing is known.
            assert!(is_well().await, "{read}");
            let failed = match read {
                0 => store.nearest(vec![1.0], Filter::default(), 1).await.is_err(),
                1 => store.lexical(Sparse::default(), Filter::default(), 1).await.is_err(),
                2 => store.scroll(Collection::Files, Filter::default(), None, 1).await.is_err(),
                _ => store.count(Collection::Files, Filter::default()).await.is_err(),
            };
            assert!(failed && !is_well().await, "{read}");
            // A read is tried again when somebody asks.
            set(false);
            assert!(is_well().await, "{read}");
        }
        for write in 0..3 {
            set(true);
            let failed = match write {
                0 => store.upsert(Collection::Files, Vec::new()).await.is_err(),
                1 => store.delete(Collection::Files, Filter::default()).await.is_err(),
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

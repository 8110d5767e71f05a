//! Failures of the last read and the last write of a store.
//!
//! An engine may answer a health check and fail every read. A read that failed is repeated by the next health check; a
//! write that failed is reported until one succeeds.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use codeinfo_core::error::{ErrorCode, format_error_chain};
use futures_util::FutureExt;

use crate::{StoreError, StoreFuture, trees::SharedTrees};

/// A read that can be repeated.
type RepeatableRead = Arc<dyn Fn(SharedTrees) -> StoreFuture<'static, ()> + Send + Sync>;

/// The failures that health checks report.
#[derive(Default)]
pub(super) struct StoreFailures {
    read: Mutex<Option<RepeatableRead>>,
    write: Mutex<Option<String>>,
}

impl StoreFailures {
    /// Records the outcome of a read.
    pub(super) fn note_read<T: 'static, F>(
        &self,
        error: Option<&StoreError>,
        read: impl Fn(SharedTrees) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        match error {
            None => self.set_read(None),
            Some(error) if is_failure(error) => self.set_read(Some(Arc::new(move |trees| {
                let reading = read(trees);
                async move { reading.await.map(drop) }.boxed()
            }))),
            Some(_) => {}
        }
    }

    /// Records the outcome of a write.
    pub(super) fn note_write(&self, error: Option<&StoreError>) {
        let failure =
            error.filter(|error| is_failure(error)).map(|error| format_error_chain(error));
        if failure.is_some() || error.is_none() {
            *self.write.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        }
    }

    /// Fails as the last write failed, if it did, and repeats a read that failed.
    pub(super) async fn check_last_outcomes(&self, trees: SharedTrees) -> Result<(), StoreError> {
        let failure = self.write.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(reason) = failure {
            return Err(StoreError::Engine { action: "make the last change", reason });
        }
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(read) = read {
            read(trees).await?;
            self.set_read(None);
        }
        Ok(())
    }

    fn set_read(&self, failed: Option<RepeatableRead>) {
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    }
}

/// Returns whether an error is the store's, and not the caller's or that of a store that was never opened.
fn is_failure(error: &StoreError) -> bool {
    error.code() == ErrorCode::StoreUnavailable
        && !matches!(error, StoreError::NotYet { .. } | StoreError::Unopened(_))
}

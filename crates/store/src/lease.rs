//! The right of one process to change what belongs to a root, for as long as it can prove that it
//! lives.

use std::time::{Duration, Instant, SystemTime};

use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::StoreError;

/// The right to change what belongs to a root. Dropping it gives it back in the background.
#[derive(Debug)]
pub struct Lease {
    kept: Option<Kept>,
}

/// A lease that a task of the engine renews.
#[derive(Debug)]
struct Kept {
    terms: watch::Receiver<Term>,
    lost: CancellationToken,
    /// Tells the task to give the lease back.
    done: DropGuard,
    keeper: JoinHandle<()>,
}

/// How long a lease lasts if nothing more is heard.
///
/// Measured by both clocks: one stands still while a machine sleeps, the other may be set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term {
    started: Instant,
    started_at: SystemTime,
    length: Duration,
}

/// The engine's end of a lease.
pub(super) struct Keeper {
    pub(super) terms: watch::Sender<Term>,
    /// Cancelled by the engine when the term ended without another.
    pub(super) lost: CancellationToken,
    /// Cancelled when the lease is no longer needed.
    pub(super) done: CancellationToken,
}

impl Term {
    /// Begins a term now.
    pub(super) fn of(length: Duration) -> Self {
        Self { started: Instant::now(), started_at: SystemTime::now(), length }
    }

    /// When it began.
    pub(super) fn start(self) -> Instant {
        self.started
    }

    /// When it ends, unless the machine sleeps.
    pub(super) fn end(self) -> Instant {
        self.started + self.length
    }

    fn is_over(self) -> bool {
        let by_wall = self.started_at.elapsed().unwrap_or_default();
        self.length <= self.started.elapsed().max(by_wall)
    }
}

impl Lease {
    /// Creates a lease for an engine that no other process can use. It is never lost.
    pub(super) fn permanent() -> Self {
        Self { kept: None }
    }

    /// Makes a lease that `keep` renews; it gets the engine's end.
    pub(super) fn kept(first: Term, keep: impl FnOnce(Keeper) -> JoinHandle<()>) -> Self {
        let (sender, terms) = watch::channel(first);
        let (lost, done) = (CancellationToken::new(), CancellationToken::new());
        let keeper = Keeper { terms: sender, lost: lost.clone(), done: done.clone() };
        Self { kept: Some(Kept { terms, lost, done: done.drop_guard(), keeper: keep(keeper) }) }
    }

    /// Fails once the lease may have gone to another process.
    pub fn check(&self) -> Result<(), StoreError> {
        match &self.kept {
            Some(kept) if kept.lost.is_cancelled() || kept.terms.borrow().is_over() => Err(lost()),
            Some(_) | None => Ok(()),
        }
    }

    /// Waits until the lease is lost, which may never be, and says so.
    pub async fn lost(&self) -> StoreError {
        match &self.kept {
            Some(kept) => kept.lost.cancelled().await,
            None => std::future::pending().await,
        }
        lost()
    }

    /// Gives the lease back, so that the next one who asks need not wait.
    pub async fn release(self) {
        if let Some(Kept { done, keeper, .. }) = self.kept {
            drop(done);
            // A keeper that failed leaves the lease to expire.
            drop(keeper.await);
        }
    }
}

fn lost() -> StoreError {
    StoreError::LeaseLost { reason: "it could not be renewed in time".to_owned() }
}

//! The right of one process to change the records of a root, while it can prove that it lives.

use std::time::{Duration, Instant, SystemTime};

use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::StoreError;

/// The right to change the records of a root. Dropping it releases it in the background.
#[derive(Debug)]
pub struct Lease {
    renewed: Option<RenewedLease>,
}

#[derive(Debug)]
struct RenewedLease {
    terms: watch::Receiver<LeaseTerm>,
    lost: CancellationToken,
    /// Tells the task to release the lease.
    done: DropGuard,
    keeper: JoinHandle<()>,
}

/// Validity of a lease until its renewal, by two clocks: one stops in sleep, the other may be set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseTerm {
    started: Instant,
    started_at: SystemTime,
    length: Duration,
}

/// The engine's end of a lease.
pub(crate) struct LeaseKeeper {
    pub(crate) terms: watch::Sender<LeaseTerm>,
    /// Cancelled by the engine when the term ended without a renewal.
    pub(crate) lost: CancellationToken,
    /// Cancelled when the lease is no longer needed.
    pub(crate) done: CancellationToken,
}

impl LeaseTerm {
    pub(crate) fn begin(length: Duration) -> Self {
        Self { started: Instant::now(), started_at: SystemTime::now(), length }
    }

    pub(crate) fn start(self) -> Instant {
        self.started
    }

    /// Returns the end of the term, unless the machine sleeps.
    pub(crate) fn end(self) -> Instant {
        self.started + self.length
    }

    fn is_over(self) -> bool {
        let by_wall = self.started_at.elapsed().unwrap_or_default();
        self.started.elapsed().max(by_wall) >= self.length
    }
}

impl Lease {
    /// Creates a lease for an engine that no other process can use. It is never lost.
    pub(crate) fn permanent() -> Self {
        Self { renewed: None }
    }

    /// Creates a lease that `keep` renews with the engine's end.
    pub(crate) fn renewable(
        first: LeaseTerm,
        keep: impl FnOnce(LeaseKeeper) -> JoinHandle<()>,
    ) -> Self {
        let (sender, terms) = watch::channel(first);
        let (lost, done) = (CancellationToken::new(), CancellationToken::new());
        let keeper = LeaseKeeper { terms: sender, lost: lost.clone(), done: done.clone() };
        Self {
            renewed: Some(RenewedLease {
                terms,
                lost,
                done: done.drop_guard(),
                keeper: keep(keeper),
            }),
        }
    }

    /// Fails once the lease may have gone to another process.
    pub fn check(&self) -> Result<(), StoreError> {
        match &self.renewed {
            Some(lease) if lease.lost.is_cancelled() || lease.terms.borrow().is_over() => {
                Err(lease_lost())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Waits until the lease is lost, perhaps forever, and returns the failure.
    pub async fn wait_until_lost(&self) -> StoreError {
        match &self.renewed {
            Some(lease) => lease.lost.cancelled().await,
            None => std::future::pending().await,
        }
        lease_lost()
    }

    /// Releases the lease, so that the next process need not wait.
    pub async fn release(self) {
        if let Some(RenewedLease { done, keeper, .. }) = self.renewed {
            drop(done);
            // The lease expires if its keeper failed.
            drop(keeper.await);
        }
    }
}

fn lease_lost() -> StoreError {
    StoreError::LeaseLost { reason: "it could not be renewed in time".to_owned() }
}

//! Leases of roots, stored as records in the server.
//!
//! Clocks of different machines are never compared. A process that waits for a lease watches its token: when it
//! changes, the holder lives; when it stays the same for the duration of a lease, by the clock of the waiting process,
//! the holder is gone. The holder counts from before it requested a renewal and stops at two thirds of that time, so
//! that its last messages have arrived before another process may begin.
//!
//! A lease is renewed every 15 s. A waiting process takes it after 60 s without change; the holder stops at 40 s by its
//! monotonic or wall clock, whichever is ahead, since a machine that slept must not continue. A run that loses its
//! lease is dropped, not asked to end.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use codeinfo_core::{RootId, task::Tasks};
use serde::{Deserialize, Serialize};
use tracing::warn;
use uuid::Uuid;

use super::{QdrantServer, error::CallError};
use crate::{
    Lease, StoreError,
    lease::{LeaseKeeper, LeaseTerm},
};

const RENEWALS: u32 = 4;
/// Pause between two tries to renew, and maximum pause between two reads of another process's lease.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum time for a release; a lease that is not released expires.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LeaseRecord {
    root: RootId,
    /// The same each time a process is started on the same data folder.
    owner: String,
    /// Name of the process for messages.
    holder: String,
    /// Time of the last renewal by the holder's clock, in milliseconds since 1970; for display only.
    renewed_at_ms: u64,
    token: String,
}

pub(super) async fn acquire_lease(
    server: &Arc<QdrantServer>,
    root: RootId,
    tasks: &Tasks,
) -> Result<Lease, StoreError> {
    let id = record_id(root);
    let length = server.settings.lease;
    let mut seen: Option<(String, Instant)> = None;
    loop {
        let current = server.read_lease(id).await?;
        let expected = match (current, &seen) {
            (None, _) => None,
            // A process that held this data folder before this one.
            (Some(own), _) if own.owner == server.identity.owner => Some(own.token),
            (Some(other), Some((token, since))) if other.token == *token => {
                if since.elapsed() < length {
                    tokio::time::sleep((length / 30).min(PAUSE)).await;
                    continue;
                }
                warn!(holder = other.holder, root.id = %root, "taking over a lease that expired");
                Some(other.token)
            }
            (Some(other), Some(_)) => return Err(StoreError::Leased { holder: other.holder }),
            (Some(other), None) => {
                seen = Some((other.token, Instant::now()));
                continue;
            }
        };
        let wanted = server.lease_record(root);
        let (term, current) = server.swap_lease(id, expected.as_deref(), &wanted).await?;
        match current {
            Some(record) if record.token == wanted.token => {
                let holding = LeaseHolding { server: Arc::clone(server), root, id, term };
                let keep = |keeper| tasks.spawn_handle(holding.keep_lease(wanted.token, keeper));
                return Ok(Lease::renewable(term, keep));
            }
            // Another process was faster, and may finish soon.
            Some(other) => seen = Some((other.token, Instant::now())),
            // Released in this moment.
            None => {}
        }
    }
}

struct LeaseHolding {
    server: Arc<QdrantServer>,
    root: RootId,
    id: Uuid,
    term: LeaseTerm,
}

impl LeaseHolding {
    /// Renews the lease until it is no longer needed, then releases it.
    async fn keep_lease(mut self, token: String, keeper: LeaseKeeper) {
        let mut tokens = vec![token];
        let length = self.server.settings.lease;
        while !keeper.done.is_cancelled() {
            let renew_at = self.term.start() + length / RENEWALS;
            tokio::select! {
                () = keeper.done.cancelled() => break,
                () = tokio::time::sleep_until(renew_at.into()) => {}
            }
            let end = self.term.end();
            let renewed = tokio::select! {
                () = keeper.done.cancelled() => break,
                renewed = tokio::time::timeout_at(end.into(), self.renew_lease(&mut tokens)) => renewed,
            };
            let Ok(Some(term)) = renewed else {
                warn!(root.id = %self.root, "lease lost");
                keeper.lost.cancel();
                return;
            };
            self.term = term;
            keeper.terms.send_replace(term);
        }
        // A lease that is not released expires.
        drop(tokio::time::timeout(RELEASE_TIMEOUT, self.server.delete_record(&tokens)).await);
    }

    /// Tries to renew until the outcome is certain; `None` if another process has the lease.
    /// `tokens` are those that may be current.
    async fn renew_lease(&self, tokens: &mut Vec<String>) -> Option<LeaseTerm> {
        let wanted = self.server.lease_record(self.root);
        let former = tokens.first().cloned();
        tokens.push(wanted.token.clone());
        loop {
            let term = begin_term(self.server.settings.lease);
            match self.server.swap_record(self.id, former.as_deref(), &wanted).await {
                Ok(Some(record)) if record.token == wanted.token => {
                    *tokens = vec![wanted.token];
                    return Some(term);
                }
                Ok(Some(record)) if Some(&record.token) == former.as_ref() => {}
                Ok(_) => return None,
                Err(error) => {
                    warn!(root.id = %self.root, ?error, "lease not renewed, trying again");
                }
            }
            tokio::time::sleep((self.server.settings.lease / 60).min(PAUSE)).await;
        }
    }
}

impl QdrantServer {
    async fn read_lease(&self, id: Uuid) -> Result<Option<LeaseRecord>, StoreError> {
        let read = self.link.retry(self.settings.retry, async || {
            self.names().await?;
            self.read_record(id).await
        });
        read.await.map_err(|error| error.into_store_error("see who changes the repository"))
    }

    async fn swap_lease(
        &self,
        id: Uuid,
        expected: Option<&str>,
        wanted: &LeaseRecord,
    ) -> Result<(LeaseTerm, Option<LeaseRecord>), StoreError> {
        let swap = self.link.retry(self.settings.retry, async || {
            let term = begin_term(self.settings.lease);
            Ok::<_, CallError>((term, self.swap_record(id, expected, wanted).await?))
        });
        swap.await.map_err(|error| error.into_store_error("reserve the repository"))
    }

    pub(super) async fn is_leased(&self, root: RootId) -> Result<bool, StoreError> {
        let Some(record) = self.read_lease(record_id(root)).await? else { return Ok(false) };
        let length = u64::try_from(self.settings.lease.as_millis()).unwrap_or(u64::MAX);
        let is_fresh = now_ms().abs_diff(record.renewed_at_ms) <= length;
        Ok(is_fresh && record.owner != self.identity.owner)
    }

    fn lease_record(&self, root: RootId) -> LeaseRecord {
        LeaseRecord {
            root,
            owner: self.identity.owner.clone(),
            holder: self.identity.name.clone(),
            renewed_at_ms: now_ms(),
            token: Uuid::new_v4().to_string(),
        }
    }
}

fn record_id(root: RootId) -> Uuid {
    Uuid::new_v5(&root.0, b"lease")
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Begins the time in which the holder may write.
fn begin_term(length: Duration) -> LeaseTerm {
    LeaseTerm::begin(length * 2 / 3)
}

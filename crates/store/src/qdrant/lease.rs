//! Leases of roots, kept as records in the server.
//!
//! No clock of one machine is compared with that of another. Who wants a lease that somebody has
//! watches its token: when it changes, the holder lives; when it stays the same for the whole time of a
//! lease, by the own clock, the holder is gone. The holder counts from before it asked for a renewal
//! and stops at two thirds of that time, so that what it sent last has arrived before another one may
//! begin.
//!
//! A lease is renewed every 15 s. A waiting process takes it after 60 s without change; the holder
//! stops at 40 s by its monotonic or wall clock, whichever is ahead, since a machine that slept
//! must not go on. The 20 s between are for messages under way. A run that loses its lease is
//! dropped, not asked to end. A process that is started again on the same data folder and machine
//! takes its own lease back.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use codeinfo_core::{RootId, task::Tasks};
use serde::{Deserialize, Serialize};
use tracing::warn;
use uuid::Uuid;

use super::{
    super::{
        Lease, StoreError,
        lease::{Keeper, Term},
    },
    Server,
    error::CallError,
};

/// In a lease time there are so many renewals.
const RENEWALS: u32 = 4;
/// The pause between two tries to renew, and the longest one between two reads of another's lease.
const PAUSE: Duration = Duration::from_millis(500);
/// How long giving back may take; what is not given back expires.
const GIVE_BACK: Duration = Duration::from_secs(3);

/// A lease as the server keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    root: RootId,
    /// The same each time a process is started on the same data folder.
    owner: String,
    /// For people.
    holder: String,
    /// When it was renewed by the holder's clock, in milliseconds since 1970; only to be shown.
    renewed_at_ms: u64,
    token: String,
}

/// Takes the lease of `root`.
pub(super) async fn take(
    server: &Arc<Server>,
    root: RootId,
    tasks: &Tasks,
) -> Result<Lease, StoreError> {
    let id = id(root);
    let length = server.settings.lease;
    let mut seen: Option<(String, Instant)> = None;
    loop {
        let current = server.lease(id).await?;
        let expected = match (current, &seen) {
            (None, _) => None,
            // Of a process that held this data folder before us.
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
        let (term, current) = server.take_lease(id, expected.as_deref(), &wanted).await?;
        match current {
            Some(record) if record.token == wanted.token => {
                let holding = Holding { server: Arc::clone(server), root, id, term };
                let keep = |keeper| tasks.spawn_handle(holding.keep(wanted.token, keeper));
                return Ok(Lease::kept(term, keep));
            }
            // Somebody was faster, who may be done soon.
            Some(other) => seen = Some((other.token, Instant::now())),
            // Given back in this moment.
            None => {}
        }
    }
}

/// What the task that keeps a lease knows.
struct Holding {
    server: Arc<Server>,
    root: RootId,
    id: Uuid,
    term: Term,
}

impl Holding {
    /// Renews the lease until it is no longer needed, then gives it back.
    async fn keep(mut self, token: String, keeper: Keeper) {
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
                renewed = tokio::time::timeout_at(end.into(), self.renew(&mut tokens)) => renewed,
            };
            let Ok(Some(term)) = renewed else {
                warn!(root.id = %self.root, "lease lost");
                keeper.lost.cancel();
                return;
            };
            self.term = term;
            keeper.terms.send_replace(term);
        }
        // What is not given back expires.
        drop(tokio::time::timeout(GIVE_BACK, self.server.give_up(&tokens)).await);
    }

    /// Tries to renew until it is known what became of the lease; `None` when somebody else has it.
    /// `tokens` are those that may be the current one.
    async fn renew(&self, tokens: &mut Vec<String>) -> Option<Term> {
        let wanted = self.server.lease_record(self.root);
        let former = tokens.first().cloned();
        tokens.push(wanted.token.clone());
        loop {
            let term = term(self.server.settings.lease);
            match self.server.swap(self.id, former.as_deref(), &wanted).await {
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

impl Server {
    async fn lease(&self, id: Uuid) -> Result<Option<Record>, StoreError> {
        let read = self.link.retry(self.settings.retry, async || {
            self.names().await?;
            self.record(id).await
        });
        read.await.map_err(|error| error.into_store_error("see who changes the repository"))
    }

    async fn take_lease(
        &self,
        id: Uuid,
        expected: Option<&str>,
        wanted: &Record,
    ) -> Result<(Term, Option<Record>), StoreError> {
        let swap = self.link.retry(self.settings.retry, async || {
            let term = term(self.settings.lease);
            Ok::<_, CallError>((term, self.swap(id, expected, wanted).await?))
        });
        swap.await.map_err(|error| error.into_store_error("reserve the repository"))
    }

    pub(super) async fn is_leased(&self, root: RootId) -> Result<bool, StoreError> {
        let Some(record) = self.lease(id(root)).await? else { return Ok(false) };
        let length = u64::try_from(self.settings.lease.as_millis()).unwrap_or(u64::MAX);
        let is_fresh = now_ms().abs_diff(record.renewed_at_ms) <= length;
        Ok(is_fresh && record.owner != self.identity.owner)
    }

    fn lease_record(&self, root: RootId) -> Record {
        Record {
            root,
            owner: self.identity.owner.clone(),
            holder: self.identity.name.clone(),
            renewed_at_ms: now_ms(),
            token: Uuid::new_v4().to_string(),
        }
    }
}

/// Returns the id of the record of a root's lease.
fn id(root: RootId) -> Uuid {
    Uuid::new_v5(&root.0, b"lease")
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Begins the time in which the holder may write.
fn term(length: Duration) -> Term {
    Term::of(length * 2 / 3)
}

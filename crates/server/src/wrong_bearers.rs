//! Counts wrong bearers by peer, so that guessing leads to waits and fills no log.

use std::{
    net::IpAddr,
    num::NonZero,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_http::{AuthRequest, HttpError};
use lru::LruCache;
use tracing::warn;

/// Maximum number of wrong bearers of one peer within [`WINDOW`] that are refused without a wait.
const MAX_WRONG: u32 = 20;
const WINDOW: Duration = Duration::from_mins(1);
/// Maximum number of remembered peers; the one that was silent for longest is forgotten first.
const MAX_PEERS: NonZero<usize> = NonZero::new(1024).unwrap();
/// Bits of an IPv6 address that a network assigns; one client may have all addresses that share
/// them.
const NETWORK_BITS: u32 = 64;

const UNKNOWN: &str = "the token is not known; it may have been revoked";

/// Wrong bearers of the last minute. A right one is neither counted nor refused because of others.
#[derive(Debug)]
pub struct WrongBearers(Mutex<BearerCounts>);

#[derive(Debug)]
struct BearerCounts {
    peers: LruCache<PeerKey, PeerWindow>,
    /// Time of the last log line; `unlogged` counts the wrong bearers since.
    logged_at: Option<Instant>,
    unlogged: u64,
}

/// Address, and for loopback whether the connection belongs to another account.
type PeerKey = (Option<IpAddr>, bool);

/// Wrong bearers of one peer since `began_at`.
#[derive(Debug)]
struct PeerWindow {
    began_at: Instant,
    count: u32,
}

impl WrongBearers {
    /// Counts the wrong bearer of a request and returns the refusal.
    pub fn refuse_bearer(&self, asked: AuthRequest<'_>) -> HttpError {
        let now = Instant::now();
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.log_wrong_bearers(asked, now);
        let peer = (asked.peer_address.map(mask_to_network), asked.is_another_account);
        let new = || PeerWindow { began_at: now, count: 0 };
        let window = counts.peers.get_or_insert_mut(peer, new);
        if now.duration_since(window.began_at) >= WINDOW {
            *window = new();
        }
        window.count = window.count.saturating_add(1);
        if window.count <= MAX_WRONG {
            return HttpError::Unauthorized(UNKNOWN);
        }
        let remaining = WINDOW.saturating_sub(now.duration_since(window.began_at));
        HttpError::TooManyWrongTokens { retry_after_s: remaining.as_secs() + 1 }
    }
}

impl Default for WrongBearers {
    fn default() -> Self {
        let peers = LruCache::new(MAX_PEERS);
        Self(Mutex::new(BearerCounts { peers, logged_at: None, unlogged: 0 }))
    }
}

impl BearerCounts {
    /// Logs the first wrong bearer; logs later ones together, once per [`WINDOW`].
    fn log_wrong_bearers(&mut self, asked: AuthRequest<'_>, now: Instant) {
        self.unlogged += 1;
        if self.logged_at.is_some_and(|at| now.duration_since(at) < WINDOW) {
            return;
        }
        let last_peer = asked.peer_address.map(tracing::field::display);
        let is_another_account = asked.is_another_account;
        warn!(count = self.unlogged, last_peer, is_another_account, "wrong tokens are refused");
        (self.logged_at, self.unlogged) = (Some(now), 0);
    }
}

/// Returns the address, or the first address of its network if one client may have a whole network.
fn mask_to_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            IpAddr::V6((address.to_bits() >> NETWORK_BITS << NETWORK_BITS).into())
        }
    }
}

//! Decides for both listeners who may send a request, and with which rights. Counts wrong bearers by
//! peer, so that guessing leads to waits and fills no log.

use std::{
    net::IpAddr,
    num::NonZero,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use codeinfo_core::Principal;
use codeinfo_credentials::{PageSessions, ProcessKey, TokenKind, TokenStore};
use codeinfo_http::{AccessRights, AuthContext, AuthGate, AuthRequest, HttpError};

use lru::LruCache;
use tracing::warn;

use crate::api::{FindDocument, is_of_page};

/// Paths that monitors poll. Without a bearer, they return only the overall state.
const MONITORED: [&str; 3] = ["/health", "/ready", "/version"];
const OPEN_SESSION: &str = "/auth/page-sessions";
const SEARCH: &str = "/mcp";
/// Path at which Codex finds the toolkits of a turn.
const TOOLKITS: &str = "/mcp/toolkits";

const NEEDED: &str = "a token is needed: send `Authorization: Bearer …`, and make one with \
                      `codeinfo token create NAME`";
const ANOTHER_ACCOUNT: &str = "the server belongs to another account of this machine: send `Authorization: Bearer …` \
                               with a token, which its owner makes with `codeinfo token create NAME`";
const SESSION_OVER: &str = "the session of the page is over; `codeinfo open` opens another one";

/// Maximum number of wrong bearers of one peer within [`WINDOW`] that are refused without a wait.
const MAX_WRONG: u32 = 20;
const WINDOW: Duration = Duration::from_mins(1);
/// Maximum number of remembered peers; the one that was silent for longest is forgotten first.
const MAX_PEERS: NonZero<usize> = NonZero::new(1024).unwrap();
/// Bits of an IPv6 address that a network assigns; one client may have all addresses with them.
const NETWORK_BITS: u32 = 64;

const UNKNOWN: &str = "the token is not known; it may have been revoked";

/// Credentials that a gate accepts.
#[derive(Clone)]
pub struct GateCredentials {
    pub tokens: TokenStore,
    pub sessions: PageSessions,
    /// Valid only for the search of the main listener.
    pub search: ProcessKey,
    /// Returns whether a bearer is the toolkit grant of a running turn.
    pub is_grant: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// True if callers without a bearer are refused.
    pub are_required: bool,
    pub wrong_bearers: Arc<WrongBearers>,
    /// Finds documents, which are public like the page.
    pub find_document: FindDocument,
}

pub fn build_main_gate(credentials: GateCredentials) -> AuthGate {
    Arc::new(move |request| match request.bearer {
        Some(bearer) if request.path == SEARCH && credentials.search.matches(bearer) => {
            Ok(AuthContext::anonymous(AccessRights::Ask))
        }
        Some(bearer) if is_toolkit_path(request.path) && (credentials.is_grant)(bearer) => {
            Ok(AuthContext::anonymous(AccessRights::Ask))
        }
        Some(_) => admit_caller(&credentials, request),
        None => admit_caller(&credentials, request).or_else(|refusal| {
            // Other accounts may see the arguments of the browser that is started, with the code.
            let opens_session = request.path == OPEN_SESSION && !request.is_another_account;
            let is_public = MONITORED.contains(&request.path)
                || is_of_page(request.path, credentials.find_document)
                || opens_session;
            if is_public { Ok(AuthContext::anonymous(AccessRights::Monitor)) } else { Err(refusal) }
        }),
    })
}

fn is_toolkit_path(path: &str) -> bool {
    path.strip_prefix(TOOLKITS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub fn build_mcp_gate(credentials: GateCredentials) -> AuthGate {
    Arc::new(move |request| admit_caller(&credentials, request))
}

/// Checks the credentials of a caller. Refuses a wrong bearer even when none is needed.
fn admit_caller(
    credentials: &GateCredentials,
    request: AuthRequest<'_>,
) -> Result<AuthContext, HttpError> {
    if let (None, Some(session)) = (request.bearer, request.session) {
        let found = credentials.sessions.find_session(session.cookie, session.key);
        let revoked = found
            .filter(|_| !request.is_another_account)
            .ok_or(HttpError::Unauthorized(SESSION_OVER))?;
        return Ok(AuthContext {
            principal: Some(Principal::owner()),
            rights: AccessRights::Administer,
            revoked,
        });
    }
    let Some(bearer) = request.bearer else {
        return match (credentials.are_required, request.is_another_account) {
            (true, _) => Err(HttpError::Unauthorized(NEEDED)),
            (false, true) => Err(HttpError::Unauthorized(ANOTHER_ACCOUNT)),
            // A process of the owner's account can read the owner's key.
            (false, false) => Ok(AuthContext::anonymous(AccessRights::Administer)),
        };
    };
    let known = credentials
        .tokens
        .find_bearer(bearer)
        .ok_or_else(|| credentials.wrong_bearers.refuse_bearer(request))?;
    let rights = match known.kind {
        TokenKind::Plain => AccessRights::Ask,
        TokenKind::Admin => AccessRights::Administer,
    };
    Ok(AuthContext { principal: Some(known.principal), rights, revoked: known.revoked })
}

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

#[derive(Debug)]
struct PeerWindow {
    began_at: Instant,
    count: u32,
}

impl WrongBearers {
    /// Counts the wrong bearer of a request and returns the refusal.
    pub fn refuse_bearer(&self, request: AuthRequest<'_>) -> HttpError {
        let now = Instant::now();
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.log_wrong_bearers(request, now);
        let peer = (request.peer_address.map(mask_to_network), request.is_another_account);
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
    fn log_wrong_bearers(&mut self, request: AuthRequest<'_>, now: Instant) {
        self.unlogged += 1;
        if self.logged_at.is_some_and(|at| now.duration_since(at) < WINDOW) {
            return;
        }
        let last_peer = request.peer_address.map(tracing::field::display);
        let is_another_account = request.is_another_account;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{GateCredentials, build_main_gate, build_mcp_gate};
    use codeinfo_core::task::Tasks;
    use codeinfo_credentials::{CredentialStore, ProcessKey};
    use codeinfo_http::{AccessRights, AuthRequest};

    #[tokio::test]
    async fn the_key_of_codex_is_good_for_the_search_of_the_main_listener_only() {
        let folder = tempfile::tempdir().unwrap();
        let vault = CredentialStore::open(folder.path(), None, Tasks::default()).await.unwrap();
        let search = ProcessKey::generate().unwrap();
        let key = search.secret().expose().to_owned();
        for are_required in [true, false] {
            let is_grant = Arc::new(|bearer: &str| bearer == "grant");
            let bearers = GateCredentials {
                tokens: vault.tokens.clone(),
                sessions: vault.sessions.clone(),
                search: search.clone(),
                is_grant,
                are_required,
                wrong_bearers: Arc::default(),
                find_document: |_| None,
            };
            let main = build_main_gate(bearers.clone());
            let mcp = build_mcp_gate(bearers);
            let asked = |path| AuthRequest {
                path,
                bearer: Some(&key),
                session: None,
                peer_address: None,
                is_another_account: true,
            };
            assert_eq!(main(asked("/mcp")).unwrap().rights, AccessRights::Ask);
            for path in ["/mcp/", "/mcp/config", "/chat", "/auth/mcp-tokens", "/health", "/"] {
                assert!(main(asked(path)).is_err(), "{path}");
            }
            assert!(mcp(asked("/mcp")).is_err() && mcp(asked("/")).is_err());
            let asked = |path| AuthRequest {
                path,
                bearer: Some("grant"),
                session: None,
                peer_address: None,
                is_another_account: true,
            };
            assert_eq!(main(asked("/mcp/toolkits")).unwrap().rights, AccessRights::Ask);
            assert_eq!(main(asked("/mcp/toolkits/git")).unwrap().rights, AccessRights::Ask);
            for path in ["/mcp", "/mcp/toolkitsx", "/toolkits/git/start", "/chat", "/tools"] {
                assert!(main(asked(path)).is_err(), "{path}");
            }
            assert!(mcp(asked("/mcp/toolkits")).is_err());
        }
    }

    #[tokio::test]
    async fn another_account_without_a_token_sees_no_more_than_monitors_do() {
        let folder = tempfile::tempdir().unwrap();
        let vault = CredentialStore::open(folder.path(), None, Tasks::default()).await.unwrap();
        let search = ProcessKey::generate().unwrap();
        let bearers = GateCredentials {
            tokens: vault.tokens,
            sessions: vault.sessions,
            search,
            is_grant: Arc::new(|_| false),
            are_required: false,
            wrong_bearers: Arc::default(),
            find_document: |_| None,
        };
        let main = build_main_gate(bearers.clone());
        let mcp = build_mcp_gate(bearers);
        let asked = |path, is_another_account| AuthRequest {
            path,
            bearer: None,
            session: None,
            peer_address: None,
            is_another_account,
        };
        for path in ["/health", "/ready", "/version", "/", "/page/api.js"] {
            assert_eq!(main(asked(path, true)).unwrap().rights, AccessRights::Monitor, "{path}");
            assert_eq!(
                main(asked(path, false)).unwrap().rights,
                AccessRights::Administer,
                "{path}"
            );
        }
        for path in ["/source", "/mcp", "/mcp/toolkits", "/ingest/start", "/ws", "/conversations"] {
            assert!(main(asked(path, true)).is_err() && mcp(asked(path, true)).is_err(), "{path}");
            assert!(main(asked(path, false)).is_ok() && mcp(asked(path, false)).is_ok(), "{path}");
        }
    }
}

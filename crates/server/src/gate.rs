//! Who is answered: the one place that decides it, for both listeners.

use std::sync::Arc;

use codeinfo_core::Principal;
use codeinfo_credentials::{PageSessions, ProcessKey, TokenKind, TokenStore};
use codeinfo_http::{AccessRights, AuthContext, AuthGate, AuthRequest, HttpError};

use super::wrong_bearers::WrongBearers;
use crate::api::{FindDocument, is_of_page};

/// What monitors ask. Without a bearer they learn no more than how it goes.
const MONITORED: [&str; 3] = ["/health", "/ready", "/version"];
/// Where the page opens a session with a code.
const OPEN_SESSION: &str = "/auth/page-sessions";
/// Where Codex searches.
const SEARCH: &str = "/mcp";
/// Where Codex finds the toolkits of a turn.
const TOOLKITS: &str = "/mcp/toolkits";

const NEEDED: &str = "a token is needed: send `Authorization: Bearer …`, and make one with \
                      `codeinfo token create NAME`";
const ANOTHER_ACCOUNT: &str = "the server belongs to another account of this machine: send `Authorization: Bearer …` \
                               with a token, which its owner makes with `codeinfo token create NAME`";
const SESSION_OVER: &str = "the session of the page is over; `codeinfo open` opens another one";

/// What callers may prove themselves with.
#[derive(Clone)]
pub struct GateCredentials {
    pub tokens: TokenStore,
    pub sessions: PageSessions,
    /// Good for the search of the main listener only.
    pub search: ProcessKey,
    /// Whether a turn that runs has been granted its toolkits with it.
    pub is_grant: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Whether who has none is refused.
    pub are_required: bool,
    pub wrong: Arc<WrongBearers>,
    /// Documents are public, as the page is.
    pub find_document: FindDocument,
}

/// The gate of the main listener.
pub fn build_main_gate(bearers: GateCredentials) -> AuthGate {
    Arc::new(move |asked| match asked.bearer {
        Some(bearer) if asked.path == SEARCH && bearers.search.matches(bearer) => {
            Ok(AuthContext::anonymous(AccessRights::Ask))
        }
        Some(bearer) if is_of_turns(asked.path) && (bearers.is_grant)(bearer) => {
            Ok(AuthContext::anonymous(AccessRights::Ask))
        }
        Some(_) => admit_caller(&bearers, asked),
        None => admit_caller(&bearers, asked).or_else(|refusal| {
            // Others of the machine may see the arguments of the browser that is started.
            let opens_session = asked.path == OPEN_SESSION && !asked.is_another_account;
            let is_public = MONITORED.contains(&asked.path)
                || is_of_page(asked.path, bearers.find_document)
                || opens_session;
            if is_public { Ok(AuthContext::anonymous(AccessRights::Monitor)) } else { Err(refusal) }
        }),
    })
}

/// Whether a path is where Codex finds the toolkits of a turn.
fn is_of_turns(path: &str) -> bool {
    path.strip_prefix(TOOLKITS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The gate of the MCP server.
pub fn build_mcp_gate(bearers: GateCredentials) -> AuthGate {
    Arc::new(move |asked| admit_caller(&bearers, asked))
}

/// A wrong bearer is refused also where none is needed: who sends one means somebody.
fn admit_caller(
    bearers: &GateCredentials,
    asked: AuthRequest<'_>,
) -> Result<AuthContext, HttpError> {
    if let (None, Some(session)) = (asked.bearer, asked.session) {
        let found = bearers.sessions.find_session(session.cookie, session.key);
        let revoked = found.filter(|_| !asked.is_another_account);
        let revoked = revoked.ok_or(HttpError::Unauthorized(SESSION_OVER))?;
        let (principal, rights) = (Some(Principal::owner()), AccessRights::Administer);
        return Ok(AuthContext { principal, rights, revoked });
    }
    let Some(bearer) = asked.bearer else {
        return match (bearers.are_required, asked.is_another_account) {
            (true, _) => Err(HttpError::Unauthorized(NEEDED)),
            (false, true) => Err(HttpError::Unauthorized(ANOTHER_ACCOUNT)),
            // Who runs as the owner can read the owner's key.
            (false, false) => Ok(AuthContext::anonymous(AccessRights::Administer)),
        };
    };
    let known =
        bearers.tokens.find_bearer(bearer).ok_or_else(|| bearers.wrong.refuse_bearer(asked))?;
    let rights = match known.kind {
        TokenKind::Plain => AccessRights::Ask,
        TokenKind::Admin => AccessRights::Administer,
    };
    Ok(AuthContext { principal: Some(known.principal), rights, revoked: known.revoked })
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
            let (tokens, search) = (vault.tokens.clone(), search.clone());
            let sessions = vault.sessions.clone();
            let is_grant = Arc::new(|bearer: &str| bearer == "grant");
            let bearers = GateCredentials {
                tokens,
                sessions,
                search,
                is_grant,
                are_required,
                wrong: Arc::default(),
                find_document: |_| None,
            };
            let (main, mcp) = (build_main_gate(bearers.clone()), build_mcp_gate(bearers));
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
        let (tokens, sessions) = (vault.tokens, vault.sessions);
        let search = ProcessKey::generate().unwrap();
        let bearers = GateCredentials {
            tokens,
            sessions,
            search,
            is_grant: Arc::new(|_| false),
            are_required: false,
            wrong: Arc::default(),
            find_document: |_| None,
        };
        let (main, mcp) = (build_main_gate(bearers.clone()), build_mcp_gate(bearers));
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

//! Who is answered: the one place that decides it, for both listeners.

use std::sync::Arc;

use crate::{
    api::is_of_page,
    domain::Principal,
    net::{Asked, Gate, HttpError},
    vault::{ProcessKey, Tokens},
};

/// What monitors ask. Without a bearer they learn no more than how it goes.
const MONITORED: [&str; 3] = ["/health", "/ready", "/version"];
/// Where Codex searches.
const SEARCH: &str = "/mcp";
/// Where Codex finds the toolkits of a turn.
const TOOLKITS: &str = "/mcp/toolkits";

const NEEDED: &str = "a token is needed: send `Authorization: Bearer …`, and make one with \
                      `codeinfo token create NAME`";
const UNKNOWN: &str = "the token is not known; it may have been revoked";

/// What callers may prove themselves with.
#[derive(Clone)]
pub(super) struct Bearers {
    pub(super) tokens: Tokens,
    /// Good for the search of the main listener only.
    pub(super) search: ProcessKey,
    /// Whether a turn that runs has been granted its toolkits with it.
    pub(super) is_grant: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Whether who has none is refused.
    pub(super) are_required: bool,
}

/// The gate of the main listener.
pub(super) fn main(bearers: Bearers) -> Gate {
    Arc::new(move |asked| match asked.bearer {
        None if MONITORED.contains(&asked.path) || is_of_page(asked.path) => Ok(None),
        Some(bearer) if asked.path == SEARCH && bearers.search.is(bearer) => Ok(None),
        Some(bearer) if is_of_turns(asked.path) && (bearers.is_grant)(bearer) => Ok(None),
        _ => judge(&bearers, asked),
    })
}

/// Whether a path is where Codex finds the toolkits of a turn.
fn is_of_turns(path: &str) -> bool {
    path.strip_prefix(TOOLKITS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The gate of the MCP server.
pub(super) fn mcp(bearers: Bearers) -> Gate {
    Arc::new(move |asked| judge(&bearers, asked))
}

/// A wrong bearer is refused also where none is needed: who sends one means somebody.
fn judge(bearers: &Bearers, asked: Asked<'_>) -> Result<Option<Principal>, HttpError> {
    match asked.bearer {
        None if bearers.are_required => Err(HttpError::Unauthorized(NEEDED)),
        None => Ok(None),
        Some(bearer) => {
            let principal = bearers.tokens.principal(bearer);
            principal.map(Some).ok_or(HttpError::Unauthorized(UNKNOWN))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Bearers, main, mcp};
    use crate::{
        net::Asked,
        task::Tasks,
        vault::{ProcessKey, Vault},
    };

    #[tokio::test]
    async fn the_key_of_codex_is_good_for_the_search_of_the_main_listener_only() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::open(folder.path(), None, Tasks::default()).await.unwrap();
        let search = ProcessKey::fresh().unwrap();
        let key = search.secret().expose().to_owned();
        for are_required in [true, false] {
            let (tokens, search) = (vault.tokens.clone(), search.clone());
            let is_grant = Arc::new(|bearer: &str| bearer == "grant");
            let bearers = Bearers { tokens, search, is_grant, are_required };
            let (main, mcp) = (main(bearers.clone()), mcp(bearers));
            let asked = |path| Asked { path, bearer: Some(&key) };
            assert_eq!(main(asked("/mcp")), Ok(None));
            for path in ["/mcp/", "/mcp/config", "/chat", "/auth/mcp-tokens", "/health", "/"] {
                assert!(main(asked(path)).is_err(), "{path}");
            }
            assert!(mcp(asked("/mcp")).is_err() && mcp(asked("/")).is_err());
            let asked = |path| Asked { path, bearer: Some("grant") };
            assert_eq!(main(asked("/mcp/toolkits")), Ok(None));
            assert_eq!(main(asked("/mcp/toolkits/git")), Ok(None));
            for path in ["/mcp", "/mcp/toolkitsx", "/toolkits/git/start", "/chat", "/tools"] {
                assert!(main(asked(path)).is_err(), "{path}");
            }
            assert!(mcp(asked("/mcp/toolkits")).is_err());
        }
    }
}

//! Who is answered: the one place that decides it, for both listeners.

use std::sync::Arc;

use crate::{
    domain::Principal,
    net::{Asked, Gate, HttpError},
    vault::{ProcessKey, Tokens},
};

/// What monitors ask. Without a bearer they are told no more than how it goes.
const OPEN: [&str; 3] = ["/health", "/ready", "/version"];
/// Where Codex searches.
const SEARCH: &str = "/mcp";

const NEEDED: &str = "a token is needed: send `Authorization: Bearer …`, and make one with \
                      `codeinfo token create NAME`";
const UNKNOWN: &str = "the token is not known; it may have been revoked";

/// What callers may prove themselves with.
#[derive(Clone)]
pub(super) struct Bearers {
    pub(super) tokens: Tokens,
    /// Good for the search of the main listener only.
    pub(super) search: ProcessKey,
    /// Whether who has none is refused.
    pub(super) are_required: bool,
}

/// The gate of the main listener.
pub(super) fn main(bearers: Bearers) -> Gate {
    Arc::new(move |asked| match asked.bearer {
        None if OPEN.contains(&asked.path) => Ok(None),
        Some(bearer) if asked.path == SEARCH && bearers.search.is(bearer) => Ok(None),
        _ => judge(&bearers, asked),
    })
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

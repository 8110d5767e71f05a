//! The whole API at a glance.

mod for_page;

use codeinfo_http::Rights;
use hyper::Method;

pub(super) use self::for_page::{ForPage, PAGE_CONFIG};
use super::{page, toolkits::Action};

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route<'a> {
    /// A file of the page.
    Asset {
        name: &'a str,
    },
    Health,
    Ready,
    Version,
    Metrics,
    StartIngest,
    IngestStatus {
        run: &'a str,
    },
    CancelIngest {
        run: &'a str,
    },
    Reembed {
        root: &'a str,
    },
    Remove {
        root: &'a str,
    },
    Roots,
    IngestedRepos,
    VectorSearch,
    Chat,
    /// What the page asks for, and programs seldom.
    ForPage(ForPage<'a>),
    WebSocket,
    ChatProviders,
    ChatModels,
    Mcp,
    /// Raw search, for a relay of standard streams.
    Relay,
    /// The endpoint of a toolkit of a turn, or of all that it has.
    ToolkitMcp {
        name: Option<&'a str>,
    },
    Tools,
    Toolkit {
        name: &'a str,
        action: Action,
    },
    CallTool {
        toolkit: &'a str,
    },
    AllowToolkits,
    CreateToken,
    Tokens,
    RevokeToken {
        name: &'a str,
    },
    RevokeTokens,
    MakeSessionCode,
    OpenSession,
    StoreConfig,
    StoredConfig,
    NotAllowed {
        allow: &'static str,
    },
    NotFound,
}

impl Route<'_> {
    /// Returns the rights that a request needs.
    pub(super) fn needed_rights(self) -> Rights {
        match self {
            Self::Asset { .. } | Self::Health | Self::Ready | Self::Version | Self::OpenSession => {
                Rights::Monitor
            }
            Self::CancelIngest { .. }
            | Self::Reembed { .. }
            | Self::Remove { .. }
            | Self::ForPage(ForPage::Settings | ForPage::Failures) => Rights::Administer,
            Self::Metrics
            | Self::StartIngest
            | Self::IngestStatus { .. }
            | Self::Roots
            | Self::IngestedRepos
            | Self::VectorSearch
            | Self::Chat
            | Self::ForPage(_)
            | Self::WebSocket
            | Self::ChatProviders
            | Self::ChatModels
            | Self::Mcp
            | Self::Relay
            | Self::ToolkitMcp { .. }
            | Self::Tools
            | Self::Toolkit { .. }
            | Self::CallTool { .. }
            | Self::AllowToolkits
            | Self::CreateToken
            | Self::Tokens
            | Self::RevokeToken { .. }
            | Self::RevokeTokens
            | Self::MakeSessionCode
            | Self::StoreConfig
            | Self::StoredConfig
            | Self::NotAllowed { .. }
            | Self::NotFound => Rights::Ask,
        }
    }
}

/// Returns the route of a method and the decoded parts of a path.
pub(super) fn route<'a>(method: &Method, path: &[&'a str]) -> Route<'a> {
    match (method, path) {
        (&Method::GET | &Method::HEAD, []) => Route::Asset { name: page::INDEX },
        (&Method::GET | &Method::HEAD, ["page", name]) if *name != PAGE_CONFIG => {
            Route::Asset { name }
        }
        (&Method::GET | &Method::HEAD, ["health"]) => Route::Health,
        (&Method::GET | &Method::HEAD, ["ready"]) => Route::Ready,
        (&Method::GET | &Method::HEAD, ["version"]) => Route::Version,
        (&Method::GET | &Method::HEAD, ["metrics"]) => Route::Metrics,
        (&Method::POST, ["ingest", "start"]) => Route::StartIngest,
        (&Method::GET | &Method::HEAD, ["ingest", "status", run]) => Route::IngestStatus { run },
        (&Method::POST, ["ingest", "cancel", run]) => Route::CancelIngest { run },
        (&Method::POST, ["ingest", "reembed", root]) => Route::Reembed { root },
        (&Method::POST, ["ingest", "remove", root]) => Route::Remove { root },
        (&Method::GET | &Method::HEAD, ["ingest", "roots"]) => Route::Roots,
        (&Method::GET | &Method::HEAD, ["tools", "ingested-repos"]) => Route::IngestedRepos,
        (&Method::POST, ["tools", "vector-search"]) => Route::VectorSearch,
        (&Method::POST, ["chat"]) => Route::Chat,
        (&Method::GET | &Method::HEAD, ["chat", "providers"]) => Route::ChatProviders,
        (&Method::GET | &Method::HEAD, ["chat", "models"]) => Route::ChatModels,
        (&Method::GET, ["ws"]) => Route::WebSocket,
        (&Method::POST, ["mcp"]) => Route::Mcp,
        (&Method::GET, ["mcp", "relay"]) => Route::Relay,
        (&Method::POST, ["mcp", "toolkits"]) => Route::ToolkitMcp { name: None },
        (&Method::POST, ["mcp", "toolkits", name]) => Route::ToolkitMcp { name: Some(name) },
        (&Method::GET | &Method::HEAD, ["tools"]) => Route::Tools,
        (&Method::POST, ["toolkits", "allow"]) => Route::AllowToolkits,
        (&Method::POST, ["toolkits", name, "call"]) => Route::CallTool { toolkit: name },
        (&Method::POST, ["toolkits", name, action]) => match Action::of(action) {
            Some(action) => Route::Toolkit { name, action },
            None => Route::NotFound,
        },
        (&Method::POST, ["auth", "mcp-tokens"]) => Route::CreateToken,
        (&Method::GET | &Method::HEAD, ["auth", "mcp-tokens"]) => Route::Tokens,
        (&Method::DELETE, ["auth", "mcp-tokens", name]) => Route::RevokeToken { name },
        (&Method::POST, ["auth", "logout-all"]) => Route::RevokeTokens,
        (&Method::POST, ["auth", "page-codes"]) => Route::MakeSessionCode,
        (&Method::POST, ["auth", "page-sessions"]) => Route::OpenSession,
        (&Method::POST, ["mcp", "config"]) => Route::StoreConfig,
        (&Method::GET | &Method::HEAD, ["mcp", "config"]) => Route::StoredConfig,
        _ => match (ForPage::of(method, path), allowed(path)) {
            (Some(of), _) => Route::ForPage(of),
            (None, Some(allow)) => Route::NotAllowed { allow },
            (None, None) => Route::NotFound,
        },
    }
}

/// Returns the methods of a path.
fn allowed(path: &[&str]) -> Option<&'static str> {
    Some(match path {
        []
        | ["page", _]
        | ["health" | "ready" | "version" | "metrics" | "tools"]
        | ["ingest", "status", _]
        | ["ingest", "roots"]
        | ["tools", "ingested-repos"]
        | ["chat", "providers" | "models"] => "GET, HEAD",
        ["ingest", "start"]
        | ["ingest", "cancel" | "reembed" | "remove", _]
        | ["tools", "vector-search"]
        | ["auth", "logout-all" | "page-codes" | "page-sessions"]
        | ["toolkits", "allow"]
        | ["toolkits", _, "start" | "stop" | "restart" | "trust" | "call"]
        | ["mcp", "toolkits"]
        | ["mcp", "toolkits", _]
        | ["chat" | "mcp"] => "POST",
        ["auth", "mcp-tokens"] | ["mcp", "config"] => "GET, HEAD, POST",
        ["ws"] | ["mcp", "relay"] => "GET",
        ["auth", "mcp-tokens", _] => "DELETE",
        _ => return ForPage::allowed(path),
    })
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::{Route, route};

    #[test]
    fn a_known_path_with_another_method_names_the_right_one() {
        assert_eq!(route(&Method::HEAD, &["health"]), Route::Health);
        assert_eq!(route(&Method::DELETE, &["health"]), Route::NotAllowed { allow: "GET, HEAD" });
        assert_eq!(route(&Method::GET, &["mcp"]), Route::NotAllowed { allow: "POST" });
        assert_eq!(
            route(&Method::GET, &["ingest", "remove", "x"]),
            Route::NotAllowed { allow: "POST" }
        );
        assert_eq!(
            route(&Method::PUT, &["mcp", "config"]),
            Route::NotAllowed { allow: "GET, HEAD, POST" }
        );
        assert_eq!(
            route(&Method::GET, &["auth", "mcp-tokens", "x"]),
            Route::NotAllowed { allow: "DELETE" }
        );
        assert_eq!(route(&Method::HEAD, &["ws"]), Route::NotAllowed { allow: "GET" });
        assert_eq!(route(&Method::GET, &[]), Route::Asset { name: "index.html" });
        assert_eq!(route(&Method::POST, &[]), Route::NotAllowed { allow: "GET, HEAD" });
        assert_eq!(route(&Method::POST, &["ingest", "remove"]), Route::NotFound);
        assert_eq!(route(&Method::POST, &["ingest", "remove", "a", "b"]), Route::NotFound);
    }
}

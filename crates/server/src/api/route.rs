//! Routes of the main API, with their methods and rights.

use codeinfo_http::AccessRights;
use hyper::Method;

use super::{page, toolkits::ToolkitAction};

/// Name below `/page/` that is not a file of the page.
pub(super) const PAGE_CONFIG: &str = "config";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiRoute<'a> {
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
    ScipIndex {
        root: &'a str,
        is_given: bool,
    },
    Roots,
    IngestedRepos,
    VectorSearch,
    Chat,
    ForPage(PageRoute<'a>),
    WebSocket,
    ChatProviders,
    ChatModels,
    Mcp,
    /// Raw search for a relay of standard streams.
    Relay,
    ToolkitMcp {
        name: Option<&'a str>,
    },
    Tools,
    Toolkit {
        name: &'a str,
        action: ToolkitAction,
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

impl ApiRoute<'_> {
    pub(super) fn needed_rights(self) -> AccessRights {
        match self {
            Self::Asset { .. } | Self::Health | Self::Ready | Self::Version | Self::OpenSession => {
                AccessRights::Monitor
            }
            Self::CancelIngest { .. }
            | Self::Reembed { .. }
            | Self::Remove { .. }
            | Self::ScipIndex { .. }
            | Self::ForPage(PageRoute::Settings | PageRoute::Failures) => AccessRights::Administer,
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
            | Self::NotFound => AccessRights::Ask,
        }
    }
}

pub(super) fn match_route<'a>(method: &Method, path: &[&'a str]) -> ApiRoute<'a> {
    match (method, path) {
        (&Method::GET | &Method::HEAD, []) => ApiRoute::Asset { name: page::INDEX },
        (&Method::GET | &Method::HEAD, ["page", name]) if *name != PAGE_CONFIG => {
            ApiRoute::Asset { name }
        }
        (&Method::GET | &Method::HEAD, ["health"]) => ApiRoute::Health,
        (&Method::GET | &Method::HEAD, ["ready"]) => ApiRoute::Ready,
        (&Method::GET | &Method::HEAD, ["version"]) => ApiRoute::Version,
        (&Method::GET | &Method::HEAD, ["metrics"]) => ApiRoute::Metrics,
        (&Method::POST, ["ingest", "start"]) => ApiRoute::StartIngest,
        (&Method::GET | &Method::HEAD, ["ingest", "status", run]) => ApiRoute::IngestStatus { run },
        (&Method::POST, ["ingest", "cancel", run]) => ApiRoute::CancelIngest { run },
        (&Method::POST, ["ingest", "reembed", root]) => ApiRoute::Reembed { root },
        (&Method::POST, ["ingest", "remove", root]) => ApiRoute::Remove { root },
        (&Method::PUT, ["ingest", "scip", root]) => ApiRoute::ScipIndex { root, is_given: true },
        (&Method::DELETE, ["ingest", "scip", root]) => {
            ApiRoute::ScipIndex { root, is_given: false }
        }
        (&Method::GET | &Method::HEAD, ["ingest", "roots"]) => ApiRoute::Roots,
        (&Method::GET | &Method::HEAD, ["tools", "ingested-repos"]) => ApiRoute::IngestedRepos,
        (&Method::POST, ["tools", "vector-search"]) => ApiRoute::VectorSearch,
        (&Method::POST, ["chat"]) => ApiRoute::Chat,
        (&Method::GET | &Method::HEAD, ["chat", "providers"]) => ApiRoute::ChatProviders,
        (&Method::GET | &Method::HEAD, ["chat", "models"]) => ApiRoute::ChatModels,
        (&Method::GET, ["ws"]) => ApiRoute::WebSocket,
        (&Method::POST, ["mcp"]) => ApiRoute::Mcp,
        (&Method::GET, ["mcp", "relay"]) => ApiRoute::Relay,
        (&Method::POST, ["mcp", "toolkits"]) => ApiRoute::ToolkitMcp { name: None },
        (&Method::POST, ["mcp", "toolkits", name]) => ApiRoute::ToolkitMcp { name: Some(name) },
        (&Method::GET | &Method::HEAD, ["tools"]) => ApiRoute::Tools,
        (&Method::POST, ["toolkits", "allow"]) => ApiRoute::AllowToolkits,
        (&Method::POST, ["toolkits", name, "call"]) => ApiRoute::CallTool { toolkit: name },
        (&Method::POST, ["toolkits", name, action]) => match ToolkitAction::parse(action) {
            Some(action) => ApiRoute::Toolkit { name, action },
            None => ApiRoute::NotFound,
        },
        (&Method::POST, ["auth", "mcp-tokens"]) => ApiRoute::CreateToken,
        (&Method::GET | &Method::HEAD, ["auth", "mcp-tokens"]) => ApiRoute::Tokens,
        (&Method::DELETE, ["auth", "mcp-tokens", name]) => ApiRoute::RevokeToken { name },
        (&Method::POST, ["auth", "logout-all"]) => ApiRoute::RevokeTokens,
        (&Method::POST, ["auth", "page-codes"]) => ApiRoute::MakeSessionCode,
        (&Method::POST, ["auth", "page-sessions"]) => ApiRoute::OpenSession,
        (&Method::POST, ["mcp", "config"]) => ApiRoute::StoreConfig,
        (&Method::GET | &Method::HEAD, ["mcp", "config"]) => ApiRoute::StoredConfig,
        _ => match (PageRoute::match_route(method, path), allowed_methods(path)) {
            (Some(route), _) => ApiRoute::ForPage(route),
            (None, Some(allow)) => ApiRoute::NotAllowed { allow },
            (None, None) => ApiRoute::NotFound,
        },
    }
}

fn allowed_methods(path: &[&str]) -> Option<&'static str> {
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
        ["ingest", "scip", _] => "DELETE, PUT",
        ["auth", "mcp-tokens", _] => "DELETE",
        _ => return PageRoute::allowed_methods(path),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageRoute<'a> {
    StartTurn,
    WatchTurn {
        turn: &'a str,
    },
    StopTurn {
        turn: &'a str,
    },
    Conversations,
    Conversation {
        id: &'a str,
    },
    Export {
        id: &'a str,
    },
    DeleteConversation {
        id: &'a str,
    },
    DeleteConversations,
    Config,
    /// Folders to choose from when indexing.
    Folders,
    Repository {
        reference: &'a str,
    },
    Settings,
    Failures,
    Search,
    Source,
    /// The folders of a repository, or the files of a turn.
    Map,
    Symbols,
    /// The calls that lead from a definition or to it.
    Trace,
    /// Definition of the name at a place.
    SymbolAt,
    /// Callers and tests that a change reaches.
    Impact,
    /// Commits that changed a file, lines or a definition.
    History,
}

impl<'a> PageRoute<'a> {
    fn match_route(method: &Method, path: &[&'a str]) -> Option<Self> {
        Some(match (method, path) {
            (&Method::POST, ["turns"]) => Self::StartTurn,
            (&Method::GET, ["turns", turn]) => Self::WatchTurn { turn },
            (&Method::POST, ["turns", turn, "stop"]) => Self::StopTurn { turn },
            (&Method::GET | &Method::HEAD, ["conversations"]) => Self::Conversations,
            (&Method::DELETE, ["conversations"]) => Self::DeleteConversations,
            (&Method::GET | &Method::HEAD, ["conversations", id]) => Self::Conversation { id },
            (&Method::DELETE, ["conversations", id]) => Self::DeleteConversation { id },
            (&Method::GET | &Method::HEAD, ["conversations", id, "export"]) => Self::Export { id },
            (&Method::GET | &Method::HEAD, ["page", PAGE_CONFIG]) => Self::Config,
            (&Method::GET | &Method::HEAD, ["folders"]) => Self::Folders,
            (&Method::GET | &Method::HEAD, ["repositories", reference]) => {
                Self::Repository { reference }
            }
            (&Method::GET | &Method::HEAD, ["settings"]) => Self::Settings,
            (&Method::GET | &Method::HEAD, ["failures"]) => Self::Failures,
            (&Method::POST, ["search"]) => Self::Search,
            (&Method::GET | &Method::HEAD, ["source"]) => Self::Source,
            (&Method::GET | &Method::HEAD, ["map"]) => Self::Map,
            (&Method::GET | &Method::HEAD, ["symbols"]) => Self::Symbols,
            (&Method::GET | &Method::HEAD, ["symbols", "trace"]) => Self::Trace,
            (&Method::GET | &Method::HEAD, ["symbols", "at"]) => Self::SymbolAt,
            (&Method::GET | &Method::HEAD, ["symbols", "impact"]) => Self::Impact,
            (&Method::GET | &Method::HEAD, ["symbols", "history"]) => Self::History,
            _ => return None,
        })
    }

    fn allowed_methods(path: &[&str]) -> Option<&'static str> {
        Some(match path {
            ["turns" | "search"] | ["turns", _, "stop"] => "POST",
            ["turns", _] => "GET",
            ["conversations"] | ["conversations", _] => "GET, HEAD, DELETE",
            ["conversations", _, "export"]
            | ["repositories", _]
            | ["symbols", "trace" | "at" | "impact" | "history"]
            | ["source" | "map" | "symbols" | "folders" | "settings" | "failures"] => "GET, HEAD",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::{ApiRoute, match_route};

    #[test]
    fn a_known_path_with_another_method_names_the_right_one() {
        assert_eq!(match_route(&Method::HEAD, &["health"]), ApiRoute::Health);
        assert_eq!(
            match_route(&Method::DELETE, &["health"]),
            ApiRoute::NotAllowed { allow: "GET, HEAD" }
        );
        assert_eq!(match_route(&Method::GET, &["mcp"]), ApiRoute::NotAllowed { allow: "POST" });
        assert_eq!(
            match_route(&Method::GET, &["ingest", "remove", "x"]),
            ApiRoute::NotAllowed { allow: "POST" }
        );
        assert_eq!(
            match_route(&Method::PUT, &["mcp", "config"]),
            ApiRoute::NotAllowed { allow: "GET, HEAD, POST" }
        );
        assert_eq!(
            match_route(&Method::GET, &["auth", "mcp-tokens", "x"]),
            ApiRoute::NotAllowed { allow: "DELETE" }
        );
        assert_eq!(match_route(&Method::HEAD, &["ws"]), ApiRoute::NotAllowed { allow: "GET" });
        assert_eq!(match_route(&Method::GET, &[]), ApiRoute::Asset { name: "index.html" });
        assert_eq!(match_route(&Method::POST, &[]), ApiRoute::NotAllowed { allow: "GET, HEAD" });
        assert_eq!(match_route(&Method::POST, &["ingest", "remove"]), ApiRoute::NotFound);
        assert_eq!(match_route(&Method::POST, &["ingest", "remove", "a", "b"]), ApiRoute::NotFound);
    }
}

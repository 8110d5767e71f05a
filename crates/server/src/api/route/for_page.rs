//! Routes made for the page.

use hyper::Method;

/// Name below `/page/` that is not a file of the page.
pub(crate) const PAGE_CONFIG: &str = "config";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageRoute<'a> {
    /// A turn that the server owns.
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
    /// Search results for people.
    Search,
    Source,
    /// The folders of a repository, or the files of a turn.
    Map,
}

impl<'a> PageRoute<'a> {
    pub(super) fn match_route(method: &Method, path: &[&'a str]) -> Option<Self> {
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
            _ => return None,
        })
    }

    /// Returns the methods that a path allows.
    pub(super) fn allowed_methods(path: &[&str]) -> Option<&'static str> {
        Some(match path {
            ["turns" | "search"] | ["turns", _, "stop"] => "POST",
            ["turns", _] => "GET",
            ["conversations"] | ["conversations", _] => "GET, HEAD, DELETE",
            ["conversations", _, "export"]
            | ["repositories", _]
            | ["source" | "map" | "folders" | "settings" | "failures"] => "GET, HEAD",
            _ => return None,
        })
    }
}

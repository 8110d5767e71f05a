//! MCP endpoints of ours that a thread may use beside the search.

use std::time::Duration;

use codeinfo_core::Secret;

/// An MCP endpoint of ours that a thread may use beside the search.
#[derive(Debug, Clone)]
pub struct ExtraEndpoint {
    /// What Codex should call it. It has another name where the user's configuration takes this one.
    pub name: String,
    pub url: String,
    /// What Codex shows to be let in.
    pub grant: Secret,
    /// Longest call.
    pub timeout: Duration,
    /// Whether its calls may run at the same time.
    pub parallel: bool,
}

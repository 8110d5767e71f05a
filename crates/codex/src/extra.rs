//! Extra MCP endpoints of a thread.

use std::time::Duration;

use codeinfo_core::Secret;

/// MCP endpoint of ours that a thread may use in addition to the search.
#[derive(Debug, Clone)]
pub struct ExtraEndpoint {
    /// Requested name. Codex knows the endpoint by another name if the user's configuration has this one.
    pub name: String,
    pub url: String,
    /// Secret that Codex presents to the endpoint.
    pub grant: Secret,
    /// Maximum duration of a call.
    pub timeout: Duration,
    /// Permits concurrent calls.
    pub parallel: bool,
}

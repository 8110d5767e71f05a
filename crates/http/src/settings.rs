//! Settings of both listeners.

use std::time::Duration;

/// Bounds of both listeners.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Maximum size of a request body, in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of open connections of one listener; further ones wait to be accepted.
    pub max_connections: usize,
    /// Maximum number of JSON-RPC messages in one batch.
    pub max_batch: usize,
    /// Maximum bytes of a result of `codebase_question`, unless the answer alone has more.
    pub max_result_bytes: usize,
    /// True if port 5011 lists `codebase_question` while Codex is unavailable.
    pub lists_away: bool,
    /// Maximum time until the first byte of a new connection.
    pub first_byte_timeout: Duration,
    /// Maximum time for a client to send its headers or its body, or to begin another request.
    pub read_timeout: Duration,
    /// Maximum time in which a client reads nothing of a waiting reply.
    pub write_timeout: Duration,
    /// Interval of keep-alive data in a silent long reply.
    pub keep_alive: Duration,
}

impl HttpSettings {
    /// Lowers the maximum number of connections of one listener to `max_connections`, but at least
    /// 1.
    pub fn limit_connections(&mut self, max_connections: u64) {
        let max_connections = usize::try_from(max_connections).unwrap_or(usize::MAX).max(1);
        self.max_connections = self.max_connections.min(max_connections);
    }
}

/// Names that may address the listeners, besides loopback names and clients without an `Origin`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedNames {
    /// Additional host names, without port, in lower case.
    pub hosts: Vec<String>,
    /// Additional origins such as `https://tools.example`, in lower case.
    pub origins: Vec<String>,
}

//! Settings of both listeners.

use std::time::Duration;

/// Bounds of both listeners.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Largest request body, in bytes.
    pub max_body_bytes: usize,
    /// Most connections open at a time on one listener; further ones wait to be accepted.
    pub max_connections: usize,
    /// Most JSON-RPC messages in one batch.
    pub max_batch: usize,
    /// Most bytes of a result of `codebase_question`, except where the answer alone has more.
    pub max_result_bytes: usize,
    /// Whether port 5011 lists `codebase_question` while Codex cannot be used.
    pub lists_away: bool,
    /// How long a new connection may stay silent.
    pub first_byte_timeout: Duration,
    /// How long a client may take to send its headers or its body, or to begin a further request.
    pub read_timeout: Duration,
    /// How long a client may take nothing of a reply that waits for it.
    pub write_timeout: Duration,
    /// How often a silent long reply sends something.
    pub keep_alive: Duration,
}

impl HttpSettings {
    /// Allows at most `max_connections` open at a time on one listener, and at least one.
    pub fn limit_connections(&mut self, max_connections: u64) {
        let max_connections = usize::try_from(max_connections).unwrap_or(usize::MAX).max(1);
        self.max_connections = self.max_connections.min(max_connections);
    }
}

/// Who may talk to the listeners, beside loopback names and clients without an `Origin`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedNames {
    /// Further host names, without port, lower case.
    pub hosts: Vec<String>,
    /// Further origins such as `https://tools.example`, lower case.
    pub origins: Vec<String>,
}

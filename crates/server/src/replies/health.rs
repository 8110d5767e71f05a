//! Reply of `GET /health`.

use codeinfo_codex::{SandboxMode, ShellNetwork};
use codeinfo_store::CollectionCopies;
use serde::{Deserialize, Serialize};

/// State of each part of the server, and of the whole.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthReply {
    pub status: HealthStatus,
    pub version: String,
    pub uptime_seconds: u64,
    pub codex: CodexHealth,
    pub store: StoreHealth,
    pub embedder: EmbedderHealth,
    pub mcp: McpHealth,
    /// Present if turns may have toolkits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkits: Option<ToolkitHealth>,
}

/// Numbers of used toolkits that are ready, and that fail.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolkitHealth {
    pub ready: usize,
    pub failing: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    Ok,
    /// At least one part fails.
    Degraded,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct CodexHealth {
    pub available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Present if Codex was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxHealth>,
}

/// Confinement of the model's shell.
#[derive(Debug, Serialize, Deserialize)]
pub struct SandboxHealth {
    pub mode: SandboxMode,
    pub network: ShellNetwork,
    /// True if a command runs in it.
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Repositories that search finds but the shell cannot read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<ExcludedRepo>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ExcludedRepo {
    pub repo: String,
    pub reason: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct StoreHealth {
    pub backend: String,
    /// Present if the store is a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `null` if the store does not know.
    pub chunks: Option<u64>,
    /// Present if the store is a cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<CollectionCopies>,
    /// Problem that will cause failures later, and its remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// True if an answer is still awaited, so that a later request may return more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slow: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct EmbedderHealth {
    pub name: String,
    /// `null` until a service has answered once.
    pub dimensions: Option<usize>,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if an answer is still awaited, so that a later request may return more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slow: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct McpHealth {
    pub port: u16,
}

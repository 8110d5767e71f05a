//! What `GET /health` replies.

use codeinfo_codex::{SandboxMode, ShellNetwork};
use codeinfo_store::CollectionCopies;
use serde::{Deserialize, Serialize};

/// Each part of the server, and whether all work.
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
    /// Where turns may have toolkits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkits: Option<ToolkitHealth>,
}

/// How many of the toolkits that were used are ready, and how many fail.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolkitHealth {
    pub ready: usize,
    pub failing: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    Ok,
    /// Some part fails.
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
    /// Of a Codex that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxHealth>,
}

/// How the model's shell is confined.
#[derive(Debug, Serialize, Deserialize)]
pub struct SandboxHealth {
    pub mode: SandboxMode,
    pub network: ShellNetwork,
    /// Whether a command runs in it.
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Repositories that the shell does not read, although search finds them.
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
    /// Of a store that is a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `null` when the store does not know.
    pub chunks: Option<u64>,
    /// Of a store that is a cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<CollectionCopies>,
    /// What will fail later, and what to do before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
    /// Whether its answer is still awaited, so that asking again may return more.
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
    /// Whether its answer is still awaited, so that asking again may return more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slow: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct McpHealth {
    pub port: u16,
}

//! `GET /health` and `GET /ready`: what works, answered fast whatever does not.

use std::time::Duration;

use hyper::StatusCode;
use serde::Serialize;
use serde_json::json;
use tracing::{debug, warn};

use super::{Parts, Services, error::ApiError};
use crate::{
    codex::{Confinement, Network, Presence},
    config::Sandbox,
    error::{Code, chain},
    net::{Response, reply},
    store::{self, StoreError},
};

/// How long a part may take to prove that it works before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    status: &'static str,
    version: &'static str,
    uptime_seconds: u64,
    codex: CodexHealth,
    store: StoreHealth,
    embedder: EmbedderHealth,
    mcp: McpHealth,
}

#[derive(Serialize)]
struct CodexHealth {
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Of a Codex that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<SandboxHealth>,
}

/// How the model's shell is confined.
#[derive(Serialize)]
struct SandboxHealth {
    mode: &'static str,
    network: &'static str,
    /// Whether a command runs in it.
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Repositories that the shell does not read, although search finds them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<Unread>,
}

#[derive(Serialize)]
struct Unread {
    repo: String,
    reason: &'static str,
}

#[derive(Serialize)]
struct StoreHealth {
    backend: &'static str,
    /// Of a store that is a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// `null` when the store does not know.
    chunks: Option<u64>,
    /// Whether its answer is still awaited, so that asking again may return more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    slow: bool,
}

#[derive(Serialize)]
struct EmbedderHealth {
    name: String,
    /// `null` until a service has answered once.
    dimensions: Option<usize>,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Whether its answer is still awaited, so that asking again may return more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    slow: bool,
}

#[derive(Serialize)]
struct McpHealth {
    port: u16,
}

impl Parts {
    /// Answers 200 while the process lives; `status` is `degraded` when any part fails.
    pub(super) async fn health(&self) -> Response {
        let services = &*self.services;
        let (store, embedder, codex) =
            tokio::join!(store(services), embedder(services), codex(services));
        let runs_commands = codex.sandbox.as_ref().is_none_or(|sandbox| sandbox.ok);
        let is_whole = codex.available && runs_commands && store.ok && embedder.ok;
        let health = Health {
            status: if is_whole { "ok" } else { "degraded" },
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: self.started.elapsed().as_secs(),
            codex,
            store,
            embedder,
            mcp: McpHealth { port: services.mcp_port },
        };
        reply::json(StatusCode::OK, &health)
    }
}

/// Answers 200 when a question would be accepted.
pub(super) async fn ready(services: &Services) -> Result<Response, ApiError> {
    if let Presence::Unavailable(why) = services.chat.presence().await {
        return Err(ApiError::Unavailable(why));
    }
    let unready = |code: Code, reason: &str| {
        reply::error(StatusCode::SERVICE_UNAVAILABLE, code.as_str(), reason, &[])
    };
    Ok(match tokio::time::timeout(PATIENCE, services.chat.indexed()).await {
        Ok(Ok(())) => reply::json(StatusCode::OK, &json!({ "ready": true })),
        Ok(Err(failure)) => unready(failure.code(), &failure.to_string()),
        Err(_) => unready(Code::StoreUnavailable, &slow()),
    })
}

async fn codex(services: &Services) -> CodexHealth {
    match services.codex.presence() {
        Presence::Available { version, model } => {
            let sandbox = match services.codex.confinement() {
                Some(confinement) => Some(sandbox(confinement, unread(services).await)),
                None => None,
            };
            CodexHealth { available: true, reason: None, version: Some(version), model, sandbox }
        }
        Presence::Unavailable(why) => {
            let reason = Some(why.reason);
            CodexHealth { available: false, reason, version: None, model: None, sandbox: None }
        }
    }
}

/// What fails here is a fault of the store or of Codex, and said there.
async fn unread(services: &Services) -> Vec<Unread> {
    let unread = match tokio::time::timeout(PATIENCE, services.chat.unread()).await {
        Ok(Ok(unread)) => unread,
        Ok(Err(error)) => {
            debug!(error = %chain(&error), "what the model's shell reads is not known");
            return Vec::new();
        }
        Err(_) => return Vec::new(),
    };
    let shown =
        unread.into_iter().map(|unread| Unread { repo: unread.name, reason: unread.reason });
    shown.collect()
}

fn sandbox(confinement: Confinement, unread: Vec<Unread>) -> SandboxHealth {
    let (reason, hint) = confinement.error.map(|error| (error.reason, error.hint)).unzip();
    SandboxHealth {
        mode: match confinement.sandbox {
            Sandbox::ReadOnly => "read-only",
            Sandbox::WorkspaceWrite => "workspace-write",
            Sandbox::DangerFullAccess => "danger-full-access",
        },
        network: match confinement.network {
            Network::Off => "off",
            Network::Unavailable => "unavailable",
            Network::Proxied => "proxied",
            Network::Open => "open",
        },
        ok: reason.is_none(),
        reason,
        hint,
        unread,
    }
}

async fn store(services: &Services) -> StoreHealth {
    let backend = services.store.backend();
    let failed = |reason: String, slow| StoreHealth {
        backend,
        version: None,
        ok: false,
        reason: Some(reason),
        chunks: None,
        slow,
    };
    if let Err(error) = services.store.check_writes() {
        let is_slow = matches!(error, StoreError::NotYet { .. });
        // A store that is not open has said so before.
        if !is_slow && !matches!(error, StoreError::Unopened(_)) {
            warn!(error = %chain(&error), "store cannot be written");
        }
        return failed(error.to_string(), is_slow);
    }
    match tokio::time::timeout(PATIENCE, services.store.health()).await {
        Ok(Ok(store::Health { version, chunks })) => {
            let (chunks, reason) = (Some(chunks), services.store.damage());
            StoreHealth { backend, version, ok: reason.is_none(), reason, chunks, slow: false }
        }
        Ok(Err(error)) => {
            warn!(error = %chain(&error), "store failed its check");
            failed(error.to_string(), false)
        }
        Err(_) => failed(slow(), true),
    }
}

async fn embedder(services: &Services) -> EmbedderHealth {
    let embedder = &services.embedder;
    let checked = tokio::time::timeout(PATIENCE, embedder.check()).await;
    let is_slow = checked.is_err();
    let reason = match checked {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            warn!(error = %chain(&error), "embedder failed its check");
            Some(error.to_string())
        }
        // A service that loads its model answers later, and then the next caller gets it.
        Err(_) => Some(slow()),
    };
    let (name, dimensions) = (embedder.model().name.clone(), embedder.dimensions());
    EmbedderHealth { name, dimensions, ok: reason.is_none(), reason, slow: is_slow }
}

fn slow() -> String {
    format!("no answer within {} s", PATIENCE.as_secs())
}

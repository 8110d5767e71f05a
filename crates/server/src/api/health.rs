//! `GET /health` and `GET /ready` report which parts work, within a bounded time.

use std::time::Duration;

use codeinfo_codex::{CodexAvailability, SandboxMode, ShellConfinement, ShellNetwork};
use codeinfo_core::error::{ErrorCode, format_error_chain};
use codeinfo_http::{AccessRights, Request, Response, reply};
use codeinfo_store::{CollectionCopies, StoreError};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::{debug, warn};

use super::{ApiServices, ApiState, error::ApiError};

/// Maximum time in which a part must prove that it works; a slower one counts as failed.
const TIMEOUT: Duration = Duration::from_secs(2);

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

/// Amount of status detail that a caller may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatusDetail {
    Whole,
    /// Only the overall state, for monitors.
    Bare,
}

impl StatusDetail {
    pub(super) fn for_request(request: &Request) -> Self {
        if request.auth_context().rights == AccessRights::Monitor {
            Self::Bare
        } else {
            Self::Whole
        }
    }
}

impl ApiState {
    /// Answers 200 while the process lives; `status` is `degraded` when any part fails.
    pub(super) async fn reply_health(&self, detail: StatusDetail) -> Response {
        let services = &*self.services;
        let (store, embedder, codex) =
            tokio::join!(check_store(services), check_embedder(services), check_codex(services));
        let runs_commands = codex.sandbox.as_ref().is_none_or(|sandbox| sandbox.ok);
        let is_whole = codex.available && runs_commands && store.ok && embedder.ok;
        let status = if is_whole { HealthStatus::Ok } else { HealthStatus::Degraded };
        if detail == StatusDetail::Bare {
            return reply::json_response(StatusCode::OK, &json!({ "status": status }));
        }
        let health = HealthReply {
            status,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_seconds: self.started.elapsed().as_secs(),
            codex,
            store,
            embedder,
            mcp: McpHealth { port: services.mcp_port },
            toolkits: services.toolkits.is_enabled().then(|| {
                let (ready, failing) = services.toolkits.count_ready_and_failing();
                ToolkitHealth { ready, failing }
            }),
        };
        reply::json_response(StatusCode::OK, &health)
    }
}

/// Answers 200 when a question would be accepted.
pub(super) async fn reply_ready(
    services: &ApiServices,
    detail: StatusDetail,
) -> Result<Response, ApiError> {
    let ready = check_readiness(services).await;
    if detail == StatusDetail::Whole {
        return ready;
    }
    let status = ready.unwrap_or_else(Response::from).status();
    Ok(reply::json_response(status, &json!({ "ready": status.is_success() })))
}

async fn check_readiness(services: &ApiServices) -> Result<Response, ApiError> {
    if let CodexAvailability::Unavailable(why) = services.chat.codex_availability().await {
        return Err(ApiError::Unavailable(why));
    }
    let unready = |code: ErrorCode, reason: &str| {
        codeinfo_http::error_response(StatusCode::SERVICE_UNAVAILABLE, code.as_str(), reason, &[])
    };
    Ok(match tokio::time::timeout(TIMEOUT, services.chat.ensure_indexed()).await {
        Ok(Ok(())) => reply::json_response(StatusCode::OK, &json!({ "ready": true })),
        Ok(Err(failure)) => unready(failure.code(), &failure.to_string()),
        Err(_) => unready(ErrorCode::StoreUnavailable, &explain_timeout()),
    })
}

async fn check_codex(services: &ApiServices) -> CodexHealth {
    match services.codex.availability() {
        CodexAvailability::Available { version, model } => {
            let sandbox = match services.codex.confinement() {
                Some(confinement) => {
                    Some(build_sandbox_health(confinement, list_excluded_repos(services).await))
                }
                None => None,
            };
            CodexHealth { available: true, reason: None, version: Some(version), model, sandbox }
        }
        CodexAvailability::Unavailable(why) => {
            let reason = Some(why.reason);
            CodexHealth { available: false, reason, version: None, model: None, sandbox: None }
        }
    }
}

/// Lists the repositories that the model's shell cannot read. Other checks report a failure.
async fn list_excluded_repos(services: &ApiServices) -> Vec<ExcludedRepo> {
    let unread = match tokio::time::timeout(TIMEOUT, services.chat.list_excluded_repositories())
        .await
    {
        Ok(Ok(unread)) => unread,
        Ok(Err(error)) => {
            debug!(error = %format_error_chain(&error), "what the model's shell reads is not known");
            return Vec::new();
        }
        Err(_) => return Vec::new(),
    };
    let shown = unread
        .into_iter()
        .map(|unread| ExcludedRepo { repo: unread.name, reason: unread.reason.to_owned() });
    shown.collect()
}

fn build_sandbox_health(confinement: ShellConfinement, unread: Vec<ExcludedRepo>) -> SandboxHealth {
    let (reason, hint) = confinement.error.map(|error| (error.reason, error.hint)).unzip();
    SandboxHealth {
        mode: confinement.sandbox,
        network: confinement.network,
        ok: reason.is_none(),
        reason,
        hint,
        unread,
    }
}

async fn check_store(services: &ApiServices) -> StoreHealth {
    let backend = services.store.backend().to_owned();
    let failed = |backend, reason: String, slow| StoreHealth {
        backend,
        version: None,
        ok: false,
        reason: Some(reason),
        chunks: None,
        copies: Vec::new(),
        warning: None,
        slow,
    };
    if let Err(error) = services.store.check_writes() {
        let is_slow = matches!(error, StoreError::NotYet { .. });
        // The failure to open the store was logged before.
        if !is_slow && !matches!(error, StoreError::Unopened(_)) {
            warn!(error = %format_error_chain(&error), "store cannot be written");
        }
        return failed(backend, error.to_string(), is_slow);
    }
    match tokio::time::timeout(TIMEOUT, services.store.health()).await {
        Ok(Ok(codeinfo_store::StoreHealth { version, chunks, copies, unreachable })) => {
            let reason = services.store.damage();
            let warnings: Vec<String> =
                unreachable.into_iter().chain(warn_of_copies(&copies)).collect();
            let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
            let ok = reason.is_none();
            StoreHealth {
                backend,
                version,
                ok,
                reason,
                chunks: Some(chunks),
                copies,
                warning,
                slow: false,
            }
        }
        Ok(Err(error)) => {
            warn!(error = %format_error_chain(&error), "store failed its check");
            failed(backend, error.to_string(), false)
        }
        Err(_) => failed(backend, explain_timeout(), true),
    }
}

/// Returns a warning when a cluster keeps fewer copies than the settings ask for.
fn warn_of_copies(copies: &[CollectionCopies]) -> Option<String> {
    let lacking = || copies.iter().filter(|part| part.copies < part.wanted);
    let wanted = lacking().next()?.wanted;
    let collections: Vec<String> =
        lacking().map(|part| format!("`{}` has {}", part.collection, part.copies)).collect();
    let listed = collections.join(", ");
    Some(format!(
        "too few copies for `QDRANT_REPLICATION={wanted}` ({listed}), so that searches fail when a node with the \
         last one is lost; start nodes that are away, and copy shards to nodes that joined later with \
         `replicate_shard`: `codeinfo docs qdrant` says how"
    ))
}

async fn check_embedder(services: &ApiServices) -> EmbedderHealth {
    let embedder = &services.embedder;
    let checked = tokio::time::timeout(TIMEOUT, embedder.check_health()).await;
    let is_slow = checked.is_err();
    let reason = match checked {
        Ok(Ok(())) => None,
        Ok(Err(error)) => {
            warn!(error = %format_error_chain(&error), "embedder failed its check");
            Some(error.to_string())
        }
        // A service that is loading its model answers later; the next caller gets that answer.
        Err(_) => Some(explain_timeout()),
    };
    let name = embedder.model().name.clone();
    let dimensions = embedder.dimensions();
    EmbedderHealth { name, dimensions, ok: reason.is_none(), reason, slow: is_slow }
}

fn explain_timeout() -> String {
    format!("no answer within {} s", TIMEOUT.as_secs())
}

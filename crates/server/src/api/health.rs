//! `GET /health` and `GET /ready`: what works, answered fast whatever does not.

use std::time::Duration;

use codeinfo_codex::{CodexAvailability, ShellConfinement};
use codeinfo_core::error::{ErrorCode, format_error_chain};
use codeinfo_http::{Response, reply};
use codeinfo_store::{CollectionCopies, StoreError};
use hyper::StatusCode;
use serde_json::json;
use tracing::{debug, warn};

use super::{ApiServices, ApiState, StatusDetail, error::ApiError};
use crate::replies::{
    CodexHealth, EmbedderHealth, ExcludedRepo, HealthReply, HealthStatus, McpHealth, SandboxHealth,
    StoreHealth, ToolkitHealth,
};

/// How long a part may take to prove that it works before it counts as failed.
const TIMEOUT: Duration = Duration::from_secs(2);

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
            toolkits: services.gateway.is_enabled().then(|| {
                let (ready, failing) = services.gateway.count_ready_and_failing();
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
    if let CodexAvailability::Unavailable(why) = services.chat.codex_presence().await {
        return Err(ApiError::Unavailable(why));
    }
    let unready = |code: ErrorCode, reason: &str| {
        reply::error_response(StatusCode::SERVICE_UNAVAILABLE, code.as_str(), reason, &[])
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

/// What fails here is an error of the store or of Codex, and reported there.
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
        // A store that is not open has said so before.
        if !is_slow && !matches!(error, StoreError::Unopened(_)) {
            warn!(error = %format_error_chain(&error), "store cannot be written");
        }
        return failed(backend, error.to_string(), is_slow);
    }
    match tokio::time::timeout(TIMEOUT, services.store.health()).await {
        Ok(Ok(codeinfo_store::Health { version, chunks, copies, unreachable })) => {
            let (chunks, reason) = (Some(chunks), services.store.damage());
            let warnings: Vec<String> =
                unreachable.into_iter().chain(warn_of_copies(&copies)).collect();
            let warning = (!warnings.is_empty()).then(|| warnings.join("; "));
            let (ok, slow) = (reason.is_none(), false);
            StoreHealth { backend, version, ok, reason, chunks, copies, warning, slow }
        }
        Ok(Err(error)) => {
            warn!(error = %format_error_chain(&error), "store failed its check");
            failed(backend, error.to_string(), false)
        }
        Err(_) => failed(backend, explain_timeout(), true),
    }
}

/// Says what to do where a cluster keeps fewer copies than the settings ask for.
fn warn_of_copies(copies: &[CollectionCopies]) -> Option<String> {
    let lacking = || copies.iter().filter(|part| part.copies < part.wanted);
    let wanted = lacking().next()?.wanted;
    let listed: Vec<String> =
        lacking().map(|part| format!("`{}` has {}", part.collection, part.copies)).collect();
    let listed = listed.join(", ");
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
        // A service that loads its model answers later, and then the next caller gets it.
        Err(_) => Some(explain_timeout()),
    };
    let (name, dimensions) = (embedder.model().name.clone(), embedder.dimensions());
    EmbedderHealth { name, dimensions, ok: reason.is_none(), reason, slow: is_slow }
}

fn explain_timeout() -> String {
    format!("no answer within {} s", TIMEOUT.as_secs())
}

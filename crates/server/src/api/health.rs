//! `GET /health` and `GET /ready` report which parts work, within a bounded time.

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

/// Maximum time in which a part must prove that it works; a slower one counts as failed.
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
    if let CodexAvailability::Unavailable(why) = services.chat.codex_availability().await {
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

/// Lists the repositories that the model's shell cannot read. A failure yields an empty list,
/// because the checks of the store and of Codex report it.
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

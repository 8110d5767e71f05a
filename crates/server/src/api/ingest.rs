//! Starts, reports and cancels ingest runs; lists and removes roots.

use std::path::PathBuf;

use codeinfo_core::{OmissionRule, OmittedGroup, RunId};
use codeinfo_http::{AccessRights, Response, reply};
use codeinfo_ingest::RootStatus;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::info;

use super::{ApiServices, error::ApiError};
use crate::replies::{
    ListedRoot, OmittedCount, RemoveRootReply, RemovedRoot, RootsReply, StartRunReply,
};

/// The body of `POST /ingest/start`.
#[derive(Deserialize)]
pub(super) struct StartIngestArguments {
    path: PathBuf,
    name: Option<String>,
    description: Option<String>,
}

pub(super) fn start_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["path"],
        "properties": {
            "path": { "type": "string", "minLength": 1, "maxLength": 4096 },
            "name": { "type": "string", "minLength": 1, "maxLength": 200 },
            "description": { "type": "string", "maxLength": 4000 },
        },
    })
}

pub(super) async fn start_ingest(
    services: &ApiServices,
    start: StartIngestArguments,
    rights: AccessRights,
) -> Result<Response, ApiError> {
    let StartIngestArguments { path, name, description } = start;
    // The server would resolve a relative path in its own working folder, not in the client's.
    if !path.is_absolute() {
        let shown = path.display();
        let reason = match path.to_str().and_then(codeinfo_ingest::explain_form) {
            Some(advice) => format!("`path` `{shown}` {advice}"),
            None => format!("`path` must be absolute, such as `/srv/app`; `{shown}` is not"),
        };
        return Err(ApiError::Arguments(vec![reason]));
    }
    let path = services.path_map.to_server_path(&path);
    let is_confined = rights < AccessRights::Administer;
    let request = codeinfo_ingest::IngestRequest { path, name, description, is_confined };
    let run = services.ingest.start_run(request).await?;
    info!(run.id = %run, "ingest run queued");
    Ok(reply_accepted(run))
}

pub(super) fn show_run_status(services: &ApiServices, run: &str) -> Result<Response, ApiError> {
    let status = services.ingest.run_status(run.parse()?)?;
    Ok(reply::json_response(StatusCode::OK, &status))
}

pub(super) fn cancel_run(services: &ApiServices, run: &str) -> Result<Response, ApiError> {
    let status = services.ingest.cancel_run(run.parse()?)?;
    Ok(reply::json_response(StatusCode::OK, &status))
}

pub(super) async fn reembed_root(services: &ApiServices, root: &str) -> Result<Response, ApiError> {
    let run = services.ingest.reembed_root(root).await?;
    info!(run.id = %run, "ingest run queued");
    Ok(reply_accepted(run))
}

pub(super) async fn remove_root(services: &ApiServices, root: &str) -> Result<Response, ApiError> {
    let root = services.ingest.remove_root(root).await?;
    info!(root.id = %root.id, "root removed");
    let path = services.path_map.to_client_path(&root.path);
    let removed = RemovedRoot { id: root.id, name: root.name, path };
    Ok(reply::json_response(StatusCode::OK, &RemoveRootReply { removed }))
}

pub(super) async fn list_roots(services: &ApiServices) -> Result<Response, ApiError> {
    let statuses = services.ingest.list_roots().await?.into_iter();
    let roots = statuses.map(|status| build_listed_root(status, services)).collect();
    Ok(reply::json_response(StatusCode::OK, &RootsReply { roots }))
}

pub(super) fn build_listed_root(
    RootStatus { root, state, run_id }: RootStatus,
    services: &ApiServices,
) -> ListedRoot {
    ListedRoot {
        id: root.id,
        name: root.name,
        description: root.description,
        path: services.path_map.to_client_path(&root.path),
        host: root.host.map(|host| host.name),
        model_id: root.model_id,
        last_ingest_at: root.last_ingest_at.map(|time| time.to_string()),
        counts: root.counts,
        last_error: root.last_run.error_message().map(str::to_owned),
        state,
        run_id,
        left_out: root.omitted.groups().map(|(rule, group)| count_omitted(rule, group)).collect(),
    }
}

fn count_omitted(rule: OmissionRule, group: &OmittedGroup) -> OmittedCount {
    /// Maximum number of example paths of one rule.
    const MAX_EXAMPLES: usize = 10;
    let examples = group.example_paths(MAX_EXAMPLES).into_iter().filter(|path| *path != "…");
    OmittedCount {
        rule,
        reason: rule.as_str().to_owned(),
        files: group.files,
        folders: group.folders,
        examples: examples.map(str::to_owned).collect(),
    }
}

fn reply_accepted(run_id: RunId) -> Response {
    reply::json_response(StatusCode::ACCEPTED, &StartRunReply { run_id })
}

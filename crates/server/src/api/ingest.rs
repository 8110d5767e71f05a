//! Starting, watching and undoing ingest runs.

use std::path::PathBuf;

use codeinfo_core::{OmissionRule, OmittedGroup, RunId};
use codeinfo_http::{Response, Rights, reply};
use codeinfo_ingest::RootStatus;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::info;

use super::{Services, error::ApiError};
use crate::replies::{ListedRoot, OmittedCount, Removed, RemovedRoot, Roots, Started};

/// The body of `POST /ingest/start`.
#[derive(Deserialize)]
pub(super) struct Start {
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

pub(super) async fn start(
    services: &Services,
    start: Start,
    rights: Rights,
) -> Result<Response, ApiError> {
    let Start { path, name, description } = start;
    // The server's working folder is not the client's.
    if !path.is_absolute() {
        let shown = path.display();
        let reason = match path.to_str().and_then(codeinfo_ingest::explain_form) {
            Some(advice) => format!("`path` `{shown}` {advice}"),
            None => format!("`path` must be absolute, such as `/srv/app`; `{shown}` is not"),
        };
        return Err(ApiError::Arguments(vec![reason]));
    }
    let path = services.path_map.meant(&path);
    let is_confined = rights < Rights::Administer;
    let request = codeinfo_ingest::Request { path, name, description, is_confined };
    let run = services.ingest.start(request).await?;
    info!(run.id = %run, "ingest run queued");
    Ok(accepted(run))
}

pub(super) fn status(services: &Services, run: &str) -> Result<Response, ApiError> {
    let status = services.ingest.status(run.parse()?)?;
    Ok(reply::json(StatusCode::OK, &status))
}

/// Asks a run to stop and answers with its status at that moment.
pub(super) fn cancel(services: &Services, run: &str) -> Result<Response, ApiError> {
    let status = services.ingest.cancel(run.parse()?)?;
    Ok(reply::json(StatusCode::OK, &status))
}

pub(super) async fn reembed(services: &Services, root: &str) -> Result<Response, ApiError> {
    let run = services.ingest.reembed(root).await?;
    info!(run.id = %run, "ingest run queued");
    Ok(accepted(run))
}

pub(super) async fn remove(services: &Services, root: &str) -> Result<Response, ApiError> {
    let root = services.ingest.remove(root).await?;
    info!(root.id = %root.id, "root removed");
    let path = services.path_map.shown(&root.path);
    let removed = RemovedRoot { id: root.id, name: root.name, path };
    Ok(reply::json(StatusCode::OK, &Removed { removed }))
}

pub(super) async fn roots(services: &Services) -> Result<Response, ApiError> {
    let roots = services.ingest.roots().await?.into_iter();
    let roots = roots.map(|status| listed(status, services)).collect();
    Ok(reply::json(StatusCode::OK, &Roots { roots }))
}

pub(super) fn listed(
    RootStatus { root, state, run_id }: RootStatus,
    services: &Services,
) -> ListedRoot {
    ListedRoot {
        id: root.id,
        name: root.name,
        description: root.description,
        path: services.path_map.shown(&root.path),
        host: root.host.map(|host| host.name),
        model_id: root.model_id,
        last_ingest_at: root.last_ingest_at.map(|time| time.to_string()),
        counts: root.counts,
        last_error: root.last_run.error().map(str::to_owned),
        state,
        run_id,
        left_out: root.omitted.groups().map(omitted_count).collect(),
    }
}

fn omitted_count((rule, group): (OmissionRule, &OmittedGroup)) -> OmittedCount {
    /// Maximum number of paths of one rule.
    const MAX_EXAMPLES: usize = 10;
    let examples = group.examples(MAX_EXAMPLES).into_iter().filter(|path| *path != "…");
    OmittedCount {
        rule,
        reason: rule.as_str().to_owned(),
        files: group.files,
        folders: group.folders,
        examples: examples.map(str::to_owned).collect(),
    }
}

fn accepted(run_id: RunId) -> Response {
    reply::json(StatusCode::ACCEPTED, &Started { run_id })
}

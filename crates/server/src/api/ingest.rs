//! Starts, reports and cancels ingest runs; lists and removes roots; lists folders to index.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use codeinfo_core::{IndexCounts, OmissionRule, OmittedGroup, Root, RootId, RunId};
use codeinfo_http::{AccessRights, Request, Response, reply};
use codeinfo_ingest::{FolderChoice, IngestError, RootStatus, RunState};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tracing::{info, warn};

use super::{
    ApiServices,
    error::ApiError,
    parameters::{invalid_argument, parse_query, unknown_parameter},
};

const MAX_PATH: usize = 4096;

#[derive(Deserialize)]
pub(super) struct StartIngestArguments {
    path: PathBuf,
    name: Option<String>,
    description: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartRunReply {
    pub run_id: RunId,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RootsReply {
    pub roots: Vec<ListedRoot>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedRoot {
    pub id: RootId,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub path: PathBuf,
    /// Name of the host that has the root, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub model_id: String,
    pub last_ingest_at: Option<String>,
    pub counts: IndexCounts,
    pub last_error: Option<String>,
    pub state: RunState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Files that rules leave out of its index, the most telling first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<OmittedCount>,
}

/// Files and folders that one rule leaves out of an index.
#[derive(Debug, Serialize, Deserialize)]
pub struct OmittedCount {
    pub rule: OmissionRule,
    /// The rule in words.
    pub reason: String,
    pub files: u64,
    /// Number of folders; nothing inside them is counted.
    pub folders: u64,
    /// The first paths below the repository; folders come first and end with `/`.
    pub examples: Vec<String>,
}

/// The SCIP index of a root.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredScip {
    /// Number of indexed files that it has; 0 without one.
    pub files: usize,
}

#[derive(Serialize)]
struct RemovedRoot {
    id: RootId,
    name: String,
    path: PathBuf,
}

#[derive(Serialize)]
struct FoldersReply {
    /// The listed folder; `null` for the list of allowed folders.
    path: Option<PathBuf>,
    /// Parent folder, if it can be listed.
    parent: Option<PathBuf>,
    folders: Vec<ListedFolder>,
    truncated: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedFolder {
    name: String,
    path: PathBuf,
    is_repository: bool,
    /// Name of the root that indexes this folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed: Option<String>,
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
    if let Err(failure) = services.evidence.remove_scip_index(root.id) {
        warn!(root.id = %root.id, error = %failure, "SCIP index not removed");
    }
    services.evidence.remove_unused_commits().await;
    info!(root.id = %root.id, "root removed");
    let path = services.path_map.to_client_path(&root.path);
    let removed = RemovedRoot { id: root.id, name: root.name, path };
    Ok(reply::json_response(StatusCode::OK, &BTreeMap::from([("removed", removed)])))
}

/// Receives the SCIP index of a root, or removes it. `PUT` needs no content type, because browsers let
/// no page of another site use it.
pub(super) async fn change_scip_index(
    services: &ApiServices,
    request: &mut Request,
    root: &str,
    is_given: bool,
) -> Result<Response, ApiError> {
    let mut files = 0;
    if is_given {
        let root = services.resolve_root(root).await?;
        let mut upload = services.evidence.receive_scip_index(root)?;
        while let Some(piece) = request.read_piece().await? {
            upload.write_piece(&piece).await?;
        }
        files = upload.finish().await?;
    } else {
        request.refuse_other_than_json()?;
        services.evidence.remove_scip_index(services.resolve_root(root).await?.id)?;
    }
    Ok(reply::json_response(StatusCode::OK, &StoredScip { files }))
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

/// Lists the subfolders of the requested folder, or the allowed top folders.
pub(super) async fn list_folders(
    services: &ApiServices,
    query: Option<&str>,
) -> Result<Response, ApiError> {
    let requested = parse_path(query)?;
    let folder = requested.map(|path| services.path_map.to_server_path(&path));
    let listing =
        services.ingest.list_folders(folder.as_deref()).await.map_err(|error| match error {
            IngestError::FolderNotFound(path) => {
                IngestError::FolderNotFound(services.path_map.to_client_path(&path))
            }
            error => error,
        })?;
    let roots = services.list_roots().await?;
    let to_client_path = |path: PathBuf| services.path_map.to_client_path(&path);
    let is_top = listing.path.is_none();
    let choices = listing.folders.into_iter();
    let folders =
        choices.map(|choice| build_listed_folder(choice, is_top, &roots, to_client_path)).collect();
    let folders = FoldersReply {
        path: listing.path.map(to_client_path),
        parent: listing.parent.map(to_client_path),
        folders,
        truncated: listing.is_truncated,
    };
    Ok(reply::json_response(StatusCode::OK, &folders))
}

fn parse_path(query: Option<&str>) -> Result<Option<PathBuf>, ApiError> {
    let mut path = None;
    for (name, value) in parse_query(query) {
        match &*name {
            "path" => path = Some(value).filter(|value| !value.is_empty()),
            _ => return Err(unknown_parameter(&name, "`path`")),
        }
    }
    match path {
        Some(path) if MAX_PATH < path.len() || path.contains('\0') => {
            Err(invalid_argument(&format!("`path` must be at most {MAX_PATH} bytes")))
        }
        Some(path) if !Path::new(&path).is_absolute() => {
            Err(invalid_argument("`path` must be absolute"))
        }
        path => Ok(path.map(PathBuf::from)),
    }
}

fn build_listed_folder(
    choice: FolderChoice,
    is_top: bool,
    roots: &[Root],
    to_client_path: impl Fn(PathBuf) -> PathBuf,
) -> ListedFolder {
    let FolderChoice { path, is_repository } = choice;
    let root = roots.iter().find(|root| root.local_folder() == Some(&path));
    let indexed = root.map(|root| root.name.clone());
    let path = to_client_path(path);
    // Allowed top folders may share a name, so they are listed by path.
    let last = path.file_name().filter(|_| !is_top).unwrap_or(path.as_os_str());
    let name = last.to_string_lossy().into_owned();
    ListedFolder { name, path, is_repository, indexed }
}

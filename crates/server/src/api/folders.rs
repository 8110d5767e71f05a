//! `GET /folders` lists folders to index; `GET /page/config` returns the settings of the page.

use std::path::{Path, PathBuf};

use codeinfo_core::Root;
use codeinfo_http::{Response, reply};
use codeinfo_ingest::{FolderChoice, IngestError};
use hyper::StatusCode;

use super::{
    ApiServices,
    error::ApiError,
    parameters::{invalid_argument, parse_query, unknown_parameter},
};
use crate::replies::{FoldersReply, ListedFolder, PageConfig};

/// Maximum length of a path, in bytes.
const MAX_PATH: usize = 4096;

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
    let statuses = services.ingest.list_roots().await?;
    let roots: Vec<Root> = statuses.into_iter().map(|status| status.root).collect();
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

/// Parses the `path` parameter. A blank one counts as missing.
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

pub(super) fn reply_page_config(services: &ApiServices) -> Response {
    let editor = services.page.editor.clone();
    let config = PageConfig {
        editor: editor.name.to_owned(),
        editor_link: editor.link,
        keeps_conversations: services.turns.archive().max_conversations() > 0,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    reply::json_response(StatusCode::OK, &config)
}

//! `GET /folders`: folders to choose from, and `GET /page/config`: what the page is set to.

use std::path::{Path, PathBuf};

use codeinfo_core::Root;
use codeinfo_http::{Response, reply};
use codeinfo_ingest::{Choice, IngestError};
use hyper::StatusCode;

use super::{
    Services,
    error::ApiError,
    parameters::{invalid, pairs, unknown},
};
use crate::replies::{Folders, ListedFolder, PageConfig};

/// The longest path that is read, in bytes.
const MAX_PATH: usize = 4096;

/// Lists the folders in one, or those that may be chosen from.
pub(super) async fn list(services: &Services, query: Option<&str>) -> Result<Response, ApiError> {
    let asked = path(query)?;
    let meant = asked.map(|path| services.path_map.meant(&path));
    let listing = services.ingest.folders(meant.as_deref()).await.map_err(|error| match error {
        IngestError::FolderNotFound(path) => {
            IngestError::FolderNotFound(services.path_map.shown(&path))
        }
        error => error,
    })?;
    let roots = services.ingest.roots().await?;
    let roots: Vec<Root> = roots.into_iter().map(|status| status.root).collect();
    let shown = |path: PathBuf| services.path_map.shown(&path);
    let is_top = listing.path.is_none();
    let folders = listing.folders.into_iter();
    let folders = folders.map(|choice| listed(choice, is_top, &roots, shown)).collect();
    let folders = Folders {
        path: listing.path.map(shown),
        parent: listing.parent.map(shown),
        folders,
        truncated: listing.is_truncated,
    };
    Ok(reply::json(StatusCode::OK, &folders))
}

/// Reads the path of a query. A blank one counts as none.
fn path(query: Option<&str>) -> Result<Option<PathBuf>, ApiError> {
    let mut path = None;
    for (name, value) in pairs(query) {
        match &*name {
            "path" => path = Some(value).filter(|value| !value.is_empty()),
            _ => return Err(unknown(&name, "`path`")),
        }
    }
    match path {
        Some(path) if MAX_PATH < path.len() || path.contains('\0') => {
            Err(invalid(&format!("`path` must be at most {MAX_PATH} bytes")))
        }
        Some(path) if !Path::new(&path).is_absolute() => Err(invalid("`path` must be absolute")),
        path => Ok(path.map(PathBuf::from)),
    }
}

fn listed(
    choice: Choice,
    is_top: bool,
    roots: &[Root],
    shown: impl Fn(PathBuf) -> PathBuf,
) -> ListedFolder {
    let Choice { path, is_repository } = choice;
    let indexed = roots.iter().find(|root| root.folder() == Some(&path));
    let indexed = indexed.map(|root| root.name.clone());
    let path = shown(path);
    // Allowed folders may have the same name.
    let last = path.file_name().filter(|_| !is_top).unwrap_or(path.as_os_str());
    let name = last.to_string_lossy().into_owned();
    ListedFolder { name, path, is_repository, indexed }
}

/// Answers with what the page is set to.
pub(super) fn config(services: &Services) -> Response {
    let editor = services.page.editor.clone();
    let config = PageConfig {
        editor: editor.name.to_owned(),
        editor_link: editor.link,
        keeps_conversations: services.turns.archive().most() > 0,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    reply::json(StatusCode::OK, &config)
}

//! Mapping between the paths of server and clients, and the roots that clients name by them.

use std::path::{Component, Path, PathBuf};

use super::Root;

/// Mapping between server paths and client paths. The default changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathMap {
    /// Folder of repositories on the server (`INGEST_DIR`) and on clients (`HOST_INGEST_DIR`).
    folders: Option<(PathBuf, PathBuf)>,
}

impl PathMap {
    /// Maps paths below `server` to paths below `client`.
    pub fn new(server: PathBuf, client: PathBuf) -> Self {
        Self { folders: Some((server, client)) }
    }

    /// Converts a server path to the path that clients see.
    pub fn to_client_path(&self, path: &Path) -> PathBuf {
        let moved =
            self.folders.as_ref().and_then(|(server, client)| rebase_path(path, server, client));
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// Converts a client path to the path on the server.
    pub fn to_server_path(&self, path: &Path) -> PathBuf {
        let moved =
            self.folders.as_ref().and_then(|(server, client)| rebase_path(path, client, server));
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// Finds the root for a name, an id, a client path or a server path, in that order.
    pub fn find_root<'a>(&self, roots: &'a [Root], reference: &str) -> Option<&'a Root> {
        let path = Path::new(reference);
        let server_path = self.to_server_path(path);
        let by_name = roots.iter().find(|root| root.name == reference);
        let by_id = || roots.iter().find(|root| root.id.to_string() == reference);
        // A path on another host is another folder, so a root of this host comes first.
        let by_path = |path: &Path| {
            roots.iter().filter(|root| root.path == path).min_by_key(|root| root.host.is_some())
        };
        by_name.or_else(by_id).or_else(|| by_path(&server_path)).or_else(|| by_path(path))
    }

    /// Finds a root like [`Self::find_root`], else the innermost one that contains `reference`.
    pub fn find_enclosing_root<'a>(&self, roots: &'a [Root], reference: &str) -> Option<&'a Root> {
        let find_innermost = |path: &Path| {
            let enclosing = roots.iter().filter(|root| path.starts_with(&root.path));
            enclosing.max_by_key(|root| (root.host.is_none(), root.path.as_os_str().len()))
        };
        let path = Path::new(reference);
        let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
        let find_enclosing = || {
            find_innermost(&self.to_server_path(path)).filter(|_| is_plain && path.is_absolute())
        };
        self.find_root(roots, reference).or_else(find_enclosing)
    }
}

/// Moves a path that is below `from` to below `to`. Returns `None` for other paths.
fn rebase_path(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(from).ok()?;
    Some(if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) })
}

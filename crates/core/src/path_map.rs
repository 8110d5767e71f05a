//! Maps paths of the server to those that clients see, and back.

use std::path::{Component, Path, PathBuf};

use super::Root;

/// How the server's paths look to clients. The default leaves them as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathMap {
    /// Where the server sees repositories (`INGEST_DIR`), and where clients see them
    /// (`HOST_INGEST_DIR`).
    folders: Option<(PathBuf, PathBuf)>,
}

impl PathMap {
    /// Shows paths below `server` as paths below `client`.
    pub fn new(server: PathBuf, client: PathBuf) -> Self {
        Self { folders: Some((server, client)) }
    }

    /// Returns a path of the server as clients see it.
    pub fn to_client_path(&self, path: &Path) -> PathBuf {
        let moved =
            self.folders.as_ref().and_then(|(server, client)| rebase_path(path, server, client));
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// Returns a path that a client names as the server sees it.
    pub fn to_server_path(&self, path: &Path) -> PathBuf {
        let moved =
            self.folders.as_ref().and_then(|(server, client)| rebase_path(path, client, server));
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// Returns the root that a client calls `reference`: a name, an id, a path as clients see it, or
    /// one as the server does, in that order.
    pub fn find_root<'a>(&self, roots: &'a [Root], reference: &str) -> Option<&'a Root> {
        let path = Path::new(reference);
        let meant = self.to_server_path(path);
        let by_name = roots.iter().find(|root| root.name == reference);
        let by_id = || roots.iter().find(|root| root.id.to_string() == reference);
        // What another host has at the same path is another folder.
        let by_path = |path: &Path| {
            roots.iter().filter(|root| root.path == path).min_by_key(|root| root.host.is_some())
        };
        by_name.or_else(by_id).or_else(|| by_path(&meant)).or_else(|| by_path(path))
    }

    /// Returns the root that a client means by `reference`: as [`Self::root`] has it, or else the innermost one around
    /// the folder of that path.
    pub fn meant_root<'a>(&self, roots: &'a [Root], reference: &str) -> Option<&'a Root> {
        let around = |path: &Path| {
            let around = roots.iter().filter(|root| path.starts_with(&root.path));
            around.max_by_key(|root| (root.host.is_none(), root.path.as_os_str().len()))
        };
        let path = Path::new(reference);
        let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
        let around =
            || around(&self.to_server_path(path)).filter(|_| is_plain && path.is_absolute());
        self.find_root(roots, reference).or_else(around)
    }
}

/// Returns `path` below `to` instead of `from`, if it is below that.
fn rebase_path(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(from).ok()?;
    Some(if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) })
}

//! Finds the root for a path or name, including paths through links that lead to a root.

use std::{
    path::{Component, Path, PathBuf},
    time::Duration,
};

use codeinfo_core::{PathMap, Root, UnknownRoot};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use url::Url;

/// Maximum number of concurrent lookups. A lookup may block on a file system that does not respond.
const MAX_LOOKUPS: usize = 4;
static LOOKUPS: Semaphore = Semaphore::const_new(MAX_LOOKUPS);
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Maximum number of parts of a path that is resolved.
const MAX_PARTS: usize = 64;

/// Finds the root for `reference`: as in [`PathMap::find_enclosing_root`], by a `file://` URL, or through a
/// link.
pub async fn find_root(
    paths: &PathMap,
    roots: &[Root],
    reference: &str,
) -> Result<Root, UnknownRoot> {
    let path = read_file_url(reference.trim());
    let text = path.to_str().unwrap_or_default();
    if let Some(root) = paths.find_enclosing_root(roots, text) {
        return Ok(root.clone());
    }
    let real = follow_link(&paths.to_server_path(&path), roots).await;
    let enclosing = real.and_then(|real| {
        roots
            .iter()
            .filter(|root| root.host.is_none() && real.starts_with(&root.path))
            .max_by_key(|root| root.path.as_os_str().len())
    });
    enclosing.cloned().ok_or_else(|| UnknownRoot::new(reference, roots))
}

/// Returns the path of a `file://` URL. Returns any other text as a path.
pub fn read_file_url(text: &str) -> PathBuf {
    let is_url = text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("file://"));
    let url = is_url.then(|| Url::parse(text).ok()).flatten();
    url.and_then(|url| url.to_file_path().ok()).unwrap_or_else(|| PathBuf::from(text))
}

/// Resolves a path that leads through a link to one of the roots. The part beneath the root is not
/// resolved.
///
/// Returns `None` if the path leads to no root.
pub async fn follow_link(path: &Path, roots: &[Root]) -> Option<PathBuf> {
    let is_plain = path.components().all(|part| part != Component::ParentDir);
    if !path.is_absolute() || !is_plain || path.components().count() > MAX_PARTS {
        return None;
    }
    let own = roots.iter().filter(|root| root.host.is_none());
    let folders: Vec<PathBuf> = own.map(|root| root.path.clone()).collect();
    let whole_path = path.to_owned();
    let look = async {
        let permit = LOOKUPS.acquire().await.ok()?;
        let look = move || {
            let _permit = permit;
            find_beneath(&whole_path, &folders)
        };
        spawn_blocking(look).await.ok()?
    };
    timeout(MAX_WAIT, look).await.ok()?
}

/// Finds the first folder of the path that lies in one of `folders`. Blocks on the file system.
fn find_beneath(path: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let mut beginning = PathBuf::new();
    let mut parts = path.components();
    while let Some(part) = parts.next() {
        beginning.push(part);
        let real = beginning.canonicalize().ok()?;
        if folders.iter().any(|folder| real.starts_with(folder)) {
            return Some(real.join(parts.as_path()));
        }
    }
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn links_lead_to_a_root_and_none_is_followed_beneath_it() {
        let temporary = tempfile::tempdir().unwrap();
        let base = temporary.path().canonicalize().unwrap();
        let root = base.join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(base.join("other/sub")).unwrap();
        for (link, target) in [
            ("link", "root"),
            ("again", "link"),
            ("in", "root/sub"),
            ("root/out", "other"),
            ("gone", "no"),
        ] {
            symlink(base.join(target), base.join(link)).unwrap();
        }
        let find = |path: &str| find_beneath(&base.join(path), &[root.clone(), base.join("other")]);
        for (path, real) in [
            ("link", "root"),
            ("link/a.rs", "root/a.rs"),
            ("again/sub/a.rs", "root/sub/a.rs"),
            ("in/a.rs", "root/sub/a.rs"),
            ("root/out/sub/a.rs", "root/out/sub/a.rs"),
            ("link/out/sub/a.rs", "root/out/sub/a.rs"),
        ] {
            assert_eq!(find(path), Some(base.join(real)), "{path}");
        }
        for path in ["gone/a.rs", "nothing", ""] {
            assert_eq!(find(path), None, "{path}");
        }
    }

    #[test]
    fn file_urls_are_read_and_other_texts_stay() {
        for (text, path) in [
            ("file:///srv/a%20b/c.rs", "/srv/a b/c.rs"),
            ("FILE://localhost/srv/a", "/srv/a"),
            ("file://elsewhere/srv/a", "file://elsewhere/srv/a"),
            ("file:/srv/a", "file:/srv/a"),
            ("src/a.rs", "src/a.rs"),
        ] {
            assert_eq!(read_file_url(text), Path::new(path), "{text}");
        }
    }
}

//! Finds the root for a path or name, including paths through links, and roots whose folder is missing.

use std::{
    collections::HashSet,
    fs,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use codeinfo_core::{PathMap, Root, RootId, UnknownRoot};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use url::Url;

/// Maximum concurrent lookups. A lookup may block on a file system that does not respond.
const MAX_LOOKUPS: usize = 4;
static LOOKUPS: Semaphore = Semaphore::const_new(MAX_LOOKUPS);
const MAX_WAIT: Duration = Duration::from_secs(2);
const MAX_PARTS: usize = 64;

/// Finds the root for `reference`: as in [`PathMap::find_enclosing_root`], by a `file://` URL, or through a link.
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

/// Resolves a path through a link to one of the roots, but not the part beneath it; `None` if it leads to no root.
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

/// Maximum duration of a check. If a network folder hangs, the previous result is used.
const TIMEOUT: Duration = Duration::from_millis(300);

/// Checks which roots have lost their folder. Clones share one thread, which a folder that hangs blocks.
#[derive(Debug, Clone)]
pub struct FolderCheck {
    room: Arc<Semaphore>,
    known: Arc<Mutex<HashSet<RootId>>>,
}

impl Default for FolderCheck {
    fn default() -> Self {
        Self { room: Arc::new(Semaphore::new(1)), known: Arc::default() }
    }
}

impl FolderCheck {
    pub async fn find_missing(&self, roots: &[Root]) -> HashSet<RootId> {
        let folders =
            roots.iter().filter_map(|root| Some((root.id, root.local_folder()?.to_owned())));
        let folders: Vec<(RootId, PathBuf)> = folders.collect();
        let checking = async {
            let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else { return };
            let known = Arc::clone(&self.known);
            let check = move || {
                let gone = folders.into_iter().filter(|(_, folder)| is_folder_missing(folder));
                *lock_known(&known) = gone.map(|(root, _)| root).collect();
                drop(permit);
            };
            // After a panic of the check the previous result remains.
            spawn_blocking(check).await.unwrap_or_default();
        };
        timeout(TIMEOUT, checking).await.unwrap_or_default();
        let known = lock_known(&self.known);
        roots.iter().map(|root| root.id).filter(|root| known.contains(root)).collect()
    }

    /// Returns the roots whose folder is missing; none if all are, as on a disk that is not mounted.
    pub async fn find_missing_unless_all(&self, roots: &[Root]) -> HashSet<RootId> {
        if roots.len() < 2 {
            return HashSet::new();
        }
        let gone = self.find_missing(roots).await;
        if roots.iter().all(|root| gone.contains(&root.id)) { HashSet::new() } else { gone }
    }
}

fn lock_known(known: &Mutex<HashSet<RootId>>) -> MutexGuard<'_, HashSet<RootId>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_folder_missing(folder: &Path) -> bool {
    match fs::metadata(folder) {
        Ok(metadata) => !metadata.is_dir(),
        // A folder that may not be read exists.
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_lead_to_a_root_and_none_is_followed_beneath_it() {
        use std::os::unix::fs::symlink;
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

    #[tokio::test]
    async fn a_root_is_missing_without_its_folder() {
        let folder = tempfile::TempDir::new().unwrap();
        let here = folder.path().join("here");
        let gone = folder.path().join("gone");
        fs::create_dir(&here).unwrap();
        let [here, gone] = [here, gone].map(Root::from_folder);
        let check = FolderCheck::default();
        let both = [here.clone(), gone.clone()];
        assert_eq!(check.find_missing_unless_all(&both).await, HashSet::from([gone.id]));
        assert_eq!(check.find_missing(std::slice::from_ref(&gone)).await, HashSet::from([gone.id]));
        assert!(check.find_missing_unless_all(&[gone.clone(), gone]).await.is_empty());
        assert!(check.find_missing(&[here]).await.is_empty());
    }
}

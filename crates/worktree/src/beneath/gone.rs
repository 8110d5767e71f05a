//! Detects roots whose folder was moved, deleted or is on a disk that is not mounted.

use std::{
    collections::HashSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use codeinfo_core::{Root, RootId};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

/// Maximum duration of a check. If a network folder hangs, the previous result is used.
const TIMEOUT: Duration = Duration::from_millis(300);

/// Checks which roots have lost their folder. Clones share one thread, which a folder that hangs
/// blocks.
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
    /// Returns the roots of this machine whose folder is gone.
    pub async fn find_gone(&self, roots: &[Root]) -> HashSet<RootId> {
        let folders =
            roots.iter().filter_map(|root| Some((root.id, root.local_folder()?.to_owned())));
        let folders: Vec<(RootId, PathBuf)> = folders.collect();
        let checking = async {
            let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else { return };
            let known = Arc::clone(&self.known);
            let check = move || {
                let gone = folders.into_iter().filter(|(_, folder)| is_gone(folder));
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

    /// Returns the roots whose folder is gone while the folder of another root exists.
    pub async fn find_outlived(&self, roots: &[Root]) -> HashSet<RootId> {
        if roots.len() < 2 {
            return HashSet::new();
        }
        let gone = self.find_gone(roots).await;
        if roots.iter().all(|root| gone.contains(&root.id)) { HashSet::new() } else { gone }
    }
}

fn lock_known(known: &Mutex<HashSet<RootId>>) -> MutexGuard<'_, HashSet<RootId>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_gone(folder: &Path) -> bool {
    match fs::metadata(folder) {
        Ok(metadata) => !metadata.is_dir(),
        // A folder that may not be read exists.
        Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_root_is_gone_with_its_folder_and_outlived_by_another() {
        let folder = tempfile::TempDir::new().unwrap();
        let here = folder.path().join("here");
        let gone = folder.path().join("gone");
        fs::create_dir(&here).unwrap();
        let [here, gone] = [here, gone].map(Root::from_folder);
        let check = FolderCheck::default();
        let both = [here.clone(), gone.clone()];
        assert_eq!(check.find_outlived(&both).await, HashSet::from([gone.id]));
        assert_eq!(check.find_gone(std::slice::from_ref(&gone)).await, HashSet::from([gone.id]));
        assert!(check.find_outlived(&[gone.clone(), gone]).await.is_empty());
        assert!(check.find_gone(&[here]).await.is_empty());
    }
}

//! Locates the secrets of indexed folders without waiting for an unresponsive file system.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use codeinfo_core::task::Tasks;
use tokio::time::{Instant, timeout_at};

use super::{ExcludedRoot, ReadableRoot, git};

/// Maximum wait for a file system.
const TIMEOUT: Duration = Duration::from_secs(2);

const SILENT: &str = "its file system does not answer";

/// Folders under check, with the start of the check. A folder that timed out is not checked again before that
/// check ends, because each check holds a thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct SecretLocator(Arc<Mutex<BTreeMap<PathBuf, Instant>>>);

impl SecretLocator {
    /// Returns the roots that could be checked, with all existing secrets, and those that could not.
    pub(crate) async fn locate_secrets(
        &self,
        readable: Vec<ReadableRoot>,
        tasks: &Tasks,
    ) -> (Vec<ReadableRoot>, Vec<ExcludedRoot>) {
        self.locate_secrets_with(readable, tasks, find_existing_secrets).await
    }

    async fn locate_secrets_with(
        &self,
        readable: Vec<ReadableRoot>,
        tasks: &Tasks,
        secrets: fn(&ReadableRoot) -> Vec<PathBuf>,
    ) -> (Vec<ReadableRoot>, Vec<ExcludedRoot>) {
        let began = Instant::now();
        let mut checks = Vec::new();
        for readable in readable {
            let since = *self.lock_pending().entry(readable.folder.clone()).or_insert(began);
            let folder = readable.folder.clone();
            let check = (since.elapsed() < TIMEOUT).then(|| {
                let sight = self.clone();
                tasks.spawn_blocking(move || {
                    let private_files = secrets(&readable);
                    sight.lock_pending().remove(&readable.folder);
                    ReadableRoot { private_files, ..readable }
                })
            });
            checks.push((folder, check));
        }
        let mut seen = Vec::new();
        let mut unseen = Vec::new();
        for (folder, check) in checks {
            let checked = match check {
                Some(check) => timeout_at(began + TIMEOUT, check).await.ok().and_then(Result::ok),
                None => None,
            };
            match checked {
                Some(readable) => seen.push(readable),
                None => unseen.push(ExcludedRoot { folder, reason: SILENT }),
            }
        }
        for ExcludedRoot { folder, .. } in &unseen {
            // A root around it would grant it.
            for around in seen.iter_mut().filter(|around| folder.starts_with(&around.folder)) {
                around.private_files.push(folder.clone());
            }
        }
        (seen, unseen)
    }

    fn lock_pending(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the existing secrets of `readable`.
fn find_existing_secrets(readable: &ReadableRoot) -> Vec<PathBuf> {
    let all = readable.private_files.iter().cloned().chain(git::find_git_secrets(&readable.folder));
    all.filter(|path| path.symlink_metadata().is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::RwLock;

    use super::*;

    static DEAD: RwLock<()> = RwLock::new(());

    /// Blocks for `/r/dead` while `DEAD` is held.
    fn none_if_alive(readable: &ReadableRoot) -> Vec<PathBuf> {
        if readable.folder.ends_with("dead") {
            drop(DEAD.read());
        }
        Vec::new()
    }

    fn readable(folder: &str, secrets: &[&str]) -> ReadableRoot {
        let private_files = secrets.iter().map(PathBuf::from).collect();
        ReadableRoot { folder: folder.into(), private_files }
    }

    #[tokio::test]
    #[expect(
        clippy::await_holding_lock,
        clippy::readonly_write_lock,
        reason = "it stands for a file system that hangs"
    )]
    async fn a_root_that_does_not_answer_is_denied_until_it_does() {
        let (sight, tasks) = (SecretLocator::default(), Tasks::default());
        let all = || vec![readable("/r", &[]), readable("/r/dead", &[]), readable("/s", &[])];
        let dead_one = ExcludedRoot { folder: "/r/dead".into(), reason: SILENT };
        let without = (vec![readable("/r", &["/r/dead"]), readable("/s", &[])], vec![dead_one]);
        let dead = DEAD.write().unwrap();
        assert_eq!(sight.locate_secrets_with(all(), &tasks, none_if_alive).await, without);
        let began = Instant::now();
        assert_eq!(sight.locate_secrets_with(all(), &tasks, none_if_alive).await, without);
        assert!(began.elapsed() < TIMEOUT, "waited again");
        drop(dead);
        assert!(tasks.stop(Duration::from_secs(20)).await);
        assert_eq!(
            sight.locate_secrets_with(all(), &tasks, none_if_alive).await,
            (all(), Vec::new())
        );
    }
}

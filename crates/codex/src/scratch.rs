//! Scratch folder and permission profile of each loaded conversation; the folder is removed with it.

use std::{
    fs::{self, DirBuilder, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::task::Tasks;
use tracing::debug;
use uuid::Uuid;

const PREFIX: &str = "process-";
/// Name of the file that a process holds locked while it uses its folder.
const LOCK: &str = "lock";
/// Maximum time to retry a removal while ending commands still write.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);

/// Scratch folders of this process, in a folder of its own.
#[derive(Debug)]
pub(super) struct ScratchFolders {
    folder: PathBuf,
    tasks: Tasks,
}

/// Scratch folder of one conversation; dropping it removes it.
#[derive(Debug)]
pub(super) struct ScratchFolder {
    pub(super) path: PathBuf,
    tasks: Tasks,
}

/// Scratch folder and unique profile name of one loaded thread. Codex repeats the name once it is in force.
#[derive(Debug, Clone)]
pub(super) struct ThreadSandbox {
    pub(super) scratch: Arc<ScratchFolder>,
    pub(super) profile: String,
}

impl ThreadSandbox {
    pub(super) fn new(scratches: &ScratchFolders) -> io::Result<Self> {
        Ok(Self { scratch: Arc::new(scratches.create_folder()?), profile: profile_name() })
    }
}

pub(super) fn profile_name() -> String {
    format!("codeinfo-{}", Uuid::new_v4())
}

impl ScratchFolders {
    /// Also removes the folders of ended processes. The folder is removed when `tasks` stop.
    pub(super) fn new(workdir: &Path, tasks: &Tasks) -> io::Result<Self> {
        make_private(workdir)?;
        remove_stale_folders(workdir);
        let folder = workdir.canonicalize()?.join(format!("{PREFIX}{}", Uuid::new_v4()));
        make_private(&folder)?;
        let lock = File::create(folder.join(LOCK))?;
        lock.try_lock().map_err(io::Error::from)?;
        let own_folder = folder.clone();
        let stopping = tasks.stop_token().clone();
        let owner = tasks.clone();
        tasks.spawn(async move {
            stopping.cancelled().await;
            drop(owner.spawn_blocking(move || {
                remove_folder(&own_folder);
                drop(lock);
            }));
        });
        Ok(Self { folder, tasks: tasks.clone() })
    }

    /// Creates a scratch folder under an unguessable name.
    pub(super) fn create_folder(&self) -> io::Result<ScratchFolder> {
        let path = self.folder.join(Uuid::new_v4().to_string());
        make_private(&path)?;
        Ok(ScratchFolder { path, tasks: self.tasks.clone() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        match tokio::runtime::Handle::try_current() {
            Ok(_) => drop(self.tasks.spawn_blocking(move || remove_folder(&path))),
            // Without a runtime, blocking here delays no task.
            Err(_) => remove_folder(&path),
        }
    }
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes the folders of ended processes, whose locks are free.
fn remove_stale_folders(workdir: &Path) {
    for entry in fs::read_dir(workdir).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_ours || !is_folder {
            continue;
        }
        let lock = entry.path().join(LOCK);
        // Opening a pipe in its place would block.
        if !lock.symlink_metadata().is_ok_and(|found| found.is_file()) {
            continue;
        }
        // A folder without a lock file belongs to a process that is, or was killed, inside `ScratchFolders::new`.
        let Ok(lock) = File::open(lock) else { continue };
        if lock.try_lock().is_ok() {
            remove_folder(&entry.path());
        }
    }
}

/// Removes `folder` with its content, regardless of permissions.
fn remove_folder(folder: &Path) {
    let deadline = Instant::now() + REMOVAL_TIMEOUT;
    while let Err(error) = empty_folder(folder).and_then(|()| fs::remove_dir(folder)) {
        if error.kind() == io::ErrorKind::NotFound && folder.symlink_metadata().is_err() {
            return;
        }
        if Instant::now() > deadline {
            debug!(folder.path = %folder.display(), %error, "scratch folder not removed");
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "this runs on a thread for blocking work")]
        std::thread::sleep(PAUSE);
    }
}

/// Removes the content of `folder`. Nested folders are moved up first: they may be deeper than the maximum path
/// length, and than recursion on a thread's stack allows.
fn empty_folder(folder: &Path) -> io::Result<()> {
    loop {
        let mut is_flat = true;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                fs::remove_file(entry.path())?;
                continue;
            }
            is_flat = false;
            grant_owner_rights(&entry.path())?;
            for inner in fs::read_dir(entry.path())? {
                let inner = inner?;
                if inner.file_type()?.is_dir() {
                    grant_owner_rights(&inner.path())?;
                    fs::rename(inner.path(), folder.join(Uuid::new_v4().to_string()))?;
                } else {
                    fs::remove_file(inner.path())?;
                }
            }
            fs::remove_dir(entry.path())?;
        }
        if is_flat {
            return Ok(());
        }
    }
}

#[cfg(unix)]
fn grant_owner_rights(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn grant_owner_rights(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_nested_deeper_than_a_path_is_long_is_removed() {
        let folder = std::env::temp_dir().join(Uuid::new_v4().to_string());
        make_private(&folder).unwrap();
        let nested = "i=0; while [ $i -lt 300 ]; do mkdir -p aaaaaaaaaaaaaaaaaaaa && cd aaaaaaaaaaaaaaaaaaaa && \
                      echo x > f; i=$((i+1)); done; chmod 000 .";
        let mut shell = std::process::Command::new("sh");
        let made = shell.args(["-c", nested]).current_dir(&folder).status().unwrap();
        assert!(made.success());
        remove_folder(&folder);
        assert!(!folder.try_exists().unwrap());
    }
}

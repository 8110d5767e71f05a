//! Wraps `bwrap`, the sandbox of Codex on Linux, in a script that adds mounts and bounds memory.
//!
//! A Codex profile can deny a file of git's settings, and git then refuses the whole repository. The script
//! binds a copy without credentials over the denied file, and limits the size of in-memory file systems.
//! Without the script or a copy, the file stays denied.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use codeinfo_core::{atomic, paths::is_executable};
use tracing::warn;
use uuid::Uuid;

/// Folder of the script and its copies, below the data folder.
const FOLDER: &str = "sandbox";
const COPIES: &str = "copies";
const NAME: &str = "bwrap";
/// Path of the bundled `bwrap`, below the folder of Codex.
const BUNDLED: &str = "codex-resources/bwrap";
/// Maximum bytes of each in-memory file system, such as `/tmp`; the kernel's default is half of all memory.
const MAX_MOUNT_BYTES: u64 = 1 << 30;
/// Shell script that rewrites the arguments before `--`. It replaces the mount without rights of a denied file
/// by a mount of its copy, and gives each in-memory file system a size. `/dev/shm` gets a size as well; the
/// rest of `/dev` becomes read-only.
const SCRIPT: &str = r#"left=$#
while [ "$left" -gt 0 ] && [ "$1" != -- ]; do
  taken=1
  if [ "$1 $3" = "--perms --ro-bind-data" ] && [ -f "$copies$5" ]; then
    set -- "$@" --ro-bind "$copies$5" "$5"
    taken=5
  elif [ "$1" = --tmpfs ]; then
    set -- "$@" --size "$bytes" --tmpfs "$2"
    taken=2
  elif [ "$1" = --dev ]; then
    set -- "$@" --dev "$2" --size "$bytes" --tmpfs "$2/shm" --remount-ro "$2"
    taken=2
  else
    set -- "$@" "$1"
  fi
  shift "$taken"
  left=$((left - taken))
done
while [ "$left" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  left=$((left - 1))
done
exec "$bwrap" "$@"
"#;

/// Writes the script and returns a search path on which Codex finds it first. Returns the path of `settings` if
/// there is nothing to wrap. `codex` lists the files of Codex.
pub(super) fn install_wrapper(settings: &crate::CodexSettings, codex: &[PathBuf]) -> OsString {
    let folder = settings.data_dir.join(FOLDER);
    let Some(text) = build_script(&settings.path, codex, &folder) else {
        return settings.path.clone();
    };
    if let Err(error) = write_script(&folder, &text) {
        warn!(%error, "git does not work in repositories whose settings hold credentials");
        return settings.path.clone();
    }
    let folders = std::env::split_paths(&settings.path);
    std::env::join_paths(std::iter::once(folder).chain(folders))
        .unwrap_or_else(|_| settings.path.clone())
}

/// Saves copies of denied files for the script.
pub(super) fn save_copies(data_dir: &Path, copies: &[(PathBuf, String)]) {
    for (file, text) in copies {
        let Ok(relative) = file.strip_prefix("/") else { continue };
        let copy = data_dir.join(FOLDER).join(COPIES).join(relative);
        let is_saved = fs::read_to_string(&copy).is_ok_and(|saved| saved == *text);
        let save = || {
            copy.parent().map_or(Ok(()), fs::create_dir_all)?;
            replace_file(&copy, text, 0o600)
        };
        if !is_saved && let Err(error) = save() {
            warn!(%error, file.path = %file.display(), "git does not work in this repository");
        }
    }
}

fn build_script(path: &OsStr, codex: &[PathBuf], folder: &Path) -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let installed = folders.map(|folder| folder.join(NAME));
    let mut candidates = installed.chain(codex.iter().map(|folder| folder.join(BUNDLED)));
    let bwrap = candidates.find(|path| path.metadata().is_ok_and(|found| is_executable(&found)))?;
    let bwrap = quote_for_shell(&bwrap)?;
    let copies = quote_for_shell(&folder.join(COPIES))?;
    Some(format!("#!/bin/sh\nbwrap={bwrap}\ncopies={copies}\nbytes={MAX_MOUNT_BYTES}\n{SCRIPT}"))
}

fn quote_for_shell(path: &Path) -> Option<String> {
    Some(format!("'{}'", path.to_str()?.replace('\'', r"'\''")))
}

fn write_script(folder: &Path, text: &str) -> io::Result<()> {
    atomic::create_private_folder(folder)?;
    let file = folder.join(NAME);
    if fs::read_to_string(&file).is_ok_and(|written| written == text) {
        return Ok(());
    }
    replace_file(&file, text, 0o700)
}

/// Replaces a file atomically, since several processes may write it at the same time.
fn replace_file(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    let temporary = file.with_file_name(Uuid::new_v4().to_string());
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(&temporary)?.write_all(text.as_bytes())?;
    fs::rename(&temporary, file)
}

//! Runs a command of another program in Codex's sandbox, and wraps `bwrap`, that sandbox on Linux, in a script.
//!
//! A Codex profile can deny a file of git's settings, and git then refuses the whole repository. The script binds
//! a copy without credentials over the denied file. Without the script or a copy, the file stays denied.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use codeinfo_core::{atomic, paths::is_executable};
use serde_json::Value;
use tracing::warn;
use uuid::Uuid;

use super::{
    Codex, CodexError, ReadableRoot,
    codex_config::{command_network, to_inline_toml},
    files, inherit,
    sandbox_rules::{SandboxContext, SandboxRules, is_plain},
    scratch,
};
use crate::{CodexSettings, NetworkAccess};

/// Permissions of a sandboxed command.
#[derive(Debug, Clone)]
pub struct CommandPermissions {
    /// Indexed folders that it may read, without their secrets.
    pub readable: Vec<ReadableRoot>,
    /// Files and folders of the command itself, which it may read.
    pub programs: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
    pub dir: PathBuf,
    pub network: NetworkAccess,
    /// Folders that stay hidden even inside granted ones.
    pub hidden: Vec<PathBuf>,
    /// Codex home for this command; the user's own has settings and keys.
    pub home: PathBuf,
}

/// Command line that runs the command in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxedCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Variables for Codex, in addition to those of the command.
    pub env: BTreeMap<String, String>,
}

impl Codex {
    /// Returns the command line that runs `command` with `args` in the sandbox, without its variables.
    pub async fn sandbox_command(
        &self,
        sandboxed: CommandPermissions,
        command: &Path,
        args: &[OsString],
    ) -> Result<SandboxedCommand, CodexError> {
        let inner = &self.0;
        let binary = files::find_binary(&inner.settings).await?;
        let codex =
            files::find_program_files(&binary, &inner.tasks).await.ok_or(CodexError::NoNative)?;
        let CommandPermissions { readable, programs, writable, dir, network, hidden, home } =
            sandboxed;
        let paths = programs.iter().chain(&writable).chain([&dir, &home]);
        if let Some(path) = paths.into_iter().find(|path| !is_plain(path)) {
            return Err(CodexError::Pattern { path: path.clone() });
        }
        // Writable folders may lie inside denied ones, so the denied paths are split around them.
        let own = codex.iter().chain(&programs).chain(&writable).chain([&home]).cloned();
        let hidden = inherit::codex_home(&inner.settings).into_iter().chain(hidden);
        let context = SandboxContext {
            program: own.collect(),
            private: inherit::private_places(&inner.settings, hidden),
        };
        let (readable, _) = inner.secret_locator.locate_secrets(readable, &inner.tasks).await;
        let settings = inner.settings.clone();
        let built = inner.tasks.spawn_blocking(move || {
            let (mut rules, _) = SandboxRules::build(&readable, &context);
            for path in &writable {
                rules.allow_writing(path);
            }
            let path = install_wrapper(&settings, &codex);
            save_copies(&settings.data_dir, &rules.copy_git_settings());
            (rules, path)
        });
        let (rules, path) = built.await.map_err(|_| CodexError::Stopping)?;
        let name = scratch::profile_name();
        let profile = format!("permissions.{name}");
        let filesystem = Value::Object(rules.with_scratch(None));
        let settings = [("filesystem", filesystem), ("network", command_network(network))];
        let mut boxed: Vec<OsString> = ["sandbox", "-P", &name, "-C"].map(OsString::from).into();
        boxed.push(dir.into_os_string());
        let is_proxied = network != NetworkAccess::Open;
        boxed.push("-c".into());
        boxed.push(format!("features.network_proxy={is_proxied}").into());
        for (key, value) in settings {
            boxed.push("-c".into());
            boxed.push(format!("{profile}.{key}={}", to_inline_toml(&value)).into());
        }
        boxed.push("--".into());
        boxed.push(command.as_os_str().to_owned());
        boxed.extend(args.iter().cloned());
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let variables = [("CODEX_HOME", text(home.as_os_str())), ("PATH", text(&path))];
        let env = variables.map(|(name, value)| (name.to_owned(), value)).into();
        Ok(SandboxedCommand { program: binary, args: boxed, env })
    }
}

/// Folder of the script and its copies, below the data folder.
const FOLDER: &str = "sandbox";
const COPIES: &str = "copies";
const NAME: &str = "bwrap";
/// Path of the bundled `bwrap`, below the folder of Codex.
const BUNDLED: &str = "codex-resources/bwrap";
/// Maximum bytes of each in-memory file system, such as `/tmp`; the kernel's default is half of all memory.
const MAX_MOUNT_BYTES: u64 = 1 << 30;
/// Shell script that rewrites the arguments before `--`: it mounts the copy of a denied file in its place, gives
/// each in-memory file system a size, also `/dev/shm`, and makes the rest of `/dev` read-only.
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

/// Writes the script and returns a search path with it first; that of `settings` if there is nothing to wrap.
pub(super) fn install_wrapper(settings: &CodexSettings, codex: &[PathBuf]) -> OsString {
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

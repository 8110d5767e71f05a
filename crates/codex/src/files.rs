//! Finds the Codex binary and its files, and detects changes of sign-in and configuration on disk.
//!
//! Codex reads both only at its start. A change replaces the process, and so does a refusal by the model service.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use codeinfo_core::{paths::is_executable, task::Tasks};
use codeinfo_secrets::redact_message;
use tokio::{fs, io::AsyncReadExt};
use tracing::warn;

use super::error::CodexError;
use crate::CodexSettings;

/// Files in `CODEX_HOME`, and the system's configuration, that Codex reads only at its start.
const READ_AT_START: [&str; 4] = ["auth.json", "config.toml", ".env", SYSTEM_CONFIG];
pub(super) const SYSTEM_CONFIG: &str = "/etc/codex/config.toml";

/// Modification times and sizes of those files; equal stamps mean that nothing changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CodexConfigStamp([Option<(SystemTime, u64)>; 4]);

impl CodexConfigStamp {
    pub(super) async fn from_home(home: &Path) -> Self {
        let mut stamp = Self::default();
        for (seen, name) in stamp.0.iter_mut().zip(READ_AT_START) {
            // A file that cannot be inspected counts as absent: Codex cannot read it either.
            if let Ok(metadata) = fs::metadata(home.join(name)).await {
                *seen = metadata.modified().ok().map(|modified| (modified, metadata.len()));
            }
        }
        stamp
    }
}

/// Finds the Codex binary: the path or name of the settings, else `codex` on the search path.
pub(super) async fn find_binary(settings: &CodexSettings) -> Result<PathBuf, CodexError> {
    let missing = |reason: &str| Err(CodexError::NotFound(reason.to_owned()));
    match &settings.bin {
        Some(set) if set.is_relative() => match on_path(settings, set).await {
            Some(found) => Ok(found),
            None => missing("CODEX_BIN names no program on PATH"),
        },
        Some(set) if is_program(set).await => Ok(set.clone()),
        Some(_) => missing("CODEX_BIN does not name a program"),
        None => match on_path(settings, Path::new("codex")).await {
            Some(found) => Ok(found),
            None => missing("no `codex` on PATH"),
        },
    }
}

const MAX_FIRST_LINE_BYTES: u64 = 256;

/// Fails if the binary is a script whose interpreter is missing.
pub(super) async fn require_interpreter(
    settings: &CodexSettings,
    binary: &Path,
) -> Result<(), CodexError> {
    let mut start = Vec::new();
    if let Ok(file) = fs::File::open(binary).await {
        // The start reports files that cannot be read.
        drop(file.take(MAX_FIRST_LINE_BYTES).read_to_end(&mut start).await);
    }
    let start = String::from_utf8_lossy(&start);
    let Some(line) = start.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        return Ok(());
    };
    let mut words = line.split_whitespace();
    let Some(program) = words.next().map(Path::new) else { return Ok(()) };
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    let (program, is_there) = match named.map(Path::new).filter(|_| program.ends_with("env")) {
        Some(named) => (named, on_path(settings, named).await.is_some()),
        None => (program, is_program(program).await),
    };
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    if is_there { Ok(()) } else { Err(CodexError::NoInterpreter(redact_message(&name))) }
}

/// Extensions to try for names without one; on Windows npm installs scripts.
const EXTENSIONS: &[&str] = if cfg!(windows) { &["exe", "cmd"] } else { &[""] };

async fn on_path(settings: &CodexSettings, name: &Path) -> Option<PathBuf> {
    for folder in std::env::split_paths(&settings.path) {
        for extension in EXTENSIONS {
            let mut candidate = folder.join(name);
            if candidate.extension().is_none() {
                candidate.set_extension(extension);
            }
            if is_program(&candidate).await {
                return Some(candidate);
            }
        }
    }
    None
}

async fn is_program(path: &Path) -> bool {
    fs::metadata(path).await.is_ok_and(|found| is_executable(&found))
}

/// Returns the names of the variables that `.env` in `home` sets, which Codex reads as well.
pub(super) async fn env_file_names(home: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(home.join(".env")).await.unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let variable = name.trim().trim_start_matches("export ").trim();
        (!value.trim().is_empty()).then(|| variable.to_owned())
    });
    lines.collect()
}

/// Files next to `bin` that identify a package of Codex.
const MARKS: [&str; 2] = ["codex-package.json", "codex-resources"];

pub(super) async fn find_program_files(binary: &Path, tasks: &Tasks) -> Option<Vec<PathBuf>> {
    let started_binary = binary.to_owned();
    let found = tasks.spawn_blocking(move || find_codex_files(&started_binary)).await;
    match found {
        Ok(Ok(files)) => files,
        Ok(Err(error)) => {
            warn!(%error, "the files of Codex cannot be looked for");
            None
        }
        Err(_) => None,
    }
}

/// Returns the paths that sandboxed commands of `program` must read: the package folder, two levels above the
/// native binary, else the binary alone; `None` for a script that leads to no native binary.
fn find_codex_files(program: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    let resolved = program.canonicalize()?;
    if !is_script(&resolved)? {
        return Ok(Some(vec![find_package(&resolved).unwrap_or(resolved)]));
    }
    let mut packages: Vec<PathBuf> = resolved
        .ancestors()
        .flat_map(|folder| [folder.to_owned(), folder.join("node_modules/@openai")])
        .flat_map(|folder| find_native_binaries(&folder))
        .filter_map(|native| find_package(&native))
        .collect();
    packages.sort_unstable();
    packages.dedup();
    Ok((!packages.is_empty()).then_some(packages))
}

fn is_script(program: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(std::fs::File::open(program)?, 2), &mut start)?;
    Ok(start == b"#!")
}

fn find_package(native: &Path) -> Option<PathBuf> {
    let folder = native.parent()?.parent()?;
    MARKS.iter().any(|mark| path_exists(&folder.join(mark))).then(|| folder.to_owned())
}

/// Returns the native binaries for this machine in the `codex-*` packages of `scope`.
fn find_native_binaries(scope: &Path) -> Vec<PathBuf> {
    let packages = list_entries(scope).into_iter().filter(|entry| {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("codex-") && entry.parent().is_some_and(|scope| scope.ends_with("@openai"))
    });
    packages
        .flat_map(|package| list_entries(&package.join("vendor")))
        .filter(|triple| {
            let name = triple.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(std::env::consts::ARCH)
        })
        .filter_map(|triple| triple.join("bin/codex").canonicalize().ok())
        .collect()
}

/// Returns the entries of `folder`, or nothing if it cannot be read.
fn list_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Returns true if `path` exists; an unreadable path counts as absent.
fn path_exists(path: &Path) -> bool {
    path.try_exists().unwrap_or(false)
}

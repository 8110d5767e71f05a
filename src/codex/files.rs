//! Finds the binary, and sees when sign-in or configuration changed on disk.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::SystemTime,
};

use tokio::fs;

use super::error::CodexError;
use crate::config;

/// Files in `CODEX_HOME` that Codex reads at its start only: sign-in, settings, environment.
const READ_AT_START: [&str; 3] = ["auth.json", "config.toml", ".env"];

/// When and how large those files were; two equal stamps mean that nothing changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stamp([Option<(SystemTime, u64)>; 3]);

impl Stamp {
    pub(super) async fn of(home: &Path) -> Self {
        let mut stamp = Self::default();
        for (seen, name) in stamp.0.iter_mut().zip(READ_AT_START) {
            // A file that cannot be looked at counts as absent: Codex cannot read it either.
            if let Ok(metadata) = fs::metadata(home.join(name)).await {
                *seen = metadata.modified().ok().map(|modified| (modified, metadata.len()));
            }
        }
        stamp
    }
}

/// Finds the Codex binary: the one that is set, else `codex` on the search path.
pub(super) async fn binary(settings: &config::Codex) -> Result<PathBuf, CodexError> {
    if let Some(set) = &settings.bin {
        if is_program(set).await {
            return Ok(set.clone());
        }
        return Err(CodexError::NotFound("CODEX_BIN does not name a program".to_owned()));
    }
    for folder in std::env::split_paths(&settings.path) {
        let candidate = folder.join(format!("codex{}", std::env::consts::EXE_SUFFIX));
        if is_program(&candidate).await {
            return Ok(candidate);
        }
    }
    Err(CodexError::NotFound("no `codex` on PATH".to_owned()))
}

async fn is_program(path: &Path) -> bool {
    fs::metadata(path).await.is_ok_and(|metadata| metadata.is_file() && may_run(&metadata))
}

#[cfg(unix)]
fn may_run(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn may_run(_: &std::fs::Metadata) -> bool {
    true
}

/// Returns the names of the variables that `.env` in `home` sets; Codex reads that file too.
pub(super) async fn env_file_names(home: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(home.join(".env")).await.unwrap_or_default();
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim().trim_start_matches("export ").trim();
        (!value.trim().is_empty()).then(|| name.to_owned())
    });
    lines.collect()
}

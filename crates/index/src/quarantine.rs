//! Moves damaged files away and keeps the latest for inspection.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use tracing::warn;

use crate::{IndexError, files};

/// Maximum number of folders of damaged files that are kept.
const MAX_KEPT: usize = 2;

/// Moves the whole index in `folder` away.
pub(crate) fn move_folder_away(folder: &Path, reason: &str) -> Result<(), IndexError> {
    let aside = next_quarantine_path(folder)?;
    fs::rename(folder, &aside).map_err(|source| IndexError::io(folder, source))?;
    report_quarantine(folder, &aside, reason)
}

/// Moves a file next to the folder of the index away.
pub(crate) fn move_sibling_away(folder: &Path, name: &str, reason: &str) -> Result<(), IndexError> {
    let (from, aside) = (folder.with_file_name(name), next_quarantine_path(folder)?);
    fs::create_dir_all(&aside).map_err(|source| IndexError::io(&aside, source))?;
    fs::rename(&from, aside.join(name)).map_err(|source| IndexError::io(&from, source))?;
    report_quarantine(folder, &aside, reason)
}

/// Moves some files of `folder` away; missing ones are skipped.
pub(crate) fn move_files_away<'a>(
    folder: &Path,
    parts: impl IntoIterator<Item = &'a str>,
    reason: &str,
) -> Result<(), IndexError> {
    let aside = next_quarantine_path(folder)?;
    for part in parts {
        let (from, to) = (folder.join(part), aside.join(part));
        match from.symlink_metadata() {
            Ok(_) => {}
            Err(error) if is_missing(&error) => continue,
            Err(source) => return Err(IndexError::io(&from, source)),
        }
        let above = to.parent().unwrap_or(&aside);
        fs::create_dir_all(above).map_err(|source| IndexError::io(above, source))?;
        fs::rename(&from, &to).map_err(|source| IndexError::io(&from, source))?;
    }
    report_quarantine(folder, &aside, reason)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns a path next to the folder of the index that sorts after all earlier ones, even if the clock was set back.
fn next_quarantine_path(folder: &Path) -> Result<PathBuf, IndexError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let next = list_quarantined(folder)?
        .last()
        .map_or(now, |(newest, _)| now.max(newest.saturating_add(1)));
    Ok(folder.with_file_name(format!("{}{next}", quarantine_prefix(folder))))
}

/// Lists the folders of damaged files, oldest first.
fn list_quarantined(folder: &Path) -> Result<Vec<(u64, PathBuf)>, IndexError> {
    let parent = folder.parent().unwrap_or(folder);
    let entries = fs::read_dir(parent).map_err(|source| IndexError::io(parent, source))?;
    let prefix = quarantine_prefix(folder);
    let age = |path: &Path| -> Option<u64> {
        path.file_name()?.to_str()?.strip_prefix(&prefix)?.parse().ok()
    };
    let mut kept: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter_map(|path| Some((age(&path)?, path)))
        .collect();
    kept.sort_unstable();
    Ok(kept)
}

fn quarantine_prefix(folder: &Path) -> String {
    format!("{}.damaged-", folder.file_name().unwrap_or_default().to_string_lossy())
}

/// Logs the damage and removes the oldest folders.
fn report_quarantine(folder: &Path, aside: &Path, reason: &str) -> Result<(), IndexError> {
    warn!(
        reason,
        moved_to = %aside.display(),
        kept = MAX_KEPT,
        "the index is damaged and is repaired from the repositories; what was moved away can be deleted"
    );
    let kept = list_quarantined(folder)?;
    let superfluous = kept.len().saturating_sub(MAX_KEPT);
    kept.iter().take(superfluous).try_for_each(|(_, path)| files::remove_folder(path))
}

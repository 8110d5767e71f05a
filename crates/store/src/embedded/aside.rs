//! Moves what is damaged out of the way, and keeps a little of it for people who want to see why.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use tracing::warn;

use super::super::{StoreError, atomic};

/// How many folders of damaged files are kept.
const KEPT: usize = 2;

/// Moves the whole store in `folder` away.
pub(super) fn whole(folder: &Path, reason: &str) -> Result<(), StoreError> {
    let aside = place(folder)?;
    fs::rename(folder, &aside).map_err(|source| StoreError::io(folder, source))?;
    report(folder, &aside, reason)
}

/// Moves a file beside the folder of the store away.
pub(super) fn neighbour(folder: &Path, name: &str, reason: &str) -> Result<(), StoreError> {
    let (from, aside) = (folder.with_file_name(name), place(folder)?);
    fs::create_dir_all(&aside).map_err(|source| StoreError::io(&aside, source))?;
    fs::rename(&from, aside.join(name)).map_err(|source| StoreError::io(&from, source))?;
    report(folder, &aside, reason)
}

/// Moves some of what is in `folder` away; what is not there any more needs no moving.
pub(super) fn parts<'a>(
    folder: &Path,
    parts: impl IntoIterator<Item = &'a str>,
    reason: &str,
) -> Result<(), StoreError> {
    let aside = place(folder)?;
    for part in parts {
        let (from, to) = (folder.join(part), aside.join(part));
        match from.symlink_metadata() {
            Ok(_) => {}
            Err(error) if is_gone(&error) => continue,
            Err(source) => return Err(StoreError::io(&from, source)),
        }
        let above = to.parent().unwrap_or(&aside);
        fs::create_dir_all(above).map_err(|source| StoreError::io(above, source))?;
        fs::rename(&from, &to).map_err(|source| StoreError::io(&from, source))?;
    }
    report(folder, &aside, reason)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns a name beside the folder of the store that is later than all there, whatever the clock says.
fn place(folder: &Path) -> Result<PathBuf, StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let next = kept(folder)?.last().map_or(now, |(newest, _)| now.max(newest.saturating_add(1)));
    Ok(folder.with_file_name(format!("{}{next}", prefix(folder))))
}

/// Returns what was moved away before, oldest first.
fn kept(folder: &Path) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let parent = folder.parent().unwrap_or(folder);
    let entries = fs::read_dir(parent).map_err(|source| StoreError::io(parent, source))?;
    let prefix = prefix(folder);
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

fn prefix(folder: &Path) -> String {
    format!("{}.damaged-", folder.file_name().unwrap_or_default().to_string_lossy())
}

/// Says what became of it, and removes the oldest of what was moved before.
fn report(folder: &Path, aside: &Path, reason: &str) -> Result<(), StoreError> {
    warn!(
        reason,
        moved_to = %aside.display(),
        kept = KEPT,
        "the index is damaged and is repaired from the repositories; what was moved away can be deleted"
    );
    let kept = kept(folder)?;
    let superfluous = kept.len().saturating_sub(KEPT);
    kept.iter().take(superfluous).try_for_each(|(_, path)| atomic::remove_folder(path))
}

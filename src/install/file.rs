//! A file of a person: read within bounds, changed whole or not at all, with its mode and behind its link.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::error::InstallError;
use crate::atomic::{self, Readers};

/// Largest file that is changed. Claude Code keeps its history in the file of its servers.
const MAX_BYTES: u64 = 8 << 20;

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it is, which a link may lead to.
    pub(super) path: PathBuf,
    pub(super) is_linked: bool,
    /// Its text; `None` when it is not there.
    pub(super) text: Option<String>,
}

/// Reads a file. Fails where it could not be written again.
pub(super) fn read(path: &Path) -> Result<Found, InstallError> {
    let failed = |source| InstallError::file(path, source);
    let is_linked = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Found { path: path.to_owned(), is_linked: false, text: None });
        }
        found => found.map_err(failed)?.is_symlink(),
    };
    let path = if is_linked {
        path.canonicalize().map_err(|error| {
            InstallError::unfit(path, format!("is a link to what cannot be opened: {error}"))
        })?
    } else {
        path.to_owned()
    };
    let about = path.symlink_metadata().map_err(failed)?;
    if about.is_file() && about.len() > MAX_BYTES {
        return Err(InstallError::unfit(path, format!("is larger than {} MiB", MAX_BYTES >> 20)));
    }
    if about.is_file() && about.permissions().readonly() {
        return Err(InstallError::unfit(path, "is read-only"));
    }
    let bytes = atomic::read(&path, Readers::AsUsual).map_err(failed)?;
    let text = bytes.map(String::from_utf8).transpose();
    let text = text.map_err(|_| InstallError::unfit(&path, "is not UTF-8"))?;
    Ok(Found { path, is_linked, text })
}

impl Found {
    /// Puts `text` in the file's place, or takes it away, unless another program changed it meanwhile.
    /// Returns the uppermost folder that was made for it.
    pub(super) fn replace(&self, text: Option<&str>) -> Result<Option<PathBuf>, InstallError> {
        let failed = |source| InstallError::file(&self.path, source);
        if read(&self.path)?.text != self.text {
            let reason = "was changed by another program meanwhile; nothing was written to it";
            return Err(InstallError::unfit(&self.path, reason));
        }
        let Some(text) = text else {
            return atomic::remove(&self.path).map(|()| None).map_err(failed);
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let missing = folder.ancestors().take_while(|folder| folder.symlink_metadata().is_err());
        let made = missing.last().map(Path::to_owned);
        fs::create_dir_all(folder).map_err(failed)?;
        atomic::exchange(&self.path, text.as_bytes()).map_err(failed)?;
        Ok(made)
    }
}

/// Removes the folder of `path` and those above it up to `uppermost`, as far as they are empty.
pub(super) fn remove_folders(path: &Path, uppermost: &Path) {
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(uppermost));
    for folder in folders {
        // One that holds something now is not ours alone any more.
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

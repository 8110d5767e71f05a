//! A person's file: read within bounds, and replaced atomically with its mode and its link
//! preserved.

use std::{
    io,
    path::{Path, PathBuf},
};

use codeinfo_core::atomic::{self, FileAccess};

use super::error::InstallError;

/// Maximum bytes of an edited file. Claude Code stores its history in the file of its servers.
const MAX_BYTES: u64 = 8 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditableFile {
    /// Path of the client's file, or the target of a link in its place.
    pub(super) path: PathBuf,
    /// Path without links.
    pub(super) real_path: PathBuf,
    pub(super) is_linked: bool,
    /// Text of the file; `None` if it does not exist.
    pub(super) text: Option<String>,
}

/// Reads a file. Fails if the file could not be written afterwards.
pub(super) fn read_file(path: &Path) -> Result<EditableFile, InstallError> {
    let failed = |source| InstallError::for_file(path, source);
    let real_path = resolve_links(path)?;
    let is_linked = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(EditableFile {
                path: path.to_owned(),
                real_path,
                is_linked: false,
                text: None,
            });
        }
        found => found.map_err(failed)?.is_symlink(),
    };
    let path = if is_linked { real_path.clone() } else { path.to_owned() };
    let about = path.symlink_metadata().map_err(failed)?;
    if about.is_file() {
        refuse_large(&path, about.len())?;
    }
    if about.is_file() && about.permissions().readonly() {
        return Err(InstallError::unfit_file(path, "is read-only"));
    }
    let bytes = atomic::read_if_exists(&path, FileAccess::AsUsual).map_err(failed)?;
    let decoded = bytes.map(String::from_utf8).transpose();
    let text = decoded.map_err(|_| InstallError::unfit_file(&path, "is not UTF-8"))?;
    Ok(EditableFile { path, real_path, is_linked, text })
}

/// Refuses a file that is too large to be read again.
pub(super) fn refuse_large(path: &Path, bytes: u64) -> Result<(), InstallError> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    Err(InstallError::unfit_file(path, format!("is larger than {} MiB", MAX_BYTES >> 20)))
}

/// Returns the path of an existing or new file without links.
pub(super) fn resolve_links(path: &Path) -> Result<PathBuf, InstallError> {
    let absolute =
        std::path::absolute(path).map_err(|source| InstallError::for_file(path, source))?;
    let is_there = |part: &&Path| part.symlink_metadata().is_ok();
    let present = absolute.ancestors().find(is_there).unwrap_or(&absolute);
    let mut real_path = present.canonicalize().map_err(|error| {
        InstallError::unfit_file(present, format!("is a link to what cannot be opened: {error}"))
    })?;
    real_path.extend(absolute.strip_prefix(present).into_iter().flatten());
    Ok(real_path)
}

impl EditableFile {
    /// Writes `text` to the file, or removes the file, unless another program changed it meanwhile.
    pub(super) fn replace_text(&self, text: Option<&str>) -> Result<(), InstallError> {
        let failed = |source| InstallError::for_file(&self.path, source);
        if read_file(&self.path)?.text != self.text {
            let reason = "was changed by another program meanwhile; nothing was written to it";
            return Err(InstallError::unfit_file(&self.path, reason));
        }
        let Some(text) = text else { return atomic::remove_file(&self.path).map_err(failed) };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        atomic::create_folders(folder, FileAccess::AsUsual).map_err(failed)?;
        atomic::replace_user_file(&self.path, text.as_bytes()).map_err(failed)
    }

    /// Returns the folders that must be created for the file.
    pub(super) fn missing_folders(&self) -> impl Iterator<Item = PathBuf> {
        let folders = self.real_path.ancestors().skip(1);
        folders.take_while(|folder| folder.symlink_metadata().is_err()).map(Path::to_owned)
    }
}

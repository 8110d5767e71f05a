//! Opens files beneath a root by path, for systems without folder handles.
//!
//! Checks each part for links before opening it. A link that replaces it in between is missed.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

use super::{FileFacts, FolderEntry, FolderEntryKind};

#[derive(Debug)]
pub(super) struct SystemRoot(PathBuf);

pub(super) struct SystemFolder(PathBuf);

impl SystemRoot {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let top = Self(root.to_owned());
        top.open_folder(Path::new("")).map(|_| top)
    }

    pub(super) fn open_folder(&self, path: &Path) -> io::Result<SystemFolder> {
        let full_path = self.join_without_links(path)?;
        if !full_path.symlink_metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(SystemFolder(full_path))
    }

    pub(super) fn open_file(&self, path: &Path) -> io::Result<File> {
        File::open(self.join_without_links(path)?)
    }

    fn join_without_links(&self, path: &Path) -> io::Result<PathBuf> {
        let mut whole = self.0.clone();
        for part in path.components() {
            if !matches!(part, Component::Normal(_)) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            whole.push(part);
            if whole.symlink_metadata()?.is_symlink() {
                return Err(io::Error::other("it is a link"));
            }
        }
        Ok(whole)
    }
}

impl SystemFolder {
    pub(super) fn list_entries(&mut self) -> impl Iterator<Item = io::Result<FolderEntry>> + '_ {
        let (entries, failed) = match fs::read_dir(&self.0) {
            Ok(entries) => (Some(entries), None),
            Err(error) => (None, Some(Err(error))),
        };
        let entries = entries.into_iter().flatten().map(|result| {
            let entry = result?;
            let kind = match entry.file_type()? {
                kind if kind.is_file() => FolderEntryKind::File,
                kind if kind.is_dir() => FolderEntryKind::Folder,
                _ => FolderEntryKind::Other,
            };
            Ok(FolderEntry { name: entry.file_name(), kind })
        });
        failed.into_iter().chain(entries)
    }

    pub(super) fn read_facts(&self, name: &OsStr) -> io::Result<Option<FileFacts>> {
        let metadata = self.0.join(name).symlink_metadata()?;
        let facts =
            FileFacts { size: metadata.len(), modified_ns: codeinfo_core::modified_ns(&metadata) };
        Ok(metadata.is_file().then_some(facts))
    }
}

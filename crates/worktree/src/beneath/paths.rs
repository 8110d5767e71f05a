//! Opening beneath a root by paths, where the system has no handles of folders. A link is found by
//! looking at each part before it is opened; what is swapped between is not.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

use super::{Entry, Facts, Kind};

#[derive(Debug)]
pub(super) struct Top(PathBuf);

pub(super) struct Folder(PathBuf);

impl Top {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let top = Self(root.to_owned());
        top.folder(Path::new("")).map(|_| top)
    }

    pub(super) fn folder(&self, path: &Path) -> io::Result<Folder> {
        let path = self.checked(path)?;
        if !path.symlink_metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Folder(path))
    }

    pub(super) fn file(&self, path: &Path) -> io::Result<File> {
        File::open(self.checked(path)?)
    }

    fn checked(&self, path: &Path) -> io::Result<PathBuf> {
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

impl Folder {
    pub(super) fn entries(&mut self) -> impl Iterator<Item = io::Result<Entry>> + '_ {
        let (entries, failed) = match fs::read_dir(&self.0) {
            Ok(entries) => (Some(entries), None),
            Err(error) => (None, Some(Err(error))),
        };
        let entries = entries.into_iter().flatten().map(|entry| {
            let entry = entry?;
            let kind = match entry.file_type()? {
                kind if kind.is_file() => Kind::File,
                kind if kind.is_dir() => Kind::Folder,
                _ => Kind::Other,
            };
            Ok(Entry { name: entry.file_name(), kind })
        });
        failed.into_iter().chain(entries)
    }

    pub(super) fn facts(&self, name: &OsStr) -> io::Result<Option<Facts>> {
        let metadata = self.0.join(name).symlink_metadata()?;
        let facts =
            Facts { size: metadata.len(), modified_ns: codeinfo_core::modified_ns(&metadata) };
        Ok(metadata.is_file().then_some(facts))
    }
}

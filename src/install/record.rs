//! Remembers what a file was before it was changed, so that it can be put back.
//!
//! Two small files in the data folder for each file that was changed: `NAME.before`, the bytes that were there,
//! and `NAME.changed`, which says what they belong to. A file that is no longer as it was left gets none of
//! them back.

use std::path::{Path, PathBuf};

use codeinfo_core::{
    atomic::{self, Readers},
    hash::sha256,
};
use serde::{Deserialize, Serialize};

use super::error::InstallError;

const FOLDER: &str = "clients";

/// What is known of one changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    path: PathBuf,
    /// Digest of what was there before; `None` when the file was made.
    before: Option<String>,
    /// Digests of what was written since, the last one last.
    after: Vec<String>,
    /// Whether the file was made, now or before someone changed it.
    pub(super) is_made: bool,
    /// Whether the permission that it has was given by CodeInfo.
    pub(super) is_permitted: bool,
}

/// What to put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before {
    Text(String),
    /// There was no file.
    Nothing,
}

impl Before {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Nothing => None,
        }
    }
}

/// The record of one file, there or not.
#[derive(Debug)]
pub(super) struct Place {
    folder: PathBuf,
    path: PathBuf,
    name: String,
}

impl Place {
    pub(super) fn new(data_dir: &Path, path: &Path) -> Self {
        let mut name = digest(&path.to_string_lossy());
        name.truncate(16);
        Self { folder: records_folder(data_dir), path: path.to_owned(), name }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    /// Where the bytes that were there are kept.
    pub(super) fn backup(&self) -> PathBuf {
        self.file("before")
    }

    /// Returns the record. One that cannot be read counts as none: then only our own entry is removed.
    pub(super) fn load(&self) -> Option<Record> {
        let bytes = atomic::read(&self.file("changed"), Readers::Owner).ok()??;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        (record.path == self.path).then_some(record)
    }

    /// Returns what was in a file before the first change, if it is still as it was left.
    pub(super) fn before(&self, record: &Record, now: &str) -> Option<Before> {
        if !record.after.contains(&digest(now)) {
            return None;
        }
        let Some(wanted) = &record.before else { return Some(Before::Nothing) };
        let bytes = atomic::read(&self.backup(), Readers::Owner).ok()??;
        let text = String::from_utf8(bytes).ok()?;
        (digest(&text) == *wanted).then_some(Before::Text(text))
    }

    /// Remembers that `before` becomes `after`. A record of the same start grows, and what is ours stays known in
    /// one that starts again.
    pub(super) fn keep(
        &self,
        before: &Before,
        after: &str,
        is_permitted: bool,
    ) -> Result<(), InstallError> {
        create_folder(&self.folder)?;
        let wanted = before.text().map(digest);
        let old = self.load();
        let is_made = wanted.is_none() || old.as_ref().is_some_and(|record| record.is_made);
        let same = old.filter(|record| record.before == wanted);
        let mut after_digests = same.map(|record| record.after).unwrap_or_default();
        after_digests.retain(|known| *known != digest(after));
        after_digests.push(digest(after));
        if let Before::Text(text) = before {
            let backup = self.backup();
            atomic::replace(&backup, text.as_bytes(), Readers::Owner)
                .map_err(|source| InstallError::file(&backup, source))?;
        }
        let path = self.path.clone();
        self.store(&Record { path, before: wanted, after: after_digests, is_made, is_permitted })
    }

    fn store(&self, record: &Record) -> Result<(), InstallError> {
        let file = self.file("changed");
        let failed = |source| InstallError::file(&file, source);
        let bytes = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        atomic::replace(&file, &bytes, Readers::Owner).map_err(failed)
    }

    pub(super) fn forget(&self) -> Result<(), InstallError> {
        for file in [self.file("changed"), self.backup()] {
            atomic::remove(&file).map_err(|source| InstallError::file(&file, source))?;
        }
        Ok(())
    }
}

/// Returns the folder of all records.
pub(super) fn records_folder(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

/// Makes the folder of all records, for its user alone.
pub(super) fn create_folder(folder: &Path) -> Result<(), InstallError> {
    let made = atomic::create_folders(folder, Readers::Owner);
    made.map_err(|source| InstallError::file(folder, source))
}

fn digest(text: &str) -> String {
    sha256(text.as_bytes())
}

//! Remembers what a file was before it was changed, so that it can be put back.
//!
//! Two small files in the data folder for each file that was changed: `NAME.before`, the bytes that were there,
//! and `NAME.changed`, which says what they belong to. A file that is no longer as it was left gets none of
//! them back.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::error::InstallError;
use crate::{
    atomic::{self, Readers},
    domain::hash::sha256,
};

const FOLDER: &str = "clients";

/// What is known of one changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    path: PathBuf,
    /// Digest of what was there before; `None` when the file was made.
    before: Option<String>,
    /// Digests of what was written since, the last one last.
    after: Vec<String>,
    /// The uppermost folder that was made.
    pub(super) made: Option<PathBuf>,
}

/// What to put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before {
    Text(String),
    /// There was no file.
    Nothing,
}

impl Before {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Nothing => "",
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
        Self { folder: data_dir.join(FOLDER), path: path.to_owned(), name }
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

    /// Returns what was in a file that is still as it was left.
    pub(super) fn before(&self, record: &Record, now: &str) -> Option<Before> {
        record.after.contains(&digest(now)).then(|| self.original(record))?
    }

    /// Returns what was in a file before the first change, whatever it holds now.
    pub(super) fn original(&self, record: &Record) -> Option<Before> {
        let Some(wanted) = &record.before else { return Some(Before::Nothing) };
        let bytes = atomic::read(&self.backup(), Readers::Owner).ok()??;
        let text = String::from_utf8(bytes).ok()?;
        (digest(&text) == *wanted).then_some(Before::Text(text))
    }

    /// Remembers that `before` becomes `after`. A record of the same start grows.
    pub(super) fn keep(&self, before: &Before, after: &str) -> Result<Record, InstallError> {
        let folder_failed = |source| InstallError::file(&self.folder, source);
        private_folder(&self.folder).map_err(folder_failed)?;
        let wanted = match before {
            Before::Text(text) => Some(digest(text)),
            Before::Nothing => None,
        };
        let old = self.load().filter(|record| record.before == wanted);
        let mut record = old.unwrap_or_else(|| Record {
            path: self.path.clone(),
            before: wanted,
            after: Vec::new(),
            made: None,
        });
        record.after.retain(|digest_before| *digest_before != digest(after));
        record.after.push(digest(after));
        if let Before::Text(text) = before {
            let backup = self.backup();
            atomic::replace(&backup, text.as_bytes(), Readers::Owner)
                .map_err(|source| InstallError::file(&backup, source))?;
        }
        self.store(&record)?;
        Ok(record)
    }

    pub(super) fn store(&self, record: &Record) -> Result<(), InstallError> {
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

fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn digest(text: &str) -> String {
    sha256(text.as_bytes())
}

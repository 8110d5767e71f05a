//! Records what `install` changed, to undo it: originals of files, created folders, and refusals.
//!
//! Each changed file has two small files in the data folder: `NAME.before` with the original bytes,
//! and `NAME.changed`, which describes them. A file that others changed since is not restored.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use codeinfo_core::{
    atomic::{self, FileAccess},
    hash::sha256_hex,
};
use serde::{Deserialize, Serialize};

use super::messages::InstallError;

const FOLDER: &str = "clients";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangeRecord {
    path: PathBuf,
    /// Digest of the original; `None` if the file was created.
    before: Option<String>,
    /// Digests of the texts written since, the latest last.
    after: Vec<String>,
    /// True if CodeInfo created the file, even if someone changed it since.
    pub(super) is_made: bool,
    /// True if CodeInfo added the permission in the file.
    pub(super) is_permitted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OriginalContent {
    Text(String),
    Nothing,
}

impl OriginalContent {
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Nothing => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct RecordFile {
    folder: PathBuf,
    path: PathBuf,
    name: String,
}

impl RecordFile {
    pub(super) fn new(data_dir: &Path, path: &Path) -> Self {
        let mut name = hash_text(&path.to_string_lossy());
        name.truncate(16);
        Self { folder: records_folder(data_dir), path: path.to_owned(), name }
    }

    fn record_path(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    pub(super) fn backup_path(&self) -> PathBuf {
        self.record_path("before")
    }

    /// Returns the record; without a readable one, only the entry of CodeInfo is removed.
    pub(super) fn load_record(&self) -> Option<ChangeRecord> {
        let bytes =
            atomic::read_if_exists(&self.record_path("changed"), FileAccess::Owner).ok()??;
        let record: ChangeRecord = serde_json::from_slice(&bytes).ok()?;
        (record.path == self.path).then_some(record)
    }

    /// Returns the original of a file, if nothing else has changed the file since.
    pub(super) fn load_original(
        &self,
        record: &ChangeRecord,
        now: &str,
    ) -> Option<OriginalContent> {
        if !record.after.contains(&hash_text(now)) {
            return None;
        }
        let Some(digest) = &record.before else { return Some(OriginalContent::Nothing) };
        let bytes = atomic::read_if_exists(&self.backup_path(), FileAccess::Owner).ok()??;
        let text = String::from_utf8(bytes).ok()?;
        (hash_text(&text) == *digest).then_some(OriginalContent::Text(text))
    }

    /// Records a change. Extends a record of the same original, and keeps `is_made` in a new one.
    pub(super) fn save_change(
        &self,
        before: &OriginalContent,
        after: &str,
        is_permitted: bool,
    ) -> Result<(), InstallError> {
        create_folder(&self.folder)?;
        let digest = before.text().map(hash_text);
        let old = self.load_record();
        let is_made = digest.is_none() || old.as_ref().is_some_and(|record| record.is_made);
        let same = old.filter(|record| record.before == digest);
        let mut after_digests = same.map(|record| record.after).unwrap_or_default();
        after_digests.retain(|known| *known != hash_text(after));
        after_digests.push(hash_text(after));
        if let OriginalContent::Text(text) = before {
            let backup = self.backup_path();
            atomic::write_atomically(&backup, text.as_bytes(), FileAccess::Owner)
                .map_err(|source| InstallError::for_file(&backup, source))?;
        }
        let path = self.path.clone();
        self.write_record(&ChangeRecord {
            path,
            before: digest,
            after: after_digests,
            is_made,
            is_permitted,
        })
    }

    fn write_record(&self, record: &ChangeRecord) -> Result<(), InstallError> {
        let file = self.record_path("changed");
        let failed = |source| InstallError::for_file(&file, source);
        let bytes = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        atomic::write_atomically(&file, &bytes, FileAccess::Owner).map_err(failed)
    }

    pub(super) fn remove_files(&self) -> Result<(), InstallError> {
        for file in [self.record_path("changed"), self.backup_path()] {
            atomic::remove_file(&file).map_err(|source| InstallError::for_file(&file, source))?;
        }
        Ok(())
    }
}

fn records_folder(data_dir: &Path) -> PathBuf {
    data_dir.join(FOLDER)
}

/// Creates the folder of all records, for its user only.
fn create_folder(folder: &Path) -> Result<(), InstallError> {
    let made = atomic::create_folders(folder, FileAccess::Owner);
    made.map_err(|source| InstallError::for_file(folder, source))
}

fn hash_text(text: &str) -> String {
    sha256_hex(text.as_bytes())
}

const STATE_FILE: &str = "state.json";

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct InstallState {
    /// Clients that do not index the repository in which they start.
    pub(super) without_indexing: BTreeSet<String>,
    pub(super) without_permissions: BTreeSet<String>,
    /// Clients whose models get no lines and no sub-agent.
    pub(super) without_instructions: BTreeSet<String>,
    pub(super) made_folders: BTreeSet<PathBuf>,
}

impl InstallState {
    /// Reads the state. An unreadable one counts as empty.
    pub(super) fn load(data_dir: &Path) -> Self {
        let stored =
            atomic::read_if_exists(&records_folder(data_dir).join(STATE_FILE), FileAccess::Owner)
                .ok();
        serde_json::from_slice(&stored.flatten().unwrap_or_default()).unwrap_or_default()
    }

    pub(super) fn store(&self, data_dir: &Path) -> Result<(), InstallError> {
        if *self == Self::load(data_dir) {
            return Ok(());
        }
        let file = records_folder(data_dir).join(STATE_FILE);
        let failed = |source| InstallError::for_file(&file, source);
        if *self == Self::default() {
            return atomic::remove_file(&file).map_err(failed);
        }
        let bytes = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        create_folder(&records_folder(data_dir))?;
        atomic::write_atomically(&file, &bytes, FileAccess::Owner).map_err(failed)
    }

    pub(super) fn forget_client(&mut self, id: &str) {
        self.without_indexing.remove(id);
        self.without_permissions.remove(id);
        self.without_instructions.remove(id);
    }

    /// Removes the created folders that are empty, inner ones first.
    pub(super) fn remove_empty_folders(&mut self) {
        for folder in std::mem::take(&mut self.made_folders).into_iter().rev() {
            match fs::remove_dir(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => drop(self.made_folders.insert(folder)),
            }
        }
    }
}

//! Records what concerns no single file: created folders, and refusals of a person.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use codeinfo_core::atomic::{self, FileAccess};
use serde::{Deserialize, Serialize};

use super::{
    error::InstallError,
    record::{create_folder, records_folder},
};

const FILE: &str = "state.json";

/// State of all clients, in the data folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct InstallState {
    /// Clients that do not index the repository in which they start.
    pub(super) without_indexing: BTreeSet<String>,
    /// Clients that ask before calls.
    pub(super) without_permissions: BTreeSet<String>,
    /// Clients whose models get no lines and no sub-agent.
    pub(super) without_instructions: BTreeSet<String>,
    /// Folders that were created for files of clients.
    pub(super) made_folders: BTreeSet<PathBuf>,
}

impl InstallState {
    /// Reads the state. An unreadable one counts as empty.
    pub(super) fn load(data_dir: &Path) -> Self {
        let stored =
            atomic::read_if_exists(&records_folder(data_dir).join(FILE), FileAccess::Owner).ok();
        serde_json::from_slice(&stored.flatten().unwrap_or_default()).unwrap_or_default()
    }

    /// Writes the state if it changed.
    pub(super) fn store(&self, data_dir: &Path) -> Result<(), InstallError> {
        if *self == Self::load(data_dir) {
            return Ok(());
        }
        let file = records_folder(data_dir).join(FILE);
        let failed = |source| InstallError::for_file(&file, source);
        if *self == Self::default() {
            return atomic::remove_file(&file).map_err(failed);
        }
        let bytes = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        create_folder(&records_folder(data_dir))?;
        atomic::write_atomically(&file, &bytes, FileAccess::Owner).map_err(failed)
    }

    /// Forgets the refusals for a client.
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

//! The identity of a process among those that share a server.

use std::{path::Path, process};

use codeinfo_core::{
    Host,
    atomic::{self, FileAccess},
};
use uuid::Uuid;

use crate::StoreError;

/// Name of the file with the id of a data folder, which identifies the process that holds it.
const FILE: &str = "instance";

/// A process among those that share a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// The same for every process on this data folder of this machine, of which there is one at a
    /// time: this process inherits the leases of earlier ones.
    pub owner: String,
    /// Name for messages, such as ``process 12 on `build` ``.
    pub name: String,
    /// Owner of the roots that this process indexes: the data folder, since containers of one host see other folders at a
    /// path, and a recreated container has another name.
    pub host: Host,
}

impl ProcessIdentity {
    /// Returns the identity of the process that holds `data_dir`. Blocks for file access.
    pub fn read_or_create(data_dir: &Path) -> Result<Self, StoreError> {
        let path = data_dir.join(FILE);
        let failed = |source| StoreError::io(&path, source);
        let bytes = atomic::read_if_exists(&path, FileAccess::AsUsual).map_err(failed)?;
        let known = bytes.and_then(|bytes| Uuid::try_parse_ascii(&bytes).ok());
        let instance = known.unwrap_or_else(Uuid::new_v4);
        if known.is_none() {
            let bytes = instance.to_string().into_bytes();
            atomic::write_atomically(&path, &bytes, FileAccess::Owner).map_err(failed)?;
        }
        // A copy of the folder on another machine has another identity.
        let host = sysinfo::System::host_name().unwrap_or_else(|| "an unnamed machine".to_owned());
        let name = format!("process {} on `{host}`", process::id());
        let owner = format!("{host}/{instance}");
        Ok(Self { owner, name, host: Host { id: instance, name: host } })
    }
}

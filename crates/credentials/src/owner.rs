//! Key of the owner. A client that knows the key can read the data folder, where the key file is.

use std::path::Path;

use codeinfo_core::{
    Secret,
    atomic::{self, FileAccess},
};

use super::{CredentialError, bearer};

const FILE: &str = "owner.key";

/// Reads the owner's key of a data folder, for sending it to the server that has the folder open.
///
/// Returns `None` if there is no key yet.
pub fn owner_key(data_dir: &Path) -> Result<Option<Secret>, CredentialError> {
    let path = data_dir.join(FILE);
    let read = atomic::read_if_exists(&path, FileAccess::Owner);
    let Some(bytes) = read.map_err(|error| CredentialError::for_file(&path, error))? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).unwrap_or_default();
    let key = text.trim();
    // A truncated key would be easier to guess.
    if key.len() != bearer::KEY.len() + bearer::RANDOM_CHARS || !key.starts_with(bearer::KEY) {
        let reason = "it holds no whole key; stop the server and remove it, and the next start makes another";
        return Err(CredentialError::Damaged { path, reason });
    }
    Ok(Some(Secret::new(key.to_owned())))
}

/// Reads the key, or creates it if it is missing.
pub(super) fn owner_key_or_new(data_dir: &Path) -> Result<Secret, CredentialError> {
    if let Some(key) = owner_key(data_dir)? {
        return Ok(key);
    }
    let key = bearer::generate_bearer(bearer::KEY)?;
    let path = data_dir.join(FILE);
    let written = atomic::write_atomically(
        &path,
        format!("{}\n", key.expose()).as_bytes(),
        FileAccess::Owner,
    );
    written.map_err(|error| CredentialError::for_file(&path, error)).map(|()| key)
}

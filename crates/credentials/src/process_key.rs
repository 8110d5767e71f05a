//! Key of this process, for a program that it starts and that calls back. It is never stored and
//! ends with the process.

use codeinfo_core::Secret;

use super::{CredentialError, bearer::BearerFingerprint};

/// Bearer that only this process knows. Clones are the same key.
#[derive(Debug, Clone)]
pub struct ProcessKey {
    key: Secret,
    fingerprint: BearerFingerprint,
}

impl ProcessKey {
    /// Generates a key of 256 random bits.
    pub fn generate() -> Result<Self, CredentialError> {
        let key = super::fresh_key()?;
        Ok(Self { fingerprint: BearerFingerprint::from_bearer(key.expose()), key })
    }

    /// Returns the key, for the started program.
    pub fn secret(&self) -> &Secret {
        &self.key
    }

    /// Returns whether a bearer is this key. Compares in constant time.
    pub fn matches(&self, bearer: &str) -> bool {
        self.fingerprint.matches(&BearerFingerprint::from_bearer(bearer))
    }
}

//! A key of this process, for a program that it starts and that calls back. It is kept nowhere, and ends with
//! the process.

use codeinfo_core::Secret;

use super::{CredentialError, bearer::BearerFingerprint};

/// A bearer that was made by this process and is known to it alone. Clones are the same key.
#[derive(Debug, Clone)]
pub struct ProcessKey {
    key: Secret,
    fingerprint: BearerFingerprint,
}

impl ProcessKey {
    /// Makes one of 256 random bits.
    pub fn generate() -> Result<Self, CredentialError> {
        let key = super::fresh_key()?;
        Ok(Self { fingerprint: BearerFingerprint::from_bearer(key.expose()), key })
    }

    /// Returns the key, to be handed to the program.
    pub fn secret(&self) -> &Secret {
        &self.key
    }

    /// Whether a bearer is this key, in constant time.
    pub fn matches(&self, bearer: &str) -> bool {
        self.fingerprint.matches(&BearerFingerprint::from_bearer(bearer))
    }
}

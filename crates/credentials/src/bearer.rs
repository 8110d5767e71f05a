//! Bearers: random secrets that are stored as a hash, the key of the owner, and the key of this process.

use std::path::Path;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use codeinfo_core::Secret;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{CredentialError, read_private_file, replace_private_file};

/// Prefix of tokens, by which secret scanners find them. `secret/token.rs` contains it as well.
pub(super) const TOKEN: &str = "codeinfo_pat_";
/// Prefix of the keys of a process and of the owner.
pub(super) const KEY: &str = "codeinfo_key_";

/// Number of characters after the prefix.
pub(super) const RANDOM_CHARS: usize = 43;

/// Generates a bearer of 256 random bits with a prefix.
pub(super) fn generate_bearer(prefix: &str) -> Result<Secret, CredentialError> {
    let bytes: [u8; 32] = generate_random_bytes()?;
    Ok(Secret::new(format!("{prefix}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes))))
}

pub(super) fn generate_random_bytes<const N: usize>() -> Result<[u8; N], CredentialError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| CredentialError::Random)?;
    Ok(bytes)
}

/// Stored hash that recognizes a bearer. SHA-256 suffices, because bearers are random.
#[derive(Debug, Clone, Copy)]
pub(super) struct BearerFingerprint([u8; 32]);

impl BearerFingerprint {
    pub(super) fn from_bearer(bearer: &str) -> Self {
        Self(Sha256::digest(bearer.as_bytes()).into())
    }

    /// Compares in constant time.
    pub(super) fn matches(&self, other: &Self) -> bool {
        self.0.as_slice().ct_eq(other.0.as_slice()).into()
    }

    pub(super) fn render(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.0)
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        BASE64_URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

const FILE: &str = "owner.key";

/// Reads the owner's key of a data folder, for the server that has it open; `None` if there is no key yet.
pub fn owner_key(data_dir: &Path) -> Result<Option<Secret>, CredentialError> {
    let path = data_dir.join(FILE);
    let Some(bytes) = read_private_file(&path)? else { return Ok(None) };
    let text = String::from_utf8(bytes).unwrap_or_default();
    let key = text.trim();
    // A truncated key would be easier to guess.
    if key.len() != KEY.len() + RANDOM_CHARS || !key.starts_with(KEY) {
        let reason = "it holds no whole key; stop the server and remove it, and the next start makes another";
        return Err(CredentialError::Damaged { path, reason });
    }
    Ok(Some(Secret::new(key.to_owned())))
}

pub(super) fn owner_key_or_new(data_dir: &Path) -> Result<Secret, CredentialError> {
    if let Some(key) = owner_key(data_dir)? {
        return Ok(key);
    }
    let key = generate_bearer(KEY)?;
    let path = data_dir.join(FILE);
    replace_private_file(&path, format!("{}\n", key.expose()).as_bytes())?;
    Ok(key)
}

/// Bearer that only this process knows. Clones are the same key.
#[derive(Debug, Clone)]
pub struct ProcessKey {
    key: Secret,
    fingerprint: BearerFingerprint,
}

impl ProcessKey {
    /// Generates a key of 256 random bits.
    pub fn generate() -> Result<Self, CredentialError> {
        let key = generate_bearer(KEY)?;
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

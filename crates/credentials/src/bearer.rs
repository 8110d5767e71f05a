//! Bearers: random secrets that are recognized by their prefix and stored as a hash.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use codeinfo_core::Secret;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::CredentialError;

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

/// Returns random bytes of the system.
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

    /// Returns the text form for the file.
    pub(super) fn render(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Parses the text form.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        BASE64_URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

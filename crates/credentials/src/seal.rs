//! Key of stored configurations, and encryption of their versions, bound to their place.

use std::{fmt, str::FromStr};

use base64::{
    Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};

use super::{CredentialError, bearer};

/// First bytes of a sealed version: the format and the method of sealing.
const MAGIC: &[u8; 8] = b"CICONF\0\x01";
/// Number of bytes of a key's hash that identify the key. They reveal nothing, because keys are random.
const KEY_ID_BYTES: usize = 8;

/// Place of a version. A version sealed for one place cannot be opened at another.
#[derive(Debug, Clone, Copy)]
pub(super) struct SealContext<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) principal: &'a str,
    pub(super) version: u64,
}

/// Reasons why a version cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsealError {
    OtherKey,
    /// The content is not what was sealed for this place.
    Changed,
}

/// Seals `plain`. The result consists of the format, the id of the key, a fresh nonce, the ciphertext and the tag.
pub(super) fn seal_version(
    key: &SecretKey,
    place: SealContext<'_>,
    plain: &[u8],
) -> Result<Vec<u8>, CredentialError> {
    let nonce: [u8; NONCE_LEN] = bearer::generate_random_bytes()?;
    let head = [MAGIC.as_slice(), &key_id(key)].concat();
    let mut sealed = plain.to_vec();
    build_cipher(key)?
        .seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(build_associated_data(&head, place)),
            &mut sealed,
        )
        .map_err(|_| CredentialError::Random)?;
    Ok([head.as_slice(), &nonce, &sealed].concat())
}

pub(super) fn open_sealed(
    key: &SecretKey,
    place: SealContext<'_>,
    sealed: &[u8],
) -> Result<Vec<u8>, UnsealError> {
    let (head, rest) = sealed
        .split_at_checked(MAGIC.len() + KEY_ID_BYTES)
        .filter(|(head, _)| head.starts_with(MAGIC))
        .ok_or(UnsealError::Changed)?;
    if !head.ends_with(&key_id(key)) {
        return Err(UnsealError::OtherKey);
    }
    let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_LEN>().ok_or(UnsealError::Changed)?;
    let mut opened = ciphertext.to_vec();
    let cipher = build_cipher(key).map_err(|_| UnsealError::Changed)?;
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let plain =
        cipher.open_in_place(nonce, Aad::from(build_associated_data(head, place)), &mut opened);
    plain.map(|plain| plain.to_vec()).map_err(|_| UnsealError::Changed)
}

fn build_cipher(key: &SecretKey) -> Result<LessSafeKey, CredentialError> {
    // Fails only for keys of another length.
    let unbound =
        UnboundKey::new(&AES_256_GCM, key.expose()).map_err(|_| CredentialError::Random)?;
    Ok(LessSafeKey::new(unbound))
}

fn key_id(key: &SecretKey) -> [u8; KEY_ID_BYTES] {
    let hash: [u8; 32] =
        Sha256::new_with_prefix(b"codeinfo key id\0").chain_update(key.expose()).finalize().into();
    let mut id = [0; KEY_ID_BYTES];
    for (to, from) in id.iter_mut().zip(hash) {
        *to = from;
    }
    id
}

/// Builds the associated data. Each part follows its length, so that no two places give the same data.
fn build_associated_data(head: &[u8], place: SealContext<'_>) -> Vec<u8> {
    let version = place.version.to_le_bytes();
    let [namespace, name, principal] =
        [place.namespace, place.name, place.principal].map(str::as_bytes);
    let mut bound = Vec::new();
    for part in [head, namespace, name, principal, &version] {
        bound.extend((part.len() as u64).to_le_bytes());
        bound.extend(part);
    }
    bound
}

/// Key of 256 bits. Its `Debug` form hides the bits.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; SecretKey::BYTES]);

/// Error for a text that is not a key. The message omits the text, which may be almost a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 32 bytes in base64 or hex, such as `openssl rand -base64 32` prints")]
pub struct InvalidKey;

impl SecretKey {
    /// Length of a key in bytes.
    pub const BYTES: usize = 32;

    pub fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for encryption.
    pub fn expose(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

/// Parses base64 of either alphabet, padded or not, or hex.
impl FromStr for SecretKey {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let trimmed = text.trim();
        if trimmed.len() == 2 * Self::BYTES {
            return parse_hex(trimmed).map(Self).ok_or(InvalidKey);
        }
        let either =
            GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let decoded = [STANDARD, URL_SAFE]
            .iter()
            .find_map(|alphabet| GeneralPurpose::new(alphabet, either).decode(trimmed).ok());
        decoded.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(InvalidKey)
    }
}

fn parse_hex(text: &str) -> Option<[u8; SecretKey::BYTES]> {
    let mut key = [0; SecretKey::BYTES];
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        let mut digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
        let high = digits.next()??;
        let low = digits.next()??;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(key)
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidKey, SealContext, SecretKey, UnsealError, open_sealed, seal_version};

    const PLACE: SealContext<'_> =
        SealContext { namespace: "mcp", name: "config", principal: "ann", version: 7 };

    fn key(byte: u8) -> SecretKey {
        SecretKey::new([byte; SecretKey::BYTES])
    }

    #[test]
    fn each_sealing_differs_and_every_flipped_byte_is_noticed() {
        let first = seal_version(&key(1), PLACE, b"hunter2").unwrap();
        let second = seal_version(&key(1), PLACE, b"hunter2").unwrap();
        assert_ne!(first, second);
        assert_eq!(open_sealed(&key(1), PLACE, &first).unwrap(), b"hunter2");
        for at in 0..first.len() {
            let mut flipped = first.clone();
            flipped[at] ^= 1;
            assert!(open_sealed(&key(1), PLACE, &flipped).is_err(), "byte {at}");
            assert!(open_sealed(&key(1), PLACE, &first[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn what_is_sealed_opens_at_its_place_with_its_key_only() {
        let sealed = seal_version(&key(1), PLACE, b"x").unwrap();
        assert_eq!(open_sealed(&key(2), PLACE, &sealed), Err(UnsealError::OtherKey));
        for elsewhere in [
            SealContext { namespace: "mc", ..PLACE },
            SealContext { name: "pconfig", namespace: "mc", ..PLACE },
            SealContext { name: "other", ..PLACE },
            SealContext { principal: "bob", ..PLACE },
            SealContext { version: 8, ..PLACE },
        ] {
            assert_eq!(
                open_sealed(&key(1), elsewhere, &sealed),
                Err(UnsealError::Changed),
                "{elsewhere:?}"
            );
        }
    }

    #[test]
    fn a_key_is_read_in_the_forms_that_programs_print() {
        let mut bytes = [0xfb; SecretKey::BYTES];
        bytes[0] = 1;
        let wanted = SecretKey::new(bytes);
        let hex = format!("01{}", "fB".repeat(31));
        let standard = "Afv7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/v7+/s=";
        let url = standard.replace('+', "-").replace('/', "_").replace('=', "");
        for text in [hex.as_str(), standard, &url, &format!(" {standard}\n")] {
            assert_eq!(text.parse(), Ok(wanted.clone()), "{text}");
        }
        assert_eq!(format!("{wanted:?}"), "(secret)");
        for text in ["", "secret", &"fB".repeat(31), &format!("{hex}00"), &hex.replace('f', "g")] {
            assert_eq!(text.parse::<SecretKey>(), Err(InvalidKey), "{text}");
        }
    }
}

//! Key that encrypts stored configurations.

use std::{fmt, str::FromStr};

use base64::{
    Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

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
    use super::{InvalidKey, SecretKey};

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

//! Conversion between composed (NFC) and decomposed (NFD) accents. File systems and editors differ
//! in their form.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Composes the accents of a text. Borrows text that is already composed.
pub fn normalize_nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

/// Lists the encodings of a text: the given one, then the composed and the decomposed one if they
/// differ.
pub fn list_encodings(text: &str) -> Vec<String> {
    let mut encodings = vec![text.to_owned()];
    if !text.is_ascii() {
        for other in [text.nfc().collect::<String>(), text.nfd().collect()] {
            if !encodings.contains(&other) {
                encodings.push(other);
            }
        }
    }
    encodings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_composed_form_and_up_to_two_encodings() {
        let (composed, decomposed) = ("z\u{e4}hler", "za\u{308}hler");
        assert_eq!([normalize_nfc(composed), normalize_nfc(decomposed)], [composed, composed]);
        assert_eq!(list_encodings(composed), [composed, decomposed]);
        assert_eq!(list_encodings(decomposed), [decomposed, composed]);
        assert_eq!(list_encodings("counter"), ["counter"]);
    }
}

//! Finds tokens without a prefix: by their form (Discord), or by a service name before them
//! (Twilio).

use std::ops::Range;

use super::shape;

/// Minimum and maximum lengths of the parts of a Discord token: the number of a bot, a time, a
/// hash.
const PARTS: [(usize, usize); 3] = [(23, 28), (6, 7), (25, 45)];
/// Maximum bytes between the name of a service and its token.
const NEAR: usize = 200;
/// Length of a Twilio token in bytes.
const TWILIO: usize = 32;

/// Adds the Discord tokens of a text. Only the first part has a form of its own: base64 of digits.
pub(super) fn discord_anywhere(text: &str, into: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let is_dot = |at: usize| bytes.get(at) == Some(&b'.');
    for (dot, _) in text.match_indices('.') {
        if !is_dot(dot + 7) && !is_dot(dot + 8) {
            continue;
        }
        let before = bytes.iter().take(dot).rev().take(PARTS[0].1 + 1);
        let length = before.take_while(|byte| is_part(**byte)).count();
        let start = dot - length;
        if bytes.get(start..dot).is_some_and(is_encoded_number) {
            into.extend(find_discord_token(bytes, start));
        }
    }
}

/// Returns whether bytes are base64 of decimal digits, each of which has the same upper half.
fn is_encoded_number(bytes: &[u8]) -> bool {
    const FORMS: [&[u8]; 4] = [b"MNO", b"DTjz", b"AEIMQUYcgk", b"wxyz012345"];
    bytes.iter().zip(FORMS.iter().cycle()).all(|(byte, form)| form.contains(byte))
}

/// Returns the Discord token at `at`, if there is one.
pub(super) fn find_discord_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    if !matches!(text.get(at)?, b'M' | b'N' | b'O') {
        return None;
    }
    let mut end = at;
    for (part, (least, most)) in PARTS.into_iter().enumerate() {
        if part > 0 {
            end += usize::from(*text.get(end)? == b'.');
        }
        let length =
            text.get(end..)?.iter().take(most + 1).take_while(|byte| is_part(**byte)).count();
        if !(least..=most).contains(&length) {
            return None;
        }
        end += length;
    }
    Some(at..end)
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Adds the Twilio tokens shortly after the service name, which ends at `at`: 32 hexadecimal
/// digits.
pub(super) fn find_twilio_tokens(text: &[u8], at: usize, into: &mut Vec<Range<usize>>) {
    let Some(rest) = text.get(at..) else { return };
    // One byte more tells whether the last word ends there.
    let (near, _) = rest.split_at(rest.len().min(NEAR + TWILIO + 1));
    let mut start = at;
    for word in near.split(|byte| !is_part(*byte)) {
        let is_hex = word.iter().all(u8::is_ascii_hexdigit);
        let is_token = word.len() == TWILIO && is_hex && shape::is_varied(word);
        if is_token && start <= at + NEAR {
            into.push(start..start + TWILIO);
        }
        start += word.len() + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{NEAR, find_twilio_tokens};

    #[test]
    fn a_token_of_twilio_is_whole_and_near_its_name() {
        let token = "9f3c7a1e5b8d2046c7e19a3f5d8b0264";
        for (gap, after, count) in [(1, "", 1), (NEAR, "!", 1), (NEAR, "a", 0), (NEAR + 1, "!", 0)]
        {
            let text = format!("{}{token}{after}", " ".repeat(gap));
            let mut found = Vec::new();
            find_twilio_tokens(text.as_bytes(), 0, &mut found);
            assert_eq!(found.len(), count, "{text}");
            assert!(found.iter().all(|range| text.get(range.clone()) == Some(token)));
        }
    }
}

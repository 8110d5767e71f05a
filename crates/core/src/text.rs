//! Text for display: sanitized, shortened, composed or hidden.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
};

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Maximum bytes kept of a tool call's parameters and of its result; the model gets 48,000.
pub const MAX_TOOL_VALUE_BYTES: usize = 64 * 1024;
/// Mark at the end of a text that [`truncate_marked`] has cut.
pub const CUT_MARK: &str = "[cut: more than 64 KiB]";

/// Returns `text` as one line: replaces terminal controls and line ends, except tabs, with spaces.
pub fn plain_line(text: &str) -> String {
    text.replace(|c: char| c != '\t' && is_break(c), " ")
}

/// Cuts a tool's text to at most `max_bytes` at a character boundary and appends [`CUT_MARK`].
pub fn truncate_marked(text: &mut String, max_bytes: usize) {
    text.truncate(text.floor_char_boundary(max_bytes));
    text.push_str(CUT_MARK);
}

/// Returns a count with its noun, such as `1 file` or `2 files`.
pub fn count_things(number: u64, thing: &str) -> String {
    if number == 1 { format!("{number} {thing}") } else { format!("{number} {thing}s") }
}

/// Returns a name on one line of at most `max_chars`, without invisible or reordering characters.
pub fn plain_name(name: &str, max_chars: usize) -> String {
    let mut chars = name.chars().filter(|c| !is_invisible(*c));
    let mut plain: String =
        chars.by_ref().take(max_chars).map(|c| if is_break(c) { ' ' } else { c }).collect();
    if chars.next().is_some() {
        plain.pop();
        plain.push('…');
    }
    plain
}

/// Returns a third party's identifier as one word of at most `max_chars` characters. Characters
/// other than letters, digits and `_ - . : /` become `_`.
pub fn plain_word(word: &str, max_chars: usize) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.:/".contains(c);
    word.chars().take(max_chars).map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Removes the text before an `@` from every address in a value.
pub fn without_passwords(value: &str) -> String {
    const START: &str = "://";
    let mut parts = value.split(START);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        let end = part.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(part.len());
        let (address, rest) = part.split_at(end);
        match address.rsplit_once('@') {
            Some((_, after)) => format!("{shown}{START}…@{after}{rest}"),
            None => format!("{shown}{START}{address}{rest}"),
        }
    })
}

/// Returns JSON with line ends, invisible characters and reordering characters written as escapes.
pub fn plain_json(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        if is_break(c) || is_invisible(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(plain, "\\u{unit:04x}");
            }
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Returns whether a character is a control, or Unicode's line or paragraph separator.
fn is_break(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns whether a character has no width, changes the direction of text, or is a tag.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Composes the accents of a text. Borrows text that is already composed.
pub fn normalize_nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

/// Lists the encodings of a text: the given one, then the composed and decomposed if different.
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

/// Secret text. Its [`fmt::Debug`] output hides the text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, for sending it to the service that it belongs to.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_have_no_line_ends_or_terminal_controls() {
        assert_eq!(plain_line("\tlet a = \"é\u{200d}\";"), "\tlet a = \"é\u{200d}\";");
        let driving = "a\u{1b}[2Jb\rc\nd\u{2028}e\u{85}f\u{9b}g\u{c}h\u{7f}";
        assert_eq!(plain_line(driving), "a [2Jb c d e f g h ");
    }

    #[test]
    fn plain_names_have_no_invisible_characters() {
        assert_eq!(plain_name("a\u{202e}b\u{200b}\tc\r\n\u{e0041}é\u{feff}", 9), "ab c  é");
        assert_eq!(plain_name("abcd", 4), "abcd");
        assert_eq!(plain_name("abcde", 4), "abc…");
        assert_eq!(plain_name("abcd\u{200b}", 4), "abcd");
    }

    #[test]
    fn addresses_are_shown_without_what_may_be_a_password() {
        for (value, expected) in [
            ("http://127.0.0.1:6334", "http://127.0.0.1:6334"),
            ("https://me:secret@host/v1", "https://…@host/v1"),
            ("https://me:se/cr@et@host,http://x:secret@b z@c", "https://…@host,http://…@b z@c"),
            ("a@b", "a@b"),
            ("s:secret@x://a://b:secret@c", "s:secret@x://a://…@c"),
        ] {
            assert_eq!(without_passwords(value), expected);
        }
    }

    #[test]
    fn plain_words_have_no_separators() {
        assert_eq!(plain_word("mcp:git:log-2.x/größe_日", 99), "mcp:git:log-2.x/größe_日");
        assert_eq!(plain_word("a b\n(\"c\")\u{202e}`", 99), "a_b___c____");
        assert_eq!(plain_word("abc", 2), "ab");
    }

    #[test]
    fn plain_json_escapes_invisible_characters() {
        let value = serde_json::json!({"a\u{202e}": "b\u{2028}c\u{e0041}\n\"é"});
        let plain = plain_json(&value.to_string());
        assert_eq!(plain, r#"{"a\u202e":"b\u2028c\udb40\udc41\n\"é"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
    }

    #[test]
    fn a_text_has_one_composed_form_and_up_to_two_encodings() {
        let (composed, decomposed) = ("z\u{e4}hler", "za\u{308}hler");
        assert_eq!([normalize_nfc(composed), normalize_nfc(decomposed)], [composed, composed]);
        assert_eq!(list_encodings(composed), [composed, decomposed]);
        assert_eq!(list_encodings(decomposed), [decomposed, composed]);
        assert_eq!(list_encodings("counter"), ["counter"]);
    }
}

//! Classifies values by their form: placeholders, words, random strings.

use super::MARK;

const PLACEHOLDERS: &[&str] = &[
    "change_me", "change-me", "changeit", "changeme", "example", "placeholder", "redacted",
    "replace", "todo", "xxxx", "your-", "your_", "yourkey", "yourpass", "yoursecret", "yourtoken",
    "****", "...", "…", "${", "$(", "$[", "{{", "}}", "{%", "<%", "%>", "#{", "%{", "@@", "=>",
];

/// Values that are words of a configuration, a type or an example, and no secrets.
const HARMLESS_WORDS: &[&str] = &[
    "admin", "any", "auto", "bar", "basic", "bearer", "bool", "boolean", "bytes", "cookie",
    "credentials", "default", "disabled", "dummy", "empty", "enabled", "env", "external", "fake",
    "false", "file", "foo", "guest", "header", "hidden", "inherit", "input", "key", "keyword",
    "literal", "local", "mypassword", "mysecret", "mytoken", "never", "nil", "no", "none", "null",
    "nothing", "number", "object", "off", "on", "optional", "pass", "passwd", "password", "plain",
    "prompt", "pwd", "required", "root", "sample", "secret", "str", "string", "test", "testing",
    "text", "token", "true", "undefined", "unset", "user", "user@domain", "username", "value",
    "vault", "void", "yes",
];

/// Parts of values that name the place of a secret.
const REFERENCE_STARTS: &[&str] = &[
    "$", "(", "./", "../", ":", "<", "=", "[", "\\", "`", "{", "|", "~/", ",", ";", "/app/",
    "/data/", "/dev/", "/etc/", "/home/", "/mnt/", "/opt/", "/root/", "/run/", "/secrets/",
    "/srv/", "/tmp/", "/usr/", "/var/", "amzn1.account.", "arn:", "enc[", "env.", "env:", "env(",
    "env[", "file:", "http://", "https://", "keyring:", "op://", "os.", "process.", "secret://",
    "settings.", "ssm:", "vault:",
];

/// Returns whether a value is a placeholder, names the place of a secret, or is computed.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower_value = value.to_ascii_lowercase();
    let lower = lower_value.trim();
    let is_one_byte = || lower.bytes().all(|byte| lower.bytes().next() == Some(byte));
    let is_variable = || {
        let first = lower.chars().next().unwrap_or_default();
        first == lower.chars().next_back().unwrap_or_default() && "%@_".contains(first)
    };
    value.contains(MARK)
        || is_spelled(lower)
        || is_one_byte()
        || is_variable()
        || HARMLESS_WORDS.contains(&lower)
        || PLACEHOLDERS.iter().any(|part| lower.contains(part))
        || REFERENCE_STARTS.iter().any(|start| lower.starts_with(start))
}

/// Returns whether a value only shows a notation, such as `pass;auth=NTLM` and `pass%20word`.
fn is_spelled(lower: &str) -> bool {
    let Some((first, rest)) = lower.split_once([';', '%']) else { return false };
    let is_escape = lower.as_bytes().get(first.len()) == Some(&b'%');
    let rest = match rest.split_at_checked(2) {
        Some((_, after)) if is_escape => after,
        Some(_) | None => rest,
    };
    HARMLESS_WORDS.contains(&first) && is_wordy(rest)
}

/// Returns whether all parts of a value are words or short numbers, as in `X-Api-Key` or `sha256`.
pub(super) fn is_wordy(value: &str) -> bool {
    value.split(|c: char| "!-_./:\\ ,@=%&*".contains(c)).all(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_word = word.chars().all(char::is_alphabetic);
        is_word
            && part.len() - word.len() <= 4
            && !is_jumbled(word)
            && !(word.len() >= 16 && is_drawn(word))
    })
}

/// Returns whether letters change between upper and lower case more often than in `camelCase`.
fn is_jumbled(word: &str) -> bool {
    count_case_rises(word) * 4 > word.len()
}

/// Returns whether letters of mixed case look random, that is, unpronounceable.
pub(super) fn is_drawn(word: &str) -> bool {
    let is_mixed =
        word.chars().skip(1).any(char::is_uppercase) && word.contains(char::is_lowercase);
    let is_vowel = |c: char| "aeiouyAEIOUY".contains(c);
    let consonants = word.split(is_vowel).map(str::len).max().unwrap_or_default();
    word.is_ascii() && is_mixed && (count_case_rises(word) * 5 > word.len() || consonants >= 4)
}

fn count_case_rises(word: &str) -> usize {
    let cases: Vec<bool> = word.chars().map(char::is_uppercase).collect();
    cases.windows(2).filter(|pair| matches!(pair, [false, true])).count()
}

/// Returns whether bytes look random: many different ones, and no words.
pub(super) fn is_random(value: &[u8]) -> bool {
    is_varied(value) && str::from_utf8(examined_prefix(value)).is_ok_and(|text| !is_wordy(text))
}

/// Returns whether the text after the prefix of a token is one. The prefix is strong evidence, so
/// words may be part of it, but sentences, alphabetical rows and repeated letters are not.
pub(super) fn is_token(value: &[u8]) -> bool {
    let value = examined_prefix(value);
    let Ok(text) = str::from_utf8(value) else { return false };
    let in_rows = count_sequential_bytes(value);
    let lower = text.to_ascii_lowercase();
    let is_stand_in = PLACEHOLDERS.iter().any(|part| lower.contains(part));
    let is_word =
        |part: &str| part.len() < 16 && is_wordy(part) && !is_unsayable(part) && !is_drawn(part);
    let is_sentence = text.split(['-', '_', '.']).all(is_word);
    count_distinct_bytes(value) >= 8.min(value.len().div_ceil(2))
        && in_rows * 2 < value.len()
        && !is_stand_in
        && !is_sentence
}

fn is_unsayable(word: &str) -> bool {
    let is_vowel = |c: char| "aeiouyAEIOUY".contains(c);
    let consonants = word.split(is_vowel).map(str::len).max().unwrap_or_default();
    word.len() >= 8 && (consonants >= 5 || word.matches(is_vowel).count() * 5 < word.len())
}

/// Counts the bytes in sequences such as `12345678`.
fn count_sequential_bytes(value: &[u8]) -> usize {
    let is_next = |pair: &[u8]| matches!(pair, [a, b] if a.checked_add(1) == Some(*b));
    let mut all = 0;
    let mut row = 1;
    for pair in value.windows(2).chain([&[0_u8, 0][..]]) {
        if is_next(pair) {
            row += 1;
        } else {
            all += if row >= MIN_SEQUENCE { row } else { 0 };
            row = 1;
        }
    }
    all
}

fn count_distinct_bytes(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    for byte in value {
        if let Some(seen) = seen.get_mut(usize::from(*byte)) {
            *seen = true;
        }
    }
    seen.iter().filter(|seen| **seen).count()
}

/// Returns whether bytes are neither repetitive, nor a sequence, nor a placeholder.
pub(super) fn is_varied(value: &[u8]) -> bool {
    let value = examined_prefix(value);
    let lower = String::from_utf8_lossy(value).to_ascii_lowercase();
    count_distinct_bytes(value) >= 8.min(value.len().div_ceil(2))
        && count_sequential_bytes(value) == 0
        && !PLACEHOLDERS.iter().any(|part| lower.contains(part))
}

const MIN_SEQUENCE: usize = 8;
const MAX_EXAMINED: usize = 256;

fn examined_prefix(value: &[u8]) -> &[u8] {
    value.split_at(value.len().min(MAX_EXAMINED)).0
}

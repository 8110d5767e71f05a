//! What a value looks like: a placeholder, words, or something that only a machine or a careful person makes.

use super::MARK;

/// Parts of values that stand for a secret to be filled in.
const PLACEHOLDERS: &[&str] = &[
    "change_me", "change-me", "changeit", "changeme", "example", "placeholder", "redacted", "replace",
    "todo", "xxxx", "your-", "your_", "yourkey", "yourpass", "yoursecret", "yourtoken", "****", "....",
    "…", "${", "$(", "$[", "{{", "}}", "{%", "<%", "%>", "#{", "%{", "@@", "=>",
];

/// Values that are words of a configuration, of a type or of an example, and no secrets.
const WORDS: &[&str] = &[
    "admin", "any", "auto", "bar", "basic", "bearer", "bool", "boolean", "bytes", "cookie", "credentials",
    "default", "disabled", "dummy", "empty", "enabled", "env", "external", "fake", "false", "file", "foo",
    "guest", "header", "hidden", "inherit", "input", "key", "keyword", "literal", "local", "mypassword",
    "mysecret", "mytoken", "never", "nil", "no", "none", "null", "number", "object", "off", "on", "optional",
    "pass", "passwd", "password", "plain", "prompt", "pwd", "required", "root", "sample", "secret", "str",
    "string", "test", "testing", "text", "token", "true", "undefined", "unset", "user", "username", "value",
    "vault", "void", "yes",
];

/// Values that name where a secret is kept.
const ELSEWHERE: &[&str] = &[
    "$", "!", "(", "-", "/", "./", "../", ":", "<", "=", "[", "\\", "`", "{", "|", "~/", ",", ";", "arn:", "enc[",
    "env.", "env:", "env(", "env[", "file:", "http://", "https://", "keyring:", "op://", "os.", "process.",
    "secret://", "settings.", "ssm:", "vault:", "x-",
];

/// Whether a value is not a secret but stands for one, names its place, or is computed.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let lower = lower.trim();
    let is_one_byte = || lower.bytes().all(|byte| lower.bytes().next() == Some(byte));
    let is_variable = || {
        let first = lower.chars().next().unwrap_or_default();
        first == lower.chars().next_back().unwrap_or_default() && "%@_".contains(first)
    };
    value.contains(MARK)
        || is_one_byte()
        || is_variable()
        || WORDS.contains(&lower)
        || PLACEHOLDERS.iter().any(|part| lower.contains(part))
        || ELSEWHERE.iter().any(|start| lower.starts_with(start))
}

/// Whether each part of a value is a word or a short number, as in `X-Api-Key`, `sha256`, `/etc/key.pem`
/// and `settings.SECRET_KEY`.
pub(super) fn is_wordy(value: &str) -> bool {
    value.split(|c: char| "-_./:\\ ,@=%&*".contains(c)).all(|part| {
        let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_word = word.chars().all(char::is_alphabetic);
        is_word && part.len() - word.len() <= 4 && !is_jumbled(word)
    })
}

/// Whether letters change between upper and lower case more often than in `camelCase`.
fn is_jumbled(word: &str) -> bool {
    let cases: Vec<bool> = word.chars().map(char::is_uppercase).collect();
    let rises = cases.windows(2).filter(|pair| matches!(pair, [false, true])).count();
    rises * 4 > cases.len()
}

/// Whether bytes look drawn by lot: many different ones, and digits among them or jumbled letters.
pub(super) fn is_random(value: &[u8]) -> bool {
    let value = value.get(..value.len().min(LOOK)).unwrap_or_default();
    let Ok(text) = str::from_utf8(value) else { return false };
    let mut seen = [false; 256];
    for byte in value {
        if let Some(seen) = seen.get_mut(usize::from(*byte)) {
            *seen = true;
        }
    }
    let different = seen.iter().filter(|seen| **seen).count();
    let is_run = value.windows(8).any(|run| run.windows(2).all(|pair| matches!(pair, [a, b] if *b == a + 1)));
    let lower = text.to_ascii_lowercase();
    different >= 8.min(value.len().div_ceil(2))
        && !is_run
        && !is_wordy(text)
        && !PLACEHOLDERS.iter().any(|part| lower.contains(part))
}

/// How much of a long value is looked at, in bytes.
pub(super) const LOOK: usize = 256;

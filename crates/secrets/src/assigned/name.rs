//! The name that a value is assigned to, with its context, and the words in names of secrets.

use std::ops::Range;

use codeinfo_lang::comment;

use super::{MAX_GAP, byte_at, indent_width};
use crate::judge::SecretKind;

/// A name with the text before it.
pub(super) struct AssignedName<'a> {
    pub(super) range: Range<usize>,
    text: &'a str,
    /// Text before the name, up to a limit.
    pub(super) before: &'a str,
}

impl<'a> AssignedName<'a> {
    pub(super) fn ending_with(text: &'a str, word: Range<usize>) -> Option<Self> {
        let range = find_name_range(text.as_bytes(), word)?;
        let start = text.ceil_char_boundary(range.start.saturating_sub(4 * MAX_GAP));
        let before = text.get(start..range.start)?;
        Some(Self { text: text.get(range.clone())?, before, range })
    }

    /// Returns the text before the name on its line, up to a limit.
    pub(super) fn line_before(&self) -> &'a str {
        self.before.rsplit_once('\n').map_or(self.before, |(_, line)| line)
    }

    pub(super) fn indent_width(&self) -> usize {
        indent_width(self.line_before())
    }

    /// Returns whether the start of its line marks a comment of code.
    pub(super) fn is_in_comment(&self) -> bool {
        comment::is_certain_comment(self.line_before())
    }

    /// Returns whether the name is in an object or a list opened on its line.
    pub(super) fn is_in_flow(&self) -> bool {
        let count = |sign: [char; 2]| self.line_before().matches(sign).count();
        count(['}', ']']) < count(['{', '['])
    }

    /// Returns whether a credential is the scope of a signature: a user, a day and a service.
    pub(super) fn is_of_scope(&self, value: &str) -> bool {
        let is_day = |part: &str| part.len() == 8 && part.bytes().all(|byte| byte.is_ascii_digit());
        self.text.to_ascii_lowercase().ends_with("credential")
            && value.replace("%2F", "/").split('/').any(is_day)
    }

    /// Returns whether the name is a program option, or a variable read only by a program.
    pub(super) fn is_argument(&self) -> bool {
        let is_option = self.text.starts_with("--") && self.text.len() > 2;
        is_option || PASSWORD_VARIABLES.contains(&self.text)
    }

    /// Returns whether the name sets an SQL password: `IDENTIFIED BY`, or `PASSWORD` about users.
    pub(super) fn is_statement(&self, bytes: &[u8]) -> bool {
        let name = self.text.to_ascii_lowercase();
        if name.ends_with("identified by") {
            return true;
        }
        if !name.ends_with("password") || !b" (".contains(&byte_at(bytes, self.range.end)) {
            return false;
        }
        let line = self.line_before().to_ascii_lowercase();
        USER_STATEMENTS.iter().any(|statement| line.contains(statement))
            || line.ends_with("identified with ")
    }

    /// Returns whether the name is of a harmless token, or part of a name with colons (an ARN).
    pub(super) fn is_harmless(&self, bytes: &[u8]) -> bool {
        if self.before.ends_with(':') && byte_at(bytes, self.range.end) == b':' {
            return true;
        }
        let lower = self.text.to_ascii_lowercase();
        let what = lower.strip_suffix("token").map(|what| what.trim_end_matches(['-', '_']));
        what.is_some_and(|what| HARMLESS_TOKENS.iter().any(|harmless| what.ends_with(harmless)))
    }
}

fn find_name_range(bytes: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let length = |rest: &[u8]| rest.iter().take(MAX_GAP).take_while(|byte| is_part(byte)).count();
    let end = word.end + length(bytes.get(word.end..)?);
    let before = bytes.get(word.start.saturating_sub(MAX_GAP)..word.start)?;
    let mut start = word.start - before.iter().rev().take_while(|byte| is_part(byte)).count();
    let escape = start.checked_sub(1).and_then(|before| bytes.get(before..=start));
    if start < word.start && matches!(escape, Some([b'\\', b'n' | b'r' | b't'])) {
        start += 1;
    }
    if word.len() <= 4 && start < word.start {
        // `bypass` and `compass` are other words; `dbPass` and `DB_PASS` are not.
        let before = byte_at(bytes, word.start - 1);
        let first = byte_at(bytes, word.start);
        if before.is_ascii_alphabetic() && before.is_ascii_lowercase() == first.is_ascii_lowercase()
        {
            return None;
        }
    }
    let suffix = str::from_utf8(bytes.get(word.end..end)?).ok()?;
    let tail: String = suffix.chars().filter(char::is_ascii_alphabetic).collect();
    NAME_SUFFIXES.contains(&tail.to_ascii_lowercase().as_str()).then_some(start..end)
}

pub(crate) const SECRET_WORDS: &[(&str, SecretKind)] = &[
    ("password", SecretKind::Password),
    ("passwd", SecretKind::Password),
    ("passphrase", SecretKind::Password),
    ("passwort", SecretKind::Password),
    ("pwd", SecretKind::Password),
    ("pass", SecretKind::Password),
    ("pw", SecretKind::Password),
    ("sshpass", SecretKind::Password),
    ("rediscli_auth", SecretKind::Password),
    ("requirepass", SecretKind::Password),
    ("identified by", SecretKind::Password),
    ("masterauth", SecretKind::Password),
    ("bindpw", SecretKind::Password),
    ("rootpw", SecretKind::Password),
    ("psk", SecretKind::Password),
    ("securestring", SecretKind::Password),
    ("client-key-data", SecretKind::Token),
    ("secret", SecretKind::Token),
    ("token", SecretKind::Token),
    ("api_key", SecretKind::Token),
    ("apikey", SecretKind::Token),
    ("api-key", SecretKind::Token),
    ("access_key", SecretKind::Token),
    ("accesskey", SecretKind::Token),
    ("access-key", SecretKind::Token),
    ("account_key", SecretKind::Token),
    ("accountkey", SecretKind::Token),
    ("app_key", SecretKind::Token),
    ("auth_key", SecretKind::Token),
    ("authkey", SecretKind::Token),
    ("encryption_key", SecretKind::Token),
    ("encryptionkey", SecretKind::Token),
    ("license_key", SecretKind::Token),
    ("master_key", SecretKind::Token),
    ("masterkey", SecretKind::Token),
    ("private_key", SecretKind::Token),
    ("privatekey", SecretKind::Token),
    ("private-key", SecretKind::Token),
    ("shared_key", SecretKind::Token),
    ("sharedkey", SecretKind::Token),
    ("signing_key", SecretKind::Token),
    ("signingkey", SecretKind::Token),
    ("storage_key", SecretKind::Token),
    ("credential", SecretKind::Token),
    ("_auth", SecretKind::Token),
];

/// Suffixes that may follow such a word in a name, without separators, in lower case.
const NAME_SUFFIXES: &[&str] = &[
    "", "base", "key", "keybase", "accesskey", "value", "string", "text", "plain", "plaintext",
    "data", "raw", "hash", "prod", "production", "dev", "development", "stage", "staging", "test",
    "live", "old", "new", "current", "previous", "next", "primary", "secondary", "default",
    "master", "admin", "root", "user", "db", "pepper", "salt", "seed", "encrypted",
];

/// Environment variables from which programs read passwords, and which have no other meaning.
const PASSWORD_VARIABLES: &[&str] = &["PGPASSWORD", "MYSQL_PWD", "SSHPASS", "REDISCLI_AUTH"];

/// SQL statements that set the password of a user, in lower case.
const USER_STATEMENTS: &[&str] = &[
    "create user", "alter user", "create role", "alter role", "create login", "alter login",
    "set password", "grant ",
];

/// Names of tokens that are not secret, such as list positions, request numbers and versions.
const HARMLESS_TOKENS: &[&str] = &[
    "cancellation", "change", "client", "continuation", "idempotency", "lock", "next", "page",
    "purchase", "request", "session_start", "sync", "publickey", "update", "nextpage", "backward",
    "forward", "creator", "starting",
];

pub(super) const VALUE_FIELDS: &[&str] = &["value", "Value", "default", "defaultValue"];

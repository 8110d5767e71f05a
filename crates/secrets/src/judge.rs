//! Decides whether the value under the name of a secret is a secret.

use codeinfo_lang::{Language, LanguageKind, StructureReader};

use super::shape::{is_drawn, is_placeholder, is_random, is_wordy};

/// Reading mode of a file, which decides how much a value must look like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetectionMode {
    /// Names and literal values: JSON, YAML, INI, XML, Terraform.
    Data,
    /// Literal values among others: shell scripts, Dockerfiles, SQL.
    Script,
    /// Literal values among words: prose, logs, text of no known language.
    Loose,
    Code,
}

impl DetectionMode {
    pub(super) fn for_file(path: &str, language: Option<&Language>) -> Self {
        const DATA: &[&str] =
            &["cnf", "conf", "config", "env", "hocon", "plist", "tfbackend", "tfvars"];
        // `.env.example` is data as well.
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_data = || name.split('.').skip(1).any(|part| DATA.contains(&part));
        if language.is_some_and(|language| matches!(language.reader, StructureReader::Notebook)) {
            return Self::Loose;
        }
        match language.map(|language| language.kind) {
            Some(LanguageKind::Data | LanguageKind::Settings) => Self::Data,
            None if is_data() => Self::Data,
            Some(LanguageKind::Script) => Self::Script,
            None | Some(LanguageKind::Page | LanguageKind::Prose) => Self::Loose,
            Some(LanguageKind::Code) => Self::Code,
        }
    }

    /// Returns the mode for arguments, which can only be values in a script, but not elsewhere.
    pub(super) fn for_argument(self) -> Self {
        match self {
            Self::Data | Self::Script => Self::Data,
            Self::Loose | Self::Code => Self::Loose,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// Chosen by a person, so possibly short or a word.
    Password,
    Token,
}

pub(super) const MAX_LOGIN_BYTES: usize = 512;

/// Returns the text from `start` to the first byte that `ends` a value, at most `max_bytes`.
pub(super) fn bounded_value(
    text: &str,
    start: usize,
    max_bytes: usize,
    ends: impl Fn(u8) -> bool,
) -> Option<&str> {
    let rest = text.as_bytes().get(start..)?;
    let length = rest.iter().take(max_bytes).take_while(|byte| !ends(**byte)).count();
    text.get(start..text.floor_char_boundary(start + length))
}

/// Returns whether the byte before `at` belongs to a name.
pub(super) fn follows_name(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
}

pub(super) fn is_secret(value: &str, kind: SecretKind, mode: DetectionMode) -> bool {
    if value.contains(char::is_whitespace) || is_placeholder(value) {
        return false;
    }
    let value = ValueStatistics::from_text(value);
    match (mode, kind) {
        (DetectionMode::Data, SecretKind::Password) => value.length >= 4 && !value.is_name(),
        (DetectionMode::Script | DetectionMode::Loose, SecretKind::Password) => {
            value.length >= 6
                && value.letters > 0
                && (value.has_digit_or_symbol() || is_drawn(value.text))
                && !value.is_name()
        }
        (DetectionMode::Data, SecretKind::Token) => value.length >= 7 && value.is_made(),
        (DetectionMode::Script | DetectionMode::Loose, SecretKind::Token) => {
            value.length >= 10 && value.is_made()
        }
        (DetectionMode::Code, SecretKind::Password) => {
            value.is_strong() || value.is_key() || value.is_drawn_word()
        }
        (DetectionMode::Code, SecretKind::Token) => value.is_key(),
    }
}

struct ValueStatistics<'a> {
    text: &'a str,
    length: usize,
    letters: usize,
    upper: usize,
    digits: usize,
    symbols: usize,
}

impl<'a> ValueStatistics<'a> {
    fn from_text(text: &'a str) -> Self {
        let count = |is: fn(char) -> bool| text.chars().filter(|c| is(*c)).count();
        Self {
            text,
            length: text.chars().count(),
            letters: count(char::is_alphabetic),
            upper: count(char::is_uppercase),
            digits: count(|c| c.is_ascii_digit()),
            symbols: count(|c| "!@#$%^&*+?~".contains(c)),
        }
    }

    fn has_digit_or_symbol(&self) -> bool {
        self.digits + self.symbols > 0
    }

    /// Returns whether the value names something: a form label, a property, a file, another object.
    fn is_name(&self) -> bool {
        let is_word = self.letters == self.length;
        let is_label = is_word
            && !is_drawn(self.text)
            && (self.upper > 0 || !self.text.is_ascii() || self.length < 5);
        let parts = self.text.split(['-', '_', '.', '/', '\\', ':']).count();
        // Four or more words are a passphrase, unless they form a path.
        let is_passphrase = parts >= 4 && !self.text.contains(['.', '/', '\\', ':', '_']);
        is_label || (parts > 1 && is_wordy(self.text) && !is_passphrase)
    }

    /// Returns whether the value was generated, or is a word with digits inserted.
    fn is_made(&self) -> bool {
        let is_word_with_digits = self.digits >= 2
            && self.upper == 0
            && self.letters >= 4
            && self.digits + self.letters == self.length;
        let is_mixed = self.digits > 0 || (self.upper > 0 && self.length >= 20);
        self.letters > 0 && (is_word_with_digits || (is_mixed && is_random(self.text.as_bytes())))
    }

    /// Returns whether the value has all kinds of characters that password rules require.
    fn is_strong(&self) -> bool {
        let lower = self.letters - self.upper;
        self.length >= 8
            && !is_wordy(self.text)
            && [lower, self.upper, self.digits, self.symbols].iter().all(|n| *n > 0)
            && self
                .text
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && !b"(){}<>,;\\\"'`".contains(&byte))
    }

    /// Returns whether the value is one unpronounceable word of letters and digits.
    fn is_drawn_word(&self) -> bool {
        self.length >= 10
            && 0 < self.upper
            && self.upper < self.letters
            && 0 < self.digits
            && self.letters + self.digits == self.length
            && is_random(self.text.as_bytes())
    }

    /// Returns whether the value is long, random and no other kind of text found in code.
    fn is_key(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(&byte);
        self.length >= 16
            && (self.digits >= 2 || (self.digits >= 1 && self.length >= 32))
            && self.letters >= 2
            && self.text.bytes().all(is_plain)
            && is_random(self.text.as_bytes())
    }
}

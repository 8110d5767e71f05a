//! Decides whether the value of something that is called a secret is one.

use codeinfo_lang::{Language, LanguageKind, StructureReader};

use super::shape::{is_drawn, is_placeholder, is_random, is_wordy};

/// How a file is read. The more a file is code, where names are followed by expressions, the more a
/// value must look like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetectionMode {
    /// Names and literal values: JSON, YAML, INI, XML, Terraform.
    Data,
    /// Literal values among others: shell scripts, Dockerfiles, SQL.
    Script,
    /// Literal values among words: prose, logs, text of no known language.
    Loose,
    /// Source code.
    Code,
}

impl DetectionMode {
    /// Returns how the file at `path`, written in `language`, is read.
    pub(super) fn for_file(path: &str, language: Option<&Language>) -> Self {
        const DATA: &[&str] =
            &["cnf", "conf", "config", "env", "hocon", "plist", "tfbackend", "tfvars"];
        // `.env.example` is data, too.
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

    /// Returns how the argument of a command or statement is read: what can be nothing but a value is one in a
    /// script, and may be in an example of it elsewhere.
    pub(super) fn of_argument(self) -> Self {
        match self {
            Self::Data | Self::Script => Self::Data,
            Self::Loose | Self::Code => Self::Loose,
        }
    }
}

/// What kind of secret a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// People think it up, so that it may be short and a word.
    Password,
    /// A machine made it.
    Token,
}

/// Whether `value` is a secret, when its name says that it is one.
pub(super) fn is_secret(value: &str, family: SecretKind, reading: DetectionMode) -> bool {
    if value.contains(char::is_whitespace) || is_placeholder(value) {
        return false;
    }
    let value = ValueStatistics::from_text(value);
    match (reading, family) {
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

/// A value and what it is made of.
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

    /// Whether it names something: a label of a form, a property, a file, another object.
    fn is_name(&self) -> bool {
        let is_word = self.letters == self.length;
        let is_label = is_word
            && !is_drawn(self.text)
            && (self.upper > 0 || !self.text.is_ascii() || self.length < 5);
        let parts = self.text.split(['-', '_', '.', '/', '\\', ':']).count();
        // Four and more words are a passphrase, unless a path.
        let is_passphrase = parts >= 4 && !self.text.contains(['.', '/', '\\', ':', '_']);
        is_label || (parts > 1 && is_wordy(self.text) && !is_passphrase)
    }

    /// Whether a program made it, or somebody who put digits into a word.
    fn is_made(&self) -> bool {
        let is_word_with_digits = self.digits >= 2
            && self.upper == 0
            && self.letters >= 4
            && self.digits + self.letters == self.length;
        let is_mixed = self.digits > 0 || (self.upper > 0 && self.length >= 20);
        self.letters > 0 && (is_word_with_digits || (is_mixed && is_random(self.text.as_bytes())))
    }

    /// Whether it has everything that rules for passwords ask for.
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

    /// Whether it is one word of letters and digits that nobody could say.
    fn is_drawn_word(&self) -> bool {
        self.length >= 10
            && 0 < self.upper
            && self.upper < self.letters
            && 0 < self.digits
            && self.letters + self.digits == self.length
            && is_random(self.text.as_bytes())
    }

    /// Whether it is long and random, and nothing else that code holds.
    fn is_key(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(&byte);
        self.length >= 16
            && (self.digits >= 2 || (self.digits >= 1 && self.length >= 32))
            && self.letters >= 2
            && self.text.bytes().all(is_plain)
            && is_random(self.text.as_bytes())
    }
}

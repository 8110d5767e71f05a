//! Distinguishes secrets from source, by path, by content and by value. What is a secret is never indexed, not
//! even when an ignore file asks for it. Nothing here does I/O.
//!
//! Secrets go before the text is cut, so that nothing later, from terms to excerpts, sees one;
//! only the version of a file is of its bytes as they are. How much a value must look like a
//! secret depends on the file: names in code are followed by expressions, names in data by values.

mod address;
mod assigned;
mod command;
mod content;
mod fold;
pub mod foreign;
mod group;
mod header;
mod judge;
mod key;
mod manifest;
mod names;
mod redact;
mod service;
mod shape;
mod table;
mod token;

use std::borrow::Cow;

use codeinfo_lang::Language;

pub use self::{
    fold::fold_paths,
    names::{
        SecretNameCertainty, is_private_folder, is_published, is_secret_path, is_settings_example,
        secret_name,
    },
    redact::redact_secrets,
};

/// Stands in the index where a secret stood.
const MARK: &str = "[secret]";

/// A text without its secrets.
#[derive(Debug)]
pub struct CensoredText<'a> {
    pub text: Cow<'a, str>,
    /// How many secrets were replaced.
    pub count: u64,
    /// Whether the file is kept from the model's shell, which would read it as it is: it holds a private key, or
    /// secrets under a name that promises some.
    pub is_private: bool,
}

/// Returns `text`, the content of the file at `path`, without its secrets; `None` if it is to be shown to nobody.
/// Every reader of files goes through this.
pub fn censor_text<'a>(
    path: &str,
    language: Option<&Language>,
    text: &'a str,
) -> Option<CensoredText<'a>> {
    let is_doubtful =
        secret_name(path) == Some(SecretNameCertainty::Doubtful) && !content::is_certificate(text);
    if content::holds_secret(language, text)
        || (is_doubtful && !names::is_example(path) && !content::is_written(language, text))
    {
        return None;
    }
    let redact::RedactedText { text: redacted, count } = redact_secrets(path, language, text);
    if is_doubtful && content::has_drawn_word(&redacted) {
        return None;
    }
    let is_private = 0 < count && (is_doubtful || key::holds_key(text));
    Some(CensoredText { text: redacted, count, is_private })
}

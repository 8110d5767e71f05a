//! Detects secrets by path, by content and by value, and removes them from source text.
//!
//! Secrets are never indexed, even if an ignore file asks for it. They are removed before the text
//! is split into chunks, so that no later stage sees one; only the version of a file is computed
//! from its original bytes. The kind of file decides how much a value must look like a secret:
//! names in code are followed by expressions, names in data by values.
//!
//! This crate does no I/O.

mod assigned;
mod command;
mod content;
mod fold;
mod group;
mod judge;
mod manifest;
mod message;
mod names;
mod redact;
mod request;
mod shape;
mod token;

use std::borrow::Cow;

use codeinfo_lang::Language;

pub use self::{
    fold::fold_paths,
    message::redact_message,
    names::{
        SecretNameCertainty, is_private_folder, is_published, is_secret_path, is_settings_example,
        secret_name,
    },
    redact::redact_secrets,
};

const MARK: &str = "[secret]";

/// A text without its secrets.
#[derive(Debug)]
pub struct CensoredText<'a> {
    pub text: Cow<'a, str>,
    /// Number of replaced secrets.
    pub count: u64,
    /// Set if the model's shell, which reads original bytes, must not see the file: it contains a
    /// private key, or secrets under a name that promises some.
    pub is_private: bool,
}

/// Returns `text`, the content of the file at `path`, without its secrets; `None` if no part of it
/// may be read. Every reader of files must call this function.
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
    let is_private = 0 < count && (is_doubtful || content::holds_key(text));
    Some(CensoredText { text: redacted, count, is_private })
}

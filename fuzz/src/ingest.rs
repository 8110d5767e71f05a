//! Removal of secrets, as ingest does it.

use codeinfo_lang::detect::detect_language;
use codeinfo_secrets::{censor_text, is_private_folder, is_secret_path, redact_secrets};

/// Returns a text without its secrets, and the number of secrets it had.
pub fn redact(path: &str, text: &str) -> (String, u64) {
    let redacted = redact_secrets(path, detect_language(path, text), text);
    (redacted.text.into_owned(), redacted.count)
}

/// Returns whether a file is left out for its name or its content.
pub fn is_secret(path: &str, text: &str) -> bool {
    is_secret_path(path)
        || is_private_folder(std::path::Path::new(path))
        || censor_text(path, detect_language(path, text), text).is_none()
}

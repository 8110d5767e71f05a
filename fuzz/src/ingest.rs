//! What is pure of ingest: taking out secrets.

use codeinfo_lang::detect::language;
use codeinfo_secrets as secrets;

/// Returns a text without its secrets, and how many it had.
pub fn redact(path: &str, text: &str) -> (String, u64) {
    let redacted = secrets::redact(path, language(path, text), text);
    (redacted.text.into_owned(), redacted.count)
}

/// Whether a file is left out for its name or its content.
pub fn is_secret(path: &str, text: &str) -> bool {
    secrets::is_secret_path(path)
        || secrets::is_private_folder(std::path::Path::new(path))
        || secrets::censor(path, language(path, text), text).is_none()
}

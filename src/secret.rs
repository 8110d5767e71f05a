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
mod group;
mod header;
mod judge;
mod manifest;
mod names;
mod redact;
mod service;
mod shape;
mod table;
mod token;

pub(crate) use self::{
    content::holds_secret,
    fold::fold,
    names::{is_private_folder, is_published, is_secret_path},
    redact::redact,
};

/// Stands in the index where a secret stood.
const MARK: &str = "[secret]";

//! What is known of languages, of paths and of words, in one place.
//!
//! Deliberately absent: I/O, parsers and anything compiled from C. A parsed language names its
//! parser, and `codeinfo-chunk` brings it. Adding a language is one constant in `languages/` and
//! one fixture of `codeinfo-chunk`.

pub mod comment;
pub mod detect;
pub mod grammar;
pub mod landmark;
pub mod language;
pub mod languages;
pub mod layout;
pub mod names;
pub mod readings;
pub mod role;
mod stem;
pub mod vendored;
pub mod words;

pub use language::{Language, LanguageKind, StructureReader};

//! Facts about languages, paths and words.
//!
//! The crate contains no I/O, no parsers and nothing compiled from C. A parsed language names its
//! parser, which `codeinfo-chunk` provides. A new language is one constant in `languages/` and one
//! fixture of `codeinfo-chunk`.

pub mod comment;
pub mod detect;
pub mod grammar;
pub mod landmark;
pub mod language;
pub mod languages;
pub mod layout;
pub mod references;
pub mod role;
pub mod translation;
pub mod vendored;
pub mod words;

pub use language::{Language, LanguageKind, StructureReader};

//! Reads which definitions the code of a repository refers to.
//!
//! [`extract_facts`] reads one file; [`resolve::SymbolGraph`] joins the facts of many files.

mod extract;
pub mod facts;
mod modules;
pub mod resolve;

pub use crate::extract::extract_facts;

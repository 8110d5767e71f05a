//! Reads which definitions the code of a repository refers to.
//!
//! [`extract_facts`] reads one file; [`resolve::SymbolGraph`] joins the facts of many files.
//!
//! ```
//! use codeinfo_facts::extract_facts;
//! use codeinfo_graph::resolve::{ResolutionResult, ResolutionRule, SymbolGraph};
//!
//! let read = |path: &str, text| {
//!     let language = codeinfo_lang::detect::detect_language(path, text)?;
//!     Some((path.to_owned(), extract_facts(language, text)?))
//! };
//! let files = [("a.py", "def run(): pass\n"), ("b.py", "from a import run\nrun()\n")];
//! let graph = SymbolGraph::from_facts(files.iter().filter_map(|(path, text)| read(path, text)).collect());
//! let facts = graph.file_facts(1).unwrap();
//! let ResolutionResult::Found(definitions, rule) = graph.resolve(1, &facts.references[1]) else { panic!() };
//! assert_eq!(rule, ResolutionRule::Import);
//! assert_eq!(graph.file_path(definitions[0].file), "a.py");
//! ```

mod manifests;
mod modules;
pub mod resolve;
pub mod scip;

pub use crate::manifests::is_manifest;

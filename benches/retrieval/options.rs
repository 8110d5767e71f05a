//! What the command line says.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Measures retrieval in one process: ingests repositories into one store, asks, scores.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Options {
    /// Questions, one JSON object a line, as in `benches/README.md`.
    #[arg(long)]
    pub(crate) queries: PathBuf,
    /// Repositories, one JSON object a line: `name`, `benchmark_root`.
    #[arg(long)]
    pub(crate) repos: PathBuf,
    /// Folder with one folder per repository name.
    #[arg(long)]
    pub(crate) checkouts: PathBuf,
    /// How much of each repository is indexed.
    #[arg(long, value_enum, default_value_t = Scope::Root)]
    pub(crate) scope: Scope,
    /// Comma-separated names; all repositories that have questions otherwise.
    #[arg(long, value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Folder of the store, kept for the next run; a temporary one otherwise.
    #[arg(long)]
    pub(crate) store: Option<PathBuf>,
    /// Also each list alone, and each feature left out.
    #[arg(long)]
    pub(crate) ablation: bool,
    /// Also our own measures, sampled from the indexed code.
    #[arg(long)]
    pub(crate) own: bool,
    /// How many missed questions of our own measures to name, of each kind.
    #[arg(long, default_value_t = 0)]
    pub(crate) missed: usize,
    /// Ask all repositories at once instead of the question's own.
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Write one JSON line per question here.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// How much of a repository is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Its `benchmark_root`, as the published figures do.
    Root,
    /// All of it, as a user would.
    Full,
}

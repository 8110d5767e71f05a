//! Errors of the setup of clients.

use std::{io, path::PathBuf};

use super::edit::EditRefusal;

/// Failure of `install` or `uninstall`, in words for the person who typed it.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("`{}` cannot be read or written: {source}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file is not suitable for editing.
    #[error("`{}` {reason}", path.display())]
    Unfit { path: PathBuf, reason: String },
    #[error("no home folder is known: set `HOME` (or `USERPROFILE` on Windows)")]
    Homeless,
    #[error("the path of this program, `{}`, is not UTF-8, so that no file can name it", .0.display())]
    Program(PathBuf),
    #[error("nobody can be asked without a terminal: `--yes` writes what is shown above")]
    Unasked,
    #[error("nothing was written")]
    Declined,
    #[error("no client was found; looked for:\n{0}\nName one, or use --all or --print-config")]
    NoClient(String),
    #[error(
        "`{0}` concerns clients, and `--instructions` alone this repository: name clients, or use `--all`"
    )]
    ClientSwitch(&'static str),
    #[error("some clients could not be changed")]
    Some,
    #[error("this folder is in no repository: no `.git` from here upwards")]
    NoRepository,
    #[error("cannot write to the terminal: {0}")]
    Terminal(#[from] io::Error),
}

impl InstallError {
    pub(super) fn for_file(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { path: path.into(), source }
    }

    pub(super) fn unfit_file(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::Unfit { path: path.into(), reason: reason.into() }
    }

    pub(super) fn refused_edit(path: impl Into<PathBuf>, refusal: &EditRefusal) -> Self {
        Self::unfit_file(path, refusal.to_string())
    }
}

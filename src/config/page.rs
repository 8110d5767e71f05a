//! The settings of the page.

use std::path::PathBuf;

/// What the page may do on this machine.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Folders below which people choose one to index, as the server sees them; without any, none are listed.
    pub folder_roots: Vec<PathBuf>,
    pub editor: Editor,
}

/// The editor that files are opened in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Editor {
    /// Its name, `other`, or `none`.
    pub name: &'static str,
    /// A link with `{path}` and `{line}` to be replaced.
    pub link: Option<String>,
}

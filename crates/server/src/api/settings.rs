//! Settings of the page, and all settings as people are shown them.

use std::path::PathBuf;

use serde::Serialize;

/// What the page may do on this machine.
#[derive(Debug, Clone, Default)]
pub struct PageSettings {
    /// Folders below which people choose one to index, as the server sees them; without any, none are listed.
    pub folder_roots: Vec<PathBuf>,
    pub editor: EditorLink,
}

/// The editor that files are opened in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditorLink {
    /// Its name, `other`, or `none`.
    pub name: &'static str,
    /// A link with `{path}` and `{line}` to be replaced.
    pub link: Option<String>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// The name of its variable.
    pub name: String,
    /// `None` for a secret, and where nothing is set and there is no default.
    pub value: Option<String>,
    pub source: SettingSource,
    /// Whether it is a secret, and whether it is set.
    pub secret: Option<bool>,
}

/// Where the value of a setting is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingSource {
    Default,
    Environment,
    /// A file that the server keeps for it.
    File,
    /// An argument of the command.
    Argument,
}

//! Settings of the page, and the form in which all settings are listed.

use std::path::PathBuf;

use serde::Serialize;

/// Settings of the page for this machine.
#[derive(Debug, Clone, Default)]
pub struct PageSettings {
    /// Folders below which users choose one to index, as server paths. Without any, none are
    /// listed.
    pub folder_roots: Vec<PathBuf>,
    pub editor: EditorLink,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditorLink {
    /// Name of the editor, `other`, or `none`.
    pub name: &'static str,
    /// Link with the placeholders `{path}` and `{line}`.
    pub link: Option<String>,
}

/// Setting with its value and the origin of that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    pub name: String,
    /// `None` for a secret, and for a setting with neither a value nor a default.
    pub value: Option<String>,
    pub source: SettingSource,
    /// For a secret, whether it is set; `None` for any other setting.
    pub secret: Option<bool>,
}

/// Origin of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingSource {
    Default,
    Environment,
    /// File that the server writes for it.
    File,
    Argument,
}

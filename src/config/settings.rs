//! The settings as people are shown them: each with its value and where that is from. No secret stands here.

use serde::Serialize;

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The name of its variable.
    pub name: String,
    /// `None` for a secret, and where nothing is set and there is no default.
    pub value: Option<String>,
    pub source: Source,
    /// Whether it is a secret, and whether it is set.
    pub secret: Option<bool>,
}

/// Where the value of a setting is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Default,
    Environment,
    /// A file that the server keeps for it.
    File,
    /// An argument of the command.
    Argument,
}

//! Settings of the log.

/// What is logged and how.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// A `tracing` filter such as `info` or `codeinfo=debug`.
    pub level: String,
    /// Whether the user chose the level.
    pub chosen: bool,
    /// The form of its lines.
    pub format: LogFormat,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Plain text.
    Text,
    /// An object for each line.
    Json,
}

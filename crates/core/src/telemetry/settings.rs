//! Settings of the log.

/// Settings of the log's level and format.
#[derive(Debug, Clone)]
pub struct LogSettings {
    /// A `tracing` filter such as `info` or `codeinfo=debug`.
    pub level: String,
    /// True if the user chose the level.
    pub chosen: bool,
    /// Format of the log lines.
    pub format: LogFormat,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}

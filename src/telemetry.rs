//! Starts logging, on standard error so that standard output stays for answers.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// The log could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter does not parse.
    #[error("`LOG_LEVEL` `{level}` is not a log filter: {reason}")]
    Filter { level: String, reason: String },
    /// Another subscriber is already set.
    #[error("logging is already started")]
    Started,
}

/// Starts logging for the whole process.
pub fn start(log: &Log) -> Result<(), TelemetryError> {
    let filter = EnvFilter::try_new(&log.level).map_err(|error| TelemetryError::Filter {
        level: log.level.clone(),
        reason: error.to_string(),
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|_| TelemetryError::Started)
}

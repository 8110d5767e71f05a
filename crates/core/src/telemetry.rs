//! Logging and metrics. Logs go to standard error because standard output carries answers.

mod failures;
mod log_file;
mod metrics;
mod panics;
mod settings;

use std::{
    io::{self, IsTerminal, Stderr, StderrLock, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use tracing_subscriber::{
    EnvFilter,
    fmt::{MakeWriter, writer::BoxMakeWriter},
};

pub use failures::{FailureLog, FailureRecord, TURN_FAILED};
use log_file::{LOG_FILE, LogFile};
pub use metrics::{
    LabelledCounter, LabelledTimer, OutcomeLabel, REQUEST, RequestLabel, ServerMetrics,
    ToolCallLabel, ToolkitLabel, ToolkitStartLabel, ToolkitUseLabel,
};
pub use panics::{TOO_MANY, report_panics};
pub use settings::{LogFormat, LogSettings};

/// Errors that prevent logging from starting.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter does not parse.
    #[error("`LOG_LEVEL` `{level}` is not a log filter: {reason}")]
    Filter {
        /// The filter as configured.
        level: String,
        /// Reason why the filter does not parse.
        reason: String,
    },
    /// Another subscriber is already set.
    #[error("logging is already started")]
    Started,
}

/// Converts a duration to whole milliseconds, capped at `u64::MAX`. A [`Duration`] itself would
/// appear in the log as text.
pub fn to_milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the path of the log file, or `None` if the log goes to standard error. The file is used
/// when standard error is a terminal and the user did not choose a log level.
pub fn log_file(log: &LogSettings, data_dir: &Path) -> Option<PathBuf> {
    (io::stderr().is_terminal() && !log.chosen).then(|| data_dir.join(LOG_FILE))
}

/// Starts logging for the whole process.
pub fn start_logging(log: &LogSettings, data_dir: &Path) -> Result<(), TelemetryError> {
    let file = log_file(log, data_dir);
    let has_colours = file.is_none() && io::stderr().is_terminal();
    let writer = match file {
        Some(path) => BoxMakeWriter::new(LogFile::new(path)),
        None => BoxMakeWriter::new(TerminalLog::new()),
    };
    let filter = EnvFilter::try_new(&log.level).map_err(|error| TelemetryError::Filter {
        level: log.level.clone(),
        reason: error.to_string(),
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        // Without this the subscriber panics when standard error cannot be written, such as on a
        // full disk.
        .log_internal_errors(false)
        .with_ansi(has_colours);
    let started = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|_| TelemetryError::Started)
}

/// Writer to standard error. On a terminal it clears the current line before each log line, because
/// a progress bar may be drawn there. The bar is drawn again below.
struct TerminalLog {
    stderr: Stderr,
    wipe: &'static [u8],
}

impl TerminalLog {
    fn new() -> Self {
        let stderr = io::stderr();
        let wipe: &[u8] = if stderr.is_terminal() { b"\r\x1b[2K" } else { b"" };
        Self { stderr, wipe }
    }
}

impl<'a> MakeWriter<'a> for TerminalLog {
    type Writer = StderrLock<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        let mut lock = self.stderr.lock();
        // If the terminal is gone, the write of the line itself fails and reports it.
        lock.write_all(self.wipe).ok();
        lock
    }
}

//! Logging, on standard error so that standard output stays for answers, and metrics.

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

/// The log could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter does not parse.
    #[error("`LOG_LEVEL` `{level}` is not a log filter: {reason}")]
    Filter {
        /// The filter as it was given.
        level: String,
        /// Why it does not parse.
        reason: String,
    },
    /// Another subscriber is already set.
    #[error("logging is already started")]
    Started,
}

/// Returns a duration as a number for the log; the milliseconds of [`Duration`] would be a text there.
pub fn to_milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the file that the log is written to; `None` where it goes to standard error, as no person reads that, or
/// one asked for the log.
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
        // It panics where standard error, too, takes nothing: a full disk must end no work.
        .log_internal_errors(false)
        .with_ansi(has_colours);
    let started = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|_| TelemetryError::Started)
}

/// Standard error. On a terminal each line first wipes the one it starts on, where a progress bar
/// may stand; the bar is drawn again below.
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
        // If the terminal is gone, writing the line itself says so.
        lock.write_all(self.wipe).ok();
        lock
    }
}

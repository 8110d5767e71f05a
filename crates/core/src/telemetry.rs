//! Logging, panic reports and metrics. Logs go to standard error because standard output carries answers.

mod failures;
mod metrics;

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    fs::{self, File},
    io::{self, IsTerminal, Stderr, StderrLock, Write},
    panic::{self, PanicHookInfo},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tracing::error;
use tracing_subscriber::{
    EnvFilter,
    fmt::{MakeWriter, writer::BoxMakeWriter},
};

pub use failures::{FailureLog, FailureRecord, TURN_FAILED};
pub use metrics::{
    LabelledCounter, LabelledTimer, OutcomeLabel, REQUEST_TOOLKIT, RequestLabel, ServerMetrics,
    ToolCallLabel, ToolkitLabel, ToolkitStartLabel, ToolkitUseLabel,
};

use crate::{atomic, error::THREAD_LIMIT_ADVICE};

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

/// Converts a duration to whole milliseconds, at most `u64::MAX`; the log would show a [`Duration`] as text.
pub fn to_milliseconds(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the path of the log file if standard error is a terminal and the user chose no log level.
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
        // Without this the subscriber panics when standard error cannot be written, such as on a full disk.
        .log_internal_errors(false)
        .with_ansi(has_colours);
    let started = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|_| TelemetryError::Started)
}

/// Writer to standard error. On a terminal it first clears the line, where a progress bar may be drawn.
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

/// Installs a panic hook that reports each panic as one line. A panic of the main thread ends the program and is
/// printed to standard error. Any other panic fails one piece of work and is logged.
pub fn report_panics() {
    panic::set_hook(Box::new(|panic| {
        let line = format_panic_line(panic);
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let backtrace = Backtrace::capture();
        if thread::current().name() == Some("main") {
            // A log file would hide the last line of a program that ends.
            drop(writeln!(io::stderr(), "codeinfo: {line} (at {place})"));
        } else {
            error!(panic.reason = line, panic.place = place, "a piece of work panicked");
        }
        if backtrace.status() == BacktraceStatus::Captured {
            drop(writeln!(io::stderr(), "{backtrace}"));
        }
    }));
}

fn format_panic_line(panic: &PanicHookInfo) -> String {
    let payload = panic.payload_as_str().unwrap_or("no reason was given");
    let reason = payload.lines().next().unwrap_or_default();
    // Matches EAGAIN in the text of the standard library, because libraries do not pass the error on.
    let is_limit = reason.contains("os error 11)") || reason.contains("Os { code: 11,");
    if is_limit { format!("{reason}; {THREAD_LIMIT_ADVICE}") } else { reason.to_owned() }
}

/// Name of the log file in the data folder. The previous file has `.1` appended to its name.
const LOG_FILE: &str = "codeinfo.log";
const MAX_BYTES: u64 = 4 << 20;

/// Log file that is opened on the first line and rotated when it is full.
struct LogFile {
    path: PathBuf,
    open: Mutex<Option<OpenLogFile>>,
}

struct OpenLogFile {
    file: File,
    bytes: u64,
}

struct LineWriter<'a> {
    path: &'a Path,
    open: MutexGuard<'a, Option<OpenLogFile>>,
}

impl LogFile {
    fn new(path: PathBuf) -> Self {
        Self { path, open: Mutex::default() }
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        // A panic in the middle of a line must not stop the log.
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        LineWriter { path: &self.path, open }
    }
}

impl OpenLogFile {
    fn open(path: &Path) -> io::Result<Self> {
        let file = atomic::open_regular_file(path, File::options().append(true).create(true))?;
        Ok(Self { bytes: file.metadata()?.len(), file })
    }
}

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.open.as_ref().is_some_and(|open| open.bytes > MAX_BYTES) {
            *self.open = None;
            fs::rename(self.path, self.path.with_added_extension("1"))?;
        }
        if self.open.is_none() {
            *self.open = Some(OpenLogFile::open(self.path)?);
        }
        let Some(open) = self.open.as_mut() else { return Ok(line.len()) };
        open.file.write_all(line)?;
        open.bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_rotated_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG_FILE);
        let log = LogFile::new(path.clone());
        let line = vec![b'a'; 1 << 20];
        for _ in 0..12 {
            log.make_writer().write_all(&line).unwrap();
        }
        let size = |name| folder.path().join(name).metadata().unwrap().len();
        assert_eq!((size("codeinfo.log"), size("codeinfo.log.1")), (2 << 20, 5 << 20));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        fs::remove_file(&path).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("elsewhere", &path).unwrap();
            assert!(LogFile::new(path).make_writer().write_all(b"a").is_err());
        }
    }
}

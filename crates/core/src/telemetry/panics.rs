//! Panic reporting, one line per panic. Only libraries panic.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::Write,
    panic::{self, PanicHookInfo},
    thread,
};

use tracing::error;

/// Advice for when no thread or process can be started.
pub const TOO_MANY: &str =
    "raise the limit of processes: `ulimit -u`, or `pids_limit` of the container";

/// Installs a panic hook that reports each panic as one line.
///
/// A panic of the main thread ends the program and is printed to standard error. Any other panic
/// fails one piece of work and is logged.
pub fn report_panics() {
    panic::set_hook(Box::new(|panic| {
        let line = format_panic_line(panic);
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let backtrace = Backtrace::capture();
        if thread::current().name() == Some("main") {
            // A log file would hide the last line of a program that ends.
            drop(writeln!(std::io::stderr(), "codeinfo: {line} (at {place})"));
        } else {
            error!(panic.reason = line, panic.place = place, "a piece of work panicked");
        }
        if backtrace.status() == BacktraceStatus::Captured {
            drop(writeln!(std::io::stderr(), "{backtrace}"));
        }
    }));
}

fn format_panic_line(panic: &PanicHookInfo) -> String {
    let payload = panic.payload_as_str().unwrap_or("no reason is known");
    let reason = payload.lines().next().unwrap_or_default();
    // Matches EAGAIN in the text of the standard library, because libraries do not pass the error
    // on.
    let is_limit = reason.contains("os error 11)") || reason.contains("Os { code: 11,");
    if is_limit { format!("{reason}; {TOO_MANY}") } else { reason.to_owned() }
}

//! Panics, which only libraries cause, as one line each.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::Write,
    panic::{self, PanicHookInfo},
    thread,
};

use tracing::error;

/// What to do where no thread or process can be started.
pub const TOO_MANY: &str =
    "raise the limit of processes: `ulimit -u`, or `pids_limit` of the container";

/// From now on reports a panic as one line: that of the main thread, which ends the program, as its last
/// word, and any other, which fails one piece of work, in the log.
pub fn report_panics() {
    panic::set_hook(Box::new(|panic| {
        let (line, place) = (format_panic_line(panic), panic.location().map(ToString::to_string));
        let place = place.unwrap_or_default();
        let backtrace = Backtrace::capture();
        if thread::current().name() == Some("main") {
            // With no terminal left nobody would see it.
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
    let reason = panic.payload_as_str().unwrap_or("no reason is known");
    let reason = reason.lines().next().unwrap_or_default();
    // EAGAIN, in the words of the standard library: libraries do not hand the error on.
    let is_limit = reason.contains("os error 11)") || reason.contains("Os { code: 11,");
    if is_limit { format!("{reason}; {TOO_MANY}") } else { reason.to_owned() }
}

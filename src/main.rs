//! The `codeinfo` program: settings, logging, one command, an exit code.

use std::{
    error::Error,
    io::{self, Write},
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    time::Duration,
};

use clap::Parser;
use codeinfo::{
    cli::{
        CheckOutcome, CliArguments, CliCommand, check_citations, generate_completions, print_docs,
        replace_control_characters,
    },
    config, run,
};
use codeinfo_core::{
    error::{THREAD_LIMIT_ADVICE, format_error_chain},
    task, telemetry,
};

/// Allocator that returns memory to the system; the default one keeps more than twice as much.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Number of open files to request: the connections of both listeners, and reserve.
const MAX_FILES: u64 = 16 * 1024;
/// Final grace for threads that are about to end, after the grace of stopping.
const LAST_GRACE: Duration = Duration::from_secs(1);
/// Exit code for wrong usage or an invalid setting.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    if !has_required_instructions() {
        let reason = "this processor lacks instructions of x86-64-v2; for one without them, \
                      compile with an empty setting: RUSTFLAGS= cargo build --release --locked";
        return print_failure(&io::Error::new(io::ErrorKind::Unsupported, reason), 1);
    }
    if let Err(error) = config::hide_keys() {
        return print_failure(&error, 1);
    }
    let arguments = match CliArguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // `--help` and `--version` arrive here as well and succeed.
            let code = if error.use_stderr() { USAGE } else { 0 };
            return if error.print().is_ok() { ExitCode::from(code) } else { ExitCode::FAILURE };
        }
    };
    if let Some(code) = run_without_settings(&arguments.command) {
        return code;
    }
    let mut config = match config::from_environment() {
        Ok(config) => config,
        Err(error) => return print_failure(&error, USAGE),
    };
    config.log.chosen |= arguments.log;
    if !matches!(arguments.command, CliCommand::Serve { until_idle: false, .. })
        && !config.log.chosen
    {
        // A command prints what matters for a person; the log of a server for relays has no reader.
        "warn".clone_into(&mut config.log.level);
    }
    if let Err(error) = telemetry::start_logging(&config.log, &config.data_dir) {
        return print_failure(&error, USAGE);
    }
    // Connections, the store and Codex need more files than the initial limit of some systems. If
    // the limit cannot be raised, the bounds on connections still hold.
    match rlimit::increase_nofile_limit(MAX_FILES) {
        // A quarter for each listener leaves half for the store and Codex.
        Ok(limit) => config.http.limit_connections(limit / 4),
        Err(error) => tracing::warn!(%error, "the limit of open files stays as it is"),
    }
    telemetry::report_panics();
    if let Err(error) = task::can_start_threads() {
        let reason = format!("cannot start a thread: {error}; {THREAD_LIMIT_ADVICE}");
        return print_failure(&io::Error::new(error.kind(), reason), 1);
    }
    let runtime = match panic::catch_unwind(tokio::runtime::Runtime::new) {
        Ok(Ok(runtime)) => runtime,
        Ok(Err(error)) => return print_failure(&error, 1),
        Err(_) => return ExitCode::FAILURE,
    };
    let work = || runtime.block_on(run::run_command(arguments.command, config));
    let ended = panic::catch_unwind(AssertUnwindSafe(work));
    // Dropping the runtime would wait for threads that hang in the file system.
    match &ended {
        Ok(Err(failure)) if failure.is::<run::ForcedExit>() => runtime.shutdown_background(),
        Ok(_) => runtime.shutdown_timeout(LAST_GRACE),
        // Its remaining work may never end.
        Err(_) => runtime.shutdown_background(),
    }
    // The hook for panics has logged it.
    let Ok(ended) = ended else { return ExitCode::FAILURE };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the output has ended: `codeinfo search … | head`.
        Err(error) if is_broken_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => print_failure(error.as_ref(), 1),
    }
}

/// Runs a command that needs no settings, or that must work with invalid ones.
fn run_without_settings(command: &CliCommand) -> Option<ExitCode> {
    Some(match command {
        CliCommand::Check(command_arguments) => match check_citations(command_arguments) {
            Ok(CheckOutcome::Right) => ExitCode::SUCCESS,
            Ok(CheckOutcome::Wrong) => ExitCode::FAILURE,
            Ok(CheckOutcome::Failed) => ExitCode::from(USAGE),
            Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
            Err(error) => print_failure(&error, USAGE),
        },
        CliCommand::Docs { name } => match print_docs(name.as_deref()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
            Err(error) => print_failure(&error, USAGE),
        },
        CliCommand::Completions { shell } => {
            match io::stdout().write_all(&generate_completions(*shell)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
                Err(error) => print_failure(&error, 1),
            }
        }
        CliCommand::Hook(command_arguments) => {
            // A prompt must not fail because of the hook.
            drop(
                io::stdout().write_all(
                    run::find_reminder(command_arguments).unwrap_or_default().as_bytes(),
                ),
            );
            ExitCode::SUCCESS
        }
        _ => return None,
    })
}

/// Returns whether the processor has the instructions that `.cargo/config.toml` enables, without
/// which the program would crash silently. The compiler resolves the library's own check to `true`.
#[cfg(all(target_arch = "x86_64", target_feature = "sse4.2"))]
fn has_required_instructions() -> bool {
    // Bits of leaf 1: SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2 and POPCNT.
    const NEEDED: u32 = 1 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23;
    std::arch::x86_64::__cpuid(1).ecx & NEEDED == NEEDED
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse4.2")))]
fn has_required_instructions() -> bool {
    true
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let broken = error
        .downcast_ref()
        .is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe);
    broken || error.source().is_some_and(is_broken_pipe)
}

fn print_failure(error: &dyn Error, code: u8) -> ExitCode {
    // Without a terminal, the failure has no reader.
    drop(writeln!(
        io::stderr(),
        "codeinfo: {}",
        replace_control_characters(&format_error_chain(error))
    ));
    ExitCode::from(code)
}

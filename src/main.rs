//! The `codeinfo` program: settings, logging, one command, an exit code.

use std::process::ExitCode;

use clap::Parser;
use codeinfo::{
    cli::{Arguments, Command},
    config, run, telemetry,
};

/// Wrong usage or a bad setting.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // `--help` and `--version` come here too, to be printed with success.
            let code = if error.use_stderr() { USAGE } else { 0 };
            return if error.print().is_ok() { ExitCode::from(code) } else { ExitCode::FAILURE };
        }
    };
    let mut config = match config::from_environment() {
        Ok(config) => config,
        Err(error) => return fail(&error, USAGE),
    };
    if !matches!(arguments.command, Command::Serve { .. }) && !config.log.chosen {
        // A command for a person says what matters itself.
        "warn".clone_into(&mut config.log.level);
    }
    if let Err(error) = telemetry::start(&config.log) {
        return fail(&error, USAGE);
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error, 1),
    };
    match runtime.block_on(run::command(arguments.command, config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error.as_ref(), 1),
    }
}

/// Prints the failure with its causes in one line.
fn fail(error: &dyn std::error::Error, code: u8) -> ExitCode {
    let mut line = format!("codeinfo: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !line.ends_with(&text) {
            line = format!("{line}: {text}");
        }
        cause = inner.source();
    }
    // With no terminal left there is nobody to tell.
    drop(std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()));
    ExitCode::from(code)
}

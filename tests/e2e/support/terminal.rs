//! Runs commands on a terminal of their own, and reads what a person then sees.

use std::{path::Path, process::Stdio};

use tokio::process::Command;

use super::process::{ProgramEnvironment, apply_environment};

/// Prepares a command line of the program on a terminal, in `folder`, `columns` wide.
pub(crate) fn terminal_command(
    data: &Path,
    folder: &Path,
    columns: u16,
    environment: &ProgramEnvironment,
    line: &str,
) -> Command {
    let mut command = apply_environment(Command::new("/usr/bin/script"), data, environment);
    let program = env!("CARGO_BIN_EXE_codeinfo");
    let line = format!("stty rows 40 cols {columns}; exec {program} {line}");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(folder);
    command.env_remove("LOG_LEVEL").env("SHELL", "/bin/sh").env("TERM", "xterm");
    command.stdout(Stdio::piped());
    command
}

/// Takes out colours, and what was wiped from a line again.
pub(crate) fn strip_escapes(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.replace("\r\n", "\n").split('\n') {
        let last = line.rsplit(['\r']).next().unwrap_or_default();
        let last = last.rsplit("\u{1b}[2K").next().unwrap_or_default();
        let mut plain = String::new();
        let mut parts = last.split('\u{1b}');
        plain.push_str(parts.next().unwrap_or_default());
        for part in parts {
            plain
                .push_str(part.split_once(|c: char| c.is_ascii_alphabetic()).unwrap_or_default().1);
        }
        lines.push(plain);
    }
    lines.join("\n")
}

//! Checks programs and clients of this machine for `codeinfo doctor`.

use std::{process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

use crate::{
    cli::{self, CliError},
    config::Config,
    install,
};

/// Maximum time for a program to print its version.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Programs that CodeInfo does not start itself, with the consequence of their absence.
const PROGRAMS: [(&str, &str); 2] = [
    ("git", "answers cannot look at commits and history"),
    ("node", "the `codex` that npm installs does not start"),
];

/// Prints a line for each program and one for the clients. A missing program is a note, because not
/// everyone needs it.
pub(super) async fn check_machine(config: &Config) -> Result<(), CliError> {
    for (program, consequence) in PROGRAMS {
        match read_version(program).await {
            Some(version) => drop(cli::print_check(program, true, &version, "")?),
            None => {
                cli::print_remark(
                    program,
                    &format!("not found on PATH; without it {consequence}"),
                )?;
            }
        }
    }
    let Ok(clients) = install::list_found_clients(config) else { return Ok(()) };
    let (ready, others): (Vec<_>, Vec<_>) =
        clients.into_iter().partition(|(_, is_set_up)| *is_set_up);
    let [ready, others] = [ready, others].map(|clients| {
        let names: Vec<&str> = clients.into_iter().map(|(name, _)| name).collect();
        names.join(", ")
    });
    if !ready.is_empty() {
        cli::print_check("clients", true, &format!("set up for {ready}"), "")?;
    }
    if !others.is_empty() {
        let detail = format!("{others} found without CodeInfo; `codeinfo install` sets it up");
        cli::print_remark("clients", &detail)?;
    }
    Ok(())
}

/// Returns the last word of the first line of `PROGRAM --version`; `None` if the program does not
/// run.
async fn read_version(program: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(MAX_WAIT, command.output()).await.ok()?.ok()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let version = printed.lines().next().unwrap_or_default().rsplit(' ').next().unwrap_or_default();
    output.status.success().then(|| cli::replace_control_characters(version))
}

//! `codeinfo doctor`: checks the ports, the programs and clients of this machine, and a server.

use std::{io::ErrorKind, process::Stdio, time::Duration};

use codeinfo_core::error::format_error_chain;
use tokio::{net::TcpListener, process::Command, time::timeout};

use super::{
    CommandError, ServerProcess, build_client, find_or_start_server, list_listeners, listens_on,
    run_with_own_server,
};
use crate::{
    app::ServerVisibility,
    cli::{self, CliCommand, CliError},
    config::Config,
    install,
};

const MAX_WAIT: Duration = Duration::from_secs(5);
/// Programs that CodeInfo does not start itself, with the consequence of their absence.
const PROGRAMS: [(&str, &str); 2] = [
    ("git", "answers cannot look at commits and history"),
    ("node", "the `codex` that npm installs does not start"),
];

/// Checks the machine and every part of a server. A failed part does not prevent the other checks.
pub(super) async fn run_doctor(config: &Config) -> Result<(), CommandError> {
    let ports_are_ok = check_ports(config).await?;
    check_machine(config).await?;
    match find_or_start_server(config, ServerVisibility::Examined, false).await {
        Ok(ServerProcess::Running(url)) => {
            cli::run(CliCommand::Doctor, &build_client(&url, config)?).await?;
        }
        Ok(ServerProcess::Own(server)) => {
            run_with_own_server(CliCommand::Doctor, *server, config, false).await?;
        }
        Err(error) => {
            cli::print_check("server", false, "", &format_error_chain(error.as_ref()))?;
            return Err(CliError::Checks.into());
        }
    }
    if ports_are_ok { Ok(()) } else { Err(CliError::Checks.into()) }
}

/// Prints whether the configured ports are free or of this folder's server; true if all are well.
async fn check_ports(config: &Config) -> Result<bool, CommandError> {
    let lock_holder = codeinfo_store::find_lock_holder(&config.data_dir)?;
    let mut all_ok = true;
    for (variable, address) in list_listeners(config) {
        let holder = lock_holder.as_ref().filter(|holder| listens_on(holder, address.port()));
        let ours = holder.map(|holder| format!("this server, process {}", holder.pid));
        let free = TcpListener::bind(address).await;
        let (ok, detail) = match (&ours, &free) {
            (Some(ours), _) => (true, ours.clone()),
            (None, Ok(_)) => (true, "free".to_owned()),
            (None, Err(error)) if error.kind() == ErrorKind::AddrInUse => {
                (false, "in use by another program".to_owned())
            }
            (None, Err(error)) => (false, error.to_string()),
        };
        let problem = format!("{detail}; set `{variable}` to another port, or stop its user");
        all_ok &= cli::print_check(&format!("{variable} {address}"), ok, &detail, &problem)?;
    }
    Ok(all_ok)
}

/// Prints a line for each program, as a note if it is missing, and one for the clients.
async fn check_machine(config: &Config) -> Result<(), CliError> {
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

/// Returns the last word of the first line of `PROGRAM --version`; `None` if it does not run.
async fn read_version(program: &str) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(MAX_WAIT, command.output()).await.ok()?.ok()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let version = printed.lines().next().unwrap_or_default().rsplit(' ').next().unwrap_or_default();
    output.status.success().then(|| cli::replace_control_characters(version))
}

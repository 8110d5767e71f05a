//! Runs one command, against the server that holds the data folder or one of its own.

mod doctor;
mod folder_hints;
mod serve;
mod stdio;

use std::{
    error::Error,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use codeinfo_core::{Secret, error::format_error_chain};
use codeinfo_store::{LockHolder, OnMismatch, StoreError, copy_unwritable_index, find_lock_holder};
use tracing::warn;

pub use self::folder_hints::find_reminder;
use self::folder_hints::offer_to_index;
use crate::{
    app::{Server, ServerVisibility, StartError, private_places},
    cli::{self, ApiClient, CliCommand, CliError, ToolkitsCommand},
    config::{self, Config},
    install, service,
};

/// Number of waits for the data folder: ten seconds in all.
const MAX_WAITS: u32 = 50;
const WAIT: Duration = Duration::from_millis(200);

pub type CommandError = Box<dyn Error + Send + Sync>;

/// A second signal arrived while the server was stopping.
#[derive(Debug, thiserror::Error)]
#[error("ended at once by a second signal; what was under way is completed by the next run")]
pub struct ForcedExit;

/// Runs `command` to its end. `serve` ends when the process is asked to stop.
pub async fn run_command(command: CliCommand, config: Config) -> Result<(), CommandError> {
    #[cfg(unix)]
    ignore_file_size_signal()?;
    if let CliCommand::Stdio(arguments) = &command {
        return Ok(stdio::run_stdio_relay(arguments, &config).await?);
    }
    if let CliCommand::Serve { .. } = command {
        return Box::pin(serve::run_server(command, config)).await;
    }
    if let CliCommand::Mcp(ToolkitsCommand::Init { path }) = &command {
        // `Init` needs no server.
        return Ok(cli::create_toolkits_file(path)?);
    }
    if let CliCommand::Open { print } = command {
        let holder = find_lock_holder(&config.data_dir)?;
        let url = holder.and_then(|holder| holder.main_url).ok_or(CliError::NoServer)?;
        return Ok(cli::open_page(&build_client(&url, &config)?, print).await?);
    }
    if let CliCommand::Ingest { paths, explain: true, .. } = &command {
        let private = private_places(&config);
        return Ok(cli::explain_paths(paths, config.ingest.max_file_bytes, &private)?);
    }
    let command = match command {
        // These commands need no server either.
        CliCommand::Install(arguments) => {
            return Ok(install::install_clients(&arguments, &config, config::current_program()?)?);
        }
        CliCommand::Uninstall(arguments) => {
            return Ok(install::uninstall_clients(&arguments, &config)?);
        }
        CliCommand::Service(arguments) => {
            return Ok(service::run_service_command(
                arguments,
                &config,
                &config::current_program()?,
            )
            .await?);
        }
        command => command,
    };
    if matches!(command, CliCommand::Doctor) {
        return doctor::run_doctor(&config).await;
    }
    // Other commands would answer from an index that is still being repaired.
    let repairs = matches!(command, CliCommand::Ingest { .. });
    let copy = if only_reads(&command) && find_lock_holder(&config.data_dir)?.is_none() {
        copy_unwritable_index(&config.data_dir)
            .map_err(|error| StoreError::folder(&config.data_dir, &error))?
    } else {
        None
    };
    let mut config = config;
    if let Some(copy) = &copy {
        copy.path().clone_into(&mut config.data_dir);
    }
    match find_or_start_server(&config, ServerVisibility::Private, repairs).await? {
        ServerProcess::Running(url) => {
            let client = build_client(&url, &config)?;
            offer_to_index(&command, &client, &config).await?;
            Ok(cli::run(command, &client).await?)
        }
        ServerProcess::Own(server) => {
            run_with_own_server(command, *server, &config, copy.is_none()).await
        }
    }
}

/// Creates a client of the server of the data folder, as its owner.
fn build_client(url: &str, config: &Config) -> Result<ApiClient, CliError> {
    ApiClient::new(url, owner_key(config))
}

fn owner_key(config: &Config) -> Option<Secret> {
    codeinfo_credentials::owner_key(&config.data_dir).unwrap_or_else(|error| {
        warn!(error = %format_error_chain(&error), "the owner's key is not used");
        None
    })
}

enum ServerProcess {
    /// Running server of the data folder, by its URL.
    Running(String),
    /// Own server, on free loopback ports.
    Own(Box<Server>),
}

/// Finds the data folder's server or starts one. Others may hold the folder briefly, unannounced.
async fn find_or_start_server(
    config: &Config,
    visibility: ServerVisibility,
    repairs: bool,
) -> Result<ServerProcess, CommandError> {
    let mut own = config.clone();
    own.host = Ipv4Addr::LOCALHOST.into();
    own.port = 0;
    own.mcp_port = 0;
    own.store.background_merge = false;
    own.store.repairs = repairs;
    let mut waits = 0;
    loop {
        if let Some(LockHolder { main_url: Some(url), .. }) = find_lock_holder(&config.data_dir)? {
            return Ok(ServerProcess::Running(url));
        }
        match Server::start(&own, OnMismatch::Refuse, visibility).await {
            Ok(server) => return Ok(ServerProcess::Own(Box::new(server))),
            Err(StartError::Store(StoreError::Held { .. })) if waits < MAX_WAITS => waits += 1,
            Err(error) => return Err(error.into()),
        }
        tokio::time::sleep(WAIT).await;
    }
}

/// Returns the settings of both ports with the addresses to bind.
fn list_listeners(config: &Config) -> [(&'static str, SocketAddr); 2] {
    [("PORT", config.main_address()), ("MCP_PORT", config.mcp_address())]
}

/// Returns whether a process listens on a port of this machine.
fn listens_on(holder: &LockHolder, port: u16) -> bool {
    let mut urls = holder.main_url.iter().chain(&holder.mcp_url);
    urls.any(|url| url.ends_with(&format!(":{port}")))
}

fn home_folder() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// Runs a command on its own server. `keeps_index` is true if the index outlives the command.
async fn run_with_own_server(
    command: CliCommand,
    server: Server,
    config: &Config,
    keeps_index: bool,
) -> Result<(), CommandError> {
    let client = build_client(&server.main_url(), config)?;
    let working = async {
        if keeps_index {
            offer_to_index(&command, &client, config).await?;
        }
        cli::run(command, &client).await
    };
    let ended = working.await;
    if server.describe_damage().is_some() {
        // Without a terminal, the message has no reader.
        drop(cli::print_note(
            "codeinfo: the index is damaged, results may be missing; \"codeinfo serve\" repairs it",
        ));
    }
    server.stop().await;
    Ok(ended?)
}

/// Lets a write beyond the file size limit fail instead of ending the process.
#[cfg(unix)]
fn ignore_file_size_signal() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler stays installed.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

/// Returns true for commands that an index which may only be read can answer.
fn only_reads(command: &CliCommand) -> bool {
    matches!(
        command,
        CliCommand::Search(_)
            | CliCommand::Repos { .. }
            | CliCommand::Uses(_)
            | CliCommand::Callers(_)
            | CliCommand::Callees(_)
            | CliCommand::Trace(_)
            | CliCommand::Impact(_)
    )
}

//! Runs one command, against the server that holds the data folder or one of its own.

mod elect;
mod machine;
mod offer;
mod read_only;
mod remind;
mod takeover;

use std::{
    error::Error,
    net::Ipv4Addr,
    path::PathBuf,
    time::{Duration, Instant},
};

use codeinfo_core::{Secret, error::format_error_chain, task::Tasks, telemetry};
use codeinfo_server::mcp_http::RelayHandshake;
use codeinfo_server::relay::run_relay;
use codeinfo_store::{LockHolder, OnMismatch, StoreError};
use codeinfo_worktree::git::find_repository;
use tracing::warn;

pub use self::remind::find_reminder;
use self::{offer::offer_to_index, read_only::copy_unwritable_index};
use crate::{
    app::{Server, ServerVisibility, StartError, private_places},
    cli::{self, ApiClient, CliCommand, CliError, StdioCommand, ToolkitsCommand},
    config::{self, Config},
    install, service,
};

/// Number of waits for the data folder: ten seconds in all.
const MAX_WAITS: u32 = 50;
const WAIT: Duration = Duration::from_millis(200);

/// Any failure, for printing.
pub type CommandError = Box<dyn Error + Send + Sync>;

/// A second signal arrived while the server was stopping.
#[derive(Debug, thiserror::Error)]
#[error("ended at once by a second signal; what was under way is completed by the next run")]
pub struct ForcedExit;

/// Runs `command` to its end. `serve` ends when the process is asked to stop.
pub async fn run_command(command: CliCommand, config: Config) -> Result<(), CommandError> {
    #[cfg(unix)]
    survive_large_files()?;
    if let CliCommand::Stdio(asked) = &command {
        return Ok(run_stdio_relay(asked, &config).await?);
    }
    if let CliCommand::Serve { reembed, watch, no_repair, until_idle, .. } = command {
        let mut config = if watch { config.with_watch() } else { config };
        config.store.repairs = !no_repair;
        config.relays.until_idle = until_idle;
        if until_idle {
            free_ports(&mut config).await;
        }
        return Box::pin(run_server(command, &config, reembed)).await;
    }
    if let CliCommand::Mcp(ToolkitsCommand::Init { path }) = &command {
        // `Init` needs no server.
        return Ok(cli::create_toolkits_file(path)?);
    }
    if let CliCommand::Open { print } = command {
        let holder = codeinfo_store::find_lock_holder(&config.data_dir)?;
        let url = holder.and_then(|holder| holder.main_url).ok_or(CliError::NoServer)?;
        return Ok(cli::open_page(&build_client(&url, &config)?, print).await?);
    }
    if let CliCommand::Ingest { paths, explain: true, .. } = &command {
        let private = private_places(&config);
        return Ok(cli::explain_paths(paths, config.ingest.max_file_bytes, &private)?);
    }
    let command = match command {
        // These commands need no server either.
        CliCommand::Install(asked) => {
            return Ok(install::install_clients(&asked, &config, config::current_program()?)?);
        }
        CliCommand::Uninstall(asked) => return Ok(install::uninstall_clients(&asked, &config)?),
        CliCommand::Service(asked) => {
            return Ok(
                service::run_service_command(asked, &config, &config::current_program()?).await?
            );
        }
        command => command,
    };
    if matches!(command, CliCommand::Doctor) {
        return run_doctor(&config).await;
    }
    // Other commands would answer from an index that is still being repaired.
    let repairs = matches!(command, CliCommand::Ingest { .. });
    let reads_only = matches!(command, CliCommand::Search(_) | CliCommand::Repos { .. });
    let copy = if reads_only && codeinfo_store::find_lock_holder(&config.data_dir)?.is_none() {
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

/// Checks the machine and every part of a server. A failed part does not prevent the other checks.
async fn run_doctor(config: &Config) -> Result<(), CommandError> {
    let ports_are_well = check_ports(config).await?;
    machine::check_machine(config).await?;
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
    if ports_are_well { Ok(()) } else { Err(CliError::Checks.into()) }
}

/// Creates a client of the server of the data folder, as its owner.
fn build_client(url: &str, config: &Config) -> Result<ApiClient, CliError> {
    ApiClient::new(url, owner_key(config))
}

/// Returns the owner's key; `None` if it cannot be read.
fn owner_key(config: &Config) -> Option<Secret> {
    codeinfo_credentials::owner_key(&config.data_dir).unwrap_or_else(|error| {
        warn!(error = %format_error_chain(&error), "the owner's key is not used");
        None
    })
}

/// Server for a command.
enum ServerProcess {
    /// Running server of the data folder, by its URL.
    Running(String),
    /// Own server, on free loopback ports.
    Own(Box<Server>),
}

/// Finds the server of the data folder or starts one. Another command, or a starting server, may
/// hold the folder for a moment without an address.
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
        if let Some(LockHolder { main_url: Some(url), .. }) =
            codeinfo_store::find_lock_holder(&config.data_dir)?
        {
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

async fn run_server(
    command: CliCommand,
    config: &Config,
    reembed: bool,
) -> Result<(), CommandError> {
    let on_mismatch = if reembed { OnMismatch::Discard } else { OnMismatch::Refuse };
    // Before there is work that a signal could interrupt.
    let mut signals = StopSignals::listen()?;
    let Some(server) = start_or_take_over(config, on_mismatch, &mut signals).await? else {
        return Ok(());
    };
    let client = build_client(&server.main_url(), config)?;
    let mcp_url = server.mcp_url();
    let working = async {
        if reembed {
            cli::reembed_all(&client).await?;
            if config.store.repairs {
                server.repair_roots();
            }
        }
        cli::run(command, &client).await?;
        if config.relays.until_idle {
            server.wait_until_unused(config.relays.idle_exit).await;
            return Ok(());
        }
        let log_file = telemetry::log_file(&config.log, &config.data_dir);
        cli::print_banner(&client, &mcp_url, config.watch, log_file.as_deref()).await?;
        std::future::pending::<Result<(), CommandError>>().await
    };
    let ended = tokio::select! {
        ended = working => ended,
        signalled = signals.next() => {
            let (turns, runs) = server.count_running();
            // Without a terminal, the message has no reader; the server stops in any case.
            drop(cli::print_stopping(turns, runs, config.shutdown_grace));
            Ok(signalled?)
        }
    };
    stop_server(server, &mut signals).await.and(ended)
}

/// Relays standard streams to the server of the data folder.
async fn run_stdio_relay(asked: &StdioCommand, config: &Config) -> std::io::Result<()> {
    let working_dir = std::env::current_dir().ok();
    let home = home_folder();
    let folder = working_dir.and_then(|folder| find_repository(&folder, home.as_deref()));
    let auto_index = asked.auto_index || config.relays.auto_index;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let own = RelayHandshake { version, folder, auto_index, ..RelayHandshake::default() };
    let tasks = Tasks::default();
    let servers = elect::ElectedServer { config, search: asked.search, tasks: tasks.clone() };
    run_relay(&servers, own, home.as_deref(), config.http.max_body_bytes, &tasks).await
}

fn home_folder() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// Selects free ports if the configured ones are taken; relays find the server by the data folder.
async fn free_ports(config: &mut Config) {
    if tokio::net::TcpListener::bind(config.main_address()).await.is_err() {
        config.port = 0;
    }
    if tokio::net::TcpListener::bind(config.mcp_address()).await.is_err() {
        config.mcp_port = 0;
    }
}

/// Maximum time that a folder may remain locked after its server has ended.
const HELD_ON: Duration = Duration::from_secs(10);
const HELD_STEP: Duration = Duration::from_millis(100);

/// Starts the server, and replaces one that relays started.
async fn start_or_take_over(
    config: &Config,
    on_mismatch: OnMismatch,
    signals: &mut StopSignals,
) -> Result<Option<Server>, CommandError> {
    let started = start_server(config, on_mismatch, signals).await;
    let is_held = |error: &CommandError| {
        matches!(error.downcast_ref(), Some(StartError::Store(StoreError::Held { .. })))
    };
    if config.relays.until_idle || !started.as_ref().is_err_and(is_held) {
        return started;
    }
    let holder = codeinfo_store::find_lock_holder(&config.data_dir)?;
    if holder.is_some_and(|holder| holder.main_url.is_some() && !holder.until_idle) {
        // Another server, which does not give way.
        return started;
    }
    let right = tokio::select! {
        right = takeover::take_over(config) => right?,
        signalled = signals.next() => return Ok(signalled.map(|()| None)?),
    };
    // A running merge or a command may hold the folder for a moment longer.
    let began = Instant::now();
    let mut started = start_server(config, on_mismatch, signals).await;
    while started.as_ref().is_err_and(is_held) && began.elapsed() < HELD_ON {
        tokio::time::sleep(HELD_STEP).await;
        started = start_server(config, on_mismatch, signals).await;
    }
    // From here on, relays may start another server.
    drop(right);
    started
}

/// Starts the server. If asked to stop meanwhile, it completes the start, to leave nothing half
/// done, then stops and returns `None`.
async fn start_server(
    config: &Config,
    on_mismatch: OnMismatch,
    signals: &mut StopSignals,
) -> Result<Option<Server>, CommandError> {
    let mut starting = Box::pin(Server::start(config, on_mismatch, ServerVisibility::Announced));
    tokio::select! {
        started = starting.as_mut() => return Ok(Some(started?)),
        signalled = signals.next() => signalled?,
    }
    let grace = config.shutdown_grace;
    drop(cli::print_stopping(0, 0, grace));
    tokio::select! {
        started = tokio::time::timeout(grace, starting) => {
            if let Ok(started) = started {
                stop_server(started?, signals).await?;
            } else {
                warn!("stopped before the server was up; the next start completes it");
            }
        }
        signalled = signals.next() => {
            signalled?;
            return Err(ForcedExit.into());
        }
    }
    Ok(None)
}

/// Stops the server; a further signal ends it at once.
async fn stop_server(server: Server, signals: &mut StopSignals) -> Result<(), CommandError> {
    tokio::select! {
        _ = server.stop() => Ok(()),
        signalled = signals.next() => {
            signalled?;
            Err(ForcedExit.into())
        }
    }
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
        drop(cli::print_damage());
    }
    server.stop().await;
    Ok(ended?)
}

/// Prints whether the configured ports are free, or used by the server of this data folder. Returns
/// whether all are well.
async fn check_ports(config: &Config) -> Result<bool, CommandError> {
    let held = codeinfo_store::find_lock_holder(&config.data_dir)?;
    let mut well = true;
    for (variable, address) in [("PORT", config.main_address()), ("MCP_PORT", config.mcp_address())]
    {
        let port = format!(":{}", address.port());
        let holder = held.as_ref().filter(|holder| {
            let mut urls = holder.main_url.iter().chain(&holder.mcp_url);
            urls.any(|url| url.ends_with(&port))
        });
        let ours = holder.map(|holder| format!("this server, process {}", holder.pid));
        let free = tokio::net::TcpListener::bind(address).await;
        let (ok, detail) = match (&ours, &free) {
            (Some(ours), _) => (true, ours.clone()),
            (None, Ok(_)) => (true, "free".to_owned()),
            (None, Err(error)) if error.kind() == std::io::ErrorKind::AddrInUse => {
                (false, "in use by another program".to_owned())
            }
            (None, Err(error)) => (false, error.to_string()),
        };
        let problem = format!("{detail}; set `{variable}` to another port, or stop its user");
        well &= cli::print_check(&format!("{variable} {address}"), ok, &detail, &problem)?;
    }
    Ok(well)
}

/// Lets a write beyond the file size limit fail instead of ending the process.
#[cfg(unix)]
fn survive_large_files() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler stays installed.
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
}

/// Signals that ask a process to end: Ctrl-C and SIGTERM; on Windows also Ctrl-Break, the only one
/// that reaches a separate group, and the closing of the window.
struct StopSignals {
    #[cfg(unix)]
    terminated: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupted: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupted: tokio::signal::windows::CtrlC,
    #[cfg(windows)]
    broken: tokio::signal::windows::CtrlBreak,
    #[cfg(windows)]
    closed: tokio::signal::windows::CtrlClose,
}

impl StopSignals {
    /// Installs the handlers. From then on, signals do not end the process.
    fn listen() -> std::io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let terminated = signal(SignalKind::terminate())?;
            Ok(Self { terminated, interrupted: signal(SignalKind::interrupt())? })
        }
        #[cfg(windows)]
        {
            use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close};
            Ok(Self { interrupted: ctrl_c()?, broken: ctrl_break()?, closed: ctrl_close()? })
        }
    }

    async fn next(&mut self) -> std::io::Result<()> {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminated.recv() => Ok(()),
            _ = self.interrupted.recv() => Ok(()),
        }
        #[cfg(windows)]
        tokio::select! {
            _ = self.interrupted.recv() => Ok(()),
            _ = self.broken.recv() => Ok(()),
            _ = self.closed.recv() => Ok(()),
        }
    }
}

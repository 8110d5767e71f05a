//! `codeinfo serve`: starts a server, in place of a relay's server if need be, and stops it on signals.

use std::{
    fs::File,
    path::Path,
    time::{Duration, Instant},
};

use codeinfo_core::{count_things, error::ErrorCode, telemetry};
use codeinfo_server::{
    relay::{self, ReachableServer},
    replies::HealthReply,
    takeover::{START_TIMEOUT, ServePlan, plan_serve},
};
use codeinfo_store::{LockHolder, OnMismatch, StoreError, find_lock_holder};
use serde_json::Value;
use tokio::{net::TcpListener, time::sleep};
use tracing::warn;

use super::{
    CommandError, ForcedExit, build_client, list_listeners, listens_on, owner_key,
    stdio::{WAIT, try_lock_start},
};
use crate::{
    app::{Server, ServerVisibility, StartError},
    cli::{self, ApiClient, CliCommand, CliError},
    config::Config,
};

/// Starts the server, indexes its folders, and runs until a signal, a relay's until it is unused.
pub(super) async fn run_server(
    command: CliCommand,
    mut config: Config,
) -> Result<(), CommandError> {
    let CliCommand::Serve { paths, watch, reembed, no_repair, until_idle } = command else {
        return Ok(());
    };
    if watch {
        config = config.with_watch();
    }
    config.store.repairs = !no_repair;
    config.relays.until_idle = until_idle;
    if until_idle {
        free_ports(&mut config).await;
    }
    let on_mismatch = if reembed { OnMismatch::Discard } else { OnMismatch::Refuse };
    // Before there is work that a signal could interrupt.
    let mut signals = StopSignals::listen()?;
    let Some(server) = start_or_take_over(&config, on_mismatch, &mut signals).await? else {
        return Ok(());
    };
    let client = build_client(&server.main_url(), &config)?;
    let mcp_url = server.mcp_url();
    let working = async {
        if reembed {
            cli::reembed_all(&client).await?;
            if config.store.repairs {
                server.repair_roots();
            }
        }
        cli::ingest_served_folders(&client, &paths).await?;
        if until_idle {
            server.wait_until_unused(config.relays.idle_exit).await;
            return Ok(());
        }
        let log_file = telemetry::log_file(&config.log, &config.data_dir);
        print_banner(&client, &mcp_url, config.watch, log_file.as_deref()).await?;
        std::future::pending::<Result<(), CommandError>>().await
    };
    let result = tokio::select! {
        result = working => result,
        signal = signals.next() => {
            let (turns, runs) = server.count_running();
            // Without a terminal, the message has no reader; the server stops in any case.
            drop(print_stopping(turns, runs, config.shutdown_grace));
            Ok(signal?)
        }
    };
    stop_server(server, &mut signals).await.and(result)
}

/// Selects free ports if the configured ones are taken; relays find the server by the data folder.
async fn free_ports(config: &mut Config) {
    if TcpListener::bind(config.main_address()).await.is_err() {
        config.port = 0;
    }
    if TcpListener::bind(config.mcp_address()).await.is_err() {
        config.mcp_port = 0;
    }
}

/// Maximum time that a folder may remain locked after its server has ended.
const FOLDER_TIMEOUT: Duration = Duration::from_secs(10);
const FOLDER_POLL: Duration = Duration::from_millis(100);

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
    if plan_serve(find_lock_holder(&config.data_dir)?.as_ref()) == ServePlan::Fail {
        return started;
    }
    let start_lock = tokio::select! {
        start_lock = take_over(config) => start_lock?,
        signal = signals.next() => return Ok(signal.map(|()| None)?),
    };
    // A running merge or a command may hold the folder for a moment longer.
    let began = Instant::now();
    let mut started = start_server(config, on_mismatch, signals).await;
    while started.as_ref().is_err_and(is_held) && began.elapsed() < FOLDER_TIMEOUT {
        sleep(FOLDER_POLL).await;
        started = start_server(config, on_mismatch, signals).await;
    }
    // From here on, relays may start another server.
    drop(start_lock);
    started
}

/// Starts the server. If asked to stop meanwhile, completes the start, stops, and returns `None`.
async fn start_server(
    config: &Config,
    on_mismatch: OnMismatch,
    signals: &mut StopSignals,
) -> Result<Option<Server>, CommandError> {
    let mut starting = Box::pin(Server::start(config, on_mismatch, ServerVisibility::Announced));
    tokio::select! {
        started = starting.as_mut() => return Ok(Some(started?)),
        signal = signals.next() => signal?,
    }
    let grace = config.shutdown_grace;
    drop(print_stopping(0, 0, grace));
    tokio::select! {
        started = tokio::time::timeout(grace, starting) => {
            if let Ok(started) = started {
                stop_server(started?, signals).await?;
            } else {
                warn!("stopped before the server was up; the next start completes it");
            }
        }
        signal = signals.next() => {
            signal?;
            return Err(ForcedExit.into());
        }
    }
    Ok(None)
}

/// Stops the server; a further signal ends it at once.
async fn stop_server(server: Server, signals: &mut StopSignals) -> Result<(), CommandError> {
    tokio::select! {
        _ = server.stop() => Ok(()),
        signal = signals.next() => {
            signal?;
            Err(ForcedExit.into())
        }
    }
}

/// Maximum time for the server to end, in graces: two for running work, one for the store.
const GRACE_FACTOR: u32 = 3;
const SLACK: Duration = Duration::from_secs(10);

/// Asks a server that relays started to stop, and waits for its end. Relays start no other one
/// until the result is dropped. Leaves servers of a person or a service alone.
async fn take_over(config: &Config) -> Result<File, CommandError> {
    let folder = &config.data_dir;
    let start_lock = acquire_start_lock(folder).await?;
    let holder = find_lock_holder(folder)?;
    let plan = plan_serve(holder.as_ref());
    let Some(holder) = holder.filter(|_| plan == ServePlan::TakeOver) else {
        return Ok(start_lock);
    };
    check_listeners(config, &holder).await?;
    let LockHolder { pid, main_url, .. } = holder;
    let limit = config.shutdown_grace * GRACE_FACTOR + SLACK;
    // Without an address, the server is already ending.
    let mut answer = String::new();
    if let Some(url) = main_url {
        print_takeover(pid, &url, limit)?;
        let holder = ReachableServer { url, key: owner_key(config) };
        let Some(reply) = relay::request_takeover(&holder).await else {
            return Err(takeover_error(&holder.url, pid, "does not make room"));
        };
        answer = format!(" (asked to, it says: {reply})");
    }
    let began = Instant::now();
    while find_lock_holder(folder)?.is_some_and(|holder| holder.pid == pid) {
        if began.elapsed() >= limit {
            let reason = format!("has not ended in {} s{answer}", limit.as_secs());
            return Err(takeover_error(&folder.display().to_string(), pid, &reason));
        }
        sleep(WAIT).await;
    }
    Ok(start_lock)
}

/// Fails if this server could not use its ports, so that the other one is not ended in vain.
async fn check_listeners(config: &Config, holder: &LockHolder) -> Result<(), CommandError> {
    for (variable, address) in list_listeners(config) {
        if !listens_on(holder, address.port())
            && let Err(error) = TcpListener::bind(address).await
        {
            let reason = format!(
                "cannot listen on {address} (set `{variable}` to another port, or stop its user): {error}"
            );
            return Err(reason.into());
        }
    }
    Ok(())
}

/// Acquires the lock of starting a server. A relay that has it starts its server first.
async fn acquire_start_lock(folder: &Path) -> Result<File, CommandError> {
    let began = Instant::now();
    loop {
        if let Some(start_lock) = try_lock_start(folder)? {
            return Ok(start_lock);
        }
        if began.elapsed() >= START_TIMEOUT {
            return Err("another process starts a server and does not get ready".into());
        }
        sleep(WAIT).await;
    }
}

fn takeover_error(place: &str, pid: u32, reason: &str) -> CommandError {
    format!("the server at {place}, which clients started, {reason}; end it first (process {pid})")
        .into()
}
/// Prints the addresses of the listeners, the size of the index, and the state of Codex.
async fn print_banner(
    client: &ApiClient,
    mcp_url: &str,
    watches: bool,
    log_file: Option<&Path>,
) -> Result<(), CliError> {
    // `/ready` checks Codex again, so that `/health` knows its state.
    let ready = client.get::<Value>(&["ready"]).await;
    let health: HealthReply = client.get(&["health"]).await?;
    let base = client.base_url();
    cli::print_line(&format!("Page        {base}/  (ask, and look at the evidence)"))?;
    cli::print_line(&format!("HTTP API    {base}"))?;
    cli::print_line(&format!("MCP server  {mcp_url}/mcp  (tool: codebase_question)"))?;
    cli::print_line(&match health.store.chunks {
        None => format!("Index       away: {}", health.store.reason.unwrap_or_default()),
        Some(0) => "Index       empty; `codeinfo ingest PATH` fills it".to_owned(),
        Some(chunks) => format!("Index       {}", count_things(chunks, "chunk")),
    })?;
    if watches {
        cli::print_line("            kept up to date while files change")?;
    }
    match ready {
        Err(CliError::Refused { code, message }) if code == ErrorCode::LlmUnavailable.as_str() => {
            let reason = health.codex.reason.unwrap_or_default();
            let hint = message.strip_prefix(&reason).unwrap_or(&message).trim_start_matches("; ");
            cli::print_line(
                "Codex       cannot be used, so questions are not answered; search works",
            )?;
            cli::print_line(&format!("  missing   {reason}"))?;
            cli::print_line(&format!("  to do     {hint}"))?;
        }
        // The lack of an index is printed above.
        Ok(_) | Err(CliError::Refused { .. }) => {
            cli::print_line(&format!("Codex       {}", health.codex.version.unwrap_or_default()))?;
        }
        Err(error) => return Err(error),
    }
    if let Some(path) = log_file {
        cli::print_line(&format!("Log         {}", path.display()))?;
    }
    cli::print_line("Ctrl-C stops the server.")
}

/// Prints that the server of clients is asked to end, and the maximum time for that.
fn print_takeover(pid: u32, url: &str, limit: Duration) -> Result<(), CliError> {
    let seconds = limit.as_secs();
    cli::print_note(&format!(
        "taking the place of the server that clients started (process {pid} at {url}): it ends what it works on, \
         which takes at most {seconds} s"
    ))
}

/// Prints that the server stops, with its remaining work and the time for it.
fn print_stopping(turns: usize, runs: usize, grace: Duration) -> Result<(), CliError> {
    let some = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let under_way: Vec<String> =
        [some(turns, "question"), some(runs, "run")].into_iter().flatten().collect();
    let seconds = grace.as_secs();
    cli::print_note(&match under_way.join(" and ") {
        none if none.is_empty() => "stopping".to_owned(),
        some => format!("stopping: waiting for {some}, at most {seconds} s"),
    })
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

//! Replaces a server that relays started by `codeinfo serve`.

use std::{fs::File, path::Path, time::Duration};

use codeinfo_server::relay::{self, ReachableServer};
use codeinfo_store::LockHolder;
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};

use super::{
    CommandError,
    elect::{START_TIMEOUT, WAIT, try_lock_start},
    owner_key,
};
use crate::{cli, config::Config};

/// Maximum time for the server to end, in multiples of its grace: twice for running work, once for
/// the store.
const GRACES: u32 = 3;
const SLACK: Duration = Duration::from_secs(10);

/// Asks a server that relays started to stop, and waits until it has ended. Relays start no other
/// server until the result is dropped. Does not touch a server started by a person or a service.
pub(super) async fn take_over(config: &Config) -> Result<File, CommandError> {
    let folder = &config.data_dir;
    let right = acquire_start_right(folder).await?;
    let holder = codeinfo_store::find_lock_holder(folder)?.filter(|holder| holder.until_idle);
    let Some(holder) = holder else { return Ok(right) };
    can_listen(config, &holder).await?;
    let LockHolder { pid, main_url, .. } = holder;
    let limit = config.shutdown_grace * GRACES + SLACK;
    // Without an address, the server is already ending.
    let mut said = String::new();
    if let Some(url) = main_url {
        cli::taking_over(pid, &url, limit)?;
        let holder = ReachableServer { url, key: owner_key(config) };
        let Some(reply) = relay::take_over(&holder).await else {
            return Err(takeover_error(&holder.url, pid, "does not make room"));
        };
        said = format!(" (asked to, it says: {reply})");
    }
    let began = Instant::now();
    while codeinfo_store::find_lock_holder(folder)?.is_some_and(|holder| holder.pid == pid) {
        if began.elapsed() >= limit {
            let reason = format!("has not ended in {} s{said}", limit.as_secs());
            return Err(takeover_error(&folder.display().to_string(), pid, &reason));
        }
        sleep(WAIT).await;
    }
    Ok(right)
}

/// Fails if this server could not use its ports, so that the other one is not ended in vain.
async fn can_listen(config: &Config, holder: &LockHolder) -> Result<(), CommandError> {
    for (variable, address) in [("PORT", config.main_address()), ("MCP_PORT", config.mcp_address())]
    {
        let urls = || holder.main_url.iter().chain(&holder.mcp_url);
        let is_theirs = urls().any(|url| url.ends_with(&format!(":{}", address.port())));
        if !is_theirs && let Err(error) = TcpListener::bind(address).await {
            let reason = format!(
                "cannot listen on {address} (set `{variable}` to another port, or stop its user): {error}"
            );
            return Err(reason.into());
        }
    }
    Ok(())
}

/// Acquires the right to start a server. A relay that has it starts its server first.
async fn acquire_start_right(folder: &Path) -> Result<File, CommandError> {
    let began = Instant::now();
    loop {
        if let Some(right) = try_lock_start(folder)? {
            return Ok(right);
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

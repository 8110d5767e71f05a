//! Has `codeinfo serve` take the place of a server that relays started.

use std::{fs::File, path::Path, time::Duration};

use codeinfo_server::relay::{self, ReachableServer};
use codeinfo_store::Holder;
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

/// The server may take so many times its grace to end: twice for what is under way, then for the store.
const GRACES: u32 = 3;
const SLACK: Duration = Duration::from_secs(10);

/// Asks the server that relays started to make room, and waits until it has ended. Until the result is dropped
/// relays start no other one. A server that a person or a service started is left alone.
pub(super) async fn take_over(config: &Config) -> Result<File, CommandError> {
    let folder = &config.data_dir;
    let right = acquire_start_right(folder).await?;
    let holder = codeinfo_store::holder(folder)?.filter(|holder| holder.until_idle);
    let Some(holder) = holder else { return Ok(right) };
    can_listen(config, &holder).await?;
    let Holder { pid, main_url, .. } = holder;
    let limit = config.shutdown_grace * GRACES + SLACK;
    // Without an address it ends already.
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
    while codeinfo_store::holder(folder)?.is_some_and(|holder| holder.pid == pid) {
        if began.elapsed() >= limit {
            let reason = format!("has not ended in {} s{said}", limit.as_secs());
            return Err(takeover_error(&folder.display().to_string(), pid, &reason));
        }
        sleep(WAIT).await;
    }
    Ok(right)
}

/// Fails where this server could not have its ports, so that the other one is not ended for nothing.
async fn can_listen(config: &Config, holder: &Holder) -> Result<(), CommandError> {
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

/// Takes the right to start a server. A relay that has it gets its server up first.
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

//! Puts the parts together, starts both listeners, and stops everything in order.

mod services;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
    time::Duration,
};

use codeinfo_chat::{
    Chat,
    archive::{ArchiveError, ConversationArchive, ConversationOwners},
};
use codeinfo_core::{atomic, task::Tasks};
use codeinfo_credentials::{CredentialError, CredentialStore, ProcessKey};
use codeinfo_embed::EmbedError;
use codeinfo_http::{Listener, ServerActivity};
use codeinfo_ingest::Ingest;
use codeinfo_mcp::SchemaError;
use codeinfo_server::{
    api::{self, Api, TurnRegistry},
    gate::{self, GateCredentials},
    mcp::McpApi,
};
use codeinfo_store::{DataDirLock, LockHolder, OnMismatch, Store, StoreError};
use codeinfo_worktree::private_places::PrivatePlaces;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::services::{build_services, open_store_and_embedder};
use crate::{config::Config, documents::find_document};

/// Visibility of the server to other processes, through the data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerVisibility {
    /// The lock file contains the addresses of the listeners.
    Announced,
    /// The server serves one command of this process.
    Private,
    /// Serves a command that reports problems, even without a store; requests that need it fail.
    Examined,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address} (set `{variable}` to another port, or stop its user)")]
    Listen {
        address: SocketAddr,
        variable: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// There is no file handle for the reserve of the listeners.
    #[error("cannot answer connections")]
    Reserve(#[source] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error(transparent)]
    Vault(#[from] CredentialError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// Running server. Stop it with [`Server::stop`]; dropping it leaves its tasks running.
pub struct Server {
    main: SocketAddr,
    mcp: SocketAddr,
    store: Store,
    chat: Chat,
    ingest: Ingest,
    groups: TaskGroups,
    activity: ServerActivity,
    grace: Duration,
    /// True if it was started for relays.
    until_idle: bool,
    /// Held until the store is closed, so that no second process opens it too early.
    lock: DataDirLock,
}

/// Tasks of each layer: edges stop first, adapters last.
#[derive(Default)]
struct TaskGroups {
    edges: Tasks,
    services: Tasks,
    adapters: Tasks,
    /// Cancelled when the server must make room for another one.
    gives_way: CancellationToken,
}

impl Server {
    pub async fn start(
        config: &Config,
        on_mismatch: OnMismatch,
        visibility: ServerVisibility,
    ) -> Result<Self, StartError> {
        make_private(&config.data_dir)
            .await
            .map_err(|error| StoreError::folder(&config.data_dir, &error))?;
        let groups = TaskGroups::default();
        let mut lock = lock_data_dir(&config.data_dir, &groups.adapters).await?;
        let main = bind_listener(config.main_address(), "PORT").await?;
        let mcp = bind_listener(config.mcp_address(), "MCP_PORT").await?;
        let main_bound = find_bound_address(&main, config)?;
        let mcp_bound = find_bound_address(&mcp, config)?;
        let main_address = to_reachable_address(main_bound);
        let mcp_address = to_reachable_address(mcp_bound);

        let adapters = groups.adapters.clone();
        let vault =
            CredentialStore::open(&config.data_dir, config.secret_key.clone(), adapters).await?;
        let search = ProcessKey::generate()?;
        let store = open_store_and_embedder(config, on_mismatch, visibility, &groups).await?;
        let own = groups.services.clone();
        let archive =
            ConversationArchive::open(&config.data_dir, config.conversations_kept, own).await?;
        let own = groups.services.clone();
        let owners = ConversationOwners::open(&config.data_dir, &archive, own).await?;
        let turns = TurnRegistry::new(archive, groups.services.clone());
        let main_url = format_url(main_address);
        let mcp_port = mcp_address.port();
        let mut services =
            build_services(config, &store, &vault, turns, &main_url, mcp_port, &groups)?;
        services.chat = services.chat.with_search_key(search.secret().clone()).with_owners(owners);
        let chat = services.chat.clone();
        let ingest = services.ingest.clone();
        let activity = ServerActivity::default();
        if visibility == ServerVisibility::Announced {
            // Starts the first probe early, for the first question. Most single commands do not use
            // Codex, so their server probes only when needed.
            drop(services.codex.availability());
        }
        let gateway = services.toolkits.clone();
        let is_grant = Arc::new(move |bearer: &str| gateway.find_grant(bearer).is_some());
        let bearers = GateCredentials {
            tokens: vault.tokens.clone(),
            sessions: vault.sessions.clone(),
            search,
            is_grant,
            are_required: config.auth_required,
            wrong_bearers: Arc::default(),
            find_document,
        };
        serve_listeners(config, services, main, mcp, bearers, &activity, &groups)?;
        if visibility == ServerVisibility::Announced {
            start_index_upkeep(config, on_mismatch, &ingest);
            lock.announce(&LockHolder {
                main_url: Some(main_url),
                mcp_url: Some(format_url(mcp_address)),
                until_idle: config.relays.until_idle,
                ..LockHolder::this_process()
            })?;
        }
        info!(main.address = %main_bound, mcp.address = %mcp_bound, "listening");
        Ok(Self {
            main: main_address,
            mcp: mcp_address,
            store: store.0,
            chat,
            ingest,
            groups,
            activity,
            grace: config.shutdown_grace,
            until_idle: config.relays.until_idle,
            lock,
        })
    }

    /// Returns the base URL of the main HTTP API, as seen from this machine.
    pub fn main_url(&self) -> String {
        format_url(self.main)
    }

    /// Returns the base URL of the MCP server, as seen from this machine.
    pub fn mcp_url(&self) -> String {
        format_url(self.mcp)
    }

    /// Returns the number of running questions, and of waiting or working runs.
    pub fn count_running(&self) -> (usize, usize) {
        (self.chat.active_turns(), self.ingest.active_run_count())
    }

    /// Starts to reindex the roots that `--reembed` could not reach.
    pub fn repair_roots(&self) {
        drop(self.ingest.repair_damaged_roots());
    }

    /// Waits until the server has been idle for `limit`, or another server asks to replace it.
    pub async fn wait_until_unused(&self, limit: Duration) {
        let steps = (limit / 4).min(Duration::from_secs(5));
        let idle = async {
            loop {
                tokio::time::sleep(steps).await;
                let is_working = self.count_running() != (0, 0);
                if !is_working && self.activity.idle_time().is_some_and(|idle| idle >= limit) {
                    info!("nobody has used the server for {} s", limit.as_secs());
                    return;
                }
            }
        };
        tokio::select! {
            () = idle => {}
            () = self.groups.gives_way.cancelled() => {}
        }
    }

    pub fn describe_damage(&self) -> Option<String> {
        self.store.damage()
    }

    /// Stops in order: refuses connections, ends requests and Codex, writes out the store. Takes
    /// about the grace period at most; returns whether everything ended within it.
    pub async fn stop(mut self) -> bool {
        // Other processes that look for a server wait until this one has ended.
        let silent = LockHolder { until_idle: self.until_idle, ..LockHolder::this_process() };
        if let Err(error) = self.lock.announce(&silent) {
            warn!(%error, "others may still look for this server");
        }
        let share = self.grace / 4;
        if !self.groups.edges.stop(share * 2).await {
            // Ending the turns and ingest runs below lets the remaining requests answer.
            info!("interrupting what still runs");
        }
        let services = self.groups.services.stop(share).await;
        let edges = self.groups.edges.stop(share).await;
        let adapters = self.groups.adapters.stop(share).await;
        // Last, so that the store knows that the process is ending and rebuilds nothing.
        let flushing = tokio::time::timeout(self.grace, self.store.flush());
        let is_flushed = match flushing.await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                warn!(%error, "the store was not written out");
                false
            }
            Err(_) => {
                warn!("the store was not written out in time; the next start reads its journal");
                false
            }
        };
        let ended = services && edges && adapters && is_flushed;
        if !ended {
            warn!("stopped before everything ended");
        }
        ended
    }
}

/// Starts repairs of damaged roots and the watching of files, if the settings ask for them.
fn start_index_upkeep(config: &Config, on_mismatch: OnMismatch, ingest: &Ingest) {
    // `--reembed` indexes discarded roots itself and repairs the roots that it could not reach.
    if config.store.repairs && on_mismatch == OnMismatch::Refuse {
        drop(ingest.repair_damaged_roots());
    }
    if config.watch {
        ingest.watch_roots();
    }
}

/// Returns the places that no run may index. An unset folder of Codex has its default.
pub(crate) fn private_places(config: &Config) -> PrivatePlaces {
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    let own = [config.data_dir.clone(), config.codex.workdir.clone()];
    PrivatePlaces::new(home, config.codex.home.iter().cloned().chain(own).collect())
}

fn serve_listeners(
    config: &Config,
    services: api::ApiServices,
    main: TcpListener,
    mcp: TcpListener,
    bearers: GateCredentials,
    activity: &ServerActivity,
    groups: &TaskGroups,
) -> Result<(), StartError> {
    let http = &config.http;
    let failures = services.failures.clone();
    let mcp_handler = McpApi::new(services.chat.clone(), http, services.relays.clone(), failures)?;
    let requests = services.metrics.requests.clone();
    let main_handler = Api::new(services, http)?;
    let gate = gate::build_mcp_gate(bearers.clone());
    let listener = |socket, name, gate| Listener {
        socket,
        name,
        requests: requests.clone(),
        gate,
        activity: activity.clone(),
    };
    let mcp_listener = listener(mcp, "mcp", gate);
    let main_listener = listener(main, "main", gate::build_main_gate(bearers));
    codeinfo_http::serve(mcp_listener, mcp_handler, http, &config.guard, groups.edges.clone())
        .and_then(|()| {
            codeinfo_http::serve(
                main_listener,
                main_handler,
                http,
                &config.guard,
                groups.edges.clone(),
            )
        })
        .map_err(StartError::Reserve)
}

/// Creates the data folder for its user only, because the index holds the code of every repository.
/// Restricts an existing folder that others can read, with a warning.
pub(crate) async fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder).await?;
    let own = folder.to_owned();
    let closed = tokio::task::spawn_blocking(move || atomic::restrict_folder(&own)).await;
    if let Some(mode) = closed.map_err(std::io::Error::other)?? {
        warn!(
            data.folder = %folder.display(),
            folder.mode = format!("{mode:03o}"),
            "the data folder was open to other accounts; it has mode 700 now"
        );
    }
    Ok(())
}

/// Locks the data folder, on a blocking thread: an unresponsive folder must not delay signals.
async fn lock_data_dir(folder: &Path, tasks: &Tasks) -> Result<DataDirLock, StartError> {
    let own = folder.to_owned();
    let acquired = tasks.spawn_blocking(move || DataDirLock::acquire(&own)).await;
    Ok(acquired.map_err(|error| StoreError::folder(folder, &error))??)
}

async fn bind_listener(
    address: SocketAddr,
    variable: &'static str,
) -> Result<TcpListener, StartError> {
    let listening = TcpListener::bind(address).await;
    listening.map_err(|source| StartError::Listen { address, variable, source })
}

fn find_bound_address(listener: &TcpListener, config: &Config) -> Result<SocketAddr, StartError> {
    listener.local_addr().map_err(|source| StartError::Listen {
        address: config.main_address(),
        variable: "HOST",
        source,
    })
}

/// Returns an address at which this machine reaches a listener that may be bound to all addresses.
fn to_reachable_address(mut bound: SocketAddr) -> SocketAddr {
    if bound.ip().is_unspecified() {
        bound.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    bound
}

fn format_url(address: SocketAddr) -> String {
    format!("http://{address}")
}

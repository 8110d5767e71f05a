//! Connections to toolkits: external MCP servers, run as child processes or reached over Streamable HTTP.
//!
//! Each distinct spec has one client, which turns share. The client starts its server on first use, watches it,
//! restarts it after a crash and stops it when idle.

mod catalogue;
mod client;
mod http;
mod lifecycle;
mod messages;
mod process;
mod session;
mod state;
mod usage;

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use codeinfo_core::{
    Principal,
    task::{BackoffSchedule, Tasks},
};
use futures_util::future::{BoxFuture, join_all};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

pub use self::{
    catalogue::{CallResult, CatalogueTool, ToolCatalogue},
    client::ToolkitClient,
    state::{ToolkitState, ToolkitStatus},
};

use self::state::ClientInner;
use crate::spec::{ToolkitName, ToolkitSpec};

/// Maximum toolkit processes in total, and of one token.
const MAX_PROCESSES: usize = 32;
const MAX_SHARE: usize = 8;
/// Maximum bytes of a server's message; a longer one is not read.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Number of clients above which unused ones are dropped.
const MAX_CLIENTS: usize = 256;
/// Additional time for a call, because it may wait for a start.
const RETIRE_MARGIN: Duration = Duration::from_secs(10);

type OwnerName = String;
type ToolkitClientKey = (Option<OwnerName>, ToolkitSpec);

/// Pool of toolkit connections. Clones share it. Its processes end with `tasks`.
#[derive(Clone)]
pub struct ConnectionPool(Arc<PoolState>);

struct PoolState {
    launcher: Arc<dyn ToolkitLauncher>,
    tasks: Tasks,
    timing: ConnectionTiming,
    processes: Arc<Semaphore>,
    /// Process quota of each principal except the owner.
    shares: Mutex<HashMap<OwnerName, Arc<Semaphore>>>,
    clients: Mutex<HashMap<ToolkitClientKey, Arc<ToolkitClient>>>,
    /// Clients that stop once their last user releases them.
    retiring: Mutex<Vec<Weak<ToolkitClient>>>,
}

/// Builds the command that starts a toolkit's process in its sandbox.
pub trait ToolkitLauncher: Send + Sync {
    /// Returns the command; an error tells what to do.
    fn build_command<'a>(
        &'a self,
        start: LaunchRequest<'a>,
    ) -> BoxFuture<'a, Result<ToolkitCommand, String>>;
}

#[derive(Debug, Clone, Copy)]
pub struct LaunchRequest<'a> {
    /// Principal that stored or sent it; `None` if a file configures it.
    pub owner: Option<&'a str>,
    pub name: &'a ToolkitName,
    pub spec: &'a ToolkitSpec,
}

#[derive(Clone, PartialEq, Eq)]
pub struct ToolkitCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: BTreeMap<String, String>,
    pub dir: PathBuf,
    /// Folder that only this toolkit writes.
    pub own: Option<PathBuf>,
}

impl ConnectionPool {
    pub fn new(launcher: Arc<dyn ToolkitLauncher>, tasks: Tasks) -> Self {
        Self::with_timing(launcher, tasks, ConnectionTiming::default())
    }

    /// Creates a pool with other timing, such as shorter waits for tests.
    pub fn with_timing(
        launcher: Arc<dyn ToolkitLauncher>,
        tasks: Tasks,
        timing: ConnectionTiming,
    ) -> Self {
        let processes = Arc::new(Semaphore::new(MAX_PROCESSES));
        let (shares, clients, retiring) = Default::default();
        Self(Arc::new(PoolState { launcher, tasks, timing, processes, shares, clients, retiring }))
    }

    /// Returns the client of `spec`, not started; equal specs of an owner share one. `owner` stored or sent the
    /// toolkit, or is `None` for toolkits of configuration files, which all principals share.
    pub fn get_or_create_client(
        &self,
        owner: Option<&str>,
        name: &ToolkitName,
        spec: &ToolkitSpec,
    ) -> Arc<ToolkitClient> {
        let key = (owner.map(str::to_owned), spec.clone());
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MAX_CLIENTS && !clients.contains_key(&key) {
            // Requests can carry any number of specs.
            clients.retain(|_, client| !is_unused(client));
        }
        if let Some(client) = clients.get(&key) {
            return Arc::clone(client);
        }
        let share = self.process_quota(owner);
        let client = Arc::new(ToolkitClient::new(ClientInner::new(
            key.0.clone(),
            name.clone(),
            spec.clone(),
            share,
            &self.0,
        )));
        clients.insert(key, Arc::clone(&client));
        client
    }

    /// Returns the process quota of a token; `None` for the owner, who may use all processes.
    fn process_quota(&self, owner: Option<&str>) -> Option<Arc<Semaphore>> {
        let token = owner.filter(|owner| *owner != Principal::owner().as_str())?;
        let mut shares = self.0.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        let new_share = || Arc::new(Semaphore::new(MAX_SHARE));
        Some(Arc::clone(shares.entry(token.to_owned()).or_insert_with(new_share)))
    }

    /// Permanently stops all clients of `owner`, who is revoked, without waiting for users.
    pub async fn stop_owned(&self, owner: &str) {
        let mut clients = self.extract_clients(owner, |_| true);
        clients.extend(self.lock_retiring_clients().iter().filter_map(Weak::upgrade));
        clients.retain(|client| client.owner() == Some(owner));
        join_all(clients.iter().map(|client| client.revoke())).await;
    }

    /// Stops the clients of `owner` with these specs once nothing uses them. Returns at once.
    pub fn retire_clients(&self, owner: &str, specs: &[ToolkitSpec]) {
        for client in self.extract_clients(owner, |spec| specs.contains(spec)) {
            self.lock_retiring_clients().push(Arc::downgrade(&client));
            let stopping = self.0.tasks.stop_token().clone();
            let tick = self.0.timing.tick;
            self.0.tasks.spawn(async move {
                stopping.run_until_cancelled(retire_unheld(client, tick)).await;
            });
        }
    }

    fn lock_retiring_clients(&self) -> MutexGuard<'_, Vec<Weak<ToolkitClient>>> {
        let mut retiring = self.0.retiring.lock().unwrap_or_else(PoisonError::into_inner);
        retiring.retain(|client| client.strong_count() > 0);
        retiring
    }

    fn extract_clients(
        &self,
        owner: &str,
        matches: impl Fn(&ToolkitSpec) -> bool,
    ) -> Vec<Arc<ToolkitClient>> {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let extracted =
            clients.extract_if(|(of, spec), _| of.as_deref() == Some(owner) && matches(spec));
        extracted.map(|(_, client)| client).collect()
    }

    /// Returns all clients, ordered by name.
    pub fn list_clients(&self) -> Vec<Arc<ToolkitClient>> {
        let clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Arc<ToolkitClient>> = clients.values().cloned().collect();
        all.sort_by(|a, b| (a.name(), a.owner()).cmp(&(b.name(), b.owner())));
        all
    }
}

/// Retires `client` when its users are done, at the latest after the longest time of a running call.
async fn retire_unheld(client: Arc<ToolkitClient>, tick: Duration) {
    let unheld = async {
        while Arc::strong_count(&client) > 1 {
            sleep(tick).await;
        }
    };
    timeout(client.spec().timeout + RETIRE_MARGIN, unheld).await.ok();
    client.retire().await;
}

fn is_unused(client: &Arc<ToolkitClient>) -> bool {
    let state = client.status().state;
    Arc::strong_count(client) == 1
        && matches!(state, ToolkitState::Disabled | ToolkitState::Stopped | ToolkitState::Failing)
}

/// Omits the values of the environment, which may be secrets.
impl std::fmt::Debug for ToolkitCommand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { program, args, env, dir, own } = self;
        let names: Vec<&String> = env.keys().collect();
        formatter
            .debug_struct("ToolkitCommand")
            .field("program", program)
            .field("args", args)
            .field("env", &names)
            .field("dir", dir)
            .field("own", own)
            .finish()
    }
}

/// Maximum wait of each step of stopping a toolkit whose owner is revoked; three steps end it within a second.
const REVOKED_GRACE: Duration = Duration::from_millis(150);

/// Time limits of a client. Tests shorten them.
#[derive(Debug, Clone)]
pub struct ConnectionTiming {
    /// Maximum duration of a start, until the tools are known.
    pub start: Duration,
    /// Time without an answer after which the server is pinged.
    pub silence: Duration,
    /// Maximum wait for the answer to a ping.
    pub pong: Duration,
    /// Waits before an ended server is restarted.
    pub restart: BackoffSchedule,
    /// Age up to which ends count.
    pub window: Duration,
    /// Time without use after which a server is stopped.
    pub idle: Duration,
    /// Maximum wait of each step of stopping.
    pub grace: Duration,
    /// Interval for checking resource usage and idleness.
    pub tick: Duration,
}

impl Default for ConnectionTiming {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(20),
            silence: Duration::from_secs(30),
            pong: Duration::from_secs(10),
            restart: BackoffSchedule {
                first: Duration::from_secs(1),
                longest: Duration::from_mins(1),
            },
            window: Duration::from_mins(10),
            idle: Duration::from_mins(10),
            grace: Duration::from_secs(3),
            tick: Duration::from_secs(1),
        }
    }
}

/// Maximum wait of each step of stopping, shortened when the owner is revoked.
pub(super) struct StopGrace {
    usual: Duration,
    revoked: CancellationToken,
}

impl StopGrace {
    pub(super) fn new(timing: &ConnectionTiming) -> Self {
        Self { usual: timing.grace, revoked: CancellationToken::new() }
    }

    /// Records that the owner is revoked, which also shortens current waits.
    pub(super) fn mark_revoked(&self) {
        self.revoked.cancel();
    }

    pub(super) async fn wait_for_step<T>(&self, step: impl Future<Output = T>) {
        let revoked = async {
            self.revoked.cancelled().await;
            sleep(REVOKED_GRACE).await;
        };
        tokio::select! {
            _ = step => {}
            () = sleep(self.usual) => {}
            () = revoked => {}
        }
    }
}

/// Failure of a toolkit. The message is for people; a model also reads [`ToolkitError::advice`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolkitError {
    #[error("toolkit {0} is switched off")]
    Disabled(String),
    #[error("toolkit {name} is not running: {reason}")]
    NotRunning { name: String, reason: String },
    #[error(
        "toolkit {name} ended too often: {reason} (`codeinfo mcp start {name}` starts it again)"
    )]
    Failing { name: String, reason: String },
    #[error(
        "toolkit {name} is not running: {most} processes of toolkits are; stop one of them first"
    )]
    TooMany { name: String, most: usize },
    #[error("toolkit {name} is busy with {most} calls")]
    Busy { name: String, most: usize },
    /// The connection broke, so the outcome of the call is unknown.
    #[error("toolkit {name} ended during the call: {reason}; it may have done it, or not")]
    Ended { name: String, reason: String },
    #[error(
        "tool {tool} of toolkit {name} did not answer within {} s and was cancelled",
        .after.as_secs_f32()
    )]
    TimedOut { name: String, tool: String, after: Duration },
    #[error("toolkit {name} refused the call of {tool}: {reason}")]
    Refused { name: String, tool: String, reason: String },
    #[error("toolkit {name} cannot be used by {tool}: {reason}")]
    Unsuitable { name: String, tool: String, reason: &'static str },
    #[error("toolkit {0} was changed or removed, or may no longer be used")]
    Retired(String),
    #[error("toolkit {0} is not running: the server is stopping")]
    Stopping(String),
}

impl ToolkitError {
    /// Returns advice for the model that called the tool.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Ended { .. } | Self::Stopping(_) => "do not rely on it",
            Self::Busy { .. } => "try again later, or go on without it",
            Self::TimedOut { .. } => "ask for less, or go on without it",
            Self::Refused { .. } => "change the call, or go on without it",
            Self::Disabled(_)
            | Self::NotRunning { .. }
            | Self::Failing { .. }
            | Self::TooMany { .. }
            | Self::Unsuitable { .. }
            | Self::Retired(_) => "go on without it",
        }
    }
}

//! Connections to toolkits: external MCP servers, run as child processes or reached over Streamable HTTP.
//!
//! Each distinct spec has one client, which turns share. The client starts its server on first use, watches it,
//! restarts it after a crash and stops it when idle.

mod catalogue;
mod client;
mod error;
mod handler;
mod http;
mod lifecycle;
mod pipes;
mod process;
mod reason;
mod session;
mod state;
mod timing;
mod usage;
mod words;

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use codeinfo_core::{Principal, task::Tasks};
use futures_util::future::{BoxFuture, join_all};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use self::state::ClientInner;
pub use self::{
    catalogue::{CallResult, CatalogueTool, ToolCatalogue},
    client::ToolkitClient,
    error::ToolkitError,
    state::{ToolkitState, ToolkitStatus},
    timing::ConnectionTiming,
};
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

/// Name of a principal.
type OwnerName = String;
/// Owner and spec that identify a client.
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

/// Toolkit to start.
#[derive(Debug, Clone, Copy)]
pub struct LaunchRequest<'a> {
    /// Principal that stored or sent it; `None` if a file configures it.
    pub owner: Option<&'a str>,
    pub name: &'a ToolkitName,
    pub spec: &'a ToolkitSpec,
}

/// Command with its arguments and environment.
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

    /// Returns the client of `spec` for `owner`, without starting it. `owner` is `None` for toolkits of
    /// configuration files, which all principals share, else the principal who stored or sent it. Equal specs
    /// of an owner share one client.
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
    pub async fn stop_of(&self, owner: &str) {
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

    /// Removes the clients of `owner` with matching specs, and returns them.
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

/// Returns true if nothing uses `client` and its server does not run.
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

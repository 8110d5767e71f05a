//! Connections to toolkits: external MCP servers, as processes of ours or over Streamable HTTP.
//!
//! Each distinct spec has one client, which turns share. Its server is started on first need, watched,
//! started again when it ended, and stopped when nobody needs it.

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

/// Most processes of toolkits at a time, and most of one token.
const MAX_PROCESSES: usize = 32;
const MAX_SHARE: usize = 8;
/// Longest message of a server; one that is longer is not read.
const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Most clients that are kept without being used.
const MAX_CLIENTS: usize = 256;
/// A call may take longer than its limit by waiting for a start.
const RETIRE_MARGIN: Duration = Duration::from_secs(10);

/// The name of a principal.
type OwnerName = String;
/// What equal clients have in common.
type ToolkitClientKey = (Option<OwnerName>, ToolkitSpec);

/// Connections to toolkits. Clones share them. Its processes end with `tasks`.
#[derive(Clone)]
pub struct ConnectionPool(Arc<PoolState>);

struct PoolState {
    launcher: Arc<dyn ToolkitLauncher>,
    tasks: Tasks,
    timing: ConnectionTiming,
    processes: Arc<Semaphore>,
    /// What each principal but the owner may have of them.
    shares: Mutex<HashMap<OwnerName, Arc<Semaphore>>>,
    clients: Mutex<HashMap<ToolkitClientKey, Arc<ToolkitClient>>>,
    /// Those that end when nobody holds them any more.
    retiring: Mutex<Vec<Weak<ToolkitClient>>>,
}

/// Says how the process of a toolkit is started within its fence.
pub trait ToolkitLauncher: Send + Sync {
    /// Returns what is started; an error says what to do.
    fn build_command<'a>(
        &'a self,
        start: LaunchRequest<'a>,
    ) -> BoxFuture<'a, Result<ToolkitCommand, String>>;
}

/// Which toolkit is to be started.
#[derive(Debug, Clone, Copy)]
pub struct LaunchRequest<'a> {
    /// Whose it is; `None` where it is configured.
    pub owner: Option<&'a str>,
    pub name: &'a ToolkitName,
    pub spec: &'a ToolkitSpec,
}

/// A command with all that it is given.
#[derive(Clone, PartialEq, Eq)]
pub struct ToolkitCommand {
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    pub dir: PathBuf,
    /// The folder that only it writes.
    pub own: Option<PathBuf>,
}

impl ConnectionPool {
    pub fn new(launcher: Arc<dyn ToolkitLauncher>, tasks: Tasks) -> Self {
        Self::with_timing(launcher, tasks, ConnectionTiming::default())
    }

    /// Does the same where less time passes than in earnest.
    pub fn with_timing(
        launcher: Arc<dyn ToolkitLauncher>,
        tasks: Tasks,
        timing: ConnectionTiming,
    ) -> Self {
        let processes = Arc::new(Semaphore::new(MAX_PROCESSES));
        let (shares, clients, retiring) = Default::default();
        Self(Arc::new(PoolState { launcher, tasks, timing, processes, shares, clients, retiring }))
    }

    /// Returns the client of `spec` for `owner`: `None` for those that are configured, which all share,
    /// else the principal whose request carries it. Equal ones share one client. Starts nothing.
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
        let made = || {
            let PoolState { launcher, tasks, timing, processes, .. } = &*self.0;
            let of = (key.0.clone(), name.clone(), spec.clone());
            let with = (Arc::clone(launcher), tasks.clone(), timing.clone());
            Arc::new(ToolkitClient::new(ClientInner::new(
                of,
                with,
                (Arc::clone(processes), self.process_quota(owner)),
            )))
        };
        if let Some(client) = clients.get(&key) {
            return Arc::clone(client);
        }
        let client = made();
        clients.insert(key, Arc::clone(&client));
        client
    }

    /// Returns what a token may have of the processes; the owner may have all.
    fn process_quota(&self, owner: Option<&str>) -> Option<Arc<Semaphore>> {
        let owner = owner.filter(|owner| *owner != Principal::owner().as_str())?;
        let mut shares = self.0.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        let made = || Arc::new(Semaphore::new(MAX_SHARE));
        Some(Arc::clone(shares.entry(owner.to_owned()).or_insert_with(made)))
    }

    /// Stops what `owner`, who is revoked, has at once, for good.
    pub async fn stop_of(&self, owner: &str) {
        let mut clients = self.extract_clients(owner, |_| true);
        clients.extend(self.lock_retiring_clients().iter().filter_map(Weak::upgrade));
        clients.retain(|client| client.owner() == Some(owner));
        join_all(clients.iter().map(|client| client.revoke())).await;
    }

    /// Stops the clients of `owner` with these specs once nobody holds them any more. Returns at once.
    pub fn retire_clients(&self, owner: &str, specs: &[ToolkitSpec]) {
        for client in self.extract_clients(owner, |spec| specs.contains(spec)) {
            self.lock_retiring_clients().push(Arc::downgrade(&client));
            let (stopping, tick) = (self.0.tasks.stop_token().clone(), self.0.timing.tick);
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

    /// Forgets the clients of `owner` with specs that match, and returns them.
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

/// Retires `client` when those who hold it are done, at the latest when a call that ran must have ended.
async fn retire_unheld(client: Arc<ToolkitClient>, tick: Duration) {
    let unheld = async {
        while Arc::strong_count(&client) > 1 {
            sleep(tick).await;
        }
    };
    timeout(client.spec().timeout + RETIRE_MARGIN, unheld).await.ok();
    client.retire().await;
}

/// Whether nobody holds `client`, and nothing of it runs.
fn is_unused(client: &Arc<ToolkitClient>) -> bool {
    let state = client.status().state;
    Arc::strong_count(client) == 1
        && matches!(state, ToolkitState::Disabled | ToolkitState::Stopped | ToolkitState::Failing)
}

/// Values of the environment may be secrets.
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

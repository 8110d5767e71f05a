//! Settings: a [`Config`] that cannot be wrong, made from the environment.

mod embedding;
mod env;
mod environment;
mod http;
mod page;
mod secret_key;
mod settings;
mod toolkits;

use std::{
    net::{IpAddr, SocketAddr},
    path::{Component, Path, PathBuf},
    time::Duration,
};

pub use embedding::Embedding;
pub use env::{ConfigError, HANDOVER, from_environment, from_pairs, hide_keys, program};
pub use environment::Environment;
pub use http::Http;
pub use page::{Editor, Page};
pub use secret_key::{InvalidKey, SecretKey};
pub use settings::{Setting, Source};
pub use toolkits::{
    AgentTools, Allow, Document, Entry, Fence, InvalidName, NetworkAccess, Requested, Spec,
    SpecReader, ToolkitName, Toolkits, Transport, first_file,
};

use crate::domain::Root;

/// Everything that can be set, checked. Each bound of the product is a field of this tree.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address both listeners bind.
    pub host: IpAddr,
    /// Port of the main HTTP API; 0 lets the system choose.
    pub port: u16,
    /// Port of the MCP server; 0 lets the system choose.
    pub mcp_port: u16,
    /// Folder of the store, the lock and the scratch folder of Codex.
    pub data_dir: PathBuf,
    /// How the server's paths look to clients, when they differ.
    pub path_map: PathMap,
    pub guard: Guard,
    pub http: Http,
    pub ingest: Ingest,
    /// Whether a server keeps roots as their folders are.
    pub watch: bool,
    pub relays: Relays,
    /// How many conversations of the page are kept; 0 keeps none.
    pub conversations_kept: usize,
    pub page: Page,
    /// Variables that were taken out of the environment, for a server that this process starts.
    pub handed: Vec<(String, Secret)>,
    /// All settings for people to look at.
    pub settings: Vec<Setting>,
    pub store: Store,
    /// The server that keeps the index; `None` is the embedded store.
    pub qdrant: Option<Qdrant>,
    /// The service that makes vectors; `None` is the model in the binary.
    pub embedding: Option<Embedding>,
    pub codex: Codex,
    pub toolkits: Toolkits,
    /// Whether every request must name who asks, by a bearer token.
    pub auth_required: bool,
    /// What stored configurations are encrypted with; `None` is the key file in the data folder.
    pub secret_key: Option<SecretKey>,
    pub log: Log,
    /// How long stopping may take before what is left is dropped.
    pub shutdown_grace: Duration,
}

impl Config {
    /// Watches, as an argument of the command asks for.
    #[must_use]
    pub fn watching(mut self) -> Self {
        self.watch = true;
        if let Some(setting) = self.settings.iter_mut().find(|one| one.name == "WATCH") {
            (setting.value, setting.source) = (Some("true".to_owned()), Source::Argument);
        }
        self
    }

    pub fn main_address(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }

    pub fn mcp_address(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.mcp_port)
    }
}

/// What relays of standard streams do, and servers that they start.
#[derive(Debug, Clone, Copy)]
pub struct Relays {
    /// Whether the repository that a relay is started in is indexed where it is not.
    pub auto_index: bool,
    /// How long a server that was started for relays outlives the last of them.
    pub idle_exit: Duration,
    /// Whether this server is such a one.
    pub until_idle: bool,
}

/// How the server's paths look to clients. The default leaves them as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathMap {
    /// Where the server sees repositories (`INGEST_DIR`), and where clients see them
    /// (`HOST_INGEST_DIR`).
    folders: Option<(PathBuf, PathBuf)>,
}

impl PathMap {
    /// Shows paths below `server` as paths below `client`.
    pub fn new(server: PathBuf, client: PathBuf) -> Self {
        Self { folders: Some((server, client)) }
    }

    /// Returns a path of the server as clients see it.
    pub fn shown(&self, path: &Path) -> PathBuf {
        let moved = self.folders.as_ref().and_then(|(server, client)| moved(path, server, client));
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// Returns a path that a client names as the server sees it.
    pub fn meant(&self, path: &Path) -> PathBuf {
        let moved = self.folders.as_ref().and_then(|(server, client)| moved(path, client, server));
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// Returns the root that a client calls `reference`: a name, an id, a path as clients see it, or
    /// one as the server does, in that order.
    pub fn root<'a>(&self, roots: &'a [Root], reference: &str) -> Option<&'a Root> {
        let path = Path::new(reference);
        let meant = self.meant(path);
        let by_name = roots.iter().find(|root| root.name == reference);
        let by_id = || roots.iter().find(|root| root.id.to_string() == reference);
        // What another host has at the same path is another folder.
        let by_path = |path: &Path| {
            roots.iter().filter(|root| root.path == path).min_by_key(|root| root.host.is_some())
        };
        by_name.or_else(by_id).or_else(|| by_path(&meant)).or_else(|| by_path(path))
    }

    /// Returns the root that a client means by `reference`: as [`Self::root`] has it, or else the innermost one around
    /// the folder of that path.
    pub fn meant_root<'a>(&self, roots: &'a [Root], reference: &str) -> Option<&'a Root> {
        let around = |path: &Path| {
            let around = roots.iter().filter(|root| path.starts_with(&root.path));
            around.max_by_key(|root| (root.host.is_none(), root.path.as_os_str().len()))
        };
        let path = Path::new(reference);
        let is_plain = path.components().all(|part| !matches!(part, Component::ParentDir));
        let around = || around(&self.meant(path)).filter(|_| is_plain && path.is_absolute());
        self.root(roots, reference).or_else(around)
    }
}

/// Returns `path` below `to` instead of `from`, if it is below that.
fn moved(path: &Path, from: &Path, to: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(from).ok()?;
    Some(if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) })
}

/// Who may talk to the listeners, beside loopback names and clients without an `Origin`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard {
    /// Further host names, without port, lower case.
    pub hosts: Vec<String>,
    /// Further origins such as `https://tools.example`, lower case.
    pub origins: Vec<String>,
}

/// Bounds of ingest.
#[derive(Debug, Clone, Copy)]
pub struct Ingest {
    /// Larger files are left out and counted as skipped.
    pub max_file_bytes: u64,
    /// Most runs that wait for their turn.
    pub max_queued_runs: usize,
    /// Finished runs whose status is kept.
    pub max_finished_runs: usize,
    /// Time after which a run no longer holds up runs of other repositories.
    pub run_patience: Duration,
}

/// Bounds of the embedded store.
#[derive(Debug, Clone)]
pub struct Store {
    /// After this many chunks in memory they are put on disk.
    pub seal_chunks: usize,
    /// Whether what runs leave is merged in the background: not by a process that ends after one
    /// command, which would leave it half done.
    pub background_merge: bool,
    /// Whether what is found damaged is moved away and the rest opened, for runs to repair.
    pub repairs: bool,
}

/// A Qdrant server or cluster that keeps the index instead of the embedded store.
#[derive(Debug, Clone)]
pub struct Qdrant {
    /// The gRPC addresses of its nodes. One is used until it fails, then the next.
    pub urls: Vec<String>,
    pub api_key: Option<Secret>,
    /// What the names of all its collections begin with.
    pub collection: String,
    /// Whether all hosts see the same folder at a path, so that none has roots of its own.
    pub shared_paths: bool,
    /// How many shards the chunks are spread over when their collection is made; `None` leaves that
    /// to the server, which takes one for each node.
    pub shards: Option<u32>,
    /// How many nodes have a copy of each shard.
    pub replication: u32,
    /// How many of them must have made a change for it to succeed.
    pub write_consistency: u32,
    /// Longest wait for one answer.
    pub timeout: Duration,
    /// How long a change is tried again while the server is away. Less than the time in which a lease
    /// must be renewed, two thirds of `lease`.
    pub retry: Duration,
    /// How long a root stays with a process that is not heard of.
    pub lease: Duration,
    /// From how many chunks on an approximate index (HNSW) is built; below, search is exact.
    pub hnsw_min_chunks: u64,
}

/// A text that must not be seen in logs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, to be sent to whom it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("(secret)")
    }
}

/// The reasoning efforts that Codex knows. It takes any other word, too, and leaves it to the model's
/// service to refuse every turn.
pub const EFFORTS: [&str; 8] =
    ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

/// How Codex is found and driven.
#[derive(Debug, Clone)]
pub struct Codex {
    /// The binary, or a bare name to look for on `path`; `None` looks for `codex` there.
    pub bin: Option<PathBuf>,
    /// The process's `PATH`, to look for `codex` on.
    pub path: std::ffi::OsString,
    /// The process's environment, of which Codex gets a part.
    pub environment: Environment,
    /// Hosts that Codex reaches without a proxy: those of the environment, and this machine.
    pub no_proxy: String,
    /// Codex's own folder (sign-in, sessions); `None` leaves it to Codex.
    pub home: Option<PathBuf>,
    /// Folder of the scratch folders, one for each conversation.
    pub workdir: PathBuf,
    /// The server's own folder, which the model's shell never sees.
    pub data_dir: PathBuf,
    /// The model asked for; `None` takes the product's default while Codex offers it, else Codex's.
    pub model: Option<String>,
    /// Reasoning effort, one of [`EFFORTS`].
    pub effort: String,
    /// Whether a second reader checks what answers claim.
    pub claim_check: bool,
    pub sandbox: Sandbox,
    pub approval: Approval,
    /// Whether the model has a shell, beside the tools of the search.
    pub shell: bool,
    /// Whether the model's shell may use the network.
    pub network: bool,
    pub web_search: WebSearch,
    /// Longest turn.
    pub turn_timeout: Duration,
    /// Longest wait for any single answer of the Codex process, turns excepted.
    pub request_timeout: Duration,
    /// Age at which what is known of Codex's availability is refreshed.
    pub presence_ttl: Duration,
    /// Most turns that run at a time; further questions wait.
    pub max_turns: usize,
    /// Most questions that wait, over all conversations; further ones are refused.
    pub max_waiting: usize,
}

/// What the model's shell may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

impl std::fmt::Display for Sandbox {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        })
    }
}

/// The approval policy as wished. Codex no longer knows `on-failure` and nobody is there to
/// approve, so each of them is `never` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    OnFailure,
    Never,
}

/// Where the model's web search looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WebSearch {
    Disabled,
    Cached,
    Live,
}

/// What is logged and how.
#[derive(Debug, Clone)]
pub struct Log {
    /// A `tracing` filter such as `info` or `codeinfo=debug`.
    pub level: String,
    /// Whether the user chose the level.
    pub chosen: bool,
    pub format: LogFormat,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    Text,
    Json,
}

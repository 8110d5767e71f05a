//! What a toolkit is: an external MCP server whose tools answers may use; and the bounds of all toolkits.

mod expand;
mod first;
mod read;
mod schema;
mod strict;
mod write;

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

pub use first::first_file;
pub use read::{AgentTools, RequestedToolkits, SpecReader, ToolkitDocument, ToolkitDocumentEntry};

use codeinfo_codex::NetworkAccess;
use codeinfo_core::Secret;

/// Settings of toolkits.
#[derive(Debug, Clone)]
pub struct ToolkitSettings {
    /// Whether there are any. Off, everything is as it is without toolkits.
    pub enabled: bool,
    /// The user's file of toolkits; read again when it changes.
    pub file: Option<PathBuf>,
    /// Most toolkits of one turn; further ones are left out and named.
    pub max: usize,
    /// Most tools of one turn that the model is given directly; with more it discovers them.
    pub direct_max: usize,
    /// Most calls of toolkits in one turn.
    pub max_steps: usize,
    /// What the instructions say of toolkits, in place of our own words.
    pub prompt: Option<String>,
}

/// One toolkit as it is configured. Two that are equal may share a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolkitSpec {
    pub transport: ToolkitTransport,
    /// What people call it.
    pub name: Option<String>,
    pub description: Option<String>,
    /// Off, it hides a toolkit of the same name from lower layers.
    pub enabled: bool,
    /// Longest call.
    pub timeout: Duration,
    pub sandbox: ToolkitSandbox,
    /// The network of a process in the sandbox.
    pub network: NetworkAccess,
    pub allow: AllowedTools,
    /// How long results of tools that only read and are repeatable are kept; zero keeps none unless the
    /// server says how long.
    pub cache: Duration,
    /// Whether calls of a model may run at the same time.
    pub parallel: bool,
    /// Maximum memory of its processes in MiB.
    pub memory_mb: Option<u64>,
    /// Maximum size in MiB of the folder that only it writes in the sandbox.
    pub home_mb: Option<u64>,
    /// Maximum number of its processes and their threads.
    pub max_processes: Option<u64>,
}

/// How a toolkit is reached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolkitTransport {
    /// A process of ours, over its standard streams.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, Secret>,
        working_dir: Option<PathBuf>,
    },
    /// A server that runs, over Streamable HTTP.
    Http { url: String, headers: BTreeMap<String, Secret> },
}

impl ToolkitTransport {
    /// Returns `stdio` or `http`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
        }
    }
}

/// What a toolkit's process may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolkitSandbox {
    ReadOnly,
    WorkspaceWrite,
    Off,
}

/// Which tools of a toolkit are offered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AllowedTools {
    /// Those that say that they only read.
    ReadOnly,
    All,
    /// These.
    Named(Vec<String>),
}

/// The name of a toolkit: 1 to 48 of `a-z`, `0-9`, `_` and `-`, and none that is reserved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ToolkitName(String);

/// The text is no name of a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the name of a toolkit: it must be 1 to 48 of `a-z`, `0-9`, `_` and `-`, and none of {RESERVED:?}"
)]
pub struct InvalidName(String);

/// Names of our own: a toolkit of that name would stand in for our tools.
const RESERVED: [&str; 5] =
    ["codeinfo", "codeinfo_search", "codeinfo_vector_search", "local", "toolkits"];
const MAX_NAME_BYTES: usize = 48;
/// The longest call of a toolkit that does not say how long.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

impl ToolkitName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for ToolkitName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        let is_name =
            !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(is_plain);
        // Codex takes them for the same.
        let plain = text.replace('-', "_");
        if is_name && !RESERVED.contains(&plain.trim_matches('_')) {
            return Ok(Self(text.to_owned()));
        }
        Err(InvalidName(text.chars().take(80).collect()))
    }
}

impl fmt::Display for ToolkitName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

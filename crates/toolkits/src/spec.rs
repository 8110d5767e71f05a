//! Specification of a toolkit, an external MCP server whose tools answers may use, and settings of all
//! toolkits.

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
    /// Enables toolkits.
    pub enabled: bool,
    /// The user's file of toolkits; it is read again when it changes.
    pub file: Option<PathBuf>,
    /// Maximum toolkits of one turn; further ones are left out and named.
    pub max: usize,
    /// Maximum tools of one turn that the model sees directly; with more it discovers them.
    pub direct_max: usize,
    /// Maximum toolkit calls in one turn.
    pub max_steps: usize,
    /// Text about toolkits in the instructions, replacing the default.
    pub prompt: Option<String>,
}

/// Configuration of one toolkit. Equal ones may share a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolkitSpec {
    pub transport: ToolkitTransport,
    pub name: Option<String>,
    pub description: Option<String>,
    /// If false, hides a toolkit of the same name in lower layers.
    pub enabled: bool,
    /// Maximum duration of a call.
    pub timeout: Duration,
    pub sandbox: ToolkitSandbox,
    /// Network of a process in the sandbox.
    pub network: NetworkAccess,
    pub allow: AllowedTools,
    /// Time to keep results of read-only, idempotent tools. Zero keeps none, except for the time that the
    /// server states.
    pub cache: Duration,
    /// Permits concurrent calls of a model.
    pub parallel: bool,
    /// Maximum memory of its processes in MiB.
    pub memory_mb: Option<u64>,
    /// Maximum size of its own folder in the sandbox, in MiB.
    pub home_mb: Option<u64>,
    /// Maximum number of its processes and threads.
    pub max_processes: Option<u64>,
}

/// Transport to a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolkitTransport {
    /// Child process, over its standard streams.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, Secret>,
        working_dir: Option<PathBuf>,
    },
    /// Running server, over Streamable HTTP.
    Http { url: String, headers: BTreeMap<String, Secret> },
}

impl ToolkitTransport {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
        }
    }
}

/// File access of a toolkit's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolkitSandbox {
    ReadOnly,
    WorkspaceWrite,
    Off,
}

/// Tools of a toolkit that turns may call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AllowedTools {
    /// Tools that declare themselves read-only.
    ReadOnly,
    All,
    /// Tools with these names.
    Named(Vec<String>),
}

/// Name of a toolkit: 1 to 48 of `a-z`, `0-9`, `_` and `-`, and not reserved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct ToolkitName(String);

/// Error for a text that is not a valid toolkit name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be the name of a toolkit: it must be 1 to 48 of `a-z`, `0-9`, `_` and `-`, and none of {RESERVED:?}"
)]
pub struct InvalidName(String);

/// Our own names; a toolkit with such a name would shadow our tools.
const RESERVED: [&str; 5] =
    ["codeinfo", "codeinfo_search", "codeinfo_vector_search", "local", "toolkits"];
const MAX_NAME_BYTES: usize = 48;
/// Maximum duration of a call without a configured timeout.
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
        // Codex treats `-` and `_` as equal.
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

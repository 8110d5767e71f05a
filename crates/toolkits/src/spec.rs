//! Specification of a toolkit, an external MCP server: serialization, digests and settings.

mod json_file;
mod read;
mod schema;

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use codeinfo_codex::NetworkAccess;
use codeinfo_core::{Secret, hash::sha256_hex};
use serde_json::{Map, Value, json};

pub use read::{AgentTools, RequestedToolkits, SpecReader, ToolkitDocument, ToolkitDocumentEntry};

/// Settings of toolkits.
#[derive(Debug, Clone)]
pub struct ToolkitSettings {
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
    /// Time to keep results of read-only, idempotent tools. Zero keeps none, except for the server's stated time.
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

/// Text of a first file with two disabled examples. Comments are members, because other programs also read the file.
pub const FILE_TEMPLATE: &str = r#"{
  "$comment": [
    "Toolkits: MCP servers whose tools answers may use beside the search of CodeInfo.",
    "Each has a name of a-z, 0-9, _ and -, and either `command` (a program over stdio) or `url` (Streamable HTTP).",
    "${NAME} and ${NAME:-default} are read from the environment. Set `enabled` to true to use one.",
    "In a repository, this file is .codeinfo/toolkits.json, and counts after `codeinfo mcp allow PATH`."
  ],
  "mcpServers": {
    "git": {
      "$comment": [
        "The history of a repository. It runs in a sandbox that only reads; `sandbox` may be workspace-write or off.",
        "`allow` is readonly (tools that say that they only read), all, or a list of tools.",
        "`timeout` is in seconds, for one call; `cacheSecs` keeps results; `memoryMb` is the most that it may use."
      ],
      "enabled": false,
      "name": "Git history",
      "description": "Log, blame, diffs and branches of the repository",
      "command": "uvx",
      "args": ["mcp-server-git", "--repository", "."],
      "workingDir": ".",
      "env": {"GIT_PAGER": "cat"},
      "allow": ["git_log", "git_show", "git_diff", "git_status"],
      "timeout": 30
    },
    "issues": {
      "$comment": "An issue tracker over HTTP. Its key stays in the environment, not in this file.",
      "enabled": false,
      "name": "Issue tracker",
      "description": "Issues and what was said of them",
      "url": "https://issues.example/mcp",
      "headers": {"Authorization": "Bearer ${ISSUES_TOKEN}"},
      "cacheSecs": 60,
      "parallel": true
    }
  }
}
"#;

const HIDDEN: &str = "(hidden)";

impl ToolkitSpec {
    /// Returns the toolkit as its document has it, with all values and without defaults.
    pub fn to_json(&self) -> Value {
        self.to_json_with(|secret| secret.expose().to_owned(), str::to_owned)
    }

    /// Returns the toolkit for lists, without values of variables and headers and the URL's query: all may be keys.
    pub fn to_redacted_json(&self) -> Value {
        self.to_json_with(
            |_| HIDDEN.to_owned(),
            |url| match url.split_once('?') {
                Some((place, _)) => format!("{place}?{HIDDEN}"),
                None => url.to_owned(),
            },
        )
    }

    /// Returns the SHA-256 of the whole toolkit as 64 hexadecimal digits. Equal toolkits have equal digests.
    pub fn digest(&self) -> String {
        sha256_hex(self.to_json().to_string().as_bytes())
    }

    /// Returns the SHA-256 of the program or URL as 64 hexadecimal digits, regardless of names, limits and values.
    pub fn program_digest(&self) -> String {
        let program = match &self.transport {
            ToolkitTransport::Stdio { command, args, env: _, working_dir } => {
                json!(["stdio", command, args, working_dir])
            }
            ToolkitTransport::Http { url, headers: _ } => json!(["http", url]),
        };
        sha256_hex(program.to_string().as_bytes())
    }

    fn to_json_with(
        &self,
        secret: impl Fn(&Secret) -> String,
        url: impl Fn(&str) -> String,
    ) -> Value {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        let secrets = |secrets: &BTreeMap<String, Secret>| -> Value {
            secrets.iter().map(|(name, value)| (name.clone(), secret(value))).collect()
        };
        match &self.transport {
            ToolkitTransport::Stdio { command, args, env, working_dir } => {
                put("command", json!(command));
                put("args", json!(args));
                put("env", secrets(env));
                if let Some(folder) = working_dir {
                    put("workingDir", json!(folder));
                }
            }
            ToolkitTransport::Http { url: address, headers } => {
                put("url", json!(url(address)));
                put("headers", secrets(headers));
            }
        }
        let optional = [
            ("name", self.name.as_ref().map(|name| json!(name))),
            ("description", self.description.as_ref().map(|text| json!(text))),
            ("enabled", (!self.enabled).then(|| json!(false))),
            ("timeout", (self.timeout != DEFAULT_TIMEOUT).then(|| json!(self.timeout.as_secs()))),
            ("sandbox", (self.sandbox != ToolkitSandbox::ReadOnly).then(|| json!(self.sandbox))),
            ("network", network_to_json(self.network)),
            ("allow", allowed_tools_to_json(&self.allow)),
            ("cacheSecs", (!self.cache.is_zero()).then(|| json!(self.cache.as_secs()))),
            ("parallel", self.parallel.then(|| json!(true))),
            ("memoryMb", self.memory_mb.map(|mib| json!(mib))),
            ("homeMb", self.home_mb.map(|mib| json!(mib))),
            ("maxProcesses", self.max_processes.map(|processes| json!(processes))),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                put(name, value);
            }
        }
        Value::Object(members)
    }
}

fn network_to_json(network: NetworkAccess) -> Option<Value> {
    match network {
        NetworkAccess::None => Some(json!(false)),
        NetworkAccess::Proxied => None,
        NetworkAccess::Open => Some(json!("open")),
    }
}

fn allowed_tools_to_json(allow: &AllowedTools) -> Option<Value> {
    match allow {
        AllowedTools::ReadOnly => None,
        AllowedTools::All => Some(json!("all")),
        AllowedTools::Named(tools) => Some(json!(tools)),
    }
}

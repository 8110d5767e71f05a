//! Settings of Codex, the variables that it may inherit, and further endpoints of a thread.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use codeinfo_core::Secret;

/// Reasoning efforts that Codex knows. Codex accepts other words, but the model service then refuses every turn.
pub const EFFORTS: [&str; 8] =
    ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

/// Settings for finding and driving Codex.
#[derive(Debug, Clone)]
pub struct CodexSettings {
    /// Binary, or a bare name to find on `path`; `None` finds `codex` there.
    pub bin: Option<PathBuf>,
    /// `PATH` of this process, searched for `codex`.
    pub path: std::ffi::OsString,
    /// Environment of this process; Codex inherits a part.
    pub environment: OtherVariables,
    /// Hosts that Codex reaches without a proxy: those of the environment, and this machine.
    pub no_proxy: String,
    /// Codex's own folder (sign-in, sessions); `None` leaves it to Codex.
    pub home: Option<PathBuf>,
    /// Folder of the scratch folders, one per conversation.
    pub workdir: PathBuf,
    /// Data folder of the server, hidden from the model's shell.
    pub data_dir: PathBuf,
    /// Requested model; `None` takes the product's default while Codex offers it, else Codex's.
    pub model: Option<String>,
    /// Reasoning effort, one of [`EFFORTS`].
    pub effort: String,
    /// Enables a second reader that checks the claims of answers.
    pub claim_check: bool,
    pub sandbox: SandboxMode,
    pub approval: ApprovalPolicy,
    /// Gives the model a shell in addition to the search tools.
    pub shell: bool,
    /// Gives the model's shell network access.
    pub network: bool,
    pub web_search: WebSearchMode,
    pub turn_timeout: Duration,
    /// Maximum wait for any single answer of the Codex process, except turns.
    pub request_timeout: Duration,
    /// Age at which the known availability of Codex is refreshed.
    pub presence_ttl: Duration,
    /// Maximum concurrent turns; further questions wait.
    pub max_turns: usize,
    /// Maximum waiting questions over all conversations; further ones are refused.
    pub max_waiting: usize,
}

/// File access of the model's shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        })
    }
}

/// Network access of a program in the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkAccess {
    None,
    /// The outside world, through a proxy that refuses this machine and its local network.
    Proxied,
    /// Everything that this machine reaches, including its own services.
    Open,
}

/// Approval policy. Both are sent as `never`: there is no user, and Codex no longer knows `on-failure`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    OnFailure,
    Never,
}

/// Mode of the model's web search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WebSearchMode {
    Disabled,
    Cached,
    Live,
}

/// MCP endpoint of ours that a thread may use in addition to the search.
#[derive(Debug, Clone)]
pub struct ExtraEndpoint {
    /// Requested name. Codex knows the endpoint by another name if the user's configuration has this one.
    pub name: String,
    pub url: String,
    /// Secret that Codex presents to the endpoint.
    pub grant: Secret,
    /// Maximum duration of a call.
    pub timeout: Duration,
    /// Permits concurrent calls.
    pub parallel: bool,
}

/// Our own keys, which no other program may see.
const OWN_KEYS: [&str; 3] = ["EMBEDDING_API_KEY", "QDRANT_API_KEY", "SECRET_KEY"];

/// Variables by name, without our own keys. `Debug` hides the values, which may be keys of others.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OtherVariables(BTreeMap<String, String>);

impl OtherVariables {
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let others = pairs.into_iter().filter(|(name, _)| !OWN_KEYS.contains(&name.as_str()));
        Self(others.collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns names and values, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for OtherVariables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

//! Settings of Codex.

use std::{path::PathBuf, time::Duration};

use super::OtherVariables;

/// Reasoning efforts that Codex knows. Codex accepts other words, but the model service then refuses every
/// turn.
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
    /// Maximum duration of a turn.
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

impl std::fmt::Display for SandboxMode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

/// Approval policy of the settings. Codex no longer knows `on-failure` and there is no user to approve, so both
/// are sent as `never`.
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

//! Settings of Codex.

use std::{path::PathBuf, time::Duration};

use super::OtherVariables;

/// The reasoning efforts that Codex knows. It takes any other word, too, and leaves it to the model's
/// service to refuse every turn.
pub const EFFORTS: [&str; 8] =
    ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

/// How Codex is found and driven.
#[derive(Debug, Clone)]
pub struct CodexSettings {
    /// The binary, or a bare name to look for on `path`; `None` looks for `codex` there.
    pub bin: Option<PathBuf>,
    /// The process's `PATH`, to look for `codex` on.
    pub path: std::ffi::OsString,
    /// The process's environment, of which Codex gets a part.
    pub environment: OtherVariables,
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
    pub sandbox: SandboxMode,
    pub approval: ApprovalPolicy,
    /// Whether the model has a shell, beside the tools of the search.
    pub shell: bool,
    /// Whether the model's shell may use the network.
    pub network: bool,
    pub web_search: WebSearchMode,
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

/// What a program in the sandbox reaches over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkAccess {
    /// Nothing.
    None,
    /// The outside world, through a proxy that refuses this machine and its surroundings.
    Proxied,
    /// Whatever this machine reaches, services on it included.
    Open,
}

/// The approval policy as wished. Codex no longer knows `on-failure` and nobody is there to
/// approve, so each of them is `never` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    OnFailure,
    Never,
}

/// Where the model's web search looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WebSearchMode {
    Disabled,
    Cached,
    Live,
}

//! Files and network that the model's shell can reach, as tested.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::UnavailableReason;
use crate::SandboxMode;

/// Confinement of the model's shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellConfinement {
    pub sandbox: SandboxMode,
    pub network: ShellNetwork,
    /// Reason why no command can run; `None` if commands work.
    pub error: Option<UnavailableReason>,
}

/// Network access of the model's shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellNetwork {
    Off,
    /// No network, although the settings ask for it: this Codex has no proxy that protects this machine.
    Unavailable,
    /// Network through a proxy that refuses this machine and its local network.
    Proxied,
    /// Unrestricted network, with the sandbox switched off.
    Open,
}

impl fmt::Display for ShellNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Off => "off",
            Self::Unavailable => "unavailable",
            Self::Proxied => "proxied",
            Self::Open => "open",
        })
    }
}

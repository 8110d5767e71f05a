//! Confinement of the model's shell, and the resources that each loaded thread has for it.

use std::{fmt, io, sync::Arc};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    presence::UnavailableReason,
    scratch::{ScratchFolder, ScratchFolders},
};
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
    /// No network, by the settings.
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

/// Scratch folder and permission profile name of one loaded thread. The name is unique, so no user
/// configuration contains it. Codex repeats the name once the permissions are in force.
#[derive(Debug, Clone)]
pub(super) struct ThreadSandbox {
    pub(super) scratch: Arc<ScratchFolder>,
    pub(super) profile: String,
}

impl ThreadSandbox {
    pub(super) fn new(scratches: &ScratchFolders) -> io::Result<Self> {
        Ok(Self { scratch: Arc::new(scratches.create_folder()?), profile: profile_name() })
    }
}

pub(super) fn profile_name() -> String {
    format!("codeinfo-{}", Uuid::new_v4())
}

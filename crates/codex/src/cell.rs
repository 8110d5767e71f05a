//! How the model's shell is confined, and what each loaded thread has of its own for that.

use std::{fmt, io, sync::Arc};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    presence::UnavailableReason,
    scratch::{ScratchFolder, ScratchFolders},
};
use crate::SandboxMode;

/// How the model's shell is confined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellConfinement {
    pub sandbox: SandboxMode,
    pub network: ShellNetwork,
    /// Why no command can run, if none can.
    pub error: Option<UnavailableReason>,
}

/// The network of the model's shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShellNetwork {
    /// None, as it is set.
    Off,
    /// None, though one is wanted: this Codex has no proxy that would keep it from this machine.
    Unavailable,
    /// Through a proxy that refuses this machine and its surroundings.
    Proxied,
    /// Any, with the sandbox switched off.
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

/// What one loaded thread has of its own: a scratch folder, and the name of its permissions. The name
/// is in nobody's configuration, and Codex repeats it when the permissions hold.
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

//! Settings: a [`Config`] that cannot be wrong, made from the environment.

mod env;

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

pub use env::{ConfigError, HANDOVER, current_program, from_environment, from_pairs, hide_keys};

use codeinfo_codex::CodexSettings;
use codeinfo_core::{PathMap, Secret, telemetry::LogSettings};
use codeinfo_credentials::SecretKey;
use codeinfo_embed::EmbeddingSettings;
use codeinfo_http::{AllowedNames, HttpSettings};
use codeinfo_ingest::IngestSettings;
use codeinfo_server::api::{EffectiveSetting, PageSettings, SettingSource};
use codeinfo_store::{EmbeddedStoreSettings, QdrantSettings, StoreSettings};
use codeinfo_toolkits::spec::ToolkitSettings;

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
    pub guard: AllowedNames,
    pub http: HttpSettings,
    pub ingest: IngestSettings,
    /// Whether a server keeps roots as their folders are.
    pub watch: bool,
    pub relays: RelaySettings,
    /// How many conversations of the page are kept; 0 keeps none.
    pub conversations_kept: usize,
    pub page: PageSettings,
    /// Variables that were taken out of the environment, for a server that this process starts.
    pub handed: Vec<(String, Secret)>,
    /// All settings for people to look at.
    pub settings: Vec<EffectiveSetting>,
    pub store: EmbeddedStoreSettings,
    /// The server that keeps the index; `None` is the embedded store.
    pub qdrant: Option<QdrantSettings>,
    /// The service that makes vectors; `None` is the model in the binary.
    pub embedding: Option<EmbeddingSettings>,
    pub codex: CodexSettings,
    pub toolkits: ToolkitSettings,
    /// Whether every request must name who asks, by a bearer token.
    pub auth_required: bool,
    /// What stored configurations are encrypted with; `None` is the key file in the data folder.
    pub secret_key: Option<SecretKey>,
    pub log: LogSettings,
    /// How long stopping may take before what is left is dropped.
    pub shutdown_grace: Duration,
}

impl Config {
    /// Watches, as an argument of the command asks for.
    #[must_use]
    pub fn with_watch(mut self) -> Self {
        self.watch = true;
        if let Some(setting) = self.settings.iter_mut().find(|one| one.name == "WATCH") {
            (setting.value, setting.source) = (Some("true".to_owned()), SettingSource::Argument);
        }
        self
    }

    /// Says where the index is.
    pub fn store_settings(&self) -> StoreSettings {
        StoreSettings {
            data_dir: self.data_dir.clone(),
            embedded: self.store.clone(),
            qdrant: self.qdrant.clone(),
        }
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
pub struct RelaySettings {
    /// Whether the repository that a relay is started in is indexed where it is not.
    pub auto_index: bool,
    /// How long a server that was started for relays outlives the last of them.
    pub idle_exit: Duration,
    /// Whether this server is such a one.
    pub until_idle: bool,
}

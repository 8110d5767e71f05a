//! Settings: a valid [`Config`], made from the environment.

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

/// All settings, checked. Every bound of the product is a field of this tree.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address that both listeners bind.
    pub host: IpAddr,
    /// Port of the main HTTP API; 0 lets the system choose.
    pub port: u16,
    /// Port of the MCP server; 0 lets the system choose.
    pub mcp_port: u16,
    /// Folder of the store, the lock and the scratch folder of Codex.
    pub data_dir: PathBuf,
    /// Mapping of the server's paths to those of clients, when they differ.
    pub path_map: PathMap,
    pub guard: AllowedNames,
    pub http: HttpSettings,
    pub ingest: IngestSettings,
    pub history: codeinfo_evidence::CommitSettings,
    /// True if a server keeps the index up to date while files change.
    pub watch: bool,
    pub relays: RelaySettings,
    /// Maximum conversations that the page keeps; 0 keeps none.
    pub conversations_kept: usize,
    pub page: PageSettings,
    /// Variables that were removed from the environment, for a server that this process starts.
    pub handed: Vec<(String, Secret)>,
    /// All settings in the form in which they are listed.
    pub settings: Vec<EffectiveSetting>,
    pub store: EmbeddedStoreSettings,
    /// Qdrant server with the index; `None` for the embedded store.
    pub qdrant: Option<QdrantSettings>,
    /// Embedding service; `None` for the built-in model.
    pub embedding: Option<EmbeddingSettings>,
    pub codex: CodexSettings,
    pub toolkits: ToolkitSettings,
    /// True if every request needs a bearer token.
    pub auth_required: bool,
    /// Key that encrypts stored configurations; `None` for the key file in the data folder.
    pub secret_key: Option<SecretKey>,
    pub log: LogSettings,
    /// Maximum time for stopping, after which remaining work is dropped.
    pub shutdown_grace: Duration,
}

impl Config {
    /// Enables watching, for an argument of the command.
    #[must_use]
    pub fn with_watch(mut self) -> Self {
        self.watch = true;
        if let Some(setting) = self.settings.iter_mut().find(|setting| setting.name == "WATCH") {
            (setting.value, setting.source) = (Some("true".to_owned()), SettingSource::Argument);
        }
        self
    }

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

/// Settings of relays of standard streams, and of servers that they start.
#[derive(Debug, Clone, Copy)]
pub struct RelaySettings {
    /// True if a repository in which a relay starts is indexed automatically.
    pub auto_index: bool,
    /// Time that a server started for relays runs after the last of them.
    pub idle_exit: Duration,
    /// True if this server was started for relays.
    pub until_idle: bool,
}

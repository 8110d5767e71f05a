//! Builds the gateway through which turns use toolkits.

use std::sync::Arc;

use codeinfo_codex::Codex;
use codeinfo_core::{task::Tasks, telemetry::ServerMetrics};
use codeinfo_credentials::CredentialStore;
use codeinfo_embed::StaticModel;
use codeinfo_mcp::SchemaError;
use codeinfo_store::Store;
use codeinfo_toolkits::{
    GatewayParts, ToolkitAllowlist, ToolkitGateway, connection::ConnectionPool,
    launch::SandboxLauncher, layers::ToolkitLayers, spec::SpecReader, trusted::ToolPinStore,
};

use crate::config::Config;

/// Services on which toolkits depend.
pub(super) struct ToolkitDependencies<'a> {
    pub(super) codex: &'a Codex,
    pub(super) store: &'a Store,
    pub(super) vault: &'a CredentialStore,
    pub(super) model: StaticModel,
    pub(super) metrics: &'a ServerMetrics,
}

/// Builds the gateway. `base_url` is the address of the main listener for Codex; `services` owns
/// the gateway's work, and `adapters` owns the processes of toolkits, which end after the turns.
pub(super) fn build_gateway(
    config: &Config,
    below: ToolkitDependencies<'_>,
    base_url: String,
    services: Tasks,
    adapters: Tasks,
) -> Result<ToolkitGateway, SchemaError> {
    let ToolkitDependencies { codex, store, vault, model, metrics } = below;
    let reader = Arc::new(SpecReader::new()?);
    let allowed = Arc::new(ToolkitAllowlist::new(&config.data_dir));
    let sandboxes =
        SandboxLauncher::new(codex.clone(), config.codex.clone(), store.clone(), adapters.clone());
    let environment = config.codex.environment.clone();
    let layers = ToolkitLayers::new(
        Arc::clone(&reader),
        Arc::clone(&allowed),
        &config.toolkits,
        environment,
        config.path_map.clone(),
    );
    let parts = GatewayParts {
        settings: config.toolkits.clone(),
        layers: Arc::new(layers),
        allowed,
        reader,
        trusted: Arc::new(ToolPinStore::new(&config.data_dir)),
        pool: ConnectionPool::new(Arc::new(sandboxes), adapters),
        vault: vault.clone(),
        store: store.clone(),
        base_url,
        metrics: metrics.clone(),
        tasks: services,
    };
    ToolkitGateway::new(parts, model)
}

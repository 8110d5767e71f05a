//! Puts together what turns need for toolkits.

use std::sync::Arc;

use codeinfo_codex::Codex;
use codeinfo_core::{task::Tasks, telemetry::Metrics};
use codeinfo_credentials::Vault;
use codeinfo_embed::StaticModel;
use codeinfo_mcp::SchemaError;
use codeinfo_store::Store;
use codeinfo_toolkits::{
    Allowed, Gateway, Parts, connection::Pool, launch::Sandboxes, layers::Layers, spec::SpecReader,
    trusted::Trusted,
};

use crate::config::Config;

/// What toolkits stand on.
pub(super) struct Below<'a> {
    pub(super) codex: &'a Codex,
    pub(super) store: &'a Store,
    pub(super) vault: &'a Vault,
    pub(super) model: StaticModel,
    pub(super) metrics: &'a Metrics,
}

/// Makes the gateway. `base_url` is the main listener as Codex reaches it; `services` own its work, and
/// `adapters` the processes of toolkits, which end after the turns.
pub(super) fn gateway(
    config: &Config,
    below: Below<'_>,
    base_url: String,
    (services, adapters): (Tasks, Tasks),
) -> Result<Gateway, SchemaError> {
    let Below { codex, store, vault, model, metrics } = below;
    let reader = Arc::new(SpecReader::new()?);
    let allowed = Arc::new(Allowed::new(&config.data_dir));
    let sandboxes =
        Sandboxes::new(codex.clone(), config.codex.clone(), store.clone(), adapters.clone());
    let environment = config.codex.environment.clone();
    let layers = Layers::new(
        Arc::clone(&reader),
        Arc::clone(&allowed),
        &config.toolkits,
        environment,
        config.path_map.clone(),
    );
    let parts = Parts {
        settings: config.toolkits.clone(),
        layers: Arc::new(layers),
        allowed,
        reader,
        trusted: Arc::new(Trusted::new(&config.data_dir)),
        pool: Pool::new(Arc::new(sandboxes), adapters),
        vault: vault.clone(),
        store: store.clone(),
        base_url,
        metrics: metrics.clone(),
        tasks: services,
    };
    Gateway::new(parts, model)
}

//! Builds the services of a server from its settings: store, embedder, chat, indexing, toolkits.

use std::{sync::Arc, time::Duration};

use codeinfo_chat::Chat;
use codeinfo_codex::Codex;
use codeinfo_core::{task::Tasks, telemetry::ServerMetrics};
use codeinfo_credentials::CredentialStore;
use codeinfo_embed::{BuiltinEmbedder, Embedder, EmbeddingService, StaticModel};
use codeinfo_evidence::Evidence;
use codeinfo_ingest::Ingest;
use codeinfo_mcp::SchemaError;
use codeinfo_search::Search;
use codeinfo_server::{
    api::{ApiServices, TurnRegistry},
    mcp_http::RelayServices,
};
use codeinfo_store::{
    EmbeddedEngine, IndexError, OnMismatch, Store, StoreError, StoreLocation, StoreMode,
};
use codeinfo_toolkits::{
    GatewayParts, ToolkitAllowlist, ToolkitGateway, connection::ConnectionPool,
    launch::SandboxLauncher, layers::ToolkitLayers, spec::SpecReader, tool_pins::ToolPinStore,
};
use futures_util::FutureExt;

use super::{ServerVisibility, StartError, TaskGroups, private_places};
use crate::{config::Config, documents::find_document};

type StoreAndEmbedder = (Store, Arc<dyn Embedder>);

/// Maximum time that the start waits for an embedding service whose dimensions are unknown.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the store and the embedder; an examined server gets a store that reports its failure.
pub(super) async fn open_store_and_embedder(
    config: &Config,
    on_mismatch: OnMismatch,
    visibility: ServerVisibility,
    groups: &TaskGroups,
) -> Result<StoreAndEmbedder, StartError> {
    let tasks = &groups.adapters;
    let (embedder, service): (Arc<dyn Embedder>, _) = match &config.embedding {
        None => (Arc::new(BuiltinEmbedder::load(tasks.clone())?), None),
        Some(settings) => {
            let service = Arc::new(EmbeddingService::new(settings.clone(), tasks.clone())?);
            (Arc::clone(&service) as Arc<dyn Embedder>, Some(service))
        }
    };
    let store = match open_store(config, on_mismatch, &embedder, service.as_deref(), tasks).await {
        // A process that holds the store is about to end or to announce its address.
        Err(StartError::Store(error))
            if visibility == ServerVisibility::Examined
                && !matches!(error, StoreError::Held { .. }) =>
        {
            Store::unopenable(error, StoreMode::new(config.qdrant.is_some()))
        }
        opened => opened?,
    };
    Ok((store, embedder))
}

/// Opens the store; defers that while the dimensions are unknown.
async fn open_store(
    config: &Config,
    on_mismatch: OnMismatch,
    embedder: &Arc<dyn Embedder>,
    service: Option<&EmbeddingService>,
    tasks: &Tasks,
) -> Result<Store, StartError> {
    let dimensions = match service {
        None => embedder.dimensions(),
        Some(service) => determine_dimensions(service, config, on_mismatch, tasks).await?,
    };
    let model = embedder.model().id();
    let location = StoreLocation::new(config.store_settings(), on_mismatch, &model, tasks).await?;
    if let Some(dimensions) = dimensions {
        return Ok(location.open(dimensions).await?);
    }
    let mode = location.mode();
    let shared_location = Arc::new(location);
    let shared_embedder = Arc::clone(embedder);
    let open = move || {
        let location = Arc::clone(&shared_location);
        let embedder = Arc::clone(&shared_embedder);
        async move {
            let dimensions = probe_dimensions(embedder.as_ref()).await;
            location.open_engine(dimensions.map_err(|reason| StoreError::NotYet { reason })?).await
        }
        .boxed()
    };
    Ok(Store::open_later(open, mode, tasks))
}

/// Returns the dimensions of the embedder, or the reason why they are unknown.
async fn probe_dimensions(embedder: &dyn Embedder) -> Result<usize, String> {
    embedder.check_health().await.map_err(|error| error.to_string())?;
    embedder.dimensions().ok_or_else(|| "it returned no vector".to_owned())
}

/// Determines a service's dimensions by settings, embedded store or request; `None` while unknown.
async fn determine_dimensions(
    service: &EmbeddingService,
    config: &Config,
    on_mismatch: OnMismatch,
    tasks: &Tasks,
) -> Result<Option<usize>, StartError> {
    if service.dimensions().is_none()
        && config.qdrant.is_none()
        && on_mismatch == OnMismatch::Refuse
        && let Some((model, dimensions)) = read_recorded_model(config, tasks).await?
    {
        if model != service.model().id() {
            // The store is refused because of its model's name, whatever its dimensions are.
            return Ok(Some(dimensions));
        }
        service.expect_dimensions(dimensions);
    }
    match on_mismatch {
        // Nothing is discarded for a model that cannot be used.
        OnMismatch::Discard => service.check_health().await?,
        OnMismatch::Refuse if service.dimensions().is_some() => {}
        // `/health` shows the failure of a service, which is asked again later.
        OnMismatch::Refuse => {
            drop(tokio::time::timeout(CHECK_TIMEOUT, service.check_health()).await);
        }
    }
    Ok(service.dimensions())
}

/// Returns the embedded store's model and dimensions; an unreadable store is rebuilt on opening.
async fn read_recorded_model(
    config: &Config,
    tasks: &Tasks,
) -> Result<Option<(String, usize)>, StoreError> {
    match EmbeddedEngine::read_model(&config.data_dir.join("store"), tasks).await {
        Err(StoreError::Index(IndexError::Damaged { .. })) if config.store.repairs => Ok(None),
        recorded => recorded,
    }
}

pub(super) fn build_services(
    config: &Config,
    opened: &StoreAndEmbedder,
    vault: &CredentialStore,
    turns: TurnRegistry,
    main_url: &str,
    mcp_port: u16,
    groups: &TaskGroups,
) -> Result<ApiServices, StartError> {
    let (store, embedder) = opened;
    let codex = Codex::new(config.codex.clone(), groups.adapters.clone());
    let search_url = format!("{main_url}/mcp");
    let work = groups.services.clone();
    let metrics = ServerMetrics::default();
    let model = StaticModel::load()?;
    let evidence = Evidence::new(store.clone(), config.path_map.clone())
        .with_scip_folder(config.data_dir.join("scip"))
        .with_commits(config.data_dir.join("commits"), config.history, model.clone());
    let below = ToolkitDependencies { codex: &codex, store, vault, model, metrics: &metrics };
    let gateway =
        build_gateway(config, below, main_url.to_owned(), work.clone(), groups.adapters.clone())?;
    let chat = Chat::new(codex.clone(), &config.codex, search_url, store.clone(), work.clone())
        .with_path_map(config.path_map.clone())
        .with_turn_metrics(metrics.turns.clone())
        .with_toolkits(gateway.clone());
    let ingest = Ingest::new(store.clone(), Arc::clone(embedder), config.ingest, work.clone())
        .with_path_map(config.path_map.clone())
        .with_private_places(private_places(config))
        .with_folder_choices(config.page.folder_roots.clone())
        .with_joining_worktrees(config.relays.auto_index)
        .with_follow_up(evidence.follow_up());
    let gives_way = config.relays.until_idle.then(|| groups.gives_way.clone());
    Ok(ApiServices {
        relays: RelayServices {
            chat: chat.clone(),
            ingest: ingest.clone(),
            paths: config.path_map.clone(),
            tasks: work,
            gives_way,
        },
        chat,
        turns,
        failures: ingest.failures(),
        ingest,
        search: Search::new(store.clone(), Arc::clone(embedder), config.path_map.clone()),
        evidence,
        store: store.clone(),
        embedder: Arc::clone(embedder),
        codex,
        path_map: config.path_map.clone(),
        page: config.page.clone(),
        settings: config.settings.clone(),
        mcp_port,
        metrics,
        credentials: vault.clone(),
        toolkits: gateway,
        find_document,
    })
}

struct ToolkitDependencies<'a> {
    codex: &'a Codex,
    store: &'a Store,
    vault: &'a CredentialStore,
    model: StaticModel,
    metrics: &'a ServerMetrics,
}

/// Builds the gateway. `base_url` is the address of the main listener for Codex; `services` owns
/// its work, and `adapters` the processes of toolkits, which end after the turns.
fn build_gateway(
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
        pin_store: Arc::new(ToolPinStore::new(&config.data_dir)),
        pool: ConnectionPool::new(Arc::new(sandboxes), adapters),
        vault: vault.clone(),
        store: store.clone(),
        base_url,
        metrics: metrics.clone(),
        tasks: services,
    };
    ToolkitGateway::new(parts, model)
}

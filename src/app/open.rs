//! Opens the store and the embedder that the settings name.

use std::{sync::Arc, time::Duration};

use codeinfo_core::task::Tasks;
use codeinfo_embed::{BuiltinEmbedder, Embedder, EmbeddingService};
use codeinfo_store::{
    EmbeddedEngine, IndexError, OnMismatch, Store, StoreError, StoreLocation, StoreMode,
};
use futures_util::FutureExt;

use super::{ServerVisibility, StartError, StoreAndEmbedder, TaskGroups};
use crate::config::Config;

/// Maximum time that the start waits for an embedding service whose dimensions are unknown.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the store and the embedder. For an examined server, a store that fails to open is replaced
/// by one that reports the failure.
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

/// Determines the dimensions of a service: from the settings, from the embedded store, or by a
/// request. Returns `None` while they are unknown.
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

/// Returns the model and dimensions recorded in the embedded store. A store that cannot be read is
/// rebuilt when it is opened.
async fn read_recorded_model(
    config: &Config,
    tasks: &Tasks,
) -> Result<Option<(String, usize)>, StoreError> {
    match EmbeddedEngine::read_model(&config.data_dir.join("store"), tasks).await {
        Err(StoreError::Index(IndexError::Damaged { .. })) if config.store.repairs => Ok(None),
        recorded => recorded,
    }
}

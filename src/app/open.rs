//! Opens the store and the embedder that the settings name.

use std::{sync::Arc, time::Duration};

use codeinfo_core::task::Tasks;
use codeinfo_embed::{Builtin, Embedder, Service};
use codeinfo_store::{
    EmbeddedEngine, IndexError, OnMismatch, Store, StoreError, StoreLocation, StoreMode,
};
use futures_util::FutureExt;

use super::{Groups, Opened, StartError, Visibility};
use crate::config::Config;

/// How long the start waits for an embedding service whose vectors have a length that nobody knows.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens both. Where the server is examined, the store reports its own failures.
pub(super) async fn open(
    config: &Config,
    on_mismatch: OnMismatch,
    visibility: Visibility,
    groups: &Groups,
) -> Result<Opened, StartError> {
    let tasks = &groups.adapters;
    let (embedder, service): (Arc<dyn Embedder>, _) = match &config.embedding {
        None => (Arc::new(Builtin::load(tasks.clone())?), None),
        Some(settings) => {
            let service = Arc::new(Service::new(settings.clone(), tasks.clone())?);
            (Arc::clone(&service) as Arc<dyn Embedder>, Some(service))
        }
    };
    let store = match store(config, on_mismatch, (&embedder, service.as_deref()), tasks).await {
        // Another process that has it is about to end, or to say where it is.
        Err(StartError::Store(error))
            if visibility == Visibility::Examined && !matches!(error, StoreError::Held { .. }) =>
        {
            let mode =
                if config.qdrant.is_some() { StoreMode::Shared } else { StoreMode::Exclusive };
            Store::unopenable(error, mode)
        }
        opened => opened?,
    };
    Ok((store, embedder))
}

/// Opens the store. Where nobody knows yet how long vectors are, it is opened once somebody does.
async fn store(
    config: &Config,
    on_mismatch: OnMismatch,
    (embedder, service): (&Arc<dyn Embedder>, Option<&Service>),
    tasks: &Tasks,
) -> Result<Store, StartError> {
    let dimensions = match service {
        None => embedder.dimensions(),
        Some(service) => learn(service, config, on_mismatch, tasks).await?,
    };
    let model = embedder.model().id();
    let location = StoreLocation::new(config.store_settings(), on_mismatch, &model, tasks).await?;
    if let Some(dimensions) = dimensions {
        return Ok(location.open(dimensions).await?);
    }
    let (mode, location, embedder) = (location.mode(), Arc::new(location), Arc::clone(embedder));
    let open = move || {
        let (location, embedder) = (Arc::clone(&location), Arc::clone(&embedder));
        async move {
            let dimensions = dimensions_of(embedder.as_ref()).await;
            location.open_engine(dimensions.map_err(|reason| StoreError::NotYet { reason })?).await
        }
        .boxed()
    };
    Ok(Store::open_later(open, mode, tasks))
}

/// Returns how long vectors are, or why that is unknown.
async fn dimensions_of(embedder: &dyn Embedder) -> Result<usize, String> {
    embedder.check().await.map_err(|error| error.to_string())?;
    embedder.dimensions().ok_or_else(|| "it returned no vector".to_owned())
}

/// Finds out how long the vectors of a service are: from the settings, from the embedded store, or by
/// asking. `None` if nobody knows yet.
async fn learn(
    service: &Service,
    config: &Config,
    on_mismatch: OnMismatch,
    tasks: &Tasks,
) -> Result<Option<usize>, StartError> {
    if service.dimensions().is_none()
        && config.qdrant.is_none()
        && on_mismatch == OnMismatch::Refuse
        && let Some((model, dimensions)) = recorded(config, tasks).await?
    {
        if model != service.model().id() {
            // The store is refused by its model's name, whatever the length of vectors.
            return Ok(Some(dimensions));
        }
        service.expect_dimensions(dimensions);
    }
    match on_mismatch {
        // Nothing is discarded for a model that cannot be used.
        OnMismatch::Discard => service.check().await?,
        OnMismatch::Refuse if service.dimensions().is_some() => {}
        // What the service says of itself is seen in `/health`, and it is asked again.
        OnMismatch::Refuse => drop(tokio::time::timeout(CHECK_TIMEOUT, service.check()).await),
    }
    Ok(service.dimensions())
}

/// Returns the model and the length of vectors that the embedded store was made for. One that cannot say
/// so is rebuilt when it is opened.
async fn recorded(config: &Config, tasks: &Tasks) -> Result<Option<(String, usize)>, StoreError> {
    match EmbeddedEngine::read_model(&config.data_dir.join("store"), tasks).await {
        Err(StoreError::Index(IndexError::Damaged { .. })) if config.store.repairs => Ok(None),
        recorded => recorded,
    }
}

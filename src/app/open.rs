//! Opens the store and the embedder that the settings name.

use std::{path::Path, sync::Arc, time::Duration};

use super::{Groups, Opened, StartError, Visibility, late::Late};
use crate::{
    config::Config,
    embed::{Builtin, Embedder, Service},
    store::{Embedded, Identity, Observed, OnMismatch, Qdrant, StoreError, VectorStore},
    task::Tasks,
};

/// How long the start waits for an embedding service whose vectors have a length that nobody knows.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens both. What fails of the store is left to the store to tell where the server is examined.
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
            Arc::new(Late::never(error, config.qdrant.is_some()))
        }
        opened => opened?,
    };
    Ok((Arc::new(Observed::new(store)), embedder))
}

/// Opens the store. Where nobody knows yet how long vectors are, it is opened once somebody does.
async fn store(
    config: &Config,
    on_mismatch: OnMismatch,
    (embedder, service): (&Arc<dyn Embedder>, Option<&Service>),
    tasks: &Tasks,
) -> Result<Arc<dyn VectorStore>, StartError> {
    let dimensions = match service {
        None => embedder.dimensions(),
        Some(service) => learn(service, config, on_mismatch, tasks).await?,
    };
    let place = Place::of(config, on_mismatch, &embedder.model().id(), tasks).await?;
    let place = Arc::new(place);
    Ok(match dimensions {
        Some(dimensions) => place.open(dimensions).await?,
        None => Arc::new(Late::new(Arc::clone(embedder), place, tasks)),
    })
}

/// Where a store is, and for which model; all that is needed to open it but the length of vectors.
pub(super) struct Place {
    config: Config,
    on_mismatch: OnMismatch,
    model: String,
    /// Who this process is among those of a server.
    identity: Option<Identity>,
    tasks: Tasks,
}

impl Place {
    async fn of(
        config: &Config,
        on_mismatch: OnMismatch,
        model: &str,
        tasks: &Tasks,
    ) -> Result<Self, StartError> {
        let identity = match config.qdrant {
            Some(_) => Some(identity(&config.data_dir, tasks).await?),
            None => None,
        };
        let (config, tasks) = (config.clone(), tasks.clone());
        Ok(Self { config, on_mismatch, model: model.to_owned(), identity, tasks })
    }

    /// Whether a store that nobody could open yet may hold something all the same.
    pub(super) fn is_shared(&self) -> bool {
        self.identity.is_some()
    }

    pub(super) async fn open(&self, dimensions: usize) -> Result<Arc<dyn VectorStore>, StoreError> {
        let (model, on_mismatch, tasks) = (&self.model, self.on_mismatch, self.tasks.clone());
        if let (Some(server), Some(identity)) = (&self.config.qdrant, &self.identity) {
            let identity = identity.clone();
            let opened = Qdrant::open(server, model, dimensions, on_mismatch, identity, tasks);
            return Ok(Arc::new(opened.await?));
        }
        let (folder, bounds) = (self.config.data_dir.join("store"), &self.config.store);
        let opened = Embedded::open(&folder, model, dimensions, on_mismatch, bounds, tasks);
        Ok(Arc::new(opened.await?))
    }
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
        OnMismatch::Refuse => drop(tokio::time::timeout(PATIENCE, service.check()).await),
    }
    Ok(service.dimensions())
}

/// Returns the model and the length of vectors that the embedded store was made for. One that cannot say
/// so is rebuilt when it is opened.
async fn recorded(config: &Config, tasks: &Tasks) -> Result<Option<(String, usize)>, StoreError> {
    match Embedded::recorded(&config.data_dir.join("store"), tasks).await {
        Err(StoreError::Damaged { .. }) if config.store.repairs => Ok(None),
        recorded => recorded,
    }
}

async fn identity(data_dir: &Path, tasks: &Tasks) -> Result<Identity, StartError> {
    let folder = data_dir.to_owned();
    let identity = tasks.spawn_blocking(move || Identity::of(&folder)).await;
    let failed = |error| StartError::Folder {
        path: data_dir.to_owned(),
        source: std::io::Error::other(error),
    };
    Ok(identity.map_err(failed)??)
}

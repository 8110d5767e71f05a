//! The place of a store and its embedding model: everything that opening needs except the length of vectors.

use std::{path::Path, sync::Arc};

use codeinfo_core::task::Tasks;

use crate::{
    EmbeddedEngine, Engine, OnMismatch, ProcessIdentity, QdrantEngine, Store, StoreError,
    StoreMode, StoreSettings,
};

/// A store that is not open yet.
pub struct StoreLocation {
    settings: StoreSettings,
    on_mismatch: OnMismatch,
    model: String,
    /// Identity of this process among those of a server.
    identity: Option<ProcessIdentity>,
    tasks: Tasks,
}

impl StoreLocation {
    /// Locates the store of these settings for vectors of `model`, as `name@version`. Fails if this
    /// process cannot be distinguished from others of a server.
    pub async fn new(
        settings: StoreSettings,
        on_mismatch: OnMismatch,
        model: &str,
        tasks: &Tasks,
    ) -> Result<Self, StoreError> {
        let identity = match settings.qdrant {
            Some(_) => Some(read_identity(&settings.data_dir, tasks).await?),
            None => None,
        };
        let (model, tasks) = (model.to_owned(), tasks.clone());
        Ok(Self { settings, on_mismatch, model, identity, tasks })
    }

    /// Returns whether other processes write to the store.
    pub fn mode(&self) -> StoreMode {
        StoreMode::new(self.identity.is_some())
    }

    /// Opens the store for vectors of this length.
    pub async fn open(&self, dimensions: usize) -> Result<Store, StoreError> {
        let engine = self.open_engine(dimensions).await?;
        Ok(Store::with_engine(engine, self.mode(), self.tasks.clone()))
    }

    /// Opens the engine of the store for vectors of this length.
    pub async fn open_engine(&self, dimensions: usize) -> Result<Arc<dyn Engine>, StoreError> {
        let (model, on_mismatch, tasks) = (&self.model, self.on_mismatch, self.tasks.clone());
        if let (Some(server), Some(identity)) = (&self.settings.qdrant, &self.identity) {
            let identity = identity.clone();
            let opening =
                QdrantEngine::open(server, model, dimensions, on_mismatch, identity, tasks);
            return Ok(Arc::new(opening.await?));
        }
        let (folder, bounds) = (self.settings.data_dir.join("store"), &self.settings.embedded);
        let opening = EmbeddedEngine::open(&folder, model, dimensions, on_mismatch, bounds, tasks);
        Ok(Arc::new(opening.await?))
    }
}

async fn read_identity(data_dir: &Path, tasks: &Tasks) -> Result<ProcessIdentity, StoreError> {
    let folder = data_dir.to_owned();
    let reading = tasks.spawn_blocking(move || ProcessIdentity::read_or_create(&folder)).await;
    reading.map_err(|error| StoreError::Engine {
        action: "name this process",
        reason: error.to_string(),
    })?
}

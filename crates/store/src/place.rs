//! Where a store is, and for which model: all that is needed to open it but the length of vectors.

use std::{path::Path, sync::Arc};

use codeinfo_core::task::Tasks;

use super::{
    Embedded, Identity, OnMismatch, Qdrant, StoreError, StoreSettings, Trees, VectorStore,
};

/// A store that is not opened yet.
pub struct Place {
    settings: StoreSettings,
    on_mismatch: OnMismatch,
    model: String,
    /// Who this process is among those of a server.
    identity: Option<Identity>,
    tasks: Tasks,
}

impl Place {
    /// Names the store of these settings for vectors of `model`, as `name@version`. Fails if this
    /// process cannot be distinguished from others of a server.
    pub async fn of(
        settings: StoreSettings,
        on_mismatch: OnMismatch,
        model: &str,
        tasks: &Tasks,
    ) -> Result<Self, StoreError> {
        let identity = match settings.qdrant {
            Some(_) => Some(identity(&settings.data_dir, tasks).await?),
            None => None,
        };
        let (model, tasks) = (model.to_owned(), tasks.clone());
        Ok(Self { settings, on_mismatch, model, identity, tasks })
    }

    /// Returns whether a store that nobody could open yet may hold something all the same.
    pub fn is_shared(&self) -> bool {
        self.identity.is_some()
    }

    /// Opens it for vectors of this length.
    pub async fn open(&self, dimensions: usize) -> Result<Arc<dyn VectorStore>, StoreError> {
        let (model, on_mismatch, tasks) = (&self.model, self.on_mismatch, self.tasks.clone());
        if let (Some(server), Some(identity)) = (&self.settings.qdrant, &self.identity) {
            let identity = identity.clone();
            let opened =
                Qdrant::open(server, model, dimensions, on_mismatch, identity, tasks.clone());
            return Ok(Arc::new(Trees::over(Arc::new(opened.await?), true, tasks)));
        }
        let (folder, bounds) = (self.settings.data_dir.join("store"), &self.settings.embedded);
        let opened = Embedded::open(&folder, model, dimensions, on_mismatch, bounds, tasks.clone());
        Ok(Arc::new(Trees::over(Arc::new(opened.await?), false, tasks)))
    }
}

async fn identity(data_dir: &Path, tasks: &Tasks) -> Result<Identity, StoreError> {
    let folder = data_dir.to_owned();
    let identity = tasks.spawn_blocking(move || Identity::of(&folder)).await;
    identity.map_err(|error| StoreError::Engine {
        action: "name this process",
        reason: error.to_string(),
    })?
}

//! Stores of the embedded engine in folders of their own, and ways to look at and damage their files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use codeinfo_core::task::Tasks;
use codeinfo_store::{EmbeddedEngine, Engine, OnMismatch, StoreError, StoreMode};
use tempfile::TempDir;

use crate::store::{DIMENSIONS, EngineStorage, MODEL, Store};

/// Number of chunks after which the stores of tests are written to disk.
pub const SEAL_CHUNKS: u64 = 128;

/// A folder for one store.
pub struct StoreFolder {
    path: PathBuf,
    _above: TempDir,
}

impl StoreFolder {
    pub fn new() -> Self {
        let above = TempDir::new().unwrap();
        // The list of roots lies beside the store.
        let path = above.path().join("store");
        fs::create_dir(&path).unwrap();
        Self { path, _above: above }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl EngineStorage for StoreFolder {
    async fn create() -> Self {
        Self::new()
    }

    async fn open_for_model(
        &self,
        model: &str,
        on_mismatch: OnMismatch,
    ) -> Result<Store, StoreError> {
        open_store_for_model(self.path(), model, on_mismatch).await
    }
}

pub async fn open_store(folder: &Path) -> Result<Store, StoreError> {
    open_store_for_model(folder, MODEL, OnMismatch::Refuse).await
}

pub async fn open_store_for_model(
    folder: &Path,
    model: &str,
    on_mismatch: OnMismatch,
) -> Result<Store, StoreError> {
    open_store_with_repairs(folder, model, on_mismatch, true).await
}

pub async fn open_store_with_repairs(
    folder: &Path,
    model: &str,
    on_mismatch: OnMismatch,
    repairs: bool,
) -> Result<Store, StoreError> {
    open_store_with_options(folder, model, on_mismatch, [true, repairs]).await
}

/// Opens a store, with options for merging segments in the background and for repairs.
pub async fn open_store_with_options(
    folder: &Path,
    model: &str,
    on_mismatch: OnMismatch,
    options: [bool; 2],
) -> Result<Store, StoreError> {
    let [background_merge, repairs] = options;
    let seal_chunks = SEAL_CHUNKS.try_into().unwrap();
    let settings = codeinfo_store::EmbeddedStoreSettings { seal_chunks, background_merge, repairs };
    let tasks = Tasks::default();
    let open =
        || EmbeddedEngine::open(folder, model, DIMENSIONS, on_mismatch, &settings, tasks.clone());
    Ok(Store::new(open_with_retries(open).await?, StoreMode::Flat, tasks.clone()))
}

/// Opens the engine of a server.
pub async fn open_engine(folder: &Path) -> Result<Arc<dyn Engine>, StoreError> {
    let seal_chunks = SEAL_CHUNKS.try_into().unwrap();
    let settings = codeinfo_store::EmbeddedStoreSettings {
        seal_chunks,
        background_merge: true,
        repairs: true,
    };
    let (refuse, tasks) = (OnMismatch::Refuse, Tasks::default());
    let open = || EmbeddedEngine::open(folder, MODEL, DIMENSIONS, refuse, &settings, tasks.clone());
    Ok(Arc::new(open_with_retries(open).await?))
}

/// Opens a store, and tries again while its lock is held: a program that another test starts holds the lock
/// as well, until it runs.
pub async fn open_with_retries<F>(open: impl Fn() -> F) -> Result<EmbeddedEngine, StoreError>
where
    F: Future<Output = Result<EmbeddedEngine, StoreError>>,
{
    let mut tries = 0..20;
    loop {
        match open().await {
            Err(StoreError::Held { .. }) if tries.next().is_some() => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            opened => return opened,
        }
    }
}

/// Names in a folder that end like this, in order.
pub fn list_names_with_suffix(folder: &Path, end: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
    names.sort();
    names
}

/// Replaces a file, named by its end; a final `/` makes it a folder.
pub fn damage_file(folder: &Path, file: &str, content: &[u8]) {
    let path = folder.join(&list_names_with_suffix(folder, file.trim_end_matches('/'))[0]);
    if file.ends_with('/') {
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
    } else {
        fs::write(&path, content).unwrap();
    }
}

/// Returns the names of the roots whose last run did not complete.
pub async fn list_failed_roots(store: &Store) -> Vec<String> {
    let roots = store.roots().await.unwrap().into_iter();
    roots.filter(|root| !root.last_run.is_completed()).map(|root| root.name).collect()
}

/// Names of what was moved out of the way.
pub fn list_damaged_stores(data: &Path) -> Vec<String> {
    let names = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| name.starts_with("store.damaged-")).collect()
}

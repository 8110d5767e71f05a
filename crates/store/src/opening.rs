//! Opens the engine of a store, now or as soon as the length of vectors is known.
//!
//! Until an embedding service answers, reads of a new store of this process return nothing; reads of a shared one, and
//! all writes, are refused with the reason. Opening is tried every second.

use std::{path::Path, sync::Arc, time::Duration};

use codeinfo_core::task::Tasks;
use futures_util::future::BoxFuture;
use tokio::sync::{Notify, watch};
use tracing::{info, warn};

use crate::{
    EmbeddedEngine, Engine, OnMismatch, ProcessIdentity, QdrantEngine, Store, StoreError,
    StoreMode, StoreSettings, trees::SharedTrees,
};

/// Pause between two tries.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time that a write waits for the store.
const OPEN_TIMEOUT: Duration = Duration::from_secs(3);

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
    reading.map_err(|error| StoreError::engine("name this process", &error))?
}

/// The engine of a store, or the reason why it is not open.
pub(crate) struct StoreOpening {
    state: watch::Receiver<OpeningState>,
    wake: Arc<Notify>,
    mode: StoreMode,
}

#[derive(Clone)]
enum OpeningState {
    Waiting { reason: String },
    Refused(Arc<StoreError>),
    Open(SharedTrees),
}

impl StoreOpening {
    pub(crate) fn ready(trees: SharedTrees, mode: StoreMode) -> Self {
        Self::with_state(OpeningState::Open(trees), mode)
    }

    pub(crate) fn unopenable(error: StoreError, mode: StoreMode) -> Self {
        Self::with_state(OpeningState::Refused(Arc::new(error)), mode)
    }

    fn with_state(state: OpeningState, mode: StoreMode) -> Self {
        Self { state: watch::channel(state).1, wake: Arc::default(), mode }
    }

    pub(crate) fn open_later<F>(open: F, mode: StoreMode, tasks: &Tasks) -> Self
    where
        F: Fn() -> BoxFuture<'static, Result<Arc<dyn Engine>, StoreError>> + Send + 'static,
    {
        let reason = "it was not asked yet".to_owned();
        let (sender, state) = watch::channel(OpeningState::Waiting { reason });
        let wake = Arc::new(Notify::new());
        let (woken, trees_tasks) = (Arc::clone(&wake), tasks.clone());
        let opening = async move {
            let stopping = trees_tasks.stop_token();
            let mut is_reported = false;
            loop {
                let state = match open().await {
                    Ok(engine) => {
                        info!("the store was opened");
                        let trees = SharedTrees::new(engine, mode, trees_tasks.clone());
                        sender.send_replace(OpeningState::Open(trees));
                        return;
                    }
                    Err(StoreError::NotYet { reason }) => OpeningState::Waiting { reason },
                    Err(error) => OpeningState::Refused(Arc::new(error)),
                };
                sender.send_replace(state);
                if !is_reported && !stopping.is_cancelled() {
                    let reason = sender.borrow().error().to_string();
                    warn!(reason, "the store cannot be opened yet");
                    is_reported = true;
                }
                tokio::select! {
                    () = stopping.cancelled() => return,
                    () = woken.notified() => {}
                    () = tokio::time::sleep(RETRY_INTERVAL) => {}
                }
            }
        };
        tasks.spawn(opening);
        Self { state, wake, mode }
    }

    /// Returns the engine's name, which is known before it is open.
    pub(crate) fn backend(&self) -> &'static str {
        match (self.trees(), self.mode) {
            (Some(trees), _) => trees.engine().backend(),
            (None, StoreMode::Shared) => "qdrant",
            (None, StoreMode::Exclusive | StoreMode::Flat) => "embedded",
        }
    }

    pub(crate) fn trees(&self) -> Option<SharedTrees> {
        match &*self.state.borrow() {
            OpeningState::Open(trees) => Some(trees.clone()),
            OpeningState::Waiting { .. } | OpeningState::Refused(_) => None,
        }
    }

    /// Returns the open engine, waiting at most [`OPEN_TIMEOUT`] for it.
    pub(crate) async fn wait_for_trees(&self) -> Result<SharedTrees, StoreError> {
        if self.trees().is_none() {
            self.wake.notify_one();
            let mut state = self.state.clone();
            let opening = state.wait_for(|state| matches!(state, OpeningState::Open(_)));
            drop(tokio::time::timeout(OPEN_TIMEOUT, opening).await);
        }
        self.trees().ok_or_else(|| self.error())
    }

    /// Answers a read without an engine: with an empty result where nothing can be stored yet, else with the reason.
    pub(crate) fn answer_unopened<T>(&self, empty: T) -> Result<T, StoreError> {
        let is_waiting = matches!(&*self.state.borrow(), OpeningState::Waiting { .. });
        if is_waiting && self.mode != StoreMode::Shared { Ok(empty) } else { Err(self.error()) }
    }

    /// Returns why there is no open engine.
    pub(crate) fn error(&self) -> StoreError {
        self.state.borrow().error()
    }
}

impl OpeningState {
    fn error(&self) -> StoreError {
        match self {
            Self::Waiting { reason } => StoreError::NotYet { reason: reason.clone() },
            Self::Refused(error) => StoreError::Unopened(Arc::clone(error)),
            Self::Open(_) => StoreError::NotYet { reason: "it has just answered".to_owned() },
        }
    }
}

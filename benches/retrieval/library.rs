//! The product's own parts put together as the server does: store, model, ingest, search.

use std::{ffi::OsString, fmt, fs, path::Path, sync::Arc, time::Instant};

use codeinfo::config;
use codeinfo_core::{PathMap, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_ingest::{Ingest, IngestRequest, RunState};
use codeinfo_search::Search;
use codeinfo_store::{EmbeddedEngine, OnMismatch, Store, StoreMode};
use tempfile::TempDir;

use super::Outcome;

pub(crate) struct Library {
    ingest: Ingest,
    search: Search,
    _folder: Option<TempDir>,
}

/// What indexing one repository took.
pub(crate) struct Indexed {
    name: String,
    pub(crate) files: u64,
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// Whether the store had all of it already.
    pub(crate) was_there: bool,
}

impl Library {
    /// Opens the store in `folder`, or a temporary one.
    pub(crate) async fn open(folder: Option<&Path>) -> Outcome<Self> {
        let temporary = if folder.is_none() { Some(TempDir::new()?) } else { None };
        let folder = match (folder, &temporary) {
            (Some(folder), _) => folder.to_owned(),
            (None, Some(temporary)) => temporary.path().join("store"),
            (None, None) => return Err("no folder for the store".into()),
        };
        fs::create_dir_all(&folder)?;
        let config = config::from_pairs(std::iter::empty(), OsString::new())?;
        let tasks = Tasks::default();
        let embedder = BuiltinEmbedder::load(tasks.clone())?;
        let id = embedder.model().id();
        let dimensions = embedder.dimensions().ok_or("the model has no length")?;
        let discard = OnMismatch::Discard;
        let store =
            EmbeddedEngine::open(&folder, &id, dimensions, discard, &config.store, tasks.clone());
        let store = Store::new(store.await?, StoreMode::Flat, tasks.clone());
        let embedder: Arc<dyn Embedder> = Arc::new(embedder);
        let ingest =
            Ingest::new(store.clone(), Arc::clone(&embedder), config.ingest, tasks.clone());
        let search = Search::new(store, embedder, PathMap::default());
        Ok(Self { ingest, search, _folder: temporary })
    }

    pub(crate) fn search(&self) -> Search {
        self.search.clone()
    }

    /// Brings a repository up to date.
    pub(crate) async fn index(&self, name: &str, folder: &Path) -> Outcome<Indexed> {
        let request = IngestRequest {
            path: folder.to_owned(),
            name: Some(name.to_owned()),
            description: None,
            is_confined: false,
        };
        let started = Instant::now();
        let run = self.ingest.start_run(request).await?;
        let mut status = self.ingest.watch_run(run)?;
        let ended = status.wait_for(|status| status.state.is_final()).await?.clone();
        let seconds = started.elapsed().as_secs_f64();
        if !matches!(ended.state, RunState::Completed | RunState::Skipped) {
            return Err(format!("{name} ended as {:?}: {:?}", ended.state, ended.message).into());
        }
        Ok(Indexed {
            name: name.to_owned(),
            files: ended.counts.files,
            chunks: ended.counts.chunks,
            bytes: bytes(folder)?,
            seconds,
            was_there: ended.state == RunState::Skipped,
        })
    }
}

/// Returns the bytes of all files that are small enough to be indexed.
fn bytes(folder: &Path) -> Outcome<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sum += bytes(&entry.path())?;
        } else if kind.is_file() {
            let length = entry.metadata()?.len();
            sum += if length <= 1 << 20 { length } else { 0 };
        }
    }
    Ok(sum)
}

impl fmt::Display for Indexed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, files, chunks, seconds, .. } = self;
        write!(to, "{name}: {files} files, {chunks} chunks, {seconds:.2} s")
    }
}

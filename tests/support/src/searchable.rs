//! A store with ingest and search on it, and all that a user sees of it.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use codeinfo_core::{PathMap, Root, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_ingest::{Ingest, IngestRequest, RunState};
use codeinfo_search::{Search, SearchQuery};
use codeinfo_store::{EmbeddedEngine, OnMismatch, Store, StoreMode};
use tokio::process::Command;

/// Queries before and after.
const QUESTIONS: [&str; 4] =
    ["valve pressure", "how is the pump started", "fn regulate_7", "notes about the boiler"];

/// A client's view of a store.
#[derive(Debug, PartialEq)]
pub struct IndexSnapshot {
    pub roots: Vec<Root>,
    answers: Vec<Vec<String>>,
    /// Paths and versions of all chunks, by id.
    chunks: BTreeMap<String, (String, String)>,
}

/// A store in use.
pub struct SearchableStore {
    pub store: Store,
    pub ingest: Ingest,
    search: Search,
    tasks: Tasks,
}

impl SearchableStore {
    pub async fn open(data: &Path, embedder: &Arc<BuiltinEmbedder>, seal_chunks: usize) -> Self {
        let tasks = Tasks::default();
        let settings = codeinfo_store::EmbeddedStoreSettings {
            seal_chunks,
            background_merge: true,
            repairs: true,
        };
        let (model, dimensions) = (embedder.model().id(), embedder.dimensions().unwrap());
        let (at, refuse) = (data.join("store"), OnMismatch::Refuse);
        let open =
            || EmbeddedEngine::open(&at, &model, dimensions, refuse, &settings, tasks.clone());
        let engine = crate::embedded::open_with_retries(open).await.unwrap();
        let store = Store::new(engine, StoreMode::Exclusive, tasks.clone());
        let limits =
            codeinfo_ingest::IngestSettings { max_queued_runs: 8, ..crate::ingest::LIMITS };
        let embedder: Arc<dyn Embedder> = Arc::<BuiltinEmbedder>::clone(embedder);
        let ingest = Ingest::new(store.clone(), Arc::clone(&embedder), limits, tasks.clone());
        let search = Search::new(store.clone(), embedder, PathMap::default());
        Self { store, ingest, search, tasks }
    }

    pub async fn ingest(&self, path: &Path, name: &str) {
        let description = Some(format!("the {name} of the boiler"));
        let request = IngestRequest {
            path: path.to_owned(),
            name: Some(name.to_owned()),
            description,
            ..IngestRequest::default()
        };
        let run = self.ingest.start_run(request).await.unwrap();
        let mut status = self.ingest.watch_run(run).unwrap();
        let ended = status.wait_for(|status| status.state.is_final()).await.unwrap().state;
        assert!(matches!(ended, RunState::Completed | RunState::Skipped), "{ended:?}");
    }

    pub async fn take_snapshot(&self) -> IndexSnapshot {
        let mut roots = self.store.roots().await.unwrap();
        for root in &mut roots {
            (root.last_ingest_at, root.changed_at, root.counts.embedded) = (None, None, 0);
        }
        let mut answers = Vec::new();
        for question in QUESTIONS {
            let query = SearchQuery::new(question, None, Some(10)).unwrap();
            let found = self.search.find_chunks(&query).await.unwrap();
            let line = |hit: codeinfo_core::Hit| {
                format!("{}/{}:{}-{}", hit.repo, hit.rel_path, hit.start_line, hit.end_line)
            };
            answers.push(found.hits.into_iter().map(line).collect());
        }
        let all = self.store.chunks(None, None, 10_000).await.unwrap();
        let chunks = all
            .into_iter()
            .map(|stored| (stored.id.to_string(), (stored.record.path, stored.record.version)));
        IndexSnapshot { roots, answers, chunks: chunks.collect() }
    }

    pub async fn close(self) {
        assert!(self.tasks.stop(Duration::from_mins(1)).await);
        self.store.flush().await.unwrap();
    }
}

/// A store of two repositories, with changes and a deletion, closed.
pub async fn build_changed_store(
    folder: &Path,
    embedder: &Arc<BuiltinEmbedder>,
    seal_chunks: usize,
) -> IndexSnapshot {
    let repos = folder.join("repos");
    for (name, word) in [("valves", "valve"), ("pumps", "pump")] {
        fs::create_dir_all(repos.join(name)).unwrap();
        for number in 0..40 {
            let text = format!(
                "/// Has the {word} {number} started when the pressure is right.\n\
                 fn regulate_{number}() {{\n    {word}_{number}.open();\n}}\n"
            );
            fs::write(repos.join(name).join(format!("{word}{number}.rs")), text).unwrap();
        }
    }
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    let harness = SearchableStore::open(&data, embedder, seal_chunks).await;
    for name in ["valves", "pumps"] {
        harness.ingest(&repos.join(name), name).await;
    }
    fs::write(repos.join("valves/notes.md"), "# Notes\n\nAbout the boiler.\n").unwrap();
    fs::write(repos.join("valves/valve3.rs"), "/// Is another one.\nfn regulate_99() {}\n")
        .unwrap();
    fs::remove_file(repos.join("pumps/pump5.rs")).unwrap();
    for name in ["valves", "pumps"] {
        harness.ingest(&repos.join(name), name).await;
    }
    let seen = harness.take_snapshot().await;
    assert_eq!(seen.roots.len(), 2);
    assert!(seen.answers.iter().all(|answer| !answer.is_empty()), "{seen:?}");
    harness.close().await;
    seen
}

/// Copies a store with its holes.
pub async fn copy_store(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-a", "--sparse=always"]).args([from, to]).status();
    assert!(copied.await.unwrap().success());
}

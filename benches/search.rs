//! How long a whole search takes, from the words to ranked chunks, over the indexed source of this
//! program, or of `SEARCH_CORPUS=FOLDER`: `cargo bench --bench search`.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot run should stop")]

use std::{env, ffi::OsString, iter, path::PathBuf, sync::Arc};

use codeinfo::config;
use codeinfo_core::{PathMap, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_ingest::{Ingest, IngestRequest, RunState};
use codeinfo_search::{Search, SearchQuery};
use codeinfo_store::{EmbeddedEngine, OnMismatch, Store, StoreMode};
use criterion::{Criterion, criterion_group, criterion_main};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// One question of each kind.
const QUESTIONS: &[(&str, &str)] = &[
    ("symbol", "Engine::search"),
    ("path", "src/store/embedded/journal.rs"),
    ("prose", "how is a torn write at the end of the journal noticed when the store is opened"),
    ("literal", "the last run was interrupted; ingest again to complete it"),
];

async fn indexed(folder: &TempDir) -> Search {
    let config = config::from_pairs(iter::empty(), OsString::new()).unwrap();
    let tasks = Tasks::default();
    let embedder: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::load(tasks.clone()).unwrap());
    let (id, dimensions) = (embedder.model().id(), embedder.dimensions().unwrap());
    let at = folder.path();
    let refuse = OnMismatch::Refuse;
    let store = EmbeddedEngine::open(at, &id, dimensions, refuse, &config.store, tasks.clone());
    let store = Store::new(store.await.unwrap(), StoreMode::Flat, tasks.clone());
    let ingest = Ingest::new(store.clone(), Arc::clone(&embedder), config.ingest, tasks);
    let source = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let path = env::var_os("SEARCH_CORPUS").map_or_else(source, PathBuf::from);
    let request = IngestRequest {
        path,
        name: Some("corpus".to_owned()),
        description: None,
        ..IngestRequest::default()
    };
    let run = ingest.start_run(request).await.unwrap();
    let mut status = ingest.watch_run(run).unwrap();
    let ended = status.wait_for(|status| status.state.is_final()).await.unwrap().state;
    assert_eq!(ended, RunState::Completed);
    Search::new(store, embedder, PathMap::default())
}

fn measure(criterion: &mut Criterion) {
    // Outlives the runtime, whose tasks have the store.
    let folder = TempDir::new().unwrap();
    let runtime = Runtime::new().unwrap();
    let search = runtime.block_on(indexed(&folder));
    let mut group = criterion.benchmark_group("search");
    group.sample_size(20);
    for (kind, question) in QUESTIONS {
        for (place, repository) in [("everywhere", None), ("one repository", Some("corpus"))] {
            let query = SearchQuery::new(question, repository, Some(10)).unwrap();
            group.bench_function(format!("{kind} {place}"), |bencher| {
                bencher.iter(|| runtime.block_on(search.find_chunks(&query)).unwrap());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, measure);
criterion_main!(benches);

//! Indexing the source of a real, published crate: whole, again, changed, and killed on the way.

use std::fs;

use serde_json::{Value, json};

use codeinfo_test_support::sources::{copy_folder, fetch_crate_source};

use crate::support::process::{RunningServer, create_scratch_folder, without_codex};

async fn search_paths(server: &RunningServer, query: &str) -> Vec<String> {
    let reply =
        server.post_api("/tools/vector-search", &json!({ "query": query, "limit": 20 })).await;
    let results = reply["results"].as_array().unwrap_or_else(|| panic!("{reply}"));
    results.iter().map(|hit| hit["relPath"].as_str().unwrap().to_owned()).collect()
}

/// Returns each path with the number of its chunks, by asking the store through the API.
async fn chunk_counts(server: &RunningServer) -> Value {
    server.get_api("/ingest/roots").await["roots"][0]["counts"].clone()
}

#[tokio::test]
async fn a_real_crate_is_indexed_searched_and_brought_up_to_date() {
    let (data, work) = (create_scratch_folder(), create_scratch_folder());
    let source = work.path().join("ignore");
    copy_folder(&fetch_crate_source("ignore").await, &source);
    let server = RunningServer::serve(data.path(), &[&source], &without_codex()).await;
    let whole = chunk_counts(&server).await;
    assert!(whole["files"].as_u64().unwrap() >= 15, "{whole}");
    assert!(whole["chunks"].as_u64().unwrap() >= 200, "{whole}");
    assert_eq!(search_paths(&server, "GitignoreBuilder add_line").await[0], "src/gitignore.rs");

    // The same path again, also by another spelling, is the same root, and nothing is embedded.
    let again = server.ingest(&source.join("src/..")).await;
    assert_eq!(again["state"], "skipped", "{again}");
    assert_eq!(server.get_api("/ingest/roots").await["roots"].as_array().unwrap().len(), 1);

    // One file changes, one goes, one comes.
    let overrides = source.join("src/overrides.rs");
    let text = fs::read_to_string(&overrides).unwrap();
    fs::write(&overrides, text + "\n/// Folds the zebra crossing.\nfn fold_zebra() {}\n").unwrap();
    fs::remove_file(source.join("src/walk.rs")).unwrap();
    fs::write(source.join("src/okapi.rs"), "/// Greets the okapi.\nfn greet_okapi() {}\n").unwrap();
    let delta = server.ingest(&source).await;
    assert_eq!(delta["state"], "completed", "{delta}");
    assert_eq!(delta["counts"]["deleted"], 1, "{delta}");
    assert!(delta["counts"]["embedded"].as_u64().unwrap() < 60, "{delta}");
    assert_eq!(search_paths(&server, "fold_zebra").await[0], "src/overrides.rs");
    assert_eq!(search_paths(&server, "greet_okapi").await[0], "src/okapi.rs");
    assert!(
        !search_paths(&server, "WalkParallel WalkBuilder")
            .await
            .contains(&"src/walk.rs".to_owned())
    );
    server.terminate().await;
}

#[tokio::test]
async fn a_run_killed_at_any_moment_is_completed_by_the_next_one() {
    let (data, work) = (create_scratch_folder(), create_scratch_folder());
    let first = work.path().join("first");
    fs::create_dir(&first).unwrap();
    fs::write(first.join("okapi.rs"), "/// Greets the okapi.\nfn greet_okapi() {}\n").unwrap();
    let source = fetch_crate_source("tokio").await;
    let mut server = RunningServer::serve(data.path(), &[&first], &without_codex()).await;
    for least in [1, 40, 150] {
        let started = server.post_api("/ingest/start", &json!({ "path": source })).await;
        let run = started["runId"].as_str().unwrap().to_owned();
        loop {
            let status = server.get_api(&format!("/ingest/status/{run}")).await;
            let embedded = status["counts"]["embedded"].as_u64().unwrap();
            if embedded >= least || status["state"] == "completed" {
                break;
            }
        }
        server.kill().await;
        server = RunningServer::serve(data.path(), &[], &without_codex()).await;
        assert_eq!(
            search_paths(&server, "greet_okapi").await[0],
            "okapi.rs",
            "earlier content is there"
        );
    }
    let done = server.ingest(&source).await;
    assert_eq!(done["state"], "completed", "{done}");

    // A store that never crashed holds the same.
    let calm = create_scratch_folder();
    let other = RunningServer::serve(calm.path(), &[&source], &without_codex()).await;
    let roots = server.get_api("/ingest/roots").await;
    let killed =
        roots["roots"].as_array().unwrap().iter().find(|root| root["path"] == json!(source));
    let (killed, calm) = (killed.unwrap()["counts"].clone(), chunk_counts(&other).await);
    assert_eq!((&killed["files"], &killed["chunks"]), (&calm["files"], &calm["chunks"]));
    let health = (server.get_api("/health").await, other.get_api("/health").await);
    let chunks = |health: &Value| health["store"]["chunks"].as_u64().unwrap();
    assert_eq!(chunks(&health.0), chunks(&health.1) + 1, "nothing is left over or there twice");
    server.terminate().await;
    other.terminate().await;
}

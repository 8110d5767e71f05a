//! Servers with a store on a Qdrant server.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use codeinfo_test_support::{
    git::commit_all,
    ingest::{TestRepository, write_large_repository},
    qdrant::{FakeQdrant, VERSION, find_tls_file, fixture::QdrantFixture, process::IngestProcess},
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::process::{
    ProgramEnvironment, RunningServer, create_scratch_folder, qdrant_environment, run_command,
};

const PUMP: &str = "/// Fills the tank.\nfn fill() {\n    open_valve();\n}\n";

/// Creates a repository with enough files for several writes of a run.
fn create_large_repository(version: &str) -> TempDir {
    let folder = create_scratch_folder();
    write_large_repository(folder.path(), version);
    folder
}

fn create_repository(base: &TempDir, name: &str) -> TestRepository {
    let repository = TestRepository(base.path().canonicalize().unwrap().join(name));
    repository.write("pump.rs", PUMP);
    repository.write("drain.rs", "fn drain() {}\n");
    commit_all(&repository.0, "Begin");
    repository
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_on_one_store_see_each_others_repositories() {
    let fixture = QdrantFixture::new();
    let environment = qdrant_environment(&fixture);
    let (data, repository) =
        ([create_scratch_folder(), create_scratch_folder()], create_large_repository("one"));
    let paths: [&Path; 0] = [];
    let start = |data: &TempDir| {
        let (data, environment) = (data.path().to_owned(), environment.clone());
        async move { RunningServer::serve(&data, &paths, &environment).await }
    };
    let programs = join_all(data.iter().map(start)).await;
    let [a, b] = &programs[..] else { panic!() };
    // One of two servers with the same request indexes; the other one waits for it and finds nothing to do.
    let path = repository.path();
    let ended = tokio::join!(a.ingest(path), b.ingest(path));
    let embedded = |status: &Value| status["counts"]["embedded"].as_u64().unwrap();
    let states = [&ended.0["state"], &ended.1["state"]];
    assert!(
        states.contains(&&json!("completed")) && states.contains(&&json!("skipped")),
        "{ended:?}"
    );
    assert_eq!(embedded(&ended.0).min(embedded(&ended.1)), 0);
    for program in [a, b] {
        let health = program.get_api("/health").await;
        let store = &health["store"];
        assert_eq!((&store["backend"], &store["ok"]), (&json!("qdrant"), &json!(true)));
        assert_eq!(store["chunks"].as_u64().unwrap(), embedded(&ended.0) + embedded(&ended.1));
        let roots = program.get_api("/ingest/roots").await;
        assert_eq!(roots["roots"][0]["path"], json!(path.canonicalize().unwrap()), "{roots}");
        let query = json!({ "query": "fill_7_3" });
        let found = program.post_api("/tools/vector-search", &query).await;
        assert_eq!(found["results"][0]["relPath"], "tank_007.rs", "{found}");
    }
    // One command works beside them, on another folder.
    let own = create_scratch_folder();
    let output_text = run_command(own.path(), &environment, &["search", "fill_7_3"]).await;
    assert!(
        String::from_utf8_lossy(&output_text.stdout).contains("tank_007.rs"),
        "{output_text:?}"
    );
    let id = a.get_api("/ingest/roots").await["roots"][0]["id"].as_str().unwrap().to_owned();
    b.post_api(&format!("/ingest/remove/{id}"), &json!({})).await;
    assert_eq!(a.get_api("/ingest/roots").await["roots"], json!([]));
    for program in programs {
        assert!(program.terminate().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_encrypted_and_the_certificate_is_checked() {
    let fake_qdrant = FakeQdrant::start_encrypted();
    fake_qdrant.require_key("right");
    let data = create_scratch_folder();
    let mut environment: ProgramEnvironment = vec![
        ("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned()),
        ("QDRANT_URL".to_owned(), fake_qdrant.urls().concat()),
        ("QDRANT_API_KEY".to_owned(), "right".to_owned()),
    ];
    let doctor = async |environment: &ProgramEnvironment| {
        let output_text = run_command(data.path(), environment, &["doctor"]).await.stdout;
        String::from_utf8(output_text).unwrap()
    };
    let untrusted = doctor(&environment).await;
    let store = untrusted.lines().find(|line| line.starts_with("FAIL  store: ")).unwrap();
    let distrusted =
        "cannot be reached (its certificate is not trusted: UnknownIssuer; see `SSL_CERT_FILE`)";
    assert!(store.contains(distrusted), "{store}");
    assert!(
        !untrusted.contains("nothing is indexed"),
        "whether folders are indexed is unknown: {untrusted}"
    );
    environment
        .push(("SSL_CERT_FILE".to_owned(), find_tls_file("ca.pem").to_str().unwrap().to_owned()));
    let trusted = doctor(&environment).await;
    assert!(trusted.contains(&format!("ok    store: qdrant {VERSION}, 0 chunks\n")), "{trusted}");
    assert!(trusted.contains("nothing is indexed yet"), "{trusted}");
    environment[2].1 = "wrong".to_owned();
    let refused = doctor(&environment).await;
    let store = refused.lines().find(|line| line.starts_with("FAIL  store: Qdrant at ")).unwrap();
    assert!(store.contains("set `QDRANT_API_KEY`"), "{store}");
    assert!(refused.contains("ok    embedder: "), "{refused}");
    let unencrypted = FakeQdrant::start();
    environment[1].1 = unencrypted.urls().concat().replace("http://", "https://");
    let plain = doctor(&environment).await;
    assert!(
        plain.contains(
            "cannot be reached (it does not use TLS; write `http://` instead of `https://`)"
        ),
        "{plain}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_starts_without_its_store_and_finds_it_later() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let environment = qdrant_environment(&fixture);
    fake_qdrant.close_node(0);
    let (data, repository) = (create_scratch_folder(), create_scratch_folder());
    fs::write(repository.path().join("pump.rs"), "fn pump() {}\n").unwrap();
    let program = RunningServer::serve(data.path(), &[], &environment).await;
    let index = program.said.iter().find(|line| line.starts_with("Index")).unwrap();
    assert!(index.contains("away: ") && index.contains("cannot be reached"), "{index}");
    let health = program.get_api("/health").await;
    assert_eq!((&health["status"], &health["store"]["ok"]), (&json!("degraded"), &json!(false)));
    let reason = health["store"]["reason"].as_str().unwrap();
    assert!(reason.contains("`QDRANT_URL` names its gRPC port"), "{reason}");
    let started = Instant::now();
    let start = program.post_api("/ingest/start", &json!({ "path": repository.path() })).await;
    let search = program.post_api("/tools/vector-search", &json!({ "query": "pump" })).await;
    assert_eq!(start["error"], "STORE_UNAVAILABLE", "{start}");
    assert_eq!(search["error"], "STORE_UNAVAILABLE", "{search}");
    let message = search["message"].as_str().unwrap();
    assert!(message.starts_with("cannot search: Qdrant at `http://"), "{message}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    assert_eq!(doctor.status.code(), Some(1));
    assert!(
        output_text.contains("FAIL  store: cannot use the index: Qdrant at `http://"),
        "{output_text}"
    );

    fake_qdrant.open_node(0);
    assert_eq!(program.ingest(repository.path()).await["state"], "completed");
    let health = program.get_api("/health").await;
    assert_eq!(health["store"]["version"], VERSION);
    assert_eq!(health["store"]["chunks"], 1);
    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    let expected = format!("ok    store: qdrant {VERSION}, 1 chunk");
    assert!(output_text.contains(&expected), "{output_text}");
    assert!(program.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn people_see_how_many_copies_a_cluster_has_and_what_to_do() {
    let fake_qdrant = FakeQdrant::start_nodes(2);
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let mut environment = qdrant_environment(&fixture);
    environment.push(("QDRANT_REPLICATION".to_owned(), "2".to_owned()));
    let data = create_scratch_folder();
    let paths: [&Path; 0] = [];
    let program = RunningServer::serve(data.path(), &paths, &environment).await;
    let doctor = async || {
        let output_text = run_command(data.path(), &environment, &["doctor"]).await.stdout;
        String::from_utf8(output_text).unwrap()
    };
    let output_text = doctor().await;
    let well = format!("ok    store: qdrant {VERSION}, 0 chunks, 2 of 2 copies\n");
    assert!(output_text.contains(&well) && !output_text.contains("note  store"), "{output_text}");
    let chunks =
        fake_qdrant.list_collections().into_iter().find(|name| name.contains("_chunks_")).unwrap();
    fake_qdrant.set_copies("_chunks_", 1);
    let store = program.get_api("/health").await["store"].take();
    let listed = json!({ "collection": chunks, "copies": 1, "wanted": 2 });
    assert_eq!((&store["ok"], &store["copies"][0]), (&json!(true), &listed));
    let warning = store["warning"].as_str().unwrap();
    let expected =
        format!("too few copies for `QDRANT_REPLICATION=2` (`{chunks}` has 1), so that ");
    assert!(warning.starts_with(&expected), "{warning}");
    let output_text = doctor().await;
    assert!(output_text.contains("0 chunks, 1 of 2 copies\n"), "{output_text}");
    assert!(output_text.contains(&format!("note  store: {warning}\n")), "{output_text}");
    assert!(warning.ends_with("`codeinfo docs qdrant` says how"), "{warning}");
    fake_qdrant.set_copies("_chunks_", 2);
    fake_qdrant.close_node(1);
    let lost = format!("Qdrant at `{}` cannot be reached (", fake_qdrant.urls()[1]);
    let output_text = doctor().await;
    assert!(output_text.contains(&format!("note  store: {lost}")), "{output_text}");
    assert!(output_text.contains("; other nodes serve\n"), "{output_text}");
    assert!(program.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_index_takes_over_local_repositories_and_names_the_others() {
    let mut fixture = QdrantFixture::new();
    let base = create_scratch_folder();
    let main = create_repository(&base, "main");
    let gone = create_repository(&base, "gone");
    let shared = IngestProcess::new(&fixture, "a").await;
    for repository in [&main, &gone] {
        shared.ingest(&repository.0).await;
    }
    fs::remove_dir_all(&gone.0).unwrap();
    fixture.settings.shared_paths = false;
    let (data, environment) = (create_scratch_folder(), qdrant_environment(&fixture));
    let refused = run_command(data.path(), &environment, &["repos"]).await;
    let output_text = String::from_utf8(refused.stderr).unwrap();
    assert!(output_text.contains("QDRANT_SHARED_PATHS=true"), "{output_text}");
    let program = RunningServer::serve_reembedding(data.path(), &environment).await;
    let repos = program.get_api("/tools/ingested-repos").await;
    let listed: Vec<_> = repos["repos"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&listed[0]["name"], &listed[0]["host"]),
        (&json!("gone"), &json!("an unknown host"))
    );
    assert_eq!((&listed[1]["name"], listed[1].get("host")), (&json!("main"), None));
    assert_eq!(listed[1]["counts"]["chunks"], 2);
    let found = program.post_api("/tools/vector-search", &json!({ "query": "fill" })).await;
    assert_eq!(found["results"][0]["path"], json!(main.join("pump.rs")), "{found}");
    program.post_api("/ingest/remove/gone", &json!({})).await;
    assert!(program.terminate().await.success());
    // The next start needs no more.
    let listed = run_command(data.path(), &environment, &["repos"]).await;
    let output_text = String::from_utf8(listed.stdout).unwrap();
    assert!(output_text.starts_with("main  ") && output_text.lines().count() == 1, "{output_text}");
}

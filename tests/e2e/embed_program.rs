//! The real program with an embedding service: indexing, searching, and what happens while the service
//! is away.

use std::{
    fs,
    time::{Duration, Instant},
};

use codeinfo_test_support::{
    embeddings::{EmbeddingAnswer, FakeEmbeddingServer},
    qdrant::{FakeQdrant, find_tls_file},
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::support::process::{
    ProgramEnvironment, RunningServer, create_scratch_folder, run_command, spawn_command,
};

fn service_environment(url: &str) -> ProgramEnvironment {
    let pairs = [
        ("EMBEDDING_URL", url),
        ("EMBEDDING_MODEL", "stand-in"),
        ("EMBEDDING_DOCUMENT_PREFIX", "passage: "),
        ("EMBEDDING_QUERY_PREFIX", "query: "),
        ("CODEX_BIN", "/nowhere/codex"),
        // A proxy is for other machines; nothing listens there.
        ("HTTP_PROXY", "http://127.0.0.1:9"),
        ("http_proxy", "http://127.0.0.1:9"),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

fn create_repository() -> tempfile::TempDir {
    let folder = create_scratch_folder();
    fs::write(folder.path().join("config.rs"), "fn read_settings(path: &Path) {}\n").unwrap();
    fs::write(folder.path().join("socket.rs"), "fn open_socket(port: u16) {}\n").unwrap();
    folder
}

async fn run_search(program: &RunningServer) -> Value {
    program.post_api("/tools/vector-search", &json!({ "query": "where are settings read" })).await
}

#[tokio::test]
async fn a_service_that_comes_and_goes_needs_no_restart() {
    let embeddings = FakeEmbeddingServer::start().await;
    let (data, repository) = (create_scratch_folder(), create_repository());
    let environment = service_environment(&embeddings.url);
    let program = RunningServer::serve(data.path(), &[repository.path()], &environment).await;
    let health = program.get_api("/health").await;
    let embedder = json!({ "name": "stand-in", "dimensions": 64, "ok": true });
    assert_eq!(health["embedder"], embedder);
    assert!(embeddings.received_inputs().contains(&"query: where are settings read".to_owned()));
    assert!(
        embeddings.received_inputs().iter().any(|input| input.starts_with("passage: config.rs\n"))
    );
    let found = run_search(&program).await;
    assert_eq!(found["results"][0]["relPath"], "config.rs", "{found}");
    let model = found["modelId"].as_str().unwrap();
    assert!(model.starts_with("stand-in@service-"), "{model}");

    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    assert!(output_text.contains("ok    embedder: stand-in, 64 dimensions"), "{output_text}");
    program.terminate().await;

    // Unreachable at the start: the existing index is served, and the failure gives advice.
    let address = embeddings.stop().await;
    let program = RunningServer::serve(data.path(), &[], &environment).await;
    let health = program.get_api("/health").await;
    assert_eq!((&health["status"], &health["store"]["chunks"]), (&json!("degraded"), &json!(2)));
    let reason = health["embedder"]["reason"].as_str().unwrap();
    assert!(reason.contains("EMBEDDING_URL"), "{reason}");
    let refused = run_search(&program).await;
    assert_eq!(refused["error"], "EMBED_MODEL_MISSING", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("cannot be reached"), "{refused}");
    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    assert!(output_text.contains("FAIL  embedder: the embedding service at"), "{output_text}");

    let embeddings = FakeEmbeddingServer::start_at(address, |_| EmbeddingAnswer::Vectors).await;
    assert_eq!(run_search(&program).await["results"][0]["relPath"], "config.rs");
    assert_eq!(program.get_api("/health").await["embedder"]["ok"], true);
    program.terminate().await;

    // Another model, or another prefix, is refused by name, also while the service is unreachable.
    drop(embeddings);
    let mut other = environment.clone();
    other[2].1 = "document: ".to_owned();
    for environment in [Vec::new(), other] {
        let refused = run_command(data.path(), &environment, &["repos"]).await;
        let output_text = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && output_text.contains(model), "{output_text}");
        assert!(output_text.contains("--reembed"), "{output_text}");
    }
}

#[tokio::test]
async fn a_service_may_be_started_after_the_server() {
    let address = FakeEmbeddingServer::start().await.stop().await;
    let (data, repository) = (create_scratch_folder(), create_repository());
    let environment = service_environment(&format!("http://{address}/v1"));
    // The folder cannot be indexed yet; the server starts nevertheless.
    let program = RunningServer::serve(data.path(), &[repository.path()], &environment).await;
    let health = program.get_api("/health").await;
    assert_eq!((&health["status"], &health["store"]["ok"]), (&json!("degraded"), &json!(false)));
    assert_eq!(health["embedder"]["dimensions"], Value::Null);
    let failed = program.ingest(repository.path()).await;
    assert_eq!(failed["state"], "error");
    let output_text = failed["lastError"].as_str().unwrap();
    assert!(
        output_text.contains("before the embedding service has answered once"),
        "{output_text}"
    );
    assert_eq!(run_search(&program).await["error"], "INGEST_REQUIRED");

    let embeddings = FakeEmbeddingServer::start_at(address, |_| EmbeddingAnswer::Vectors).await;
    let done = program.ingest(repository.path()).await;
    assert_eq!((&done["state"], &done["counts"]["chunks"]), (&json!("completed"), &json!(2)));
    assert_eq!(run_search(&program).await["results"][0]["relPath"], "config.rs");
    let health = program.get_api("/health").await;
    assert_eq!((&health["store"]["ok"], &health["embedder"]["ok"]), (&json!(true), &json!(true)));

    // A wrong key in mid-run: a clear error, and the next run completes the rest.
    fs::write(repository.path().join("new.rs"), "fn brand_new() {}\n").unwrap();
    embeddings
        .replace_script(|_| EmbeddingAnswer::Text(401, r#"{"error":"key expired"}"#.to_owned()));
    let failed = program.ingest(repository.path()).await;
    let output_text = failed["lastError"].as_str().unwrap();
    assert!(output_text.contains("asks for a key (401: key expired)"), "{output_text}");
    embeddings.replace_script(|_| EmbeddingAnswer::Vectors);
    let done = program.ingest(repository.path()).await;
    assert_eq!((&done["counts"]["chunks"], &done["counts"]["embedded"]), (&json!(3), &json!(1)));
    program.terminate().await;
}

#[tokio::test]
async fn another_model_replaces_the_former_when_asked_to() {
    let embeddings = FakeEmbeddingServer::start().await;
    let (data, repository) = (create_scratch_folder(), create_repository());
    let program = RunningServer::serve(data.path(), &[repository.path()], &Vec::new()).await;
    program.terminate().await;
    let environment = service_environment(&embeddings.url);
    let address = embeddings.stop().await;
    // Nothing is discarded for an unreachable service.
    let refused = run_command(data.path(), &environment, &["serve", "--reembed"]).await;
    let output_text = String::from_utf8(refused.stderr).unwrap();
    assert!(
        !refused.status.success() && output_text.contains("cannot be reached"),
        "{output_text}"
    );
    let mut known = environment.clone();
    known.push(("EMBEDDING_DIMENSIONS".to_owned(), "32".to_owned()));
    let refused = run_command(data.path(), &known, &["serve", "--reembed"]).await;
    assert!(!refused.status.success(), "its length is known, and yet it is away");
    let kept = RunningServer::serve(data.path(), &[], &Vec::new()).await;
    assert_eq!(kept.get_api("/health").await["store"]["chunks"], 2);
    kept.terminate().await;

    let embeddings = FakeEmbeddingServer::start_at(address, |_| EmbeddingAnswer::Vectors).await;
    // A fault of the store is not reported for the service, whose vectors have another length.
    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        output_text.contains("FAIL  store: the store holds vectors of `code-static-1@"),
        "{output_text}"
    );
    assert!(output_text.contains("ok    embedder: stand-in, 64 dimensions"), "{output_text}");
    let program = RunningServer::serve_reembedding(data.path(), &environment).await;
    let found = run_search(&program).await;
    assert_eq!(found["results"][0]["relPath"], "config.rs", "{found}");
    program.terminate().await;
    // The same model with vectors of another length is noticed and may replace itself.
    embeddings.replace_script(|_| EmbeddingAnswer::Dimensions(48));
    let program = RunningServer::serve(data.path(), &[], &environment).await;
    let refused = run_search(&program).await;
    assert_eq!(refused["error"], "EMBED_MODEL_MISMATCH", "{refused}");
    program.terminate().await;
    let program = RunningServer::serve_reembedding(data.path(), &environment).await;
    assert_eq!(program.get_api("/health").await["embedder"]["dimensions"], 48);
    assert_eq!(run_search(&program).await["results"][0]["relPath"], "config.rs");
    program.terminate().await;
}

#[tokio::test]
async fn doctor_waits_for_a_service_that_loads_its_model() {
    let embeddings =
        FakeEmbeddingServer::start_with_script(|_| EmbeddingAnswer::Late(Duration::from_secs(8)))
            .await;
    let data = create_scratch_folder();
    let mut environment = service_environment(&embeddings.url);
    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    // The store is created as soon as the length of vectors is known.
    assert!(output_text.contains("ok    store: embedded"), "{output_text}");
    assert!(output_text.contains("ok    embedder: stand-in, 64 dimensions"), "{output_text}");
    let waits = String::from_utf8(doctor.stderr).unwrap();
    assert!(waits.contains("no answer yet") && waits.contains("waiting up to 30 s"), "{waits}");
    assert_eq!(embeddings.requests().len(), 1);
    // Once it is known that no answer will come, what to set is reported.
    embeddings.replace_script(|_| EmbeddingAnswer::Silent);
    environment.push(("EMBEDDING_TIMEOUT_SECS".to_owned(), "4".to_owned()));
    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    let embedder = output_text.lines().find(|line| line.starts_with("FAIL  embedder: ")).unwrap();
    assert!(embedder.contains("raise `EMBEDDING_TIMEOUT_SECS`"), "{embedder}");
}

#[tokio::test]
async fn indexing_without_the_service_says_why_it_takes_long() {
    let embeddings = FakeEmbeddingServer::start().await;
    let (data, repository) = (create_scratch_folder(), create_repository());
    let environment = service_environment(&embeddings.url);
    let program = RunningServer::serve(data.path(), &[repository.path()], &environment).await;
    let address = embeddings.stop().await;
    fs::write(repository.path().join("new.rs"), "fn brand_new() {}\n").unwrap();
    let started = Instant::now();
    let path = repository.path().to_str().unwrap();
    let mut command = spawn_command(data.path(), &environment, &["ingest", path]);
    let mut lines = BufReader::new(command.stderr.take().unwrap()).lines();
    let reported = lines.next_line().await.unwrap().unwrap();
    let waiting = "trying again: the embedding service at `http://127.0.0.1:";
    assert!(reported.starts_with(waiting) && reported.contains("cannot be reached"), "{reported}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    // Nothing has to be repeated once it is back, and no warning remains.
    let embeddings = FakeEmbeddingServer::start_at(address, |_| EmbeddingAnswer::Vectors).await;
    let ended = command.wait_with_output().await.unwrap();
    let output_text = String::from_utf8(ended.stdout).unwrap();
    assert!(
        ended.status.success() && output_text.contains("3 chunks (1 new chunk)"),
        "{output_text}"
    );
    while let Some(line) = lines.next_line().await.unwrap() {
        assert!(line.starts_with(waiting), "{line}");
    }
    assert_eq!(program.ingest(repository.path()).await["message"], Value::Null);
    assert!(embeddings.received_inputs().iter().any(|input| input.contains("brand_new")));
    program.terminate().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_over_tls_is_used_when_its_certificate_is_trusted() {
    let embeddings = FakeEmbeddingServer::start_encrypted().await;
    let (data, repository) = (create_scratch_folder(), create_repository());
    let mut environment = service_environment(&embeddings.url);
    environment.push(("EMBEDDING_API_KEY".to_owned(), "sk-test".to_owned()));
    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    let embedder = output_text.lines().find(|line| line.starts_with("FAIL  embedder: ")).unwrap();
    assert!(embedder.contains("has no connection to be trusted"), "{embedder}");
    assert!(embedder.contains("add its CA to the system's certificates"), "{embedder}");
    assert_eq!(embeddings.requests(), [Value::Null; 0], "neither texts nor the key are sent");

    environment
        .push(("SSL_CERT_FILE".to_owned(), find_tls_file("ca.pem").to_str().unwrap().to_owned()));
    let program = RunningServer::serve(data.path(), &[repository.path()], &environment).await;
    assert_eq!(run_search(&program).await["results"][0]["relPath"], "config.rs");
    assert_eq!(program.get_api("/health").await["embedder"]["ok"], true);
    program.terminate().await;
    assert!(
        embeddings
            .authorization_headers()
            .iter()
            .all(|key| key.as_deref() == Some("Bearer sk-test"))
    );

    // The name counts as well as the authority.
    let by_number = embeddings.url.replace("localhost", "127.0.0.1");
    environment[0].1 = by_number;
    let doctor = run_command(data.path(), &environment, &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    let embedder = output_text.lines().find(|line| line.starts_with("FAIL  embedder: ")).unwrap();
    assert!(embedder.contains("not valid for name"), "{embedder}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_a_server_waits_for_the_service() {
    let fake_qdrant = FakeQdrant::start();
    let address = FakeEmbeddingServer::start().await.stop().await;
    let (data, repository) = (create_scratch_folder(), create_repository());
    let mut environment = service_environment(&format!("http://{address}/v1"));
    environment.push(("QDRANT_URL".to_owned(), fake_qdrant.urls().concat()));
    let program = RunningServer::serve(data.path(), &[repository.path()], &environment).await;
    let health = program.get_api("/health").await;
    let store = &health["store"];
    assert_eq!((&store["backend"], &store["ok"]), (&json!("qdrant"), &json!(false)), "{health}");
    // Other processes may have filled it, so that it is not taken for empty.
    let refused = run_search(&program).await;
    assert_eq!(refused["error"], "STORE_UNAVAILABLE", "{refused}");
    let output_text = refused["message"].as_str().unwrap();
    assert!(
        output_text.contains("before the embedding service has answered once"),
        "{output_text}"
    );
    let refused = program.post_api("/ingest/start", &json!({ "path": repository.path() })).await;
    assert_eq!(refused["error"], "STORE_UNAVAILABLE", "{refused}");
    assert_eq!(fake_qdrant.list_collections(), [""; 0], "the length of vectors is unknown");

    let embeddings = FakeEmbeddingServer::start_at(address, |_| EmbeddingAnswer::Vectors).await;
    let is_open = async || program.get_api("/health").await["store"]["ok"] == true;
    while !is_open().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let done = program.ingest(repository.path()).await;
    assert_eq!((&done["state"], &done["counts"]["chunks"]), (&json!("completed"), &json!(2)));
    let found = run_search(&program).await;
    assert_eq!(found["results"][0]["relPath"], "config.rs", "{found}");
    program.terminate().await;

    // Started again while it is unreachable; then it comes back, and everything is there.
    let address = embeddings.stop().await;
    let program = RunningServer::serve(data.path(), &[], &environment).await;
    assert_eq!(run_search(&program).await["error"], "STORE_UNAVAILABLE");
    let embeddings = FakeEmbeddingServer::start_at(address, |_| EmbeddingAnswer::Vectors).await;
    let is_open = async || program.get_api("/health").await["store"]["ok"] == true;
    while !is_open().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(run_search(&program).await["results"], found["results"]);
    assert_eq!(program.ingest(repository.path()).await["state"], "skipped");
    let inputs = embeddings.received_inputs();
    assert!(inputs.iter().all(|input| input.starts_with("query: ")), "{inputs:?}");
    // Another length of vectors is another model, on a server as well.
    embeddings.replace_script(|_| EmbeddingAnswer::Dimensions(48));
    program.terminate().await;
    let refused = run_command(data.path(), &environment, &["repos"]).await;
    let output_text = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && output_text.contains("--reembed"), "{output_text}");
}

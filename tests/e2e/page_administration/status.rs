//! `GET /settings` and `GET /failures`.

use std::path::Path;

use codeinfo_test_support::{
    embeddings::{EmbeddingAnswer, FakeEmbeddingServer},
    websocket::WebSocketClient,
    wire::{send_get, send_post, send_rpc},
};
use serde_json::{Value, json};

use super::get_json;
use crate::{
    listeners::InProcessServer,
    support::{
        model::{FakeModel, ModelReply},
        process::{ProgramEnvironment, RunningServer, create_scratch_folder},
    },
};

async fn get_settings(server: &InProcessServer) -> Vec<Value> {
    get_json(server, "/settings").await["settings"].as_array().unwrap().clone()
}

fn find_setting<'a>(settings: &'a [Value], name: &str) -> &'a Value {
    let found = settings.iter().find(|setting| setting["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

#[tokio::test]
async fn every_setting_is_listed_with_its_value_and_where_that_is_from() {
    let server =
        InProcessServer::start_with(&[("max_batch", "7"), ("CODEX_MODEL", "  own  ")]).await;
    let settings = get_settings(&server).await;
    let example = include_str!("../../../.env.example");
    let assigned = example.lines().filter(|line| !line.starts_with('#'));
    let expected: Vec<&str> = assigned.filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let names: Vec<&str> =
        settings.iter().map(|setting| setting["name"].as_str().unwrap()).collect();
    assert_eq!(names, expected);
    let is = |name: &str, value: Value, source: &str| {
        assert_eq!(
            *find_setting(&settings, name),
            json!({ "name": name, "value": value, "source": source })
        );
    };
    is("PORT", json!("0"), "environment");
    is("MAX_BATCH", json!("7"), "environment");
    is("CODEX_MODEL", json!("own"), "environment");
    is("MAX_CONNECTIONS", json!("4096"), "default");
    is("AUTH", json!("optional"), "default");
    is("QDRANT_URL", Value::Null, "default");
    let data = server.folder.path().join("data");
    is("CODEX_WORKDIR", json!(data.join("codex-workdir")), "default");
}

#[tokio::test]
async fn no_secret_is_shown_in_any_setting() {
    let key = "bXkgdmVyeSBvd24ga2V5IG9mIDMyIGJ5dGVzIHllcyE=";
    let token = "ghp_u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8d";
    let prompt = format!("Use {token} with care.");
    let pairs = [
        ("SECRET_KEY", key),
        ("QDRANT_API_KEY", "qdrant-swordfish"),
        ("ALLOWED_ORIGINS", "https://a.example,https://me:swordfish@b.example"),
        ("TOOLKITS_PROMPT", prompt.as_str()),
    ];
    let server = InProcessServer::start_with(&pairs).await;
    let shown = send_get(server.main, "/settings").await;
    for secret in [key, "swordfish", token] {
        assert!(!shown.body.contains(secret), "{secret}: {}", shown.body);
    }
    let settings = get_settings(&server).await;
    let secret = |name: &str, source: &str, is_set: bool| json!({ "name": name, "source": source, "secret": true, "isSet": is_set });
    for (name, is_set) in [("QDRANT_API_KEY", true), ("SECRET_KEY", true)] {
        assert_eq!(*find_setting(&settings, name), secret(name, "environment", is_set));
    }
    let unset = secret("EMBEDDING_API_KEY", "default", false);
    assert_eq!(*find_setting(&settings, "EMBEDDING_API_KEY"), unset);
    let origins = &find_setting(&settings, "ALLOWED_ORIGINS")["value"];
    assert_eq!(*origins, "https://a.example,https://…@b.example");
    let server = InProcessServer::start().await;
    let kept = secret("SECRET_KEY", "file", true);
    assert_eq!(*find_setting(&get_settings(&server).await, "SECRET_KEY"), kept);
}

#[tokio::test]
async fn arguments_and_passed_keys_are_listed_as_settings() {
    let data = create_scratch_folder();
    let pairs = [("CODEX_BIN", "/nonexistent/codex"), ("QDRANT_API_KEY", "qdrant-swordfish")];
    let environment: ProgramEnvironment =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let program = RunningServer::serve(data.path(), &[Path::new("--watch")], &environment).await;
    let settings = program.get_api("/settings").await["settings"].as_array().unwrap().clone();
    let watch = json!({ "name": "WATCH", "value": "true", "source": "argument" });
    assert_eq!(*find_setting(&settings, "WATCH"), watch);
    let key = json!({ "name": "QDRANT_API_KEY", "source": "environment", "secret": true,
                      "isSet": true });
    assert_eq!(*find_setting(&settings, "QDRANT_API_KEY"), key);
}

/// The failures without their times, which must be there.
async fn get_failures(server: &InProcessServer) -> Vec<Value> {
    let mut failures = get_json(server, "/failures").await["failures"].as_array().unwrap().clone();
    for failure in &mut failures {
        assert!(failure["at"].as_str().unwrap().ends_with('Z'), "{failure}");
        failure.as_object_mut().unwrap().remove("at");
    }
    failures
}

#[tokio::test]
async fn failures_of_the_server_are_listed_without_questions() {
    let server = InProcessServer::start().await;
    assert_eq!(get_failures(&server).await, Vec::<Value>::new());
    // None of these is a failure of the server, and monitors ask again and again.
    for path in ["/nowhere", "/repositories/nothing", "/ingest/status/x", "/ready"] {
        assert_ne!(send_get(server.main, path).await.status, 200, "{path}");
    }
    assert_eq!(send_post(server.main, "/tools/vector-search", "{}").await.status, 400);
    assert_eq!(get_failures(&server).await, Vec::<Value>::new());
    let question = json!({ "question": "where is the hidden harbour" }).to_string();
    for _ in 0..3 {
        assert_eq!(send_post(server.main, "/chat?secret=harbour", &question).await.status, 503);
    }
    assert_eq!(send_post(server.main, "/turns", &question).await.status, 503);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "codebase_question", "arguments": { "question": "the hidden harbour" } } });
    assert!(send_rpc(server.mcp, &call.to_string()).await.body.contains("-32001"));
    let mut socket = WebSocketClient::open(server.main).await;
    socket.send(&json!({ "type": "message", "content": "the hidden harbour" })).await;
    assert!(socket.read_frame().await.contains("CODE_INFO_LLM_UNAVAILABLE"));
    let failures = get_failures(&server).await;
    let message = failures[0]["message"].as_str().unwrap();
    assert!(message.contains("CODEX_BIN does not name a program; install it"), "{message}");
    let expected = |listener: &str, path: Option<&str>, times: u64| {
        let mut failure = json!({ "listener": listener, "code": "CODE_INFO_LLM_UNAVAILABLE",
                                  "message": message, "times": times });
        if let Some(path) = path {
            failure["path"] = json!(path);
        }
        failure
    };
    let all = [
        expected("main", Some("/ws"), 1),
        expected("mcp", None, 1),
        expected("main", Some("/turns"), 1),
        expected("main", Some("/chat"), 3),
    ];
    assert_eq!(failures, all);
    assert!(!send_get(server.main, "/failures").await.body.contains("harbour"));
}

#[tokio::test]
async fn a_part_that_fails_is_listed_for_programs_and_for_agents() {
    let mut asked = 0;
    let embeddings = FakeEmbeddingServer::start_with_script(move |_| {
        asked += 1;
        if asked <= 3 {
            EmbeddingAnswer::Vectors
        } else {
            EmbeddingAnswer::Text(401, "no".to_owned())
        }
    })
    .await;
    let pairs = [("EMBEDDING_URL", embeddings.url.as_str()), ("EMBEDDING_MODEL", "stand-in")];
    let server = InProcessServer::start_with(&pairs).await;
    server.ingest_demo().await;
    let find = json!({ "query": "the hidden harbour" }).to_string();
    let mut status = 200;
    for _ in 0..4 {
        status = send_post(server.main, "/tools/vector-search", &find).await.status;
    }
    assert_eq!(status, 503);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "VectorSearch", "arguments": { "query": "the hidden harbour" } } });
    send_rpc(server.main, &call.to_string()).await;
    let failures = get_failures(&server).await;
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert_eq!(
        (&failures[0]["path"], &failures[0]["code"]),
        (&json!("/mcp"), &failures[1]["code"])
    );
    assert_eq!(failures[1]["path"], "/tools/vector-search");
    assert_eq!(failures[1]["code"], "EMBED_MODEL_MISSING");
    assert!(!format!("{failures:?}").contains("harbour"));
}

#[tokio::test]
async fn a_failed_turn_of_any_route_is_listed() {
    let refused = || ModelReply::Status(400, json!({ "error": { "message": "no such harbour" } }));
    let model = FakeModel::replay([refused(), refused(), refused(), refused()]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let question = json!({ "question": "where is it" });
    let chat = send_post(server.main, "/chat", &question.to_string()).await;
    assert!(chat.body.contains("event: error"), "{chat:?}");
    let begun = send_post(server.main, "/turns", &question.to_string()).await.json();
    send_get(server.main, &format!("/turns/{}", begun["turnId"].as_str().unwrap())).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "codebase_question", "arguments": question } });
    send_rpc(server.mcp, &call.to_string()).await;
    let mut socket = WebSocketClient::open(server.main).await;
    socket.send(&json!({ "type": "message", "content": "where is it" })).await;
    socket.read_turn().await;
    let failures = get_failures(&server).await;
    let codes: Vec<&Value> = failures.iter().map(|failure| &failure["code"]).collect();
    assert_eq!(codes, ["TURN_FAILED"; 4].map(|code| json!(code)).iter().collect::<Vec<_>>());
    let main = |path: &str| ("main", json!(path));
    let places = [main("/ws"), ("mcp", Value::Null), main("/turns"), main("/chat")];
    for (failure, (listener, path)) in failures.iter().zip(places) {
        assert_eq!((&failure["listener"], &failure["path"]), (&json!(listener), &path));
    }
    let all = format!("{failures:?}");
    assert!(!all.contains("where is it") && !all.contains("harbour"), "{all}");
}

//! `GET /settings` and `GET /failures`.

use std::path::Path;

use codeinfo_test_support::{
    embeddings::{Embeddings, Reply},
    websocket::Client,
    wire::{get, post, rpc},
};
use serde_json::{Value, json};

use super::read;
use crate::{
    listeners::Listeners,
    support::{
        model::{Model, Reply as Said},
        process::{Environment, Program, fresh},
    },
};

async fn settings(server: &Listeners) -> Vec<Value> {
    read(server, "/settings").await["settings"].as_array().unwrap().clone()
}

fn find_setting<'a>(settings: &'a [Value], name: &str) -> &'a Value {
    let found = settings.iter().find(|setting| setting["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

#[tokio::test]
async fn every_setting_is_listed_with_its_value_and_where_that_is_from() {
    let server = Listeners::start_with(&[("max_batch", "7"), ("CODEX_MODEL", "  own  ")]).await;
    let settings = settings(&server).await;
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
async fn no_secret_is_shown_wherever_it_stands() {
    let key = "bXkgdmVyeSBvd24ga2V5IG9mIDMyIGJ5dGVzIHllcyE=";
    let token = "ghp_u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8d";
    let prompt = format!("Use {token} with care.");
    let pairs = [
        ("SECRET_KEY", key),
        ("QDRANT_API_KEY", "qdrant-swordfish"),
        ("ALLOWED_ORIGINS", "https://a.example,https://me:swordfish@b.example"),
        ("TOOLKITS_PROMPT", prompt.as_str()),
    ];
    let server = Listeners::start_with(&pairs).await;
    let shown = get(server.main, "/settings").await;
    for secret in [key, "swordfish", token] {
        assert!(!shown.body.contains(secret), "{secret}: {}", shown.body);
    }
    let settings = settings(&server).await;
    let secret = |name: &str, source: &str, is_set: bool| json!({ "name": name, "source": source, "secret": true, "isSet": is_set });
    for (name, is_set) in [("QDRANT_API_KEY", true), ("SECRET_KEY", true)] {
        assert_eq!(*find_setting(&settings, name), secret(name, "environment", is_set));
    }
    let unset = secret("EMBEDDING_API_KEY", "default", false);
    assert_eq!(*find_setting(&settings, "EMBEDDING_API_KEY"), unset);
    let origins = &find_setting(&settings, "ALLOWED_ORIGINS")["value"];
    assert_eq!(*origins, "https://a.example,https://…@b.example");
    let server = Listeners::start().await;
    let kept = secret("SECRET_KEY", "file", true);
    assert_eq!(*find_setting(&self::settings(&server).await, "SECRET_KEY"), kept);
}

#[tokio::test]
async fn an_argument_and_a_key_that_was_handed_over_are_settings_too() {
    let data = fresh();
    let pairs = [("CODEX_BIN", "/nonexistent/codex"), ("QDRANT_API_KEY", "qdrant-swordfish")];
    let environment: Environment =
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let program = Program::serve(data.path(), &[Path::new("--watch")], &environment).await;
    let settings = program.read("/settings").await["settings"].as_array().unwrap().clone();
    let watch = json!({ "name": "WATCH", "value": "true", "source": "argument" });
    assert_eq!(*find_setting(&settings, "WATCH"), watch);
    let key = json!({ "name": "QDRANT_API_KEY", "source": "environment", "secret": true,
                      "isSet": true });
    assert_eq!(*find_setting(&settings, "QDRANT_API_KEY"), key);
}

/// The failures without their times, which must be there.
async fn failures(server: &Listeners) -> Vec<Value> {
    let mut failures = read(server, "/failures").await["failures"].as_array().unwrap().clone();
    for failure in &mut failures {
        assert!(failure["at"].as_str().unwrap().ends_with('Z'), "{failure}");
        failure.as_object_mut().unwrap().remove("at");
    }
    failures
}

#[tokio::test]
async fn what_went_wrong_with_the_server_is_listed_and_what_was_asked_is_not() {
    let server = Listeners::start().await;
    assert_eq!(failures(&server).await, Vec::<Value>::new());
    // None of these is a failure of the server, and monitors ask again and again.
    for path in ["/nowhere", "/repositories/nothing", "/ingest/status/x", "/ready"] {
        assert_ne!(get(server.main, path).await.status, 200, "{path}");
    }
    assert_eq!(post(server.main, "/tools/vector-search", "{}").await.status, 400);
    assert_eq!(failures(&server).await, Vec::<Value>::new());
    let question = json!({ "question": "where is the hidden harbour" }).to_string();
    for _ in 0..3 {
        assert_eq!(post(server.main, "/chat?secret=harbour", &question).await.status, 503);
    }
    assert_eq!(post(server.main, "/turns", &question).await.status, 503);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "codebase_question", "arguments": { "question": "the hidden harbour" } } });
    assert!(rpc(server.mcp, &call.to_string()).await.body.contains("-32001"));
    let mut socket = Client::open(server.main).await;
    socket.send(&json!({ "type": "message", "content": "the hidden harbour" })).await;
    assert!(socket.frame().await.contains("CODE_INFO_LLM_UNAVAILABLE"));
    let failures = failures(&server).await;
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
    assert!(!get(server.main, "/failures").await.body.contains("harbour"));
}

#[tokio::test]
async fn a_part_that_fails_is_listed_for_programs_and_for_agents() {
    let mut asked = 0;
    let there = Embeddings::answer(move |_| {
        asked += 1;
        if asked <= 3 { Reply::Vectors } else { Reply::Text(401, "no".to_owned()) }
    })
    .await;
    let pairs = [("EMBEDDING_URL", there.url.as_str()), ("EMBEDDING_MODEL", "stand-in")];
    let server = Listeners::start_with(&pairs).await;
    server.ingest_demo().await;
    let find = json!({ "query": "the hidden harbour" }).to_string();
    let mut status = 200;
    for _ in 0..4 {
        status = post(server.main, "/tools/vector-search", &find).await.status;
    }
    assert_eq!(status, 503);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "VectorSearch", "arguments": { "query": "the hidden harbour" } } });
    rpc(server.main, &call.to_string()).await;
    let failures = failures(&server).await;
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
async fn a_turn_that_fails_is_listed_however_it_was_asked_for() {
    let refused = || Said::Status(400, json!({ "error": { "message": "no such harbour" } }));
    let model = Model::replay([refused(), refused(), refused(), refused()]).await;
    let server = Listeners::with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let question = json!({ "question": "where is it" });
    let chat = post(server.main, "/chat", &question.to_string()).await;
    assert!(chat.body.contains("event: error"), "{chat:?}");
    let begun = post(server.main, "/turns", &question.to_string()).await.json();
    get(server.main, &format!("/turns/{}", begun["turnId"].as_str().unwrap())).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "codebase_question", "arguments": question } });
    rpc(server.mcp, &call.to_string()).await;
    let mut socket = Client::open(server.main).await;
    socket.send(&json!({ "type": "message", "content": "where is it" })).await;
    socket.turn().await;
    let failures = failures(&server).await;
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

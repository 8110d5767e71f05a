//! `POST /search`: what a search finds, for people.

use codeinfo_test_support::wire::send_post;
use serde_json::{Value, json};

use crate::listeners::InProcessServer;

async fn run_search(server: &InProcessServer, body: Value) -> Value {
    let reply = send_post(server.main, "/search", &body.to_string()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

fn list_paths(found: &Value) -> Vec<&str> {
    let results = found["results"].as_array().unwrap();
    results.iter().map(|one| one["relPath"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn results_explain_their_scores_and_what_to_highlight() {
    let server = InProcessServer::start().await;
    server.write("demo/tests/parse.rs", "#[test]\nfn reads() { parse_config(\"a=b\"); }\n");
    server.write("demo/config.yaml", "parse_config: \"yes\"\n");
    server.ingest_demo().await;
    let found = run_search(&server, json!({ "query": "parse_config" })).await;
    let best = &found["results"][0];
    assert_eq!(list_paths(&found)[0], "src/parse.rs");
    assert_eq!(best["marks"][1][2], json!([7, 19, "f"]));
    assert_eq!(best["marks"].as_array().unwrap().len(), best["lineCount"]);
    for one in found["results"].as_array().unwrap() {
        let parts = one["parts"].as_array().unwrap();
        let sum: f64 = parts.iter().map(|part| part["value"].as_f64().unwrap()).sum();
        assert!((sum - one["score"].as_f64().unwrap()).abs() < 0.001, "{one}");
    }
    let value = |one: &Value, name: &str| {
        let mut parts = one["parts"].as_array().unwrap().iter();
        parts.find(|part| part["name"] == name).map_or(0.0, |part| part["value"].as_f64().unwrap())
    };
    assert!(value(best, "definition") > 0.0 && value(best, "words") > 0.0, "{best}");
    let at = list_paths(&found).iter().position(|path| *path == "tests/parse.rs").unwrap();
    assert!(value(&found["results"][at], "role") < 0.0, "{found}");
    // The text of a chunk on request.
    let message = json!({ "query": "Reads a configuration file line by line." });
    let best = run_search(&server, message).await["results"][0].clone();
    assert!(value(&best, "verbatim") > 0.05 && value(&best, "others").abs() < 0.01, "{best}");
    // As `/tools/vector-search` finds it.
    let body = json!({ "query": "parse_config", "limit": 20 }).to_string();
    let raw = send_post(server.main, "/tools/vector-search", &body).await.json();
    assert_eq!((list_paths(&raw), &raw["files"]), (list_paths(&found), &found["files"]));
}

#[tokio::test]
async fn one_repository_or_some_languages_are_searched_and_very_many_results_listed() {
    let server = InProcessServer::start().await;
    server.ingest_demo().await;
    let line = |number: usize| format!("fn open_{number}() {{ store(); }}\n");
    for number in 0..300 {
        server.write(&format!("many/src/open_{number}.rs"), &line(number));
    }
    server.write("many/open.yaml", "open: the store\n");
    server.ingest("many", "many files").await;
    let query = "open the store";
    let found = run_search(&server, json!({ "query": query })).await;
    assert_eq!(list_paths(&found).len(), 50);
    let all =
        run_search(&server, json!({ "query": query, "limit": 1000, "repository": "many" })).await;
    assert_eq!(list_paths(&all).len(), 301);
    let yaml = json!({ "query": query, "languages": ["yaml", "toml"] });
    assert_eq!(list_paths(&run_search(&server, yaml).await), ["open.yaml"]);
    // Also of a file that the query names.
    let named =
        json!({ "query": "open.yaml open the store", "languages": ["rust"], "limit": 1000 });
    let named = run_search(&server, named).await;
    assert!(list_paths(&named).len() > 300 && !list_paths(&named).contains(&"open.yaml"));
    let none = json!({ "query": query, "languages": ["cobol"] });
    assert_eq!(run_search(&server, none).await["results"], json!([]));
    for (body, fault) in [
        (json!({ "query": query, "limit": 1001 }), "1000"),
        (json!({ "query": " " }), "`query` is blank"),
        (json!({ "query": query, "language": "yaml" }), "language"),
    ] {
        let refused = send_post(server.main, "/search", &body.to_string()).await;
        assert_eq!((refused.status, refused.body.contains(fault)), (400, true), "{refused:?}");
    }
}

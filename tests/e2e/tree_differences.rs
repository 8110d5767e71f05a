//! Differences between two trees of a repository.

use codeinfo_test_support::{
    git::{commit_all, run_git},
    wire::{RawReply, send_post, send_rpc},
};
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    support::{
        model::{FakeModel, ModelReply, OutputItem, message_item},
        process::run_command,
    },
};

const QUERY: &str = "how a request is tried again when it fails";

/// Returns a function that is one chunk.
fn render_function(says: &str, name: &str, call: &str) -> String {
    format!("/// {says}.\nfn {name}() {{\n    {call}();\n{}}}\n\n", "    log();\n".repeat(12))
}

fn old_source() -> String {
    render_function("Tries a request again when it fails", "retry", "repeat")
}

fn new() -> String {
    render_function("Tries a request again when it fails", "retry", "back_off")
}

/// A repository with a tag of an older commit, both indexed, and much that is the same in both.
async fn index_two_versions() -> InProcessServer {
    let server = InProcessServer::start().await;
    write_versions(&server).await;
    server
}

async fn write_versions(server: &InProcessServer) {
    let mut alike = String::new();
    for number in 0..150 {
        let says = format!("Tries a request of kind {number} again when it fails");
        alike += &render_function(&says, &format!("retry_{number}"), "again");
    }
    server.write("app/alike.rs", &alike);
    let kept =
        render_function("Opens a connection, and tries again when that fails", "connect", "open");
    server.write("app/retry.rs", &[kept.clone(), old_source()].concat());
    let gone =
        render_function("Tries a request again at once when it fails", "retry_at_once", "repeat");
    server.write("app/gone.rs", &gone);
    let moved = render_function("Says whether a request may be tried again", "may_retry", "yes");
    server.write("app/moved.rs", &moved);
    let app = server.folder.path().join("app");
    commit_all(&app, "Begin");
    run_git(&app, &["tag", "v1"]);
    let added =
        render_function("Waits longer before a request is tried again", "back_off", "sleep");
    // One function below where it was, one changed, one added; a file gone, and one at another place.
    server.write("app/retry.rs", &[added, new(), kept].concat());
    std::fs::remove_file(app.join("gone.rs")).unwrap();
    std::fs::rename(app.join("moved.rs"), app.join("policy.rs")).unwrap();
    commit_all(&app, "Wait longer");
    for path in ["app", "app@v1"] {
        let body = json!({ "path": server.folder.path().join(path) });
        let started = send_post(server.main, "/ingest/start", &body.to_string()).await;
        server.wait_for_run(started.json()["runId"].as_str().unwrap()).await;
    }
    server.ingest_demo().await;
}

async fn search_differences(server: &InProcessServer, body: Value) -> RawReply {
    send_post(server.main, "/tools/vector-search", &body.to_string()).await
}

fn list_found_places(found: &Value) -> Vec<(&str, &str)> {
    let hits = found["results"].as_array().unwrap().iter();
    hits.map(|hit| (hit["onlyIn"].as_str().unwrap(), hit["symbol"].as_str().unwrap())).collect()
}

fn list_texts(hunks: &Value) -> String {
    hunks.as_array().unwrap().iter().map(|hunk| hunk["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn only_what_differs_is_found_old_before_new() {
    let server = index_two_versions().await;
    let body = |trees: [&str; 2]| json!({ "query": QUERY, "between": trees, "limit": 20 });
    let found = search_differences(&server, body(["app@v1", "app"])).await.json();
    let (mut both, mut others) = (Vec::new(), Vec::new());
    for (tree, symbol) in list_found_places(&found) {
        if symbol == "retry" { both.push(tree) } else { others.push((tree, symbol)) }
    }
    assert_eq!(both, ["app@v1", "app"], "{found:#}");
    others.sort_unstable();
    assert_eq!(others, [("app", "back_off"), ("app@v1", "retry_at_once")]);
    let pair = list_found_places(&found).iter().position(|(_, symbol)| *symbol == "retry").unwrap();
    assert_eq!(list_found_places(&found)[pair + 1], ("app", "retry"));
    let texts = found["results"].as_array().unwrap();
    assert!(texts[pair]["chunk"].as_str().unwrap().contains("repeat()"));
    assert!(texts[pair + 1]["chunk"].as_str().unwrap().contains("back_off()"));
    let diffs = found["diffs"].as_array().unwrap();
    let retry = diffs.iter().find(|diff| diff["relPath"] == "retry.rs").unwrap();
    assert_eq!((&retry["before"], &retry["after"]), (&json!("app@v1"), &json!("app")));
    let hunks: String = list_texts(&retry["hunks"]);
    assert!(
        hunks.contains("\n-    repeat();\n") && hunks.contains("\n+    back_off();\n"),
        "{hunks}"
    );
    // The function that moved is context of what was added above it.
    assert!(!hunks.contains("-    open();") && !hunks.contains("+    open();"), "{hunks}");
    let gone = diffs.iter().find(|diff| diff["relPath"] == "gone.rs").unwrap();
    assert_eq!((&gone["before"], &gone["after"]), (&json!("app@v1"), &Value::Null));
    let text = list_texts(&gone["hunks"]);
    assert!(text.starts_with("@@ -1,16 +0,0 @@ retry_at_once\n-/// Tries"), "{text}");
    assert_eq!((diffs.len(), &found["alsoDiffer"]), (2, &Value::Null));
    // In the other direction, and not more than the limit.
    let found = search_differences(&server, body(["app", "app@v1"])).await.json();
    let pair = list_found_places(&found).iter().position(|(_, symbol)| *symbol == "retry").unwrap();
    assert_eq!(list_found_places(&found)[pair..pair + 2], [("app", "retry"), ("app@v1", "retry")]);
    let two = json!({ "query": QUERY, "between": ["app@v1", "app"], "limit": 2 });
    assert_eq!(list_found_places(&search_differences(&server, two).await.json()).len(), 2);
    // Trees without differences for the question.
    let app = server.folder.path().join("app");
    run_git(&app, &["branch", "same", "v1"]);
    let body = json!({ "path": server.folder.path().join("app@same") });
    let started = send_post(server.main, "/ingest/start", &body.to_string()).await;
    server.wait_for_run(started.json()["runId"].as_str().unwrap()).await;
    let same = json!({ "query": QUERY, "between": ["app@v1", "app@same"] });
    let found = search_differences(&server, same).await.json();
    assert!(list_found_places(&found).is_empty());
    let notice = "no difference that fits the query was found between `app@v1` and `app@same`";
    assert_eq!(found["notice"], notice);
}

#[tokio::test]
async fn what_changed_since_a_release_is_answered_from_what_differs() {
    let compares = json!({ "query": QUERY, "between": ["app@v1", "app"] });
    let answer = "It waits longer now: `retry.rs:18` calls `back_off`.";
    let model = FakeModel::replay([
        ModelReply::Items(vec![OutputItem::Searches(compares)]),
        ModelReply::Items(vec![message_item(answer)]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    write_versions(&server).await;
    let body = json!({ "question": "What changed in how retries work since v1?" });
    let reply = send_post(server.main, "/chat", &body.to_string()).await;
    assert!(reply.body.contains("It waits longer now"), "{reply:?}");
    let input = model.latest_request_text();
    for part in
        ["--- retry.rs@app@v1\\n+++ retry.rs@app\\n@@ ", "\\n-    repeat();", "\\n+    back_off();"]
    {
        assert!(input.contains(part), "{part}: {input}");
    }
    assert!(!input.contains("alike.rs"), "{input}");
}

#[tokio::test]
async fn models_and_people_can_compare_and_get_clear_errors() {
    let server = index_two_versions().await;
    let call = async |path: &str, arguments: Value| {
        let params = json!({ "name": "VectorSearch", "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let reply = if path.is_empty() {
            send_rpc(server.main, &body.to_string()).await
        } else {
            send_post(server.main, path, &body.to_string()).await
        };
        let text = reply.json()["result"]["content"][0]["text"].as_str().map(str::to_owned);
        text.unwrap_or(reply.body)
    };
    let asked = json!({ "query": QUERY, "between": ["app@v1", "app"] });
    let text = call("", asked.clone()).await;
    assert!(text.contains("/retry.rs\n--- retry.rs@app@v1\n+++ retry.rs@app\n@@ -"), "{text}");
    assert!(text.contains("--- gone.rs@app@v1\n+++ /dev/null\n@@ -1,16 +0,0 @@ retry_at_once\n-"));
    assert!(!text.contains("alike.rs") && !text.contains("may_retry"), "{text}");
    // Also where there is only one of them.
    assert_eq!(call("/mcp?repository=app", asked.clone()).await, text);
    let refused = call("/mcp?repository=demo", asked).await;
    assert!(refused.contains("only trees of `demo` can be compared here"), "{refused}");
    for (body, status, output_text) in [
        (json!({ "between": ["app", "app"] }), 400, "twice"),
        (json!({ "between": ["app", "demo"] }), 400, "no trees of one repository"),
        (json!({ "between": ["app", "gone"] }), 404, "`gone`"),
        (
            json!({ "between": ["app", "app@v1"], "repository": "app" }),
            400,
            "leave out `repository`",
        ),
        (json!({ "between": ["app"] }), 400, "between"),
        (json!({ "between": ["app", " "] }), 400, "blank"),
    ] {
        let mut body = body;
        body["query"] = json!(QUERY);
        let reply = search_differences(&server, body).await;
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(reply.body.contains(output_text), "{reply:?}");
    }
    let folder = server.folder.path().join("app");
    let data = crate::support::process::create_scratch_folder();
    let without = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    let tag = format!("{}@v1", folder.display());
    let arguments = ["ingest", folder.to_str().unwrap(), &tag];
    let ingested = run_command(data.path(), &without, &arguments).await;
    assert!(ingested.status.success(), "{ingested:?}");
    let arguments = ["search", "--between", "app@v1", "app", "--limit", "20", QUERY];
    let found = run_command(data.path(), &without, &arguments).await;
    let text = String::from_utf8(found.stdout).unwrap();
    assert!(text.contains("/retry.rs\n--- retry.rs@app@v1\n+++ retry.rs@app\n@@ -"), "{text}");
    assert!(text.contains("\n-    repeat();\n") && text.contains("\n+    back_off();\n"), "{text}");
    let arguments = ["search", "--between", "app@v1", "app", "--limit", "20", "-l", QUERY];
    let found = run_command(data.path(), &without, &arguments).await;
    let text = String::from_utf8(found.stdout).unwrap();
    assert!(text.lines().count() == 4 && text.contains("/app@v1/gone.rs:1-16\n"), "{text}");
    let arguments = ["search", "--between", "app@v1", "app", "--repository", "app", QUERY];
    assert_eq!(run_command(data.path(), &without, &arguments).await.status.code(), Some(2));
}

#[tokio::test]
async fn models_see_which_callers_of_a_changed_definition_differ() {
    let server = InProcessServer::start().await;
    let pump = |step: u32| {
        format!("def start_pump(limit):\n    pressure = limit * {step}\n    return pressure\n")
    };
    let caller =
        |name: &str| format!("from pump import start_pump\n\ndef {name}():\n    start_pump(1)\n");
    server.write("app/pump.py", &pump(1));
    server.write("app/drain.py", &caller("drain"));
    let app = server.folder.path().join("app");
    commit_all(&app, "Begin");
    run_git(&app, &["tag", "v1"]);
    server.write("app/pump.py", &pump(2));
    server.write("app/fill.py", &caller("fill"));
    for path in ["app", "app@v1"] {
        let body = json!({ "path": server.folder.path().join(path) });
        let started = send_post(server.main, "/ingest/start", &body.to_string()).await;
        server.wait_for_run(started.json()["runId"].as_str().unwrap()).await;
    }
    let arguments = json!({ "query": "pressure of start_pump", "between": ["app@v1", "app"] });
    let params = json!({ "name": "VectorSearch", "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let reply = send_rpc(server.main, &body.to_string()).await.json();
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    let (diffs, callers) = text.split_once("\n\ncallers ").unwrap();
    assert!(diffs.contains("+    pressure = limit * 2\n"), "{text}");
    let expected =
        "(- only before, + only now, ~ changed):\nof pump.py:1 start_pump\n+ fill.py:3 fill";
    assert_eq!(callers, expected);
}

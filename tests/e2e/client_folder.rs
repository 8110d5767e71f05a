//! The tree that a request is about, by the folder of its client.

use std::path::Path;

use codeinfo_test_support::{
    git::{commit_all, run_git},
    wire::{send_get, send_post, send_rpc},
};
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    support::{
        model::{FakeModel, ModelReply, message_item, search_item},
        process::{program_command, run_command},
        relay::RelayClient,
    },
};

const OLD: &str = "/// Opens the valve slowly.\nfn open_valve() {\n    turn(1);\n}\n";
const NEW: &str = "/// Opens the valve slowly.\nfn open_valve() {\n    turn(1);\n    wait();\n}\n";
const QUERY: &str = "Opens the valve slowly.";

/// A repository that is indexed, with a worktree of another branch inside that is not, and another one beside.
async fn start_with_worktrees(pairs: &[(&str, &str)]) -> InProcessServer {
    let server = InProcessServer::start_with(pairs).await;
    write_trees(&server).await;
    server
}

async fn write_trees(server: &InProcessServer) {
    server.write("boiler/valve.rs", OLD);
    let boiler = server.folder.path().join("boiler");
    commit_all(&boiler, "Begin");
    run_git(&boiler, &["worktree", "add", "--quiet", "-b", "topic", ".trees/topic"]);
    server.write("boiler/.trees/topic/valve.rs", NEW);
    commit_all(&boiler.join(".trees/topic"), "Wait");
    server.ingest("boiler", "heats").await;
    server.write("other/valve.rs", "fn close_valve() {}\n");
    server.ingest("other", "another one").await;
}

/// Indexes a tree under its own name.
async fn ingest_tree(server: &InProcessServer, path: &str) {
    let body = json!({ "path": server.folder.path().join(path) });
    let started = send_post(server.main, "/ingest/start", &body.to_string()).await;
    assert_eq!(started.status, 202, "{started:?}");
    server.wait_for_run(started.json()["runId"].as_str().unwrap()).await;
}

fn topic_folder(server: &InProcessServer) -> String {
    let folder = server.folder.path().canonicalize().unwrap();
    folder.join("boiler/.trees/topic").display().to_string()
}

async fn search_from(server: &InProcessServer, folder: &str) -> Value {
    let body = json!({ "query": QUERY, "folder": folder, "limit": 20 });
    let reply = send_post(server.main, "/tools/vector-search", &body.to_string()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

fn list_repositories(found: &Value) -> Vec<&str> {
    let hits = found["results"].as_array().unwrap();
    hits.iter().map(|hit| hit["repo"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn until_a_worktree_is_indexed_the_nearest_tree_answers_and_says_so() {
    let server = start_with_worktrees(&[]).await;
    let topic = topic_folder(&server);
    let found = search_from(&server, &topic).await;
    assert_eq!(list_repositories(&found), ["boiler", "other"]);
    let notice = format!(
        "`{topic}` is not indexed; `boiler`, the nearest indexed tree of its repository, answers for it"
    );
    assert_eq!(found["notice"], notice);
    // It comes before the main tree of the same commit.
    let boiler = server.folder.path().join("boiler");
    run_git(&boiler, &["branch", "same", "topic"]);
    ingest_tree(&server, "boiler@same").await;
    let found = search_from(&server, &format!("{topic}/")).await;
    assert_eq!(list_repositories(&found), ["boiler@same", "other"]);
    assert!(found["results"][0]["chunk"].as_str().unwrap().contains("wait()"));

    ingest_tree(&server, "boiler/.trees/topic").await;
    let found = search_from(&server, &topic).await;
    assert_eq!(list_repositories(&found), ["topic", "other"]);
    assert_eq!(found["results"][0]["alsoIn"], json!(["boiler@same"]));
    assert!(found["notice"].is_null());
    // In the main one, and in no repository.
    let main = search_from(&server, boiler.to_str().unwrap()).await;
    assert_eq!(list_repositories(&main), ["boiler", "other"]);
    assert!(main["results"][0]["chunk"].as_str().unwrap().contains("turn(1);\n}"));
    for nowhere in ["/", "/nonexistent", "relative", server.folder.path().to_str().unwrap()] {
        let found = search_from(&server, nowhere).await;
        assert_eq!(list_repositories(&found).len(), 2, "{nowhere}");
        assert!(found["notice"].is_null());
    }
}

#[tokio::test]
async fn trees_of_a_repository_that_is_gone_do_not_answer_for_another_one_at_its_path() {
    let server = start_with_worktrees(&[]).await;
    let folder = server.folder.path().canonicalize().unwrap();
    let (boiler, other) = (folder.join("boiler"), folder.join("other"));
    run_git(&boiler, &["worktree", "add", "--quiet", "--detach", "../beside"]);
    run_git(&boiler, &["tag", "v1"]);
    for path in ["beside", "boiler@v1"] {
        ingest_tree(&server, path).await;
    }
    send_post(server.main, "/ingest/remove/boiler", "{}").await;
    let standing = async |folder: &Path| {
        search_from(&server, folder.to_str().unwrap()).await["notice"].clone()
    };
    assert!(standing(&boiler).await.as_str().unwrap().contains("answers for it"));
    commit_all(&other, "Begin");
    std::fs::remove_dir_all(&boiler).unwrap();
    run_git(&folder, &["clone", "--quiet", "other", "boiler"]);
    assert_eq!(standing(&boiler).await, Value::Null);
}

async fn call_tool(server: &InProcessServer, name: &str, meta: Value) -> String {
    let arguments = json!({ "query": QUERY, "limit": 20 });
    let params = json!({ "name": name, "arguments": arguments, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let reply = send_rpc(server.main, &body.to_string()).await;
    reply.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn tools_take_the_folder_from_the_client_and_not_from_the_model() {
    let server = start_with_worktrees(&[]).await;
    ingest_tree(&server, "boiler/.trees/topic").await;
    let topic = topic_folder(&server);
    let found = call_tool(&server, "VectorSearch", json!({ "codeinfo/folder": topic })).await;
    assert!(
        found.contains(".trees/topic/valve.rs") && !found.contains("boiler/valve.rs"),
        "{found}"
    );
    let main = server.folder.path().join("boiler");
    let found = call_tool(&server, "VectorSearch", json!({ "codeinfo/folder": main })).await;
    assert!(!found.contains(".trees/topic"), "{found}");
    // By the address that Codex receives.
    let listed = send_get(server.main, "/ingest/roots").await.json();
    let id = listed["roots"].as_array().unwrap().iter().find(|root| root["name"] == "topic");
    let address = format!("/mcp?tree={}", id.unwrap()["id"].as_str().unwrap());
    let params = json!({ "name": "VectorSearch", "arguments": { "query": QUERY } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let found = send_post(server.main, &address, &body.to_string()).await.body;
    assert!(
        found.contains(".trees/topic/valve.rs") && !found.contains("boiler/valve.rs"),
        "{found}"
    );
    // The other tools for a name or a path use that tree as well.
    for (name, arguments, expected) in [
        ("FindUses", json!({ "name": "open_valve" }), "1 place"),
        ("ReadLines", json!({ "path": "valve.rs" }), "4|    wait();"),
        ("Outline", json!({ "path": "valve.rs" }), ".trees/topic/valve.rs"),
        ("VectorSearch", json!({ "query": "valve.rs:4" }), "4|    wait();"),
    ] {
        let params = json!({ "name": name, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let found = send_post(server.main, &address, &body.to_string()).await.body;
        let text = found.replace("\\n", "\n");
        assert!(text.contains(expected) && !text.contains("boiler/valve.rs"), "{name}: {text}");
    }
    let refused = send_post(server.main, "/mcp?tree=topic", &body.to_string()).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    // A model sees no such argument.
    let body = json!({ "query": QUERY, "folder": topic });
    let params = json!({ "name": "VectorSearch", "arguments": body });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    assert!(send_rpc(server.main, &body.to_string()).await.body.contains("folder"));
    // A path in a tree names that, where a repository is named.
    let body = json!({ "query": QUERY, "repository": format!("{topic}/deep/down") });
    let found = send_post(server.main, "/tools/vector-search", &body.to_string()).await.json();
    assert_eq!(list_repositories(&found), ["topic"]);
    let body = json!({ "query": QUERY, "repository": format!("{topic}/../../..") });
    let refused = send_post(server.main, "/tools/vector-search", &body.to_string()).await;
    assert_eq!(refused.status, 404, "{refused:?}");
}

#[tokio::test]
async fn a_worktree_joins_its_repository_when_a_client_asks_there() {
    let server = start_with_worktrees(&[("AUTO_INDEX", "true")]).await;
    let topic = topic_folder(&server);
    let found = search_from(&server, &topic).await;
    assert_eq!(list_repositories(&found), ["topic", "other"]);
    assert!(found["notice"].is_null());
    // A folder in no indexed repository is not indexed.
    server.write("apart/a.rs", "fn apart() {}\n");
    let apart = server.folder.path().join("apart");
    commit_all(&apart, "Begin");
    search_from(&server, apart.to_str().unwrap()).await;
    let listed = send_get(server.main, "/tools/ingested-repos").await.json();
    let listed = listed["repos"].as_array().unwrap();
    let names: Vec<&str> =
        listed.iter().map(|repository| repository["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["boiler", "other", "topic"]);
    assert_eq!(listed[2]["treeOf"], "boiler");
    assert_eq!(listed[2]["adds"], json!({ "files": 1, "chunks": 1 }));
    assert!(listed[1].get("adds").is_none() && listed[0].get("treeOf").is_none());
}

#[tokio::test]
async fn a_question_is_about_the_tree_of_its_clients_folder() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![search_item(QUERY)]),
        ModelReply::Items(vec![message_item("It waits.")]),
        ModelReply::Items(vec![message_item("It waits.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    write_trees(&server).await;
    ingest_tree(&server, "boiler/.trees/topic").await;
    let body = json!({ "question": "What does the valve do?", "folder": topic_folder(&server) });
    let reply = send_post(server.main, "/chat", &body.to_string()).await;
    assert!(reply.body.contains("It waits."), "{reply:?}");
    let input = model.latest_request_text();
    assert!(input.contains("The user works in `topic`"), "{input}");
    // A client of the MCP server may name its folder as well.
    let params = json!({
        "name": "codebase_question",
        "arguments": { "question": "What does the valve do?" },
        "_meta": { "codeinfo/folder": topic_folder(&server) },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let reply = send_rpc(server.mcp, &body.to_string()).await;
    assert!(reply.body.contains("It waits."), "{reply:?}");
    assert!(
        model.latest_request_text().contains("The user works in `topic`"),
        "{}",
        model.latest_request_text()
    );
    assert!(
        input.contains(".trees/topic/valve.rs") && !input.contains("boiler/valve.rs:"),
        "{input}"
    );
}

#[tokio::test]
async fn the_command_line_and_relays_send_their_folder() {
    let folder = crate::support::process::create_scratch_folder();
    let (data, boiler) = (folder.path().join("data"), folder.path().join("boiler"));
    std::fs::create_dir(&boiler).unwrap();
    std::fs::write(boiler.join("valve.rs"), OLD).unwrap();
    commit_all(&boiler, "Begin");
    run_git(&boiler, &["worktree", "add", "--quiet", "-b", "topic", "../topic"]);
    let topic = folder.path().join("topic");
    std::fs::write(topic.join("valve.rs"), NEW).unwrap();
    let without = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    let at = async |place: &Path, arguments: &[&str]| {
        let run =
            program_command(&data, &without).args(arguments).current_dir(place).output().await;
        let run = run.unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert!(run.status.success(), "{}", text(&run.stderr));
        (text(&run.stdout), text(&run.stderr))
    };
    at(&boiler, &["ingest", "."]).await;
    let (found, output_text) = at(&topic, &["search", QUERY]).await;
    assert!(found.contains("boiler/valve.rs:1-4"), "{found}");
    assert!(output_text.contains("topic` is not indexed; `boiler`"), "{output_text}");
    // An agent in the worktree gets the answer of the nearest tree, with a note.
    let mut relay = RelayClient::start(&data, &topic, &without, &["--search"]);
    relay.call_tool(1, "VectorSearch", json!({ "query": QUERY })).await;
    let answer = relay.read_answer(1).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("boiler/valve.rs:1-4"), "{text}");
    assert!(text.contains("topic` is not indexed; `boiler`, the nearest"), "{text}");
    let (_, _) = at(&topic, &["ingest", "."]).await;
    relay.call_tool(2, "VectorSearch", json!({ "query": QUERY })).await;
    let answer = relay.read_answer(2).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("topic/valve.rs:1-5") && !text.contains("boiler/valve"), "{text}");
    assert!(!text.contains("nearest"), "{text}");
    let (found, output_text) = at(&topic, &["search", QUERY]).await;
    assert!(found.contains("topic/valve.rs:1-5") && !found.contains("boiler/valve"), "{found}");
    assert!(!output_text.contains("nearest"), "{output_text}");
    // A client that starts elsewhere reports its folder on request.
    let mut relay = RelayClient::start(&data, folder.path(), &without, &["--search"]);
    let capabilities = json!({ "roots": { "listChanged": true } });
    let info = json!({ "name": "test", "version": "1" });
    let greeting = json!({
        "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": info,
    });
    relay.send_request(3, "initialize", greeting).await;
    assert!(relay.read_answer(3).await["error"].is_null());
    for (id, method, tree, other) in [
        (4, "notifications/initialized", &topic, "boiler/valve"),
        (5, "notifications/roots/list_changed", &boiler, "topic/valve"),
    ] {
        relay.send_line(&json!({ "jsonrpc": "2.0", "method": method }).to_string()).await;
        let asked = relay.read_message().await.unwrap();
        assert_eq!(asked["method"], "roots/list");
        let uri = format!("file://{}", tree.display());
        let roots = json!({ "roots": [{ "uri": "file:///nowhere" }, { "uri": uri }] });
        let output_text = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": roots });
        relay.send_line(&output_text.to_string()).await;
        relay.call_tool(id, "VectorSearch", json!({ "query": QUERY })).await;
        let answer = relay.read_answer(id).await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let own = format!("{}/valve.rs", tree.canonicalize().unwrap().display());
        assert!(text.contains(&own) && !text.contains(other), "{text}");
    }
    drop(relay);
    let (listed, _) = at(&boiler, &["repos"]).await;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("boiler  "), "{listed}");
    assert!(lines[1].starts_with("  topic  "), "{listed}");
    assert!(lines[1].contains("1 file, 1 chunk (1 file, 1 chunk of its own)"), "{listed}");
    assert!(run_command(&data, &without, &["remove", "topic"]).await.status.success());
}

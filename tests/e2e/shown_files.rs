//! Files that `ReadLines` and `FindUses` showed: named for programs beside the text, and segments of the turn.

use codeinfo_test_support::wire::{send_rpc, send_rpc_with_headers};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    support::model::{FakeModel, ModelReply, OutputItem, message_item},
};

/// Maximum number of files that the uses of a name are summarized in.
const MAX_FILES: usize = 20;

/// A repository with a name in 25 files, most of all in `src/gate.rs`.
async fn write_files(server: &InProcessServer) {
    server.write(
        "zoo/src/gate.rs",
        "/// Opens the gate.\npub fn open_gate() {}\n\npub fn visit() {\n    open_gate();\n    open_gate();\n}\n",
    );
    for number in 1..25 {
        let text = format!("pub fn visit_{number}() {{\n    open_gate();\n}}\n");
        server.write(&format!("zoo/src/visit_{number:02}.rs"), &text);
    }
    server.ingest("zoo", "animals").await;
}

async fn call_and_list_files(server: &InProcessServer, tool: &str, arguments: Value) -> Vec<Value> {
    let params = json!({ "name": tool, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let reply = send_rpc(server.main, &body.to_string()).await.json();
    let files = reply["result"]["_meta"]["codeinfo/files"].as_array();
    files.unwrap_or_else(|| panic!("{reply:#}")).clone()
}

#[tokio::test]
async fn files_with_shown_lines_are_named_for_programs() {
    let server = InProcessServer::start().await;
    write_files(&server).await;
    let read = call_and_list_files(&server, "ReadLines", json!({ "path": "gate.rs:4-6" })).await;
    let folder = server.folder.path().canonicalize().unwrap().display().to_string();
    assert_snapshot!(Value::from(read).to_string().replace(&folder, "FOLDER"), @r#"[{"path":"FOLDER/zoo/src/gate.rs","relPath":"src/gate.rs","repo":"zoo","match":1.0,"chunks":1,"lines":3,"ranges":["4-6"]}]"#);
    let used = call_and_list_files(&server, "FindUses", json!({ "name": "open_gate" })).await;
    assert_eq!(used.len(), MAX_FILES);
    let gate = used.iter().find(|file| file["relPath"] == "src/gate.rs").unwrap();
    assert_eq!(gate["ranges"], json!(["2-2", "5-6"]), "{gate:#}");
    assert_eq!((&gate["lines"], &gate["chunks"]), (&json!(3), &json!(2)));
    for file in &used {
        assert_eq!((&file["match"], &file["repo"]), (&json!(0.5), &json!("zoo")), "{file:#}");
    }
    let nowhere = call_and_list_files(&server, "FindUses", json!({ "name": "close_gate" })).await;
    assert_eq!(nowhere, [json!(null); 0]);
}

#[tokio::test]
async fn files_that_a_model_read_are_segments_of_its_turn() {
    let call = |name: &str, arguments: Value| {
        let server = "mcp__codeinfo_search".to_owned();
        ModelReply::Items(vec![OutputItem::Calls(server, name.to_owned(), arguments)])
    };
    let model = FakeModel::replay([
        call("FindUses", json!({ "name": "close_gate" })),
        call("ReadLines", json!({ "path": "gate.rs", "first": 1, "last": 2 })),
        call("FindUses", json!({ "name": "visit_07" })),
        call("FindUses", json!({ "name": "visit_7" })),
        ModelReply::Items(vec![message_item("It opens.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    write_files(&server).await;
    let question =
        json!({ "name": "codebase_question", "arguments": { "question": "What opens?" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": question });
    let asked =
        send_rpc_with_headers(server.mcp, &[("accept", "application/json")], &body.to_string())
            .await;
    let text = asked.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let reply: Value = serde_json::from_str(&text).unwrap();
    let segments = reply["segments"].as_array().unwrap().iter();
    let shown: Vec<String> = segments
        .map(|segment| match segment["files"].as_array() {
            Some(files) => {
                let file = &files[0];
                format!("{} {} {}", file["relPath"], file["match"], file["ranges"])
            }
            None => segment["type"].to_string(),
        })
        .collect();
    assert_eq!(
        shown,
        [r#""src/gate.rs" 1.0 ["1-2"]"#, r#""src/visit_07.rs" 0.5 ["1-1"]"#, r#""answer""#]
    );
}

//! Results as large as their client shows them whole: by the name of its greeting, over both transports, and as
//! the real Codex shows them.

use codeinfo_core::MAX_TOOL_TEXT_BYTES;
use serde_json::{Value, json};

use crate::{
    codex_client::run_codex,
    end_to_end::{CodexSetup, read_result},
    support::{
        model::{FakeModel, ModelReply, OutputItem, message_item, thinking_item},
        process::{RunningServer, http_client, send_signal},
        relay::RelayClient,
    },
};

/// A model that Codex does not know, and one that it knows.
const UNKNOWN_MODEL: &str = "another-model";
const KNOWN_MODEL: &str = "gpt-5.5";

/// Returns a reply of the inner model that has more thinking than any client shows, and an answer of 5,000 bytes.
fn long_reply() -> ModelReply {
    let answer = format!("{} The end.", "It opens. ".repeat(500));
    ModelReply::Items(vec![thinking_item(&"I look for it. ".repeat(4000)), message_item(&answer)])
}

/// Returns the text of a result with a complete answer.
fn read_text(answer: &Value) -> String {
    let segments = read_result(answer)["segments"].clone();
    let last = segments.as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    assert!(last.starts_with("It opens. ") && last.ends_with(" The end."), "{last}");
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

fn initialize_params(client: &str) -> Value {
    json!({ "protocolVersion": "2025-06-18", "clientInfo": { "name": client, "version": "1" } })
}

#[tokio::test]
async fn a_result_fits_the_client_that_the_session_names() {
    let setup = CodexSetup::with_model(FakeModel::answer_with(|_| long_reply()).await);
    let server = setup.serve_with(&[("MCP_RESULT_BYTES", "20000")]).await;
    for (client, bounds) in
        [("@cline/core", 7700..=7800), ("copilot-cli", 15_900..=16_000), ("other", 19_900..=20_000)]
    {
        let send = async |session: Option<&str>, method: &str, params: Value| {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let request =
                http_client().post(&server.mcp).header("accept", "application/json").json(&body);
            let request = match session {
                Some(session) => request.header("mcp-session-id", session),
                None => request,
            };
            request.send().await.unwrap()
        };
        let greeted = send(None, "initialize", initialize_params(client)).await;
        let session = greeted.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let arguments = json!({ "question": "What opens the valve?" });
        let params = json!({ "name": "codebase_question", "arguments": arguments });
        let answer = send(Some(&session), "tools/call", params).await.json().await.unwrap();
        let size = read_text(&answer).len();
        assert!(bounds.contains(&size), "{client}: {size}");
    }
    server.terminate().await;
}

#[tokio::test]
async fn a_relay_names_its_client_to_the_next_server_as_well() {
    let setup = CodexSetup::with_model(FakeModel::answer_with(|_| long_reply()).await);
    let data = setup.index_repository().await;
    let mut relay = RelayClient::start(&data, setup.folder.path(), &setup.environment(), &[]);
    relay.send_request(1, "initialize", initialize_params("@cline/core")).await;
    relay.read_answer(1).await;
    for id in [2, 3] {
        relay
            .call_tool(id, "codebase_question", json!({ "question": "What opens the valve?" }))
            .await;
        let size = read_text(&relay.read_answer(id).await).len();
        assert!((7700..=7800).contains(&size), "{size}");
        send_signal("KILL", codeinfo_store::find_lock_holder(&data).unwrap().unwrap().pid).await;
        while codeinfo_store::find_lock_holder(&data).unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn codex_shows_its_model_the_whole_result() {
    let script = |request: &Value| {
        let input = request["input"].as_array().unwrap();
        let is_output = |item: &&Value| item["type"].as_str().unwrap().ends_with("_output");
        let is_known = request["model"] == KNOWN_MODEL;
        match (request["model"] == "mock-model", input.iter().filter(is_output).count()) {
            (true, _) => long_reply(),
            (false, 0) if is_known => {
                ModelReply::Items(vec![OutputItem::FindsTools("find implementation".to_owned())])
            }
            (false, outputs) if outputs == usize::from(is_known) => {
                let arguments = json!({ "question": "What opens the valve?" });
                let (namespace, name) = ("mcp__codeinfo", "codebase_question");
                ModelReply::Items(vec![OutputItem::Calls(
                    namespace.to_owned(),
                    name.to_owned(),
                    arguments,
                )])
            }
            (false, _) => ModelReply::Items(vec![message_item("Done.")]),
        }
    };
    let setup = CodexSetup::with_model(FakeModel::answer_with(script).await);
    let server = setup.serve_with(&[("MCP_RESULT_BYTES", "60000")]).await;
    for (model_name, bounds) in [(UNKNOWN_MODEL, 11_600..=11_788), (KNOWN_MODEL, 39_900..=40_000)] {
        let shown = ask_by_codex(&setup, &server, model_name).await;
        assert!(bounds.contains(&shown.len()), "{model_name}: {}", shown.len());
        assert!(shown.contains(" The end.\""), "{shown}");
        serde_json::from_str::<Value>(&shown).unwrap();
    }
    server.terminate().await;
}

#[tokio::test]
async fn the_longest_reply_of_a_tool_reaches_the_model_whole() {
    let arguments = json!({ "path": "boiler/src/valves.rs", "first": 1, "last": 200 });
    let call =
        OutputItem::Calls("mcp__codeinfo_search".to_owned(), "ReadLines".to_owned(), arguments);
    let replies = [ModelReply::Items(vec![call]), ModelReply::Items(vec![message_item("Done.")])];
    let setup = CodexSetup::replay(replies).await;
    let function = |number: usize| {
        let body =
            format!("    open_the_valve_of_the_boiler_until_nothing_is_left_in_it({number});\n")
                .repeat(60);
        format!("/// Opens the valve of boiler {number}.\nfn open_{number}() {{\n{body}}}\n\n")
    };
    let text: String = (0..60).map(function).collect();
    std::fs::write(setup.folder.path().join("boiler/src/valves.rs"), text).unwrap();
    let server = setup.serve_with(&[]).await;
    server.ask_question(json!({ "question": "What opens the valve?" })).await;
    let input = setup.model.requests().pop().unwrap()["input"].clone();
    let mut items = input.as_array().unwrap().iter();
    let output = items.find(|item| item["type"] == "function_call_output").unwrap();
    let text = output["output"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    assert!((10_000..=MAX_TOOL_TEXT_BYTES).contains(&text.len()), "{}: {text}", text.len());
    assert!(!output.to_string().contains("truncated"), "{output}");
    server.terminate().await;
}

/// Returns the text of the result that Codex shows its model.
async fn ask_by_codex(setup: &CodexSetup, server: &RunningServer, model_name: &str) -> String {
    let entry = format!("url = \"{}\"\nrequired = true", server.mcp);
    let outer = setup.folder.path().join("outer");
    std::fs::create_dir_all(&outer).unwrap();
    let requests = run_codex(&outer, &setup.model, &entry, model_name).await;
    let input = requests.last().unwrap()["input"].clone();
    let items = input.as_array().unwrap().iter();
    let mut outputs = items.filter(|item| item["type"] == "function_call_output");
    let parts = outputs.next().unwrap()["output"].as_array().unwrap().clone();
    parts.last().unwrap()["text"].as_str().unwrap().to_owned()
}

//! The bound of a result of `codebase_question`, and what of it a call may ask for.

use codeinfo_test_support::wire::{RawReply, send_rpc_with_headers};
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    support::model::{FakeModel, ModelReply, message_item, search_item, thinking_item},
};

const BOUND: usize = 16_000;
const TURNS: usize = 12;

async fn ask_question(server: &InProcessServer, meta: &Value) -> RawReply {
    let arguments = json!({ "question": "What do the parts do?" });
    let params = json!({ "name": "codebase_question", "arguments": arguments, "_meta": meta });
    let asked = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    send_rpc_with_headers(server.mcp, &[("accept", "application/json")], &asked.to_string()).await
}

fn read_text(reply: &RawReply) -> String {
    let result = &reply.json()["result"];
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply:?}")).to_owned()
}

fn long_answer() -> String {
    "The parts are \"parts\" — all of them.\n\n".repeat(120).trim().to_owned()
}

/// Starts a model that thinks and searches at length for each request.
async fn start_talkative_model() -> FakeModel {
    let mut step = 0;
    FakeModel::answer_with(move |_| {
        step += 1;
        if step % (TURNS + 1) == 0 {
            return ModelReply::Items(vec![message_item(&long_answer())]);
        }
        let thinking = format!("**Step {step}**\n\n{}", "I look at what is there. ".repeat(200));
        ModelReply::Items(vec![
            thinking_item(&thinking),
            search_item(&format!("part number {step} of them")),
        ])
    })
    .await
}

#[tokio::test]
async fn a_turn_with_60_kb_of_thinking_and_summaries_stays_under_the_bound_with_its_answer_whole() {
    let model = start_talkative_model().await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    for part in 0..200 {
        let path = format!("parts/a/rather/long/path/to/the/part_{part:03}.rs");
        let code = format!(
            "/// Part number {part} of them.\npub fn part_{part}() -> u32 {{\n    {part}\n}}\n"
        );
        server.write(&path, &code);
    }
    server.ingest("parts", "many small files").await;

    let text = read_text(&ask_question(&server, &json!({})).await);
    assert!(text.len() <= BOUND, "{} bytes", text.len());
    assert!(text.len() > BOUND - 500, "{} bytes: the room is used", text.len());
    let result: Value = serde_json::from_str(&text).unwrap();
    let segments = result["segments"].as_array().unwrap();
    let kinds: Vec<&str> =
        segments.iter().map(|segment| segment["type"].as_str().unwrap()).collect();
    let expected = [["thinking", "vector_summary"]; TURNS].concat();
    assert_eq!(kinds, [&expected[..], &["answer"]].concat());
    assert_eq!(segments.last().unwrap()["text"], long_answer());
    assert!(segments[0]["text"].as_str().unwrap().starts_with("**Step 1**"), "{text}");
    // One line for each segment, the answer in the last but one.
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), segments.len() + 1);
    assert!(
        lines[segments.len() - 1].starts_with(r#"{"type":"answer","text":"The parts"#),
        "{text}"
    );
    assert_eq!(lines[segments.len()], "]}");
}

#[tokio::test]
async fn a_call_may_ask_for_the_answer_alone() {
    let model = start_talkative_model().await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let only = |kinds: Value| json!({ "codeinfo/segments": kinds });
    let result: Value =
        serde_json::from_str(&read_text(&ask_question(&server, &only(json!(["answer"]))).await))
            .unwrap();
    let segments = result["segments"].as_array().unwrap();
    assert_eq!((segments.len(), &segments[0]["text"]), (1, &json!(long_answer())));
    assert!(result["conversationId"].is_string() && result["modelId"].is_string());

    let fault =
        "`_meta.codeinfo/segments` must be a list of `thinking`, `vector_summary` and `answer`";
    for kinds in [json!([]), json!("answer"), json!(["answers"]), json!([1])] {
        let refused = ask_question(&server, &only(kinds)).await.json();
        let error =
            json!({ "code": -32602, "message": "Invalid params", "data": { "faults": [fault] } });
        assert_eq!(refused["error"], error);
    }
}

//! The wire contract of `/chat` on the main API: the frames of a whole turn.

use std::{fmt::Write, sync::Arc, time::Duration};

use codeinfo_test_support::wire::{RawReply, send_get, send_post};
use futures_util::future::select;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};

use crate::{
    listeners::InProcessServer,
    support::{
        model::{FakeModel, ModelReply, message_item, search_item, thinking_item},
        process::http_client,
    },
};

/// Shows frames, one a line, without ids and texts that differ from run to run.
fn render_frames(server: &InProcessServer, reply: &RawReply) -> String {
    assert_eq!(reply.header("content-type"), Some("text/event-stream"), "{reply:?}");
    let mut shown = String::new();
    let (mut conversation, mut times) = (String::new(), Vec::new());
    for frame in reply.body.split("\n\n").filter(|frame| frame.starts_with("event: ")) {
        let (name, data) = frame.split_once("\ndata: ").unwrap();
        let read: Value = serde_json::from_str(data).unwrap();
        if let Some(id) = read["conversationId"].as_str() {
            conversation = id.to_owned();
        }
        times.extend(read["timestamp"].as_str().map(str::to_owned));
        writeln!(shown, "{} {data}", name.trim_start_matches("event: ")).unwrap();
    }
    assert_eq!(conversation.len(), 36);
    let folder = server.folder.path().canonicalize().unwrap().display().to_string();
    assert!(times.is_sorted() && times.iter().all(|time| time.ends_with('Z')), "{times:?}");
    let shown = times.iter().fold(shown, |shown, time| shown.replace(time, "TIME"));
    shown.replace(&conversation, "CONVERSATION").replace(&folder, "FOLDER")
}

#[tokio::test]
async fn a_turn_is_streamed_frame_by_frame() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item("**Looking**"), search_item("parse_config")]),
        ModelReply::Items(vec![message_item("It is `parse_config`.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let reply = send_post(server.main, "/chat", r#"{"question":"Where?","effort":"low"}"#).await;
    assert_snapshot!(render_frames(&server, &reply), @r#"
    thread {"conversationId":"CONVERSATION","modelId":"mock-model"}
    thinking {"text":"**Looking**"}
    tool-request {"callId":"call_resp_0_1","name":"VectorSearch","source":"local","timestamp":"TIME","parameters":{"query":"parse_config"}}
    tool-result {"callId":"call_resp_0_1","name":"VectorSearch","source":"local","timestamp":"TIME","stage":"success","result":{"content":[{"type":"text","text":"[demo] FOLDER/demo/src/parse.rs:1-4 `parse_config`\n1|/// Reads a configuration file line by line.\n2|pub fn parse_config(text: &str) -> Vec<(String, String)> {\n3|    text.lines().filter_map(|line| line.split_once('=')).map(pair).collect()\n4|}\n\n(indexed: demo less than a minute ago)"}],"structuredContent":null}}
    vector_summary {"files":[{"path":"FOLDER/demo/src/parse.rs","relPath":"src/parse.rs","repo":"demo","match":0.8056,"chunks":1,"lines":4,"ranges":["1-4"]}]}
    answer {"text":"It is `parse_config`."}
    final {"conversationId":"CONVERSATION","modelId":"mock-model","segments":[{"type":"thinking","text":"**Looking**"},{"type":"vector_summary","files":[{"path":"FOLDER/demo/src/parse.rs","relPath":"src/parse.rs","repo":"demo","match":0.8056,"chunks":1,"lines":4,"ranges":["1-4"]}]},{"type":"answer","text":"It is `parse_config`.","checked":{"citations":0,"confirmed":0,"unconfirmed":0,"wrong":0,"repaired":0,"dropped":0,"places":[],"repositories":[]}}],"usage":{"inputTokens":200,"cachedInputTokens":0,"outputTokens":20,"reasoningOutputTokens":10,"totalTokens":220},"citations":[]}
    "#);
    assert_eq!(model.requests()[0]["reasoning"]["effort"], "low");
    let failed = send_post(server.main, "/chat", r#"{"question":"Again?"}"#).await;
    assert_snapshot!(render_frames(&server, &failed), @r#"
    thread {"conversationId":"CONVERSATION","modelId":"mock-model"}
    error {"code":"TURN_FAILED","message":"Codex gave up: {\"error\":{\"message\":\"script is over\"}}","hint":"see the server's log, then ask again","conversationId":"CONVERSATION"}
    "#);
    let bogus = send_post(server.main, "/chat", r#"{"question":"x","effort":"extreme"}"#).await;
    assert_eq!((bogus.status, bogus.body.contains("`effort`")), (400, true), "{bogus:?}");
    let unknown = r#"{"question":"x","conversationId":"00000000-0000-4000-8000-000000000000"}"#;
    assert_snapshot!(send_post(server.main, "/chat", unknown).await.render_reply(), @r#"
    404 content-type: application/json
    {
      "error": "CONVERSATION_NOT_FOUND",
      "message": "there is no conversation `00000000-0000-4000-8000-000000000000`"
    }
    "#);
    let faulty = r#"{"conversationId":5,"stream":true}"#;
    assert_snapshot!(send_post(server.main, "/chat", faulty).await.render_reply(), @r#"
    400 content-type: application/json
    {
      "error": "VALIDATION_FAILED",
      "message": "`conversationId` must be a string; `stream` is not known here; `question` is missing",
      "details": [
        "`conversationId` must be a string",
        "`stream` is not known here",
        "`question` is missing"
      ]
    }
    "#);
    assert_snapshot!(send_get(server.main, "/chat/providers").await.render_reply(), @r#"
    200 content-type: application/json
    {
      "providers": [
        {
          "id": "codex",
          "available": true,
          "version": "0.169.0"
        }
      ]
    }
    "#);
    let models = send_get(server.main, "/chat/models").await;
    let listed = models.json()["models"].as_array().unwrap().clone();
    assert!(listed.iter().any(|model| model["isDefault"] == true), "{models:?}");
}

#[tokio::test]
async fn without_codex_chat_says_why() {
    let server = InProcessServer::start().await;
    let asked = send_post(server.main, "/chat", r#"{"question":"Where?"}"#).await;
    assert_snapshot!(asked.render_reply(), @r#"
    503 content-type: application/json
    {
      "error": "CODE_INFO_LLM_UNAVAILABLE",
      "message": "the Codex command line is not found: CODEX_BIN does not name a program",
      "details": [
        "install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary"
      ]
    }
    "#);
    assert_snapshot!(send_get(server.main, "/chat/providers").await.render_reply(), @r#"
    200 content-type: application/json
    {
      "providers": [
        {
          "id": "codex",
          "available": false,
          "reason": "the Codex command line is not found: CODEX_BIN does not name a program",
          "hint": "install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary"
        }
      ]
    }
    "#);
    assert_eq!(send_get(server.main, "/chat/models").await.body, asked.body);
}

#[tokio::test]
async fn a_follow_up_waits_for_the_first_turn_of_its_conversation() {
    let finish = Arc::new(Notify::new());
    let model = FakeModel::replay([
        ModelReply::Held(Arc::clone(&finish), vec![message_item("First.")]),
        ModelReply::Items(vec![message_item("Second.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[("CODEX_MAX_WAITING", "1")]).await;
    server.ingest_demo().await;
    let chat = format!("http://{}/chat", server.main);
    let mut first =
        http_client().post(chat).json(&json!({ "question": "One?" })).send().await.unwrap();
    let begun = String::from_utf8(first.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let thread = begun.strip_prefix("event: thread\ndata: ").unwrap();
    let thread: Value = serde_json::from_str(thread.trim()).unwrap();
    model.wait_for_requests(1).await;
    let follow_up = json!({ "question": "Two?", "conversationId": thread["conversationId"] });
    let follow_up = follow_up.to_string();
    // Where one of two is refused because the other waits, the other does wait.
    let [one, other] = [0, 1].map(|_| Box::pin(send_post(server.main, "/chat", &follow_up)));
    let ended = timeout(Duration::from_mins(1), select(one, other)).await.unwrap();
    let (refused, waiting) = ended.factor_first();
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(model.requests().len(), 1);
    finish.notify_one();
    let (first, second) = tokio::join!(first.text(), waiting);
    let first = first.unwrap();
    assert!(first.contains("First.") && first.contains("event: final"), "{first}");
    let second = second.body;
    assert!(
        second.contains(r#""segments":[{"type":"answer","text":"Second.","checked":"#),
        "{second}"
    );
    assert!(model.latest_request_text().contains("First."), "the later turn knows the earlier one");
}

#[tokio::test]
async fn an_answer_to_a_confined_question_cites_that_repository_alone() {
    let text = "It is at src/parse.rs:1-4, not at src/read.rs:1-4.";
    let model = FakeModel::replay([
        ModelReply::Items(vec![message_item(text)]),
        ModelReply::Items(vec![message_item(text)]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    server.ingest_other().await;
    let body = json!({ "question": "Where?", "repository": "demo" });
    let reply = send_post(server.main, "/chat", &body.to_string()).await.body;
    let output_text = "It is at src/parse.rs:1-4, not at ~~src/read.rs:1-4~~ (not found).";
    assert!(reply.contains(&format!(r#"{{"text":"{output_text}"}}"#)), "{reply}");
    let checked = r#""checked":{"citations":2,"confirmed":1,"unconfirmed":0,"wrong":1,"repaired":0,"dropped":0,"#;
    assert!(reply.contains(checked), "{reply}");
    let cited = r#""repositories":[{"name":"demo","commit":"working tree","indexedAt":"20"#;
    assert!(reply.contains(cited), "{reply}");
    let listed = r#""relPath":"src/parse.rs","repo":"demo","lines":["1-4"],"state":"confirmed""#;
    assert!(reply.contains(listed), "{reply}");
    let note = "The next question is about the repository";
    assert_eq!(model.latest_request_text().matches(note).count(), 1, "it occurs once");
}

#[tokio::test]
async fn a_question_may_ask_for_the_second_reader() {
    let verdict = r#"{"verdicts":[{"number":1,"verdict":"supported","excerpt":null,"line":null}]}"#;
    let says = |text: &str| ModelReply::Items(vec![message_item(text)]);
    let model = FakeModel::replay([says("It parses (src/parse.rs:1-4)."), says(verdict)]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let body = json!({ "question": "What does it do?", "claimCheck": true });
    let reply = send_post(server.main, "/chat", &body.to_string()).await.body;
    let claims = r#""claims":{"supported":1,"contradicted":0,"open":0}"#;
    assert!(reply.contains(claims), "{reply}");
    let body = json!({ "question": "What does it do?", "claimCheck": "yes" });
    assert_eq!(send_post(server.main, "/chat", &body.to_string()).await.status, 400);
}

//! The wire contract of `/ws` on the main API: frames, messages, and the ends of turns and sockets.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use codeinfo_test_support::{
    websocket::WebSocketClient,
    wire::{send_get, send_post, send_request},
};
use futures_util::StreamExt;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::{Message, protocol::frame::coding::CloseCode};

use crate::{
    listeners::InProcessServer,
    support::model::{FakeModel, ModelReply, message_item, search_item, thinking_item},
};

/// Headers of a handshake beside the usual ones.
const HANDSHAKE: [(&str, &str); 4] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

fn message_frame(content: &str) -> Value {
    json!({ "type": "message", "content": content })
}

fn follow_up_frame(conversation: &Value, content: &str) -> Value {
    json!({ "type": "message", "conversation_id": conversation, "content": content })
}

/// Shows frames, one a line, without ids and times that differ from run to run.
fn render_frames(server: &InProcessServer, frames: &[String]) -> String {
    let mut varying = BTreeMap::new();
    for frame in frames {
        let frame: Value = serde_json::from_str(frame).unwrap();
        for name in ["timestamp", "message_id", "conversation_id"] {
            varying.extend(frame[name].as_str().map(|value| (value.to_owned(), name)));
        }
    }
    let folder = server.folder.path().canonicalize().unwrap().display().to_string();
    let shown = frames.join("\n").replace(&folder, "FOLDER");
    varying.into_iter().fold(shown, |shown, (value, name)| shown.replace(&value, name))
}

/// Returns the conversation of a turn that completed.
fn read_conversation(frames: &[String]) -> Value {
    let end: Value = serde_json::from_str(frames.last().unwrap()).unwrap();
    assert_eq!(end["type"], "complete", "{frames:?}");
    end["conversation_id"].clone()
}

#[tokio::test]
async fn turns_are_rendered_frame_by_frame_and_follow_each_other() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![thinking_item("**Looking**"), search_item("parse_config")]),
        ModelReply::Items(vec![message_item("It is `parse_config`.")]),
        ModelReply::Items(vec![message_item("Sure.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let mut client = WebSocketClient::open(server.main).await;
    client.send(&message_frame("Where?")).await;
    let first = client.read_turn().await;
    assert_snapshot!(render_frames(&server, &first), @r#"
    {"type":"thinking","content":"**Looking**"}
    {"type":"tool_start","tool_name":"VectorSearch","tool_input":"{\"query\":\"parse_config\"}","source":"local","timestamp":"timestamp"}
    {"type":"tool_complete","tool_name":"VectorSearch","tool_result":"[demo] FOLDER/demo/src/parse.rs:1-4 `parse_config`\n1|/// Reads a configuration file line by line.\n2|pub fn parse_config(text: &str) -> Vec<(String, String)> {\n3|    text.lines().filter_map(|line| line.split_once('=')).map(pair).collect()\n4|}\n\n(indexed: demo less than a minute ago)","source":"local","timestamp":"timestamp"}
    {"type":"token","content":"It is `parse_config`."}
    {"type":"complete","message_id":"message_id","conversation_id":"conversation_id"}
    "#);
    client.send(&follow_up_frame(&read_conversation(&first), "Sure?")).await;
    let second = client.read_turn().await;
    assert_snapshot!(render_frames(&server, &second), @r#"
    {"type":"token","content":"Sure."}
    {"type":"complete","message_id":"message_id","conversation_id":"conversation_id"}
    "#);
    assert_eq!(read_conversation(&second), read_conversation(&first));
    assert!(
        model.latest_request_text().contains("It is `parse_config`."),
        "the conversation continues"
    );
    client.send(&message_frame("Again?")).await;
    let failed = client.read_turn().await;
    assert_snapshot!(render_frames(&server, &failed), @r#"
    {"type":"error","message":"Codex gave up: {\"error\":{\"message\":\"script is over\"}}; see the server's log, then ask again","code":"TURN_FAILED"}
    "#);
    let unknown = follow_up_frame(&json!("00000000-0000-4000-8000-000000000000"), "Sure?");
    client.send(&unknown).await;
    assert_snapshot!(client.read_frame().await, @r#"
    {"type":"error","message":"there is no conversation `00000000-0000-4000-8000-000000000000`","code":"CONVERSATION_NOT_FOUND"}
    "#);
    client.send(&message_frame(" ")).await;
    let blank = r#"{"type":"error","message":"`content` is blank","code":"VALIDATION_FAILED"}"#;
    assert_eq!(client.read_frame().await, blank);
}

#[tokio::test]
async fn invalid_messages_are_refused_and_the_socket_stays_open() {
    let server = InProcessServer::start().await;
    let mut client = WebSocketClient::open(server.main).await;
    let mut refused = Vec::new();
    for text in [
        "{",
        "[]",
        "{}",
        r#"{"type":"dance"}"#,
        r#"{"type":"message"}"#,
        r#"{"type":"message","content":""}"#,
        r#"{"type":"message","content":"x","conversation_id":5}"#,
        r#"{"type":"message","content":"x","question":"y"}"#,
        r#"{"type":"stop","now":true}"#,
    ] {
        client.send_message(Message::text(text)).await;
        refused.push(client.read_frame().await);
    }
    client.send_message(Message::binary(vec![1, 2])).await;
    refused.push(client.read_frame().await);
    // No turn runs, and there is no reply.
    client.send(&json!({ "type": "stop" })).await;
    client.send(&message_frame("Where?")).await;
    refused.push(client.read_frame().await);
    assert_snapshot!(refused.join("\n"), @r#"
    {"type":"error","message":"the message is not JSON: EOF while parsing an object at line 1 column 1","code":"INVALID_JSON"}
    {"type":"error","message":"`type` must be `message` or `stop`","code":"VALIDATION_FAILED"}
    {"type":"error","message":"`type` must be `message` or `stop`","code":"VALIDATION_FAILED"}
    {"type":"error","message":"`type` must be `message` or `stop`","code":"VALIDATION_FAILED"}
    {"type":"error","message":"`content` is missing","code":"VALIDATION_FAILED"}
    {"type":"error","message":"`content` is empty","code":"VALIDATION_FAILED"}
    {"type":"error","message":"`conversation_id` must be a string","code":"VALIDATION_FAILED"}
    {"type":"error","message":"`question` is not known here","code":"VALIDATION_FAILED"}
    {"type":"error","message":"`now` is not known here","code":"VALIDATION_FAILED"}
    {"type":"error","message":"messages must be text","code":"VALIDATION_FAILED"}
    {"type":"error","message":"the Codex command line is not found: CODEX_BIN does not name a program; install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary","code":"CODE_INFO_LLM_UNAVAILABLE"}
    "#);
    let long = message_frame(&"x".repeat(64 * 1024 + 1));
    let long = client.send_and_read_error(Message::text(long.to_string())).await;
    assert_eq!(long, "VALIDATION_FAILED");
    client.stream.close(None).await.unwrap();
    assert!(client.stream.next().await.unwrap().unwrap().is_close(), "the server agrees");
    assert!(client.stream.next().await.is_none());
}

#[tokio::test]
async fn one_turn_runs_at_a_time_and_stop_leaves_the_socket_usable() {
    let finish = Arc::new(Notify::new());
    let model = FakeModel::replay([
        ModelReply::Held(Arc::clone(&finish), vec![message_item("First.")]),
        ModelReply::Silent(vec![thinking_item("**Looking**")]),
        ModelReply::Items(vec![message_item("Third.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let mut client = WebSocketClient::open(server.main).await;
    client.send(&message_frame("One?")).await;
    model.wait_for_requests(1).await;
    let second = Message::text(message_frame("Two?").to_string());
    assert_eq!(client.send_and_read_error(second).await, "BUSY");
    finish.notify_one();
    let first = client.read_turn().await;
    assert!(first.concat().contains(r#""content":"First.""#), "nothing is lost: {first:?}");
    let conversation = read_conversation(&first);
    client.send(&follow_up_frame(&conversation, "Two?")).await;
    assert_eq!(client.read_json().await["content"], "**Looking**");
    client.send(&json!({ "type": "stop" })).await;
    let stopped = r#"{"type":"error","message":"the turn was stopped","code":"CANCELLED"}"#;
    assert_eq!(client.read_frame().await, stopped);
    model.wait_for_abandoned_streams(1).await;
    client.send(&follow_up_frame(&conversation, "Three?")).await;
    assert!(client.read_turn().await.concat().contains(r#""content":"Third.""#));
}

#[tokio::test]
async fn closing_in_mid_turn_interrupts_codex() {
    let silent = || ModelReply::Silent(vec![thinking_item("**Looking**")]);
    let model = FakeModel::replay([silent(), silent()]).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let mut client = WebSocketClient::open(server.main).await;
    client.send(&message_frame("One?")).await;
    assert_eq!(client.read_json().await["type"], "thinking");
    client.send_message(Message::Close(None)).await;
    model.wait_for_abandoned_streams(1).await;
    let mut client = WebSocketClient::open(server.main).await;
    client.send(&message_frame("Two?")).await;
    assert_eq!(client.read_json().await["type"], "thinking");
    // Without a word.
    drop(client);
    model.wait_for_abandoned_streams(2).await;
}

#[tokio::test]
async fn foreign_pages_are_refused_before_the_upgrade() {
    let server = InProcessServer::start().await;
    let own = format!("http://localhost:{}", server.main.port());
    let ask = async |more: &[(&str, &str)]| {
        let headers: Vec<_> = HANDSHAKE.iter().chain(more).copied().collect();
        send_request(server.main, "GET", "/ws", &headers, "").await
    };
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost:3000"),
        ("host", "evil.example"),
    ] {
        let refused = ask(&[(name, value)]).await;
        assert_eq!((refused.status, refused.header("upgrade")), (403, None), "{name}: {value}");
        assert_eq!(refused.json()["error"], "FORBIDDEN", "{refused:?}");
    }
    let mut raw = WebSocketClient::try_open(server.main).await.unwrap();
    raw.stream.close(None).await.unwrap();
    let headers: Vec<_> = HANDSHAKE.iter().copied().chain([("origin", own.as_str())]).collect();
    let accepted = open_handshake(&server, &headers).await;
    assert!(accepted.starts_with("HTTP/1.1 101 "), "{accepted}");
    assert!(accepted.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{accepted}");
}

/// Returns the head of the reply to a handshake that stays open.
async fn open_handshake(server: &InProcessServer, headers: &[(&str, &str)]) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(server.main).await.unwrap();
    let mut text = "GET /ws HTTP/1.1\r\nhost: localhost\r\n".to_owned();
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    stream.write_all((text + "\r\n").as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

#[tokio::test]
async fn an_invalid_handshake_gets_a_plain_refusal() {
    let server = InProcessServer::start().await;
    let plain = send_get(server.main, "/ws").await;
    assert_snapshot!(plain.render_reply(), @r#"
    426 content-type: application/json
    {
      "error": "UPGRADE_REQUIRED",
      "message": "this path answers WebSocket handshakes only, of version 13"
    }
    "#);
    assert_eq!(plain.header("upgrade"), Some("websocket"));
    assert_eq!(plain.header("sec-websocket-version"), Some("13"));
    let posted = send_post(server.main, "/ws", "{}").await;
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET")));
    for left_out in 0..HANDSHAKE.len() {
        let mut headers = HANDSHAKE.to_vec();
        let (name, _) = headers.remove(left_out);
        let refused = send_request(server.main, "GET", "/ws", &headers, "").await;
        let expected = if name == "sec-websocket-key" { 400 } else { 426 };
        assert_eq!(refused.status, expected, "without {name}: {refused:?}");
    }
    let with_body = send_request(server.main, "GET", "/ws", &HANDSHAKE, "x").await;
    assert_eq!(with_body.status, 400, "{with_body:?}");
    let mut headers = HANDSHAKE;
    headers[2].1 = "12";
    assert_eq!(send_request(server.main, "GET", "/ws", &headers, "").await.status, 426);
}

#[tokio::test]
async fn too_large_a_message_closes_the_socket_with_its_code() {
    let server = InProcessServer::start_with(&[("MAX_BODY_BYTES", "1000")]).await;
    let mut client = WebSocketClient::open(server.main).await;
    let fits = Message::text("x".repeat(1000));
    assert_eq!(client.send_and_read_error(fits).await, "INVALID_JSON");
    client.send_message(Message::text("x".repeat(1001))).await;
    let refused = client.read_json().await;
    assert_eq!(refused["code"], "BODY_TOO_LARGE", "{refused}");
    assert_eq!(client.wait_for_close().await, Some(CloseCode::Size));
    // In pieces, each of which is small.
    let mut client = WebSocketClient::open(server.main).await;
    let piece = |first: u8| {
        // Masked with zeros: the payload as it is.
        let mut bytes = vec![first, 0x80 | 0x64, 0, 0, 0, 0];
        bytes.extend([b'x'; 100]);
        bytes
    };
    client.write_bytes(&piece(0x01)).await;
    for _ in 0..10 {
        client.write_bytes(&piece(0x00)).await;
    }
    assert_eq!(client.read_json().await["code"], "BODY_TOO_LARGE");
    assert_eq!(client.wait_for_close().await, Some(CloseCode::Size));
}

#[tokio::test]
async fn a_broken_protocol_closes_the_socket_with_its_code() {
    let server = InProcessServer::start().await;
    let mut client = WebSocketClient::open(server.main).await;
    // Not masked.
    client.write_bytes(&[0x81, 1, b'x']).await;
    assert_eq!(client.wait_for_close().await, Some(CloseCode::Protocol));
    let mut client = WebSocketClient::open(server.main).await;
    // Not UTF-8.
    client.write_bytes(&[0x81, 0x81, 0, 0, 0, 0, 0xff]).await;
    assert_eq!(client.wait_for_close().await, Some(CloseCode::Invalid));
}

#[tokio::test]
async fn a_stopping_server_ends_turns_and_closes_sockets() {
    let model = FakeModel::replay([ModelReply::Silent(vec![thinking_item("**Looking**")])]).await;
    let server = InProcessServer::start_with_codex(&model, &[("SHUTDOWN_GRACE_SECS", "8")]).await;
    server.ingest_demo().await;
    let (mut idle, mut busy) =
        (WebSocketClient::open(server.main).await, WebSocketClient::open(server.main).await);
    busy.send(&message_frame("Where?")).await;
    assert_eq!(busy.read_json().await["type"], "thinking");
    let watched = async {
        assert_eq!(idle.wait_for_close().await, Some(CloseCode::Away));
        let late = Message::text(message_frame("More?").to_string());
        assert_eq!(busy.send_and_read_error(late).await, "BUSY");
        let end = busy.read_json().await;
        assert_eq!((&end["type"], &end["code"]), (&json!("error"), &json!("CANCELLED")), "{end}");
        assert_eq!(busy.wait_for_close().await, Some(CloseCode::Away));
    };
    let (stopped, ()) = tokio::join!(server.stop(), watched);
    assert!(stopped);
    model.wait_for_abandoned_streams(1).await;
}

#[tokio::test]
async fn idle_sockets_give_way_and_one_with_a_turn_does_not() {
    let model = FakeModel::replay([ModelReply::Silent(vec![thinking_item("**Looking**")])]).await;
    // Codex has separate connections.
    let server = InProcessServer::start_with_codex(&model, &[("MAX_CONNECTIONS", "12")]).await;
    server.ingest_demo().await;
    let mut busy = WebSocketClient::open(server.main).await;
    busy.send(&message_frame("Where?")).await;
    assert_eq!(busy.read_json().await["type"], "thinking");
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(WebSocketClient::open(server.main).await);
        assert_eq!(send_get(server.main, "/version").await.status, 200);
    }
    assert_eq!(idle[0].wait_for_close().await, Some(CloseCode::Again));
    assert_eq!(idle[99].send_and_read_error(Message::text("{")).await, "INVALID_JSON");
    busy.send(&json!({ "type": "stop" })).await;
    assert_eq!(busy.read_json().await["code"], "CANCELLED");
}

//! Tokens that are revoked in the middle of a turn: the turn, its streams and its sockets are over at once.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::task::Tasks;
use codeinfo_test_support::wire::send_request;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::{
    listeners::InProcessServer,
    support::{
        model::{FakeModel, ModelReply, message_item},
        process::http_client,
    },
};

/// Time limit for everything of a revoked token to end.
const AT_ONCE: Duration = Duration::from_secs(1);
const JSON: (&str, &str) = ("content-type", "application/json");

/// Starts a server whose model does not answer.
async fn start_with_silent_model() -> (InProcessServer, FakeModel) {
    let model =
        FakeModel::answer_with(|_| ModelReply::Held(Arc::default(), vec![message_item("Never.")]))
            .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    (server, model)
}

async fn request_as(
    server: &InProcessServer,
    route: (&str, &str),
    bearer: &str,
    body: &Value,
) -> Value {
    let headers = [JSON, ("authorization", bearer)];
    send_request(server.main, route.0, route.1, &headers, &body.to_string()).await.json()
}

/// Revokes the token, and waits for the end of `stream` and of the turn.
async fn assert_ends_at_once(
    channel: &str,
    server: &InProcessServer,
    route: (&str, &str),
    stream: impl Future<Output = ()>,
) {
    assert_eq!(server.count_turns(), 1, "{channel}");
    request_as(server, route, &server.owner_header(), &json!({})).await;
    let revoked = Instant::now();
    timeout(AT_ONCE, stream).await.unwrap_or_else(|_| panic!("{channel}: the stream continues"));
    let stream = revoked.elapsed();
    while server.count_turns() > 0 {
        assert!(revoked.elapsed() < AT_ONCE, "{channel}: the turn continues");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    print_times(channel, stream, revoked.elapsed());
}

#[expect(clippy::print_stderr, reason = "`cargo test -- --nocapture` shows the measurement")]
fn print_times(channel: &str, stream: Duration, turn: Duration) {
    eprintln!("{channel}: the stream ended after {stream:?}, the turn after {turn:?}");
}

async fn drain_stream(stream: reqwest::Response) {
    drop(stream.text().await);
}

async fn open_socket(to: SocketAddr, path: &str, bearer: &str) -> WebSocketStream<TcpStream> {
    let mut request = format!("ws://{to}{path}").into_client_request().unwrap();
    request.headers_mut().insert("authorization", bearer.parse().unwrap());
    client_async(request, TcpStream::connect(to).await.unwrap()).await.unwrap().0
}

async fn drain_socket(mut socket: WebSocketStream<TcpStream>) {
    while let Some(Ok(_)) = socket.next().await {}
}

fn question_call() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "codebase_question", "arguments": { "question": "Why?" } } })
}

const DELETE: (&str, &str) = ("DELETE", "/auth/mcp-tokens/ada");
const LOGOUT_ALL: (&str, &str) = ("POST", "/auth/logout-all");

#[tokio::test]
async fn a_revoked_token_ends_its_streams_over_http() {
    let (server, model) = start_with_silent_model().await;
    for (times, revoke) in [(0, DELETE), (3, LOGOUT_ALL)] {
        let ask = async |url: String, body: Value, accept: &str| {
            let bearer = server.create_token(json!({ "name": "ada" })).await;
            let ask =
                http_client().post(url).header("authorization", bearer).header("accept", accept);
            ask.json(&body).send().await.unwrap()
        };
        let question = json!({ "question": "Why?" });
        let chat = format!("http://{}/chat", server.main);
        let stream = ask(chat, question.clone(), "text/event-stream").await;
        model.wait_for_requests(times + 1).await;
        assert_ends_at_once("/chat", &server, revoke, drain_stream(stream)).await;

        let turn = ask(format!("http://{}/turns", server.main), question.clone(), "*/*").await;
        let turn = turn.json::<Value>().await.unwrap()["turnId"].as_str().unwrap().to_owned();
        model.wait_for_requests(times + 2).await;
        let bearer = server.owner_header();
        let watch = http_client().get(format!("http://{}/turns/{turn}", server.main));
        let watch = watch.header("authorization", &bearer).send().await.unwrap();
        assert_ends_at_once("/turns", &server, revoke, drain_stream(watch)).await;

        let url = format!("http://{}/mcp", server.mcp);
        let stream = ask(url, question_call(), "application/json, text/event-stream").await;
        model.wait_for_requests(times + 3).await;
        assert_ends_at_once("5011", &server, revoke, drain_stream(stream)).await;
    }
}

#[tokio::test]
async fn a_revoked_token_ends_a_reply_that_has_not_begun() {
    let (server, model) = start_with_silent_model().await;
    let bearer = server.create_token(json!({ "name": "ada" })).await;
    let asking =
        http_client().post(format!("http://{}/mcp", server.mcp)).header("authorization", bearer);
    let asking = asking.header("accept", "application/json").json(&question_call()).send();
    let asking = Tasks::default().spawn_handle(asking);
    model.wait_for_requests(1).await;
    let answer = async { drop(asking.await) };
    assert_ends_at_once("5011, JSON alone", &server, DELETE, answer).await;
}

#[tokio::test]
async fn a_revoked_token_ends_its_sockets() {
    let (server, model) = start_with_silent_model().await;
    let asked = json!({ "type": "message", "content": "Why?" });
    for (times, (channel, to, path, message)) in
        [("/ws", server.main, "/ws", asked), ("a relay", server.mcp, "/mcp/relay", question_call())]
            .into_iter()
            .enumerate()
    {
        let bearer = server.create_token(json!({ "name": "ada" })).await;
        let mut socket = open_socket(to, path, &bearer).await;
        socket.send(Message::text(message.to_string())).await.unwrap();
        model.wait_for_requests(times + 1).await;
        assert_ends_at_once(channel, &server, DELETE, drain_socket(socket)).await;
    }
}

#[tokio::test]
async fn an_idle_socket_ends_and_a_token_that_revokes_itself_gets_a_reply() {
    let server = InProcessServer::start().await;
    for (to, path) in
        [(server.main, "/ws"), (server.main, "/mcp/relay"), (server.mcp, "/mcp/relay")]
    {
        let bearer = server.create_token(json!({ "name": "ada" })).await;
        let socket = open_socket(to, path, &bearer).await;
        let revoked = request_as(&server, DELETE, &bearer, &json!({})).await;
        assert_eq!(revoked, json!({ "revoked": ["ada"] }));
        timeout(AT_ONCE, drain_socket(socket)).await.unwrap();
    }
    let old = server.create_token(json!({ "name": "ada" })).await;
    let idle = open_socket(server.main, "/ws", &old).await;
    server.create_token(json!({ "name": "ada", "overwrite": true })).await;
    timeout(AT_ONCE, drain_socket(idle)).await.unwrap();
}

#[tokio::test]
async fn a_conversation_belongs_to_its_principal_on_every_route() {
    let model = FakeModel::answer_with(|_| ModelReply::Items(vec![message_item("Here.")])).await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    server.ingest_demo().await;
    let (ann, bob) = (
        server.create_token(json!({ "name": "ann" })).await,
        server.create_token(json!({ "name": "bob" })).await,
    );
    let over_mcp = async |bearer: &str, conversation: Option<&str>| {
        let mut arguments = json!({ "question": "Where?" });
        if let Some(conversation) = conversation {
            arguments["conversationId"] = conversation.into();
        }
        let mut call = question_call();
        call["params"]["arguments"] = arguments;
        let asking = http_client().post(format!("http://{}/mcp", server.mcp));
        let asking = asking.header("authorization", bearer).header("accept", "application/json");
        asking.json(&call).send().await.unwrap().json::<Value>().await.unwrap()
    };
    let began = over_mcp(&ann, None).await;
    let text = began["result"]["content"][0]["text"].as_str().unwrap();
    let text: Value = serde_json::from_str(text).unwrap();
    let conversation = text["conversationId"].as_str().unwrap();
    let count = model.requests().len();

    let refused = over_mcp(&bob, Some(conversation)).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused:#}");
    let body = json!({ "question": "And?", "conversationId": conversation });
    for path in ["/chat", "/turns"] {
        let refused = request_as(&server, ("POST", path), &bob, &body).await;
        assert_eq!(refused["error"], "CONVERSATION_NOT_FOUND", "{path}: {refused}");
        let unnamed = send_request(server.main, "POST", path, &[JSON], &body.to_string()).await;
        assert_eq!(unnamed.json()["error"], "CONVERSATION_NOT_FOUND", "{path}");
    }
    let mut ws = open_socket(server.main, "/ws", &bob).await;
    let message = json!({ "type": "message", "content": "And?", "conversation_id": conversation });
    ws.send(Message::text(message.to_string())).await.unwrap();
    let Some(Ok(Message::Text(frame))) = ws.next().await else { panic!() };
    assert!(frame.contains("CONVERSATION_NOT_FOUND"), "{frame}");
    let mut relay = open_socket(server.mcp, "/mcp/relay", &bob).await;
    let mut follow_up = question_call();
    follow_up["params"]["arguments"]["conversationId"] = conversation.into();
    relay.send(Message::text(follow_up.to_string())).await.unwrap();
    let Some(Ok(Message::Text(frame))) = relay.next().await else { panic!() };
    assert!(frame.contains("-32602"), "{frame}");
    assert_eq!(model.requests().len(), count, "nothing was asked");

    for bearer in [ann, server.owner_header()] {
        let answer = over_mcp(&bearer, Some(conversation)).await;
        assert!(answer["result"]["isError"].is_null(), "{answer:#}");
    }
}

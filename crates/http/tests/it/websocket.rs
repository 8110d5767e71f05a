//! A WebSocket of any listener: clients that read nothing, answer no pings, or send more than they read.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use codeinfo_core::{task::Tasks, telemetry::LabelledTimer};
use codeinfo_http::{
    AccessRights, AllowedNames, AuthContext, HttpSettings, Listener, Request, RequestHandler,
    Response, ServerActivity, WebSocket, WebSocketEvent,
};
use codeinfo_test_support::websocket::WebSocketClient;
use tokio::{
    io::{AsyncReadExt, sink},
    net::TcpListener,
    sync::mpsc,
    time::timeout,
};
use tokio_tungstenite::tungstenite::Message;

/// Long enough that only a hanging test meets it.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Answers each text with `size` bytes, and reports when a session is over.
#[derive(Clone)]
struct EchoHandler {
    size: usize,
    over: mpsc::UnboundedSender<usize>,
}

impl RequestHandler for EchoHandler {
    async fn handle_request(&self, request: &mut Request) -> Response {
        let echo = self.clone();
        codeinfo_http::accept_websocket(request, |socket| echo.echo_texts(socket))
            .unwrap_or_else(Response::from)
    }
}

impl EchoHandler {
    async fn echo_texts(self, mut socket: WebSocket) {
        let mut texts = 0;
        loop {
            match socket.next().await {
                WebSocketEvent::Text(_) => {
                    texts += 1;
                    socket.send("x".repeat(self.size));
                }
                WebSocketEvent::Over => break,
                _ => {}
            }
        }
        let _ = self.over.send(texts);
    }
}

struct EchoServer {
    address: SocketAddr,
    over: mpsc::UnboundedReceiver<usize>,
    _tasks: Tasks,
}

impl EchoServer {
    async fn start(size: usize, change: impl FnOnce(&mut HttpSettings)) -> Self {
        let mut http = HttpSettings {
            max_body_bytes: 1024,
            max_connections: 64,
            max_batch: 4,
            max_result_bytes: 16_000,
            lists_away: false,
            first_byte_timeout: TIMEOUT,
            read_timeout: TIMEOUT,
            write_timeout: TIMEOUT,
            keep_alive: TIMEOUT,
        };
        change(&mut http);
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let listener = Listener {
            socket,
            name: "test",
            requests: LabelledTimer::default(),
            gate: Arc::new(|_| Ok(AuthContext::anonymous(AccessRights::Ask))),
            activity: ServerActivity::default(),
        };
        let (tasks, (sender, over)) = (Tasks::default(), mpsc::unbounded_channel());
        let echo = EchoHandler { size, over: sender };
        codeinfo_http::serve(listener, echo, &http, &AllowedNames::default(), tasks.clone())
            .unwrap();
        Self { address, over, _tasks: tasks }
    }

    /// Waits until a session is over; returns how many texts it had.
    async fn wait_for_session_end(&mut self) -> usize {
        timeout(TIMEOUT, self.over.recv()).await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_disconnected() {
    let large = 32 * 1024 * 1024;
    let mut server =
        EchoServer::start(large, |http| http.write_timeout = Duration::from_millis(100)).await;
    let mut client = WebSocketClient::open(server.address).await;
    client.send_message(Message::text("more")).await;
    assert_eq!(server.wait_for_session_end().await, 1);
    drop(client);
}

#[tokio::test]
async fn a_client_that_only_sends_is_not_read_any_further() {
    let large = 1024 * 1024;
    let mut server =
        EchoServer::start(large, |http| http.write_timeout = Duration::from_millis(200)).await;
    let mut client = WebSocketClient::open(server.address).await;
    for _ in 0..1000 {
        // The server may have closed by now.
        if futures_util::SinkExt::send(&mut client.stream, Message::text("more")).await.is_err() {
            break;
        }
    }
    let texts = server.wait_for_session_end().await;
    assert!((1..100).contains(&texts), "{texts} answers wait");
}

#[tokio::test]
async fn a_client_that_answers_no_pings_is_closed() {
    let mut server = EchoServer::start(1, |http| http.keep_alive = Duration::from_millis(50)).await;
    let mut silent = WebSocketClient::open(server.address).await;
    // Read as bytes: no ping is seen, and none is answered.
    let mut sink = sink();
    let reading = tokio::io::copy(silent.stream.get_mut(), &mut sink);
    let read = timeout(TIMEOUT, reading).await.unwrap().unwrap();
    assert!(read >= 4, "two pings, not {read} bytes");
    assert_eq!(server.wait_for_session_end().await, 0);
}

#[tokio::test]
async fn a_client_that_answers_pings_stays() {
    let server = EchoServer::start(1, |http| http.keep_alive = Duration::from_millis(50)).await;
    let mut client = WebSocketClient::open(server.address).await;
    for _ in 0..6 {
        let next = timeout(TIMEOUT, futures_util::StreamExt::next(&mut client.stream)).await;
        assert!(matches!(next, Ok(Some(Ok(Message::Ping(_))))), "{next:?}");
    }
    client.send_message(Message::text("there")).await;
    assert_eq!(client.read_frame().await, "x");
}

#[tokio::test]
async fn a_client_that_leaves_without_a_close_frame_ends_its_session() {
    let mut server = EchoServer::start(1, |_| {}).await;
    let mut client = WebSocketClient::open(server.address).await;
    client.send_message(Message::text("there")).await;
    assert_eq!(client.stream.get_mut().read_u8().await.unwrap(), 0x81);
    drop(client);
    assert_eq!(server.wait_for_session_end().await, 1);
}

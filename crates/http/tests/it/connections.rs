//! Connections: what happens when clients leave, dawdle, crowd in, or the server stops.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use codeinfo_core::{task::Tasks, telemetry::LabelledTimer};
use codeinfo_http::{
    AccessRights, AllowedNames, AuthContext, AuthRequest, HttpSettings, Listener, Request,
    RequestHandler, Response, ServerActivity, reply,
};
use codeinfo_test_support::wire::{self, render_head};
use futures_util::{Stream, StreamExt, stream};
use hyper::StatusCode;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// Long enough that only a hanging test meets it.
const TIMEOUT: Duration = Duration::from_secs(20);
/// More than any buffer between here and a client holds.
const LARGE: usize = 512 * 65_536;

/// Reports when work begins and when it is dropped.
#[derive(Clone)]
struct ReportingHandler {
    news: mpsc::UnboundedSender<&'static str>,
    release: tokio_util::sync::CancellationToken,
}

struct DropReporter(mpsc::UnboundedSender<&'static str>);

impl Drop for DropReporter {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

impl RequestHandler for ReportingHandler {
    async fn handle_request(&self, request: &mut Request) -> Response {
        let path = request.path().to_owned();
        assert_ne!(path, "/panic", "a bug");
        if request.method() == hyper::Method::POST
            && let Err(fault) = request.read_json_body().await
        {
            return fault.into();
        }
        if request.method() == hyper::Method::PUT {
            let mut bytes = 0;
            loop {
                match request.read_piece().await {
                    Ok(Some(piece)) => bytes += piece.len(),
                    Ok(None) => return reply::json_response(StatusCode::OK, &json!(bytes)),
                    Err(fault) => return fault.into(),
                }
            }
        }
        if path == "/fast" {
            return reply::json_response(StatusCode::OK, &json!("done"));
        }
        if path == "/large" {
            return reply::json_text(200, "x".repeat(LARGE));
        }
        let dropped = DropReporter(self.news.clone());
        self.news.send("begun").unwrap();
        if path == "/flood" {
            return reply::stream_messages(flood_lines(dropped), TIMEOUT);
        }
        let release = self.release.clone();
        let work = async move {
            release.cancelled().await;
            drop(dropped);
            "\"done\"".to_owned()
        };
        match path.as_str() {
            "/events" => {
                reply::stream_messages(stream::once(work).boxed(), Duration::from_millis(20))
            }
            "/late" => reply::delayed_json(work, Duration::from_millis(20)).await,
            _ => reply::json_text(200, work.await),
        }
    }
}

/// Streams more than any buffer on the way to a client can hold; reports when all of it was taken.
fn flood_lines(dropped: DropReporter) -> impl Stream<Item = String> + Send + 'static {
    stream::unfold((0, dropped), |(taken, dropped)| async move {
        if taken == 512 {
            dropped.0.send("drained").unwrap();
            return None;
        }
        Some(("x".repeat(65_536), (taken + 1, dropped)))
    })
}

struct ReportingServer {
    address: SocketAddr,
    news: mpsc::UnboundedReceiver<&'static str>,
    release: tokio_util::sync::CancellationToken,
    tasks: Tasks,
}

impl ReportingServer {
    async fn start(change: impl FnOnce(&mut HttpSettings)) -> Self {
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
        let (requests, gate) = (
            LabelledTimer::default(),
            Arc::new(|_: AuthRequest<'_>| Ok(AuthContext::anonymous(AccessRights::Ask))),
        );
        let listener =
            Listener { socket, name: "test", requests, gate, activity: ServerActivity::default() };
        let tasks = Tasks::default();
        let (sender, news) = mpsc::unbounded_channel();
        let release = tokio_util::sync::CancellationToken::new();
        let work = ReportingHandler { news: sender, release: release.clone() };
        codeinfo_http::serve(listener, work, &http, &AllowedNames::default(), tasks.clone())
            .unwrap();
        Self { address, news, release, tasks }
    }

    async fn expect_report(&mut self, expected: &str) {
        let news = tokio::time::timeout(TIMEOUT, self.news.recv()).await.unwrap();
        assert_eq!(news, Some(expected));
    }

    async fn connect_and_send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }
}

fn keep_alive_request(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn work_is_dropped_when_its_client_leaves() {
    for path in ["/plain", "/events", "/late"] {
        let mut server = ReportingServer::start(|_| {}).await;
        let mut client = server.connect_and_send(&keep_alive_request("POST", "/fast", "{}")).await;
        let mut answered = vec![0; 64];
        client.read_exact(&mut answered).await.unwrap();
        client.write_all(keep_alive_request("POST", path, "{}").as_bytes()).await.unwrap();
        server.expect_report("begun").await;
        drop(client);
        server.expect_report("dropped").await;
    }
}

#[tokio::test]
async fn long_replies_show_signs_of_life() {
    for (path, sign) in [("/events", ": keep-alive\n\n"), ("/late", " ")] {
        let server = ReportingServer::start(|_| {}).await;
        let mut client = server.connect_and_send(&render_head("GET", path, &[], 0)).await;
        let mut bytes = Vec::new();
        let silent = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
            body.unwrap_or_default().matches(sign).count() < 3
        };
        while silent(&bytes) {
            assert_ne!(client.read_buf(&mut bytes).await.unwrap(), 0);
        }
        server.release.cancel();
        client.read_to_end(&mut bytes).await.unwrap();
        let reply = wire::parse_reply(&bytes);
        assert_eq!(reply.status, 200);
        let rest = reply.body.replace(sign, "");
        assert_eq!(rest.trim(), if path == "/events" { "data: \"done\"" } else { "\"done\"" });
    }
}

#[tokio::test]
async fn stopping_finishes_what_is_under_way_and_closes_the_rest() {
    let mut server = ReportingServer::start(|_| {}).await;
    let mut idle = server.connect_and_send(&keep_alive_request("GET", "/fast", "")).await;
    let mut silent = server.connect_and_send("").await;
    let mut busy = server.connect_and_send(&keep_alive_request("GET", "/plain", "")).await;
    server.expect_report("begun").await;
    let observed = async {
        let mut bytes = Vec::new();
        idle.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(wire::parse_reply(&bytes).body, "\"done\"");
        assert_eq!(silent.read(&mut [0; 8]).await.unwrap(), 0);
        server.release.cancel();
        bytes.clear();
        busy.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(wire::parse_reply(&bytes).body, "\"done\"");
    };
    let (all_ended, ()) = tokio::join!(server.tasks.stop(TIMEOUT), observed);
    assert!(all_ended);
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn connections_over_the_bound_wait_for_their_turn() {
    let mut server = ReportingServer::start(|http| http.max_connections = 1).await;
    let mut first = server.connect_and_send(&render_head("GET", "/plain", &[], 0)).await;
    server.expect_report("begun").await;
    let mut second = server.connect_and_send(&render_head("GET", "/plain", &[], 0)).await;
    let early = tokio::time::timeout(Duration::from_millis(200), server.news.recv()).await;
    assert!(early.is_err(), "the second is not begun before the first is done");
    server.release.cancel();
    for client in [&mut first, &mut second] {
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).await.unwrap();
        assert_eq!(wire::parse_reply(&bytes).status, 200);
    }
    server.expect_report("dropped").await;
    server.expect_report("begun").await;
}

#[tokio::test]
async fn a_slow_head_or_body_times_out() {
    let server =
        ReportingServer::start(|http| http.read_timeout = Duration::from_millis(100)).await;
    let mut silent = server.connect_and_send("").await;
    let mut slow = server.connect_and_send("GET /fast HTTP/1.1\r\nhost: loc").await;
    let mut bytes = Vec::new();
    silent.read_to_end(&mut bytes).await.unwrap();
    slow.read_to_end(&mut bytes).await.unwrap();
    let json = [("content-type", "application/json")];
    let mut replies = Vec::new();
    for method in ["POST", "PUT"] {
        let mut trickling =
            server.connect_and_send(&(render_head(method, "/fast", &json, 10) + "{")).await;
        bytes.clear();
        trickling.read_to_end(&mut bytes).await.unwrap();
        replies.push(wire::parse_reply(&bytes).render_reply());
    }
    insta::assert_snapshot!(replies[0], @r#"
    408 content-type: application/json
    {
      "error": "REQUEST_TIMEOUT",
      "message": "the body did not arrive in time"
    }
    "#);
    assert_eq!(replies[0], replies[1]);
}

#[tokio::test]
async fn a_body_that_is_read_in_pieces_may_be_larger_than_others() {
    let server = ReportingServer::start(|_| {}).await;
    let mut client = server.connect_and_send(&render_head("PUT", "/", &[], LARGE)).await;
    client.write_all(&vec![b'x'; LARGE]).await.unwrap();
    let mut bytes = Vec::new();
    client.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(wire::parse_reply(&bytes).json(), json!(LARGE));
    let mut cut = server.connect_and_send(&(render_head("PUT", "/", &[], 10) + "x")).await;
    cut.shutdown().await.unwrap();
    bytes.clear();
    cut.read_to_end(&mut bytes).await.unwrap();
    assert!(bytes.is_empty() || wire::parse_reply(&bytes).status == 400);
}

#[tokio::test]
async fn a_new_connection_must_send_something_soon() {
    let soon = Duration::from_secs(1);
    let server = ReportingServer::start(|http| http.first_byte_timeout = soon).await;
    let mut silent = server.connect_and_send("").await;
    let mut slow = server.connect_and_send("GET /fast").await;
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0, "closed");
    slow.write_all(b" HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut bytes = [0; 64];
    slow.read_exact(&mut bytes).await.unwrap();
    tokio::time::sleep(soon * 2).await;
    slow.write_all(render_head("GET", "/fast", &[], 0).as_bytes()).await.unwrap();
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    slow.read_to_string(&mut text).await.unwrap();
    assert_eq!(text.matches("200 OK").count(), 2, "only the first byte is in a hurry: {text}");
}

/// Reads one reply of `/fast` from a connection that stays open.
async fn read_fast_reply(client: &mut TcpStream) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\"done\"") {
        let read = tokio::time::timeout(TIMEOUT, client.read_buf(&mut bytes)).await;
        assert_ne!(read.expect("answered").unwrap(), 0, "{bytes:?}");
    }
}

/// Limits a server to this number of slots, none of which a timeout frees.
fn limit_slots(slots: usize) -> impl FnOnce(&mut HttpSettings) {
    move |http| {
        http.max_connections = slots;
        (http.first_byte_timeout, http.read_timeout) = (TIMEOUT * 100, TIMEOUT * 100);
    }
}

/// Reads until the server closes; returns whether it did so without a word.
async fn is_closed_silently(client: &mut TcpStream) -> bool {
    // With bytes left unread, the end of a connection is a reset.
    let read = tokio::time::timeout(TIMEOUT, client.read(&mut [0])).await;
    read.expect("closed").unwrap_or_default() == 0
}

#[tokio::test]
async fn the_longest_idle_connection_gives_way_to_a_new_client() {
    let mut server = ReportingServer::start(limit_slots(5)).await;
    let mut kept = server.connect_and_send(&keep_alive_request("GET", "/fast", "")).await;
    read_fast_reply(&mut kept).await;
    let mut busy = server.connect_and_send(&keep_alive_request("GET", "/plain", "")).await;
    server.expect_report("begun").await;
    let mut half = server.connect_and_send("GET /fast HTTP/1.1\r\nhost: loc").await;
    let mut silent = server.connect_and_send("").await;
    let mut body = server
        .connect_and_send(&keep_alive_request("POST", "/fast", "{}").replace("{}", "{"))
        .await;
    // Asked again, the first is no longer the one that has been idle longest.
    kept.write_all(keep_alive_request("GET", "/fast", "").as_bytes()).await.unwrap();
    read_fast_reply(&mut kept).await;
    let mut new = Vec::new();
    for idle in [&mut half, &mut silent, &mut body, &mut kept] {
        let mut client = server.connect_and_send(&keep_alive_request("GET", "/fast", "")).await;
        read_fast_reply(&mut client).await;
        assert!(is_closed_silently(idle).await, "{} clients were served before", new.len());
        new.push(client);
    }
    server.release.cancel();
    read_fast_reply(&mut busy).await;
}

#[tokio::test]
async fn a_connection_gives_way_when_its_request_is_done_and_not_before() {
    let mut server = ReportingServer::start(limit_slots(1)).await;
    let mut first = server.connect_and_send(&keep_alive_request("GET", "/plain", "")).await;
    server.expect_report("begun").await;
    let mut second = server.connect_and_send(&keep_alive_request("GET", "/fast", "")).await;
    let early = tokio::time::timeout(Duration::from_millis(200), second.read(&mut [0])).await;
    assert!(early.is_err(), "the second is not served before the first is done");
    server.release.cancel();
    read_fast_reply(&mut first).await;
    assert!(is_closed_silently(&mut first).await);
    read_fast_reply(&mut second).await;
}

#[tokio::test]
async fn a_connection_gives_way_when_its_reply_is_sent_and_not_when_it_is_written() {
    let server = ReportingServer::start(limit_slots(1)).await;
    let mut slow = server.connect_and_send(&keep_alive_request("GET", "/large", "")).await;
    // Its reply has begun.
    let mut bytes = vec![0];
    slow.read_exact(&mut bytes).await.unwrap();
    let mut second = server.connect_and_send(&keep_alive_request("GET", "/fast", "")).await;
    let early = tokio::time::timeout(Duration::from_millis(200), second.read(&mut [0])).await;
    assert!(early.is_err(), "the second is not served before the first has its reply");
    slow.read_to_end(&mut bytes).await.unwrap();
    assert!(LARGE < bytes.len(), "cut at {} bytes", bytes.len());
    read_fast_reply(&mut second).await;
}

#[tokio::test]
async fn a_reply_that_the_client_does_not_read_is_abandoned() {
    let mut server =
        ReportingServer::start(|http| http.write_timeout = Duration::from_millis(100)).await;
    let idle = server.connect_and_send(&keep_alive_request("GET", "/flood", "")).await;
    server.expect_report("begun").await;
    server.expect_report("dropped").await;
    drop(idle);
}

#[tokio::test]
async fn a_reply_of_any_length_reaches_a_client_that_reads_it() {
    let mut server =
        ReportingServer::start(|http| http.write_timeout = Duration::from_secs(1)).await;
    let mut client = server.connect_and_send(&render_head("GET", "/flood", &[], 0)).await;
    let taken = tokio::io::copy(&mut client, &mut tokio::io::sink()).await.unwrap();
    assert!(512 * 65_536 < taken, "{taken}");
    server.expect_report("begun").await;
    server.expect_report("drained").await;
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_reply() {
    let server =
        ReportingServer::start(|http| http.read_timeout = Duration::from_millis(100)).await;
    let mut client = server.connect_and_send(&keep_alive_request("GET", "/fast", "")).await;
    let mut bytes = Vec::new();
    client.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(wire::parse_reply(&bytes).body, "\"done\"");
}

#[tokio::test]
async fn requests_sent_ahead_are_answered_in_order() {
    let server = ReportingServer::start(|_| {}).await;
    let ahead = keep_alive_request("POST", "/fast", "{}") + &render_head("GET", "/panic", &[], 0);
    let mut client = server.connect_and_send(&ahead).await;
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    let statuses = text.split("HTTP/1.1 ").skip(1).map(|reply| reply.split(' ').next());
    assert_eq!(statuses.collect::<Vec<_>>(), [Some("200"), Some("500")]);
}

#[tokio::test]
async fn a_request_of_unclear_length_does_not_affect_earlier_ones() {
    let server = ReportingServer::start(|_| {}).await;
    let unclear = "POST /fast HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n\
                   transfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let ahead = keep_alive_request("POST", "/fast", "{}")
        + &keep_alive_request("GET", "/fast", "")
        + unclear;
    let mut client = server.connect_and_send(&ahead).await;
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    let statuses = text.split("HTTP/1.1 ").skip(1).map(|reply| reply.split(' ').next());
    assert_eq!(statuses.collect::<Vec<_>>(), [Some("200"), Some("200"), Some("400")]);
}

/// Unread input hides that the client left; the next sign of life detects it.
#[tokio::test]
async fn work_ends_when_a_client_leaves_after_sending_a_further_request() {
    for path in ["/events", "/late"] {
        let mut server = ReportingServer::start(|_| {}).await;
        let client =
            server.connect_and_send(&(keep_alive_request("POST", path, "{}") + "GET /fast")).await;
        server.expect_report("begun").await;
        drop(client);
        server.expect_report("dropped").await;
    }
}

#[tokio::test]
async fn a_bug_in_a_handler_is_answered_and_affects_no_other_request() {
    let server = ReportingServer::start(|_| {}).await;
    let reply = wire::send_get(server.address, "/panic").await;
    insta::assert_snapshot!(reply.render_reply(), @r#"
    500 content-type: application/json
    {
      "error": "INTERNAL",
      "message": "an internal error happened; the log of the server says more"
    }
    "#);
    assert_eq!(wire::send_get(server.address, "/fast").await.status, 200);
}

#[tokio::test]
async fn a_request_id_is_kept_or_generated() {
    let server = ReportingServer::start(|_| {}).await;
    let with = async |id: &str| {
        let reply =
            wire::send_request(server.address, "GET", "/fast", &[("x-request-id", id)], "").await;
        reply.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(with("client-1").await, "client-1");
    assert_eq!(with("a b").await.len(), 36);
    let made = wire::send_get(server.address, "/fast").await;
    assert_ne!(with("").await, made.header("x-request-id").unwrap());
}

#[tokio::test]
async fn a_body_at_the_bound_is_read_and_one_over_it_is_refused() {
    let server = ReportingServer::start(|_| {}).await;
    let fits = wire::send_post(server.address, "/fast", &"x".repeat(1024)).await;
    assert_eq!(fits.status, 200);
    let over = wire::send_post(server.address, "/fast", &"x".repeat(1025)).await;
    insta::assert_snapshot!(over.render_reply(), @r#"
    413 content-type: application/json
    {
      "error": "BODY_TOO_LARGE",
      "message": "the body has more than 1024 bytes"
    }
    "#);
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", 1025, "x".repeat(1025));
    let chunked = "POST /fast HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                   content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let streamed =
        wire::send_bytes(server.address, (chunked.to_owned() + &chunks).as_bytes()).await;
    assert_eq!(streamed.status, 413);
}

#[tokio::test]
async fn a_refusal_does_not_wait_for_the_body() {
    let server = ReportingServer::start(|http| http.read_timeout = Duration::from_hours(1)).await;
    let requests = [(99_999_999, 413, true), (1025, 413, true), (5, 415, false)];
    futures_util::future::join_all(requests.map(|(length, status, closes)| {
        let server = &server;
        async move {
            let kind = if status == 413 { "application/json" } else { "text/plain" };
            let head = format!(
                "POST /fast HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n\
                 content-length: {length}\r\n\r\n"
            );
            let mut client = server.connect_and_send(&head).await;
            let mut bytes = Vec::new();
            let read = client.read_to_end(&mut bytes);
            tokio::time::timeout(TIMEOUT, read).await.expect("closed").unwrap();
            let reply = wire::parse_reply(&bytes);
            assert_eq!(reply.status, status);
            assert_eq!(reply.header("connection"), closes.then_some("close"), "{length}");
            assert!(reply.json()["error"].is_string(), "{reply:?}");
        }
    }))
    .await;
}

#[tokio::test]
async fn a_connection_continues_after_a_refusal_whose_body_is_short() {
    let server = ReportingServer::start(|_| {}).await;
    let refused =
        keep_alive_request("POST", "/fast", "{}").replace("application/json", "text/plain");
    let mut client = server.connect_and_send(&refused).await;
    let mut text = String::new();
    while !text.contains('}') {
        let mut piece = [0; 1024];
        let read = client.read(&mut piece).await.unwrap();
        assert_ne!(read, 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    assert!(text.starts_with("HTTP/1.1 415"), "{text}");
    client.write_all(keep_alive_request("POST", "/fast", "{}").as_bytes()).await.unwrap();
    read_fast_reply(&mut client).await;
}

//! Hostile requests within HTTP: forms of targets, hosts, bodies and headers, and many connections.

use std::fmt::Write;

use codeinfo_test_support::wire::{render_head, send_bytes, send_post, send_request, send_rpc};
use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{hostile::send_and_read, listeners::InProcessServer};

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn targets_of_every_form_reach_their_route_or_nothing() {
    let server = InProcessServer::start().await;
    let mut replies = String::new();
    for line in [
        "GET /version?x=/health HTTP/1.1",
        "GET /%76ersion HTTP/1.1",
        "GET http://localhost:1/version HTTP/1.1",
        "GET http://localhost HTTP/1.1",
        "GET http://user@localhost/version HTTP/1.1",
        "GET http://localhost.evil.example/version HTTP/1.1",
        "GET version HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "OPTIONS /version HTTP/1.1",
        "CONNECT localhost:443 HTTP/1.1",
        "TRACE /version HTTP/1.1",
        "BREW /version HTTP/1.1",
        "get /version HTTP/1.1",
        "HEAD /version HTTP/1.1",
        "HEAD /mcp HTTP/1.1",
        "GET /version HTTP/1.0",
        "GET /version",
        "GET  /version HTTP/1.1",
        "GET /vers\u{e9} HTTP/1.1",
        "GET /version#x HTTP/1.1",
        "GET /version%2F HTTP/1.1",
        "GET /ingest%2Froots HTTP/1.1",
        "GET /./version HTTP/1.1",
    ] {
        let bytes = format!("{line}\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        writeln!(replies, "{line}: {}", send_and_read(server.main, bytes.as_bytes()).await)
            .unwrap();
    }
    assert_snapshot!(replies, @r"
    GET /version?x=/health HTTP/1.1: HTTP/1.1 200 OK
    GET /%76ersion HTTP/1.1: HTTP/1.1 200 OK
    GET http://localhost:1/version HTTP/1.1: HTTP/1.1 200 OK
    GET http://localhost HTTP/1.1: HTTP/1.1 200 OK
    GET http://user@localhost/version HTTP/1.1: HTTP/1.1 403 Forbidden
    GET http://localhost.evil.example/version HTTP/1.1: HTTP/1.1 403 Forbidden
    GET version HTTP/1.1: HTTP/1.1 403 Forbidden
    OPTIONS * HTTP/1.1: HTTP/1.1 404 Not Found
    OPTIONS /version HTTP/1.1: HTTP/1.1 405 Method Not Allowed
    CONNECT localhost:443 HTTP/1.1: HTTP/1.1 405 Method Not Allowed
    TRACE /version HTTP/1.1: HTTP/1.1 405 Method Not Allowed
    BREW /version HTTP/1.1: HTTP/1.1 405 Method Not Allowed
    get /version HTTP/1.1: HTTP/1.1 405 Method Not Allowed
    HEAD /version HTTP/1.1: HTTP/1.1 200 OK
    HEAD /mcp HTTP/1.1: HTTP/1.1 405 Method Not Allowed
    GET /version HTTP/1.0: HTTP/1.0 200 OK
    GET /version: HTTP/1.1 400 Bad Request
    GET  /version HTTP/1.1: HTTP/1.1 400 Bad Request
    GET /versé HTTP/1.1: HTTP/1.1 404 Not Found
    GET /version#x HTTP/1.1: HTTP/1.1 200 OK
    GET /version%2F HTTP/1.1: HTTP/1.1 404 Not Found
    GET /ingest%2Froots HTTP/1.1: HTTP/1.1 404 Not Found
    GET /./version HTTP/1.1: HTTP/1.1 404 Not Found
    ");
    server.assert_alive().await;
}

#[tokio::test]
async fn only_plain_names_of_this_machine_are_hosts() {
    let server = InProcessServer::start().await;
    let status = async |host: &'static str| {
        send_request(server.main, "GET", "/version", &[("host", host)], "").await.status
    };
    for known in ["LocalHost", "localhost:5010", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:80"] {
        assert_eq!(status(known).await, 200, "{known}");
    }
    for foreign in [
        "localhost.", "localhost:99999", "localhost:5010:5010", "localhost,evil.example",
        "localhost evil.example", "user@localhost", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]",
        "[::1", "::1", "2130706433", "0x7f.1", "127.1", "xn--localhost-", "\u{ff4c}ocalhost", "",
    ] {
        assert_eq!(status(foreign).await, 403, "{foreign}");
    }
    server.assert_alive().await;
}

#[tokio::test]
async fn chunks_of_every_wrong_size_are_refused() {
    let server = InProcessServer::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let (first, rest) = ping.split_at(5);
    let good = format!("5\r\n{first}\r\n{:x};note=x\r\n{rest}\r\n0\r\n\r\n", rest.len());
    let trailed = format!("{:x}\r\n{ping}\r\n0\r\nhost: evil.example\r\n\r\n", ping.len());
    let extended = format!("{:x};{}\r\n{ping}\r\n0\r\n\r\n", ping.len(), "x".repeat(100_000));
    let mut replies = String::new();
    for (name, body) in [
        ("good", good.as_str()),
        ("a trailer", trailed.as_str()),
        ("a long extension", extended.as_str()),
        ("not a size", "zz\r\n{}\r\n0\r\n\r\n"),
        ("negative", "-2\r\n{}\r\n0\r\n\r\n"),
        ("too large to count", "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
        ("larger than the bound", "7fffffff\r\n{}\r\n0\r\n\r\n"),
        ("shorter than it says", "8\r\n{}\r\n0\r\n\r\n"),
        ("longer than it says", "1\r\n{}\r\n0\r\n\r\n"),
        ("no end", "2\r\n{}\r\n"),
        ("nothing", ""),
    ] {
        let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                    content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        let reply = send_and_read(server.mcp, (head.to_owned() + body).as_bytes()).await;
        writeln!(replies, "{name}: {reply}").unwrap();
    }
    assert_snapshot!(replies, @r"
    good: HTTP/1.1 200 OK
    a trailer: HTTP/1.1 200 OK
    a long extension: HTTP/1.1 400 Bad Request
    not a size: HTTP/1.1 400 Bad Request
    negative: HTTP/1.1 400 Bad Request
    too large to count: HTTP/1.1 400 Bad Request
    larger than the bound: HTTP/1.1 400 Bad Request
    shorter than it says: HTTP/1.1 400 Bad Request
    longer than it says: HTTP/1.1 400 Bad Request
    no end: HTTP/1.1 400 Bad Request
    nothing: HTTP/1.1 400 Bad Request
    ");
    server.assert_alive().await;
}

#[tokio::test]
async fn a_client_that_expects_continue_receives_it() {
    let server = InProcessServer::start().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let mut client = TcpStream::connect(server.mcp).await.unwrap();
    let asks = render_head("POST", "/mcp", &[JSON, ("expect", "100-continue")], body.len());
    client.write_all(asks.as_bytes()).await.unwrap();
    let mut answered = [0; 25];
    client.read_exact(&mut answered).await.unwrap();
    assert_eq!(&answered, b"HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(body.as_bytes()).await.unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.ends_with(r#""result":{}}"#), "{text}");
}

#[tokio::test]
async fn a_header_sent_twice_is_one_list() {
    let server = InProcessServer::start().await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let sent =
        async |headers: &[(&str, &str)]| send_request(server.mcp, "POST", "/", headers, ping).await;
    let plain = ("content-type", "text/plain");
    assert_eq!(sent(&[JSON, plain]).await.status, 415);
    assert_eq!(sent(&[plain, JSON]).await.status, 415);
    let events = [JSON, ("accept", "text/html"), ("accept", "text/event-stream")];
    assert_eq!(sent(&events).await.header("content-type"), Some("text/event-stream"));
    let (old, new) = ("2025-03-26", "2025-06-18");
    let versions = [JSON, ("mcp-protocol-version", old), ("mcp-protocol-version", new)];
    assert_eq!(sent(&versions).await.status, 400);
}

#[tokio::test]
async fn a_batch_of_half_a_million_is_counted_and_refused() {
    let server = InProcessServer::start().await;
    let body = format!("[{}1]", "1,".repeat(500_000));
    assert_snapshot!(send_rpc(server.mcp, &body).await.body, @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: the batch has more than 64 messages"}}"#);
    server.assert_alive().await;
}

#[tokio::test]
async fn clients_with_the_same_ids_get_their_own_answers() {
    let server = InProcessServer::start().await;
    let client = async |number: usize| {
        let call = |id: usize| {
            json!({
                "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": { "name": format!("tool-{number}-{id}"), "_meta": { "progressToken": 1 } },
            })
        };
        let cancelled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
        });
        let mut batch: Vec<Value> = (0..20).map(call).collect();
        batch.push(cancelled.clone());
        let answered = send_post(server.main, "/mcp", &cancelled.to_string()).await;
        assert_eq!((answered.status, answered.body.as_str()), (202, ""));
        let answers = send_rpc(server.main, &json!(batch).to_string()).await.json();
        let answers = answers.as_array().unwrap();
        assert_eq!(answers.len(), 20);
        for (id, answer) in answers.iter().enumerate() {
            assert_eq!(answer["id"], id);
            let fault = answer["error"]["data"]["faults"][0].as_str().unwrap();
            assert!(fault.contains(&format!("`tool-{number}-{id}`")), "{fault}");
        }
    };
    join_all((0..30).map(client)).await;
    server.assert_alive().await;
}

#[tokio::test]
async fn headers_of_every_size_and_number_are_bounded() {
    let server = InProcessServer::start().await;
    let mut replies = String::new();
    for (name, lines) in [
        ("90 headers", "a: b\r\n".repeat(90)),
        ("200 headers", "a: b\r\n".repeat(200)),
        ("60 KB of value", format!("a: {}\r\n", "x".repeat(60_000))),
        ("100 KB of name", format!("{}: x\r\n", "a".repeat(100_000))),
        ("a folded line", "a: b\r\n c\r\n".to_owned()),
        ("a space in front of the colon", "a : b\r\n".to_owned()),
        ("a line without a colon", "a\r\n".to_owned()),
        ("a bare CR", "a: b\rc: d\r\n".to_owned()),
        ("a bare LF", "a: b\nc: d\r\n".to_owned()),
        ("a length that is a sum", "content-length: 1+1\r\n".to_owned()),
        ("a negative length", "content-length: -1\r\n".to_owned()),
        ("a huge length", "content-length: 99999999999999999999\r\n".to_owned()),
        ("an unknown coding", "transfer-encoding: gzip\r\n".to_owned()),
        ("two codings", "transfer-encoding: chunked, chunked\r\n".to_owned()),
        ("an upgrade", "connection: upgrade\r\nupgrade: h2c\r\n".to_owned()),
    ] {
        let bytes =
            format!("GET /version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{lines}\r\n");
        writeln!(replies, "{name}: {}", send_and_read(server.main, bytes.as_bytes()).await)
            .unwrap();
    }
    assert_snapshot!(replies, @r"
    90 headers: HTTP/1.1 200 OK
    200 headers: HTTP/1.1 431 Request Header Fields Too Large
    60 KB of value: HTTP/1.1 200 OK
    100 KB of name: HTTP/1.1 431 Request Header Fields Too Large
    a folded line: HTTP/1.1 400 Bad Request
    a space in front of the colon: HTTP/1.1 400 Bad Request
    a line without a colon: HTTP/1.1 400 Bad Request
    a bare CR: HTTP/1.1 400 Bad Request
    a bare LF: HTTP/1.1 200 OK
    a length that is a sum: HTTP/1.1 400 Bad Request
    a negative length: HTTP/1.1 400 Bad Request
    a huge length: HTTP/1.1 400 Bad Request
    an unknown coding: HTTP/1.1 400 Bad Request
    two codings: HTTP/1.1 400 Bad Request
    an upgrade: HTTP/1.1 200 OK
    ");
    // A reply to an unfinished request may be cut off.
    let bomb = render_head("GET", "/version", &[("a", &"x".repeat(2_000_000))], 0);
    let reply = send_and_read(server.main, bomb.as_bytes()).await;
    assert!(reply == "closed" || reply.contains("431"), "{reply}");
    let forged = render_head("GET", "/version", &[("x-request-id", "a b\tc")], 0);
    let reply = send_bytes(server.main, forged.as_bytes()).await;
    assert_ne!(reply.header("x-request-id"), Some("a b\tc"));
    server.assert_alive().await;
}

/// Returns the statuses of all replies until the server closes.
async fn read_statuses(to: std::net::SocketAddr, bytes: &str) -> Vec<String> {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut all = Vec::new();
    // With bytes left unread, the end of a connection is a reset.
    drop(stream.read_to_end(&mut all).await);
    let text = String::from_utf8_lossy(&all);
    let replies = text.split("HTTP/1.1 ").skip(1);
    replies.filter_map(|reply| reply.split(' ').next().map(str::to_owned)).collect()
}

#[tokio::test]
async fn no_request_hides_in_the_body_of_another() {
    let server = InProcessServer::start().await;
    let smuggled = "GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let chunked = format!("0\r\n\r\n{smuggled}");
    let long = chunked.len();
    let mut replies = String::new();
    for (name, lines, body) in [
        (
            "a length, then chunks",
            format!("content-length: {long}\r\ntransfer-encoding: chunked"),
            chunked.as_str(),
        ),
        (
            "chunks, then a length",
            format!("transfer-encoding: chunked\r\ncontent-length: {long}"),
            &chunked,
        ),
        ("the same length twice", "content-length: 0\r\ncontent-length: 0".to_owned(), smuggled),
        ("two lengths", format!("content-length: 0\r\ncontent-length: {long}"), smuggled),
        ("a list of lengths", "content-length: 0, 0".to_owned(), smuggled),
        ("chunked, identity", "transfer-encoding: chunked, identity".to_owned(), &chunked),
        ("identity, chunked", "transfer-encoding: identity, chunked".to_owned(), &chunked),
        (
            "two codings",
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked".to_owned(),
            &chunked,
        ),
        (
            "a coding and nonsense",
            "transfer-encoding: x\r\ntransfer-encoding: chunked".to_owned(),
            &chunked,
        ),
        ("a quoted coding", "transfer-encoding: \"chunked\"".to_owned(), &chunked),
        ("a vertical tab", "transfer-encoding: \u{b}chunked".to_owned(), &chunked),
        ("a space in front of the colon", "transfer-encoding : chunked".to_owned(), &chunked),
        ("a folded coding", "transfer-encoding:\r\n chunked".to_owned(), &chunked),
        ("padding", format!("content-length: {}0", " ".repeat(500)), smuggled),
        ("only chunks", "transfer-encoding: \t Chunked ".to_owned(), &chunked),
        ("only a length", "content-length: 0".to_owned(), smuggled),
    ] {
        let first = format!("GET /version HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n\r\n");
        let last = render_head("GET", "/version", &[], 0);
        let found = read_statuses(server.main, &format!("{first}{body}{last}")).await;
        writeln!(replies, "{name}: {}", found.join(" ")).unwrap();
    }
    assert_snapshot!(replies, @r"
    a length, then chunks: 400
    chunks, then a length: 400
    the same length twice: 400
    two lengths: 400
    a list of lengths: 400
    chunked, identity: 400
    identity, chunked: 400
    two codings: 400
    a coding and nonsense: 400
    a quoted coding: 400
    a vertical tab: 400
    a space in front of the colon: 400
    a folded coding: 400
    padding: 400
    only chunks: 200
    only a length: 200 200 200
    ");
    server.assert_alive().await;
}

#[tokio::test]
async fn a_head_ends_at_its_bound() {
    let server = InProcessServer::start().await;
    let of = |bytes: usize| {
        let empty = render_head("GET", "/version", &[("a", "")], 0).len();
        render_head("GET", "/version", &[("a", &"x".repeat(bytes - empty))], 0)
    };
    assert_eq!(send_bytes(server.main, of(64 * 1024).as_bytes()).await.status, 200);
    for over in [1, 100, 8_000] {
        let reply = send_and_read(server.main, of(64 * 1024 + over).as_bytes()).await;
        assert_eq!(reply, "HTTP/1.1 431 Request Header Fields Too Large", "{over} over");
    }
    // Also after a body in the same bytes.
    let first =
        render_head("POST", "/version", &[], 5).replace("connection: close\r\n", "") + "12345";
    let found = read_statuses(server.main, &(first.clone() + &of(64 * 1024))).await;
    assert_eq!(found, ["405", "200"]);
    assert_eq!(read_statuses(server.main, &(first + &of(64 * 1024 + 1))).await, ["405", "431"]);
    server.assert_alive().await;
}

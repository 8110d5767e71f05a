//! Hostile bytes over real sockets. The server answers after each of them.

use std::{fmt::Write, net::SocketAddr};

use codeinfo_test_support::wire::{
    self, render_head, send_bytes, send_post, send_request, send_rpc,
};
use insta::assert_snapshot;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::listeners::InProcessServer;

const JSON: (&str, &str) = ("content-type", "application/json");
const PING: &str = r#"{"jsonrpc":"2.0","id":"alive","method":"ping"}"#;

impl InProcessServer {
    pub(crate) async fn assert_alive(&self) {
        for address in [self.main, self.mcp] {
            let reply = send_post(address, "/mcp", PING).await;
            assert_eq!(reply.body, r#"{"jsonrpc":"2.0","id":"alive","result":{}}"#);
        }
    }
}

/// Sends what may be cut off by the server, and returns whatever came back.
pub(crate) async fn send_and_read(to: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(to).await.unwrap();
    // The server may close during the write; reading then returns its reply.
    drop(stream.write_all(bytes).await);
    drop(stream.shutdown().await);
    let mut all = Vec::new();
    drop(stream.read_to_end(&mut all).await);
    String::from_utf8_lossy(&all).lines().next().unwrap_or("closed").to_owned()
}

#[tokio::test]
async fn foreign_origins_and_hosts_are_refused() {
    let server = InProcessServer::start_with(&[
        ("ALLOWED_HOSTS", "codeinfo.test"),
        ("ALLOWED_ORIGINS", "https://tools.test"),
    ])
    .await;
    for address in [server.main, server.mcp] {
        let own = format!("http://localhost:{}", address.port());
        let status = async |header| {
            send_request(address, "POST", "/mcp", &[JSON, header], PING).await.status
        };
        for known in [
            ("origin", own.as_str()),
            ("origin", "https://tools.test"),
            ("host", "codeinfo.test:5011"),
            ("host", "[::1]:5011"),
        ] {
            assert_eq!(status(known).await, 200, "{known:?}");
        }
        for foreign in [
            ("origin", "null"),
            ("origin", "http://localhost:3000"),
            ("origin", "https://evil.example"),
            ("origin", "https://tools.test.evil.example"),
            ("host", "evil.example"),
            ("host", "localhost.evil.example"),
            ("host", "169.254.169.254"),
        ] {
            assert_eq!(status(foreign).await, 403, "{foreign:?}");
        }
    }
    let evil =
        send_request(server.mcp, "POST", "/", &[JSON, ("origin", "https://evil.example")], PING);
    assert_snapshot!(evil.await.render_reply(), @r#"
    403 content-type: application/json
    {
      "error": "FORBIDDEN",
      "message": "the origin `https://evil.example` is not allowed; `ALLOWED_ORIGINS` can add it"
    }
    "#);
    server.assert_alive().await;
}

#[tokio::test]
async fn a_host_is_named_exactly_once() {
    let server = InProcessServer::start().await;
    let line = async |text: &str| send_bytes(server.main, text.as_bytes()).await.render_reply();
    assert_snapshot!(line("GET /version HTTP/1.1\r\nconnection: close\r\n\r\n").await, @r#"
    400 content-type: application/json
    {
      "error": "BAD_REQUEST",
      "message": "exactly one `Host` header is required"
    }
    "#);
    for faulty in [
        "GET /version HTTP/1.0\r\n\r\n",
        "GET /version HTTP/1.1\r\nconnection: close\r\nhost: localhost\r\nhost: localhost\r\n\r\n",
    ] {
        assert!(line(faulty).await.starts_with("400"), "{faulty}");
    }
    let absolute =
        "GET http://evil.example/version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(line(absolute).await.starts_with("403"));
    server.assert_alive().await;
}

#[tokio::test]
async fn bodies_of_every_wrong_kind_are_refused() {
    let server = InProcessServer::start().await;
    let deep = "[".repeat(100_000);
    let mut replies = String::new();
    for (name, body) in [
        ("null", "null"),
        ("nothing", ""),
        ("an array", "[]"),
        ("text", "\"x\""),
        ("deep", deep.as_str()),
        ("half an escape", r#"{"query":"\ud800"}"#),
        ("a huge number", r#"{"query":1e999}"#),
        ("wrong kinds", r#"{"query":null,"limit":"5","repository":[],"repo":1}"#),
        ("a fraction", r#"{"query":"x","limit":1.5}"#),
        ("blank", r#"{"query":" \t\n"}"#),
        ("NUL", r#"{"query":"a\u0000b"}"#),
        ("twice", r#"{"query":1,"query":"  "}"#),
    ] {
        let reply = send_post(server.main, "/tools/vector-search", body).await;
        writeln!(replies, "{name}: {} {}", reply.status, reply.body).unwrap();
    }
    assert_snapshot!(replies, @r#"
    null: 400 {"error":"VALIDATION_FAILED","message":"the value must be an object","details":["the value must be an object"]}
    nothing: 400 {"error":"INVALID_JSON","message":"the body is not JSON: EOF while parsing a value at line 1 column 0"}
    an array: 400 {"error":"VALIDATION_FAILED","message":"the value must be an object","details":["the value must be an object"]}
    text: 400 {"error":"VALIDATION_FAILED","message":"the value must be an object","details":["the value must be an object"]}
    deep: 400 {"error":"INVALID_JSON","message":"the body is not JSON: recursion limit exceeded at line 1 column 128"}
    half an escape: 400 {"error":"INVALID_JSON","message":"the body is not JSON: unexpected end of hex escape at line 1 column 17"}
    a huge number: 400 {"error":"INVALID_JSON","message":"the body is not JSON: number out of range at line 1 column 14"}
    wrong kinds: 400 {"error":"VALIDATION_FAILED","message":"`query` must be a string; `limit` must be an integer; `repository` must be a string; `repo` is not known here","details":["`query` must be a string","`limit` must be an integer","`repository` must be a string","`repo` is not known here"]}
    a fraction: 400 {"error":"VALIDATION_FAILED","message":"`limit` must be an integer","details":["`limit` must be an integer"]}
    blank: 400 {"error":"VALIDATION_FAILED","message":"`query` is blank"}
    NUL: 400 {"error":"VALIDATION_FAILED","message":"`query` holds a NUL character"}
    twice: 400 {"error":"VALIDATION_FAILED","message":"`query` is blank"}
    "#);
    server.assert_alive().await;
}

#[tokio::test]
async fn deep_json_is_a_parse_error() {
    let server = InProcessServer::start().await;
    let open = |depth: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{}{}}}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    assert_eq!(send_rpc(server.mcp, &open(100)).await.status, 200);
    assert_snapshot!(send_rpc(server.mcp, &open(50_000)).await.render_reply(), @r#"
    400 content-type: application/json
    {
      "jsonrpc": "2.0",
      "id": null,
      "error": {
        "code": -32700,
        "message": "Parse error: recursion limit exceeded at line 1 column 180"
      }
    }
    "#);
    server.assert_alive().await;
}

#[tokio::test]
async fn a_body_of_ten_megabytes_is_refused_and_the_reply_arrives() {
    let server = InProcessServer::start().await;
    let body = "x".repeat(10 * 1024 * 1024);
    let refused = send_post(server.main, "/mcp", &body).await.render_reply();
    assert_snapshot!(refused, @r#"
    413 content-type: application/json
    {
      "error": "BODY_TOO_LARGE",
      "message": "the body has more than 1048576 bytes"
    }
    "#);
    assert_eq!(send_post(server.mcp, "/", &body).await.render_reply(), refused);
    // Nor is the reply lost where the body is not read.
    assert_eq!(send_post(server.mcp, "/nowhere", &body).await.status, 404);
    assert_eq!(send_request(server.mcp, "POST", "/", &[], &body).await.status, 415);
    // A client that asks first is answered at once.
    let asks = render_head("POST", "/mcp", &[JSON, ("expect", "100-continue")], body.len());
    assert_eq!(send_bytes(server.mcp, asks.as_bytes()).await.status, 413);
    server.assert_alive().await;
}

#[tokio::test]
async fn truncated_uploads_and_bytes_that_are_not_http_end_quietly() {
    let server = InProcessServer::start().await;
    let truncated = render_head("POST", "/mcp", &[JSON], 1000) + r#"{"jsonrpc":"#;
    let smuggled = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\
         content-type: application/json\r\nconnection: close\r\n\r\n0\r\n\r\n";
    let long_line = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(100_000));
    let many_headers = render_head("GET", "/version", &vec![("a", "b"); 1000], 0);
    let mut replies = String::new();
    for (name, bytes) in [
        ("truncated", truncated.as_bytes()),
        ("nothing", b"".as_slice()),
        ("noise", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\xff\xfe\n\n\n"),
        ("half a line", b"GET /he"),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("HTTP/9", b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n"),
        ("two lengths", b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}"),
        ("length and chunks", smuggled.as_bytes()),
        ("long line", long_line.as_bytes()),
        ("many headers", many_headers.as_bytes()),
        ("NUL in the path", b"GET /\0 HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        ("NUL in a header", b"GET / HTTP/1.1\r\nhost: localhost\r\na: \0\r\n\r\n"),
    ] {
        writeln!(replies, "{name}: {}", send_and_read(server.main, bytes).await).unwrap();
        server.assert_alive().await;
    }
    assert_snapshot!(replies, @r"
    truncated: HTTP/1.1 400 Bad Request
    nothing: closed
    noise: HTTP/1.1 400 Bad Request
    half a line: closed
    HTTP/2: closed
    HTTP/9: HTTP/1.1 400 Bad Request
    two lengths: HTTP/1.1 400 Bad Request
    length and chunks: HTTP/1.1 400 Bad Request
    long line: HTTP/1.1 431 Request Header Fields Too Large
    many headers: HTTP/1.1 431 Request Header Fields Too Large
    NUL in the path: HTTP/1.1 400 Bad Request
    NUL in a header: HTTP/1.1 400 Bad Request
    ");
}

#[tokio::test]
async fn ids_in_paths_cannot_lead_anywhere() {
    let server = InProcessServer::start().await;
    let mut replies = String::new();
    for path in [
        "/ingest/status/..%2F..%2Fetc%2Fpasswd",
        "/ingest/status/--help",
        "/ingest/status/'%20OR%201=1",
        "/ingest/status/%00",
        "/ingest/status/%ff",
        "/ingest/status/%",
        "/ingest/status/{00000000-0000-0000-0000-000000000000}",
        "/ingest/status/00000000-0000-0000-0000-000000000000",
        "/ingest/status/..",
        "/ingest/../health",
        "//health",
        "/health/",
        "/HEALTH",
    ] {
        let reply = wire::send_get(server.main, path).await;
        writeln!(replies, "{path}: {} {}", reply.status, reply.body).unwrap();
    }
    assert_snapshot!(replies, @r#"
    /ingest/status/..%2F..%2Fetc%2Fpasswd: 400 {"error":"VALIDATION_FAILED","message":"`../../etc/passwd` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`","details":["`../../etc/passwd` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`"]}
    /ingest/status/--help: 400 {"error":"VALIDATION_FAILED","message":"`--help` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`","details":["`--help` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`"]}
    /ingest/status/'%20OR%201=1: 400 {"error":"VALIDATION_FAILED","message":"`' OR 1=1` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`","details":["`' OR 1=1` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`"]}
    /ingest/status/%00: 400 {"error":"BAD_REQUEST","message":"the path holds a NUL character"}
    /ingest/status/%ff: 400 {"error":"BAD_REQUEST","message":"the path is not UTF-8"}
    /ingest/status/%: 400 {"error":"BAD_REQUEST","message":"the path holds a broken `%` escape"}
    /ingest/status/{00000000-0000-0000-0000-000000000000}: 400 {"error":"VALIDATION_FAILED","message":"`{00000000-0000-0000-0000-000000000000}` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`","details":["`{00000000-0000-0000-0000-000000000000}` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`"]}
    /ingest/status/00000000-0000-0000-0000-000000000000: 404 {"error":"RUN_NOT_FOUND","message":"no ingest run has the id `00000000-0000-0000-0000-000000000000`"}
    /ingest/status/..: 400 {"error":"VALIDATION_FAILED","message":"`..` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`","details":["`..` is not an id: expected a UUID such as `0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17`"]}
    /ingest/../health: 404 {"error":"ROUTE_NOT_FOUND","message":"there is nothing at this path"}
    //health: 404 {"error":"ROUTE_NOT_FOUND","message":"there is nothing at this path"}
    /health/: 404 {"error":"ROUTE_NOT_FOUND","message":"there is nothing at this path"}
    /HEALTH: 404 {"error":"ROUTE_NOT_FOUND","message":"there is nothing at this path"}
    "#);
    server.assert_alive().await;
}

#[tokio::test]
async fn ids_and_names_come_back_as_they_went() {
    let server = InProcessServer::start().await;
    let id = r#"a\"b\\c\u0000--x/../y\u00e9'"#;
    let reply = send_rpc(server.mcp, &PING.replace("alive", id)).await;
    assert_eq!(reply.json()["id"], "a\"b\\c\0--x/../yé'");
    let long = "x".repeat(500_000);
    let reply = send_rpc(server.mcp, &PING.replace("ping", &long)).await;
    assert!(reply.body.len() < 1000, "a wrong method is not repeated at length");
    let named =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{long}"}}}}"#);
    assert!(send_rpc(server.main, &named).await.body.len() < 1000);
    let argued = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"VectorSearch","arguments":{{"query":"{long}","{long}":1}}}}}}"#
    );
    let reply = send_rpc(server.main, &argued).await;
    assert!(reply.body.contains("-32602") && reply.body.len() < 1000, "{}", reply.body);
    server.assert_alive().await;
}

#[tokio::test]
async fn hundreds_of_idle_and_half_open_connections_do_not_stop_others() {
    let server = InProcessServer::start().await;
    let mut held = Vec::new();
    for number in 0..300 {
        let address = if number % 2 == 0 { server.main } else { server.mcp };
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: loc").await.unwrap();
        held.push(stream);
    }
    server.assert_alive().await;
}

#[tokio::test]
async fn a_web_page_cannot_drive_a_route_without_a_body() {
    let server = InProcessServer::start().await;
    let form = ("content-type", "application/x-www-form-urlencoded");
    for path in [
        "/ingest/start",
        "/ingest/cancel/00000000-0000-0000-0000-000000000000",
        "/ingest/reembed/demo",
        "/ingest/remove/demo",
        "/tools/vector-search",
        "/chat",
        "/mcp",
    ] {
        for headers in [&[][..], &[form]] {
            let reply = send_request(server.main, "POST", path, headers, "").await;
            assert_eq!(reply.status, 415, "{path} {headers:?}");
        }
    }
    for path in ["/", "/mcp"] {
        assert_eq!(send_request(server.mcp, "POST", path, &[], PING).await.status, 415, "{path}");
    }
    let page = ("origin", "https://evil.example");
    let reply = send_request(server.main, "POST", "/ingest/remove/demo", &[page], "").await;
    assert_eq!(reply.status, 403);
    server.assert_alive().await;
}

//! A client that sees the bytes: requests as text over TCP, replies taken apart.

use std::{fmt::Write, net::SocketAddr};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A whole reply.
#[derive(Debug)]
pub struct RawReply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl RawReply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Shows status, the headers that are promises, and the body, JSON indented.
    pub fn render_reply(&self) -> String {
        let mut text = self.status.to_string();
        for name in ["content-type", "allow"] {
            if let Some(value) = self.header(name) {
                write!(text, " {name}: {value}").unwrap();
            }
        }
        let body = match serde_json::from_str::<Value>(&self.body) {
            Ok(value) => serde_json::to_string_pretty(&value).unwrap(),
            Err(_) => self.body.clone(),
        };
        format!("{text}\n{body}").trim_end().to_owned()
    }
}

/// Sends `bytes` as they are and reads until the server closes.
pub async fn send_bytes(to: SocketAddr, bytes: &[u8]) -> RawReply {
    let mut stream = TcpStream::connect(to).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.unwrap();
    parse_reply(&all)
}

/// Gets a path.
pub async fn send_get(to: SocketAddr, path: &str) -> RawReply {
    send_request(to, "GET", path, &[], "").await
}

/// Posts JSON.
pub async fn send_post(to: SocketAddr, path: &str, body: &str) -> RawReply {
    send_request(to, "POST", path, &[("content-type", "application/json")], body).await
}

/// Posts a JSON-RPC message as MCP clients do.
pub async fn send_rpc(to: SocketAddr, body: &str) -> RawReply {
    send_rpc_with_headers(to, &[("accept", "application/json, text/event-stream")], body).await
}

pub async fn send_rpc_with_headers(
    to: SocketAddr,
    headers: &[(&str, &str)],
    body: &str,
) -> RawReply {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    send_request(to, "POST", "/mcp", &all, body).await
}

/// Sends a request that closes its connection.
pub async fn send_request(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> RawReply {
    let text = render_head(method, path, headers, body.len()) + body;
    send_bytes(to, text.as_bytes()).await
}

/// Writes the head of a request with a body of `length` bytes. A `host` among the headers replaces
/// the usual one.
pub fn render_head(method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        text.push_str("host: localhost\r\n");
    }
    for (name, value) in headers {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    text + &format!("content-length: {length}\r\n\r\n")
}

pub fn parse_reply(bytes: &[u8]) -> RawReply {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no reply: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
    let body = if chunked { decode_chunks(body) } else { body.to_owned() };
    RawReply { status, headers, body }
}

fn decode_chunks(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        let (chunk, after) = after.split_at(size);
        body.push_str(chunk);
        rest = after.strip_prefix("\r\n").unwrap();
    }
    body
}

//! A fake `/mcp` of the main listener: every search finds the same file.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use codeinfo_core::task::Tasks;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// A listening search server. It ends with the test.
pub(crate) struct FakeSearch {
    /// URL of its MCP endpoint.
    pub(crate) url: String,
    messages: ReceivedMessages,
    tasks: Tasks,
}

/// The target of each message, and the message.
type ReceivedMessages = Arc<Mutex<Vec<(String, Value)>>>;

impl FakeSearch {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let messages = Arc::default();
        let tasks = Tasks::default();
        tasks.spawn(accept_connections(listener, Arc::clone(&messages), tasks.clone()));
        Self { url, messages, tasks }
    }

    /// Returns the queries up to now.
    pub(crate) fn queries(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        let calls = messages.iter().filter(|(_, message)| message["method"] == "tools/call");
        calls
            .map(|(_, call)| call["params"]["arguments"]["query"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the targets of the searches up to now, such as `/mcp`.
    pub(crate) fn targets(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        let calls = messages.iter().filter(|(_, message)| message["method"] == "tools/call");
        calls.map(|(target, _)| target.clone()).collect()
    }

    /// Returns the methods of the messages up to now.
    pub(crate) fn methods(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        let methods = messages.iter().filter_map(|(_, message)| message["method"].as_str());
        methods.map(str::to_owned).collect()
    }

    /// Returns how many messages came.
    pub(crate) fn count_messages(&self) -> usize {
        self.messages.lock().unwrap().len()
    }
}

impl Drop for FakeSearch {
    fn drop(&mut self) {
        self.tasks.stop_token().cancel();
    }
}

async fn accept_connections(listener: TcpListener, messages: ReceivedMessages, tasks: Tasks) {
    while let Some(Ok((stream, _))) =
        tasks.stop_token().run_until_cancelled(listener.accept()).await
    {
        let (messages, owner) = (Arc::clone(&messages), tasks.clone());
        tasks.spawn(async move {
            let service = service_fn(|request| respond_to_request(request, Arc::clone(&messages)));
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // Codex drops connections when it ends.
            drop(owner.stop_token().run_until_cancelled(serving).await);
        });
    }
}

async fn respond_to_request(
    request: Request<Incoming>,
    messages: ReceivedMessages,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(json_reply(405, String::new()));
    }
    let target = request.uri().to_string();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message: Value = serde_json::from_slice(&body).unwrap();
    messages.lock().unwrap().push((target, message.clone()));
    if message.get("id").is_none() {
        return Ok(json_reply(202, String::new()));
    }
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "codeinfo", "version": "0" },
            "instructions": "Searches indexed repositories.",
        }),
        "tools/list" => json!({ "tools": [{
            "name": "VectorSearch",
            "description": "Finds code.",
            "inputSchema": {
                "type": "object",
                "properties": { "query": { "type": "string" } },
                "required": ["query"],
            },
            "annotations": { "readOnlyHint": true },
        }] }),
        "tools/call" => render_search_result(&message["params"]["arguments"]["query"]),
        _ => json!({}),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    Ok(json_reply(200, answer.to_string()))
}

fn render_search_result(query: &Value) -> Value {
    if query == "fail" {
        let content = json!([{ "type": "text", "text": "nothing is indexed" }]);
        return json!({ "isError": true, "content": content });
    }
    // A query that is a path is found as that file.
    let path = query.as_str().filter(|query| query.starts_with('/')).unwrap_or("/r/src/parse.rs");
    let file = json!({
        "path": path, "relPath": "src/parse.rs", "repo": "r",
        "match": 0.75, "chunks": 1, "lines": 3, "ranges": ["1-3"],
    });
    json!({
        "content": [{ "type": "text", "text": "/r/src/parse.rs:1-3 fn parse() {}" }],
        "_meta": { "codeinfo/files": [file] },
    })
}

fn json_reply(status: u16, body: String) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .unwrap()
}

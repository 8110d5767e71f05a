//! Tests of stream frames: no headers, events wanted, calls cancelled by a later frame.

use std::{sync::Arc, time::Duration};

use codeinfo_mcp::{
    CallRegistry, CallUpdate, Endpoint, EndpointInfo, JsonRpcError, McpContext, McpPost, McpReply,
    McpTool, McpToolResult, StartedCall, ToolCallError, ToolIdempotence, answer_post,
};
use futures_util::{FutureExt, StreamExt, future, future::BoxFuture, stream};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

/// A tool that never ends, and notifies when it is dropped.
struct EndlessTool {
    about: EndpointInfo,
    dropped: Arc<Notify>,
}

struct DropNotifier(Arc<Notify>);

impl Drop for DropNotifier {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl EndlessTool {
    fn start() -> (Arc<dyn Endpoint>, Arc<Notify>) {
        let schema = json!({ "type": "object" });
        let tool =
            McpTool::new("endless", "title", "text", schema, ToolIdempotence::Changing).unwrap();
        let about = EndpointInfo {
            title: "Test".to_owned(),
            instructions: "Ask.".to_owned(),
            tools: vec![tool],
            shared: true,
        };
        let dropped = Arc::new(Notify::new());
        (Arc::new(Self { about, dropped: Arc::clone(&dropped) }), dropped)
    }
}

impl Endpoint for EndlessTool {
    fn endpoint_info(&self) -> &EndpointInfo {
        &self.about
    }

    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        future::ready(Ok(())).boxed()
    }

    fn call_tool<'a>(
        &'a self,
        _: &'a McpTool,
        _: Value,
        _: Map<String, Value>,
    ) -> BoxFuture<'a, Result<StartedCall, ToolCallError>> {
        let rings = DropNotifier(Arc::clone(&self.dropped));
        let never = stream::once(async move {
            let _rings = rings;
            future::pending::<()>().await;
            CallUpdate::Done(Ok(McpToolResult::text(String::new())))
        });
        future::ready(Ok(StartedCall::Running(never.boxed()))).boxed()
    }
}

/// Returns a request of a client with a session.
fn build_post(text: &[u8]) -> McpPost<'_> {
    McpPost::new(|name| (name == "mcp-session-id").then(|| "s".into()), text)
}

fn make_context() -> McpContext {
    McpContext {
        max_batch: 8,
        keep_alive: Duration::from_millis(5),
        calls: CallRegistry::default(),
    }
}

fn call_frame(id: u64, version: Option<&str>) -> String {
    let mut meta = json!({ "progressToken": 1 });
    if let Some(version) = version {
        meta["io.modelcontextprotocol/protocolVersion"] = json!(version);
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    let params = json!({ "name": "endless", "arguments": {}, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
}

fn cancel_frame(id: u64) -> String {
    let params = json!({ "requestId": id });
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string()
}

#[tokio::test]
async fn a_later_frame_cancels_the_call_of_its_stream_in_both_eras() {
    for version in [None, Some("2026-07-28")] {
        let ((endpoint, dropped), bounds) = (EndlessTool::start(), make_context());
        let frame = async |session, text: &str| {
            answer_post(&endpoint, McpPost::from_frame(session, text.as_bytes()), &bounds).await
        };
        let McpReply::Events(mut events) = frame("a", &call_frame(7, version)).await else {
            panic!("no events")
        };
        // The progress of the call arrives in the meantime.
        let news: Value = serde_json::from_str(&events.next().await.unwrap()).unwrap();
        assert_eq!(news["method"], "notifications/progress");
        for not_meant in [("b", 7), ("a", 8)] {
            assert!(matches!(
                frame(not_meant.0, &cancel_frame(not_meant.1)).await,
                McpReply::Accepted
            ));
        }
        assert!(events.next().await.is_some());
        assert!(matches!(frame("a", &cancel_frame(7)).await, McpReply::Accepted));
        assert_eq!(events.next().await, None);
        dropped.notified().now_or_never().expect("the call continues");
    }
}

#[tokio::test]
async fn a_reply_that_is_no_stream_says_that_the_call_was_cancelled() {
    let ((endpoint, dropped), bounds) = (EndlessTool::start(), make_context());
    let (one, batch) = (call_frame(1, None), format!("[{}]", call_frame(2, None)));
    for (text, id) in [(&one, 1), (&batch, 2)] {
        let McpReply::Deferred(mut reply) =
            answer_post(&endpoint, build_post(text.as_bytes()), &bounds).await
        else {
            panic!("not deferred")
        };
        assert_eq!((&mut reply).now_or_never(), None);
        let cancelled = format!("[{}]", cancel_frame(id));
        assert!(matches!(
            answer_post(&endpoint, build_post(cancelled.as_bytes()), &bounds).await,
            McpReply::Accepted
        ));
        let reply: Value = serde_json::from_str(&reply.await).unwrap();
        let reply = if id == 2 { &reply[0] } else { &reply };
        let error = json!({ "code": -32800, "message": "Request cancelled" });
        assert_eq!((&reply["id"], &reply["error"]), (&json!(id), &error));
        dropped.notified().now_or_never().expect("the call continues");
    }
}

#[tokio::test]
async fn a_frame_needs_no_headers_and_its_metadata_is_checked() {
    let ((endpoint, _), bounds) = (EndlessTool::start(), make_context());
    let heard = async |text: String| match answer_post(
        &endpoint,
        McpPost::from_frame("a", text.as_bytes()),
        &bounds,
    )
    .await
    {
        McpReply::Json { text, .. } => serde_json::from_str::<Value>(&text).unwrap(),
        McpReply::Greeting { text, .. } => json!({ "greeting": text.contains("serverInfo") }),
        McpReply::Accepted
        | McpReply::Deferred(_)
        | McpReply::Events(_)
        | McpReply::Listening(_) => {
            json!("other")
        }
    };
    let version = "io.modelcontextprotocol/protocolVersion";
    let request = |method: &str, meta: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "_meta": meta } })
            .to_string()
    };
    let capable =
        |named: &str| json!({ version: named, "io.modelcontextprotocol/clientCapabilities": {} });
    let list = heard(request("tools/list", capable("2026-07-28"))).await;
    assert_eq!(
        (&list["result"]["resultType"], list["error"].is_null()),
        (&json!("complete"), true)
    );
    let unknown = heard(request("tools/list", capable("2099-01-01"))).await;
    assert_eq!(unknown["error"]["code"], -32022);
    let incapable = heard(request("tools/list", json!({ version: "2026-07-28" }))).await;
    assert_eq!(incapable["error"]["code"], -32602);
    let legacy = heard(request("tools/list", json!({}))).await;
    assert_eq!(legacy["result"]["resultType"], Value::Null);
    assert_eq!(heard(request("initialize", json!({}))).await, json!({ "greeting": true }));
}

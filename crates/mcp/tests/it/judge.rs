//! Sends a POST to an MCP endpoint and checks the reply to any input. Shared with `fuzz/`.

use std::{sync::Arc, time::Duration};

use codeinfo_mcp::{
    CallRegistry, CallUpdate, Endpoint, EndpointInfo, JsonRpcError, McpContext, McpPost, McpReply,
    McpTool, McpToolResult, StartedCall, ToolCallError, ToolIdempotence, answer_post,
};
use futures_util::{
    FutureExt, StreamExt,
    future::{self, BoxFuture},
    stream,
};
use serde_json::{Map, Value, json};

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const KNOWN: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const MAX_BATCH: usize = 8;

#[derive(Debug, Clone, Default)]
pub(crate) struct PostHeaders {
    pub(crate) accept: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) name: Option<String>,
}

impl PostHeaders {
    fn get(&self, name: &str) -> Option<&str> {
        match name {
            "accept" => self.accept.as_deref(),
            "mcp-protocol-version" => self.version.as_deref(),
            "mcp-method" => self.method.as_deref(),
            "mcp-name" => self.name.as_deref(),
            _ => None,
        }
    }
}

/// Reply as a client receives it.
#[derive(Debug, PartialEq)]
enum ClientReply {
    Nothing,
    Json(u16, String),
    Events(Vec<String>),
}

/// Endpoints with one tool of each kind, open and gated, and a runtime to call them.
pub(crate) struct EndpointJudge {
    runtime: tokio::runtime::Runtime,
    open: Arc<dyn Endpoint>,
    gated: Arc<dyn Endpoint>,
    bounds: McpContext,
}

impl EndpointJudge {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let wait = Duration::from_mins(1);
        let bounds =
            McpContext { max_batch: MAX_BATCH, keep_alive: wait, calls: CallRegistry::default() };
        Self {
            runtime: runtime.unwrap(),
            open: Arc::new(JudgedTools::new(true)),
            gated: Arc::new(JudgedTools::new(false)),
            bounds,
        }
    }

    /// Panics unless both endpoints answer correctly, and identically when asked again.
    pub(crate) fn check_post(&self, headers: &PostHeaders, body: &[u8]) {
        for endpoint in [&self.open, &self.gated] {
            let heard = self.send_post(endpoint, headers, body);
            judge_reply(headers, body, &heard);
            assert_eq!(
                heard,
                self.send_post(endpoint, headers, body),
                "another answer to the same"
            );
        }
    }

    fn send_post(
        &self,
        endpoint: &Arc<dyn Endpoint>,
        headers: &PostHeaders,
        body: &[u8],
    ) -> ClientReply {
        self.runtime.block_on(async {
            let post = McpPost::new(|name| headers.get(name).map(Into::into), body);
            match answer_post(endpoint, post, &self.bounds).await {
                McpReply::Accepted => ClientReply::Nothing,
                McpReply::Json { status, text } => ClientReply::Json(status, text),
                McpReply::Greeting { text, .. } => ClientReply::Json(200, text),
                McpReply::Deferred(text) => ClientReply::Json(200, text.await),
                McpReply::Events(messages) | McpReply::Listening(messages) => {
                    ClientReply::Events(messages.collect().await)
                }
            }
        })
    }
}

/// Kind of a message, determined without the code under test.
#[derive(Debug, PartialEq)]
enum PostKind {
    Request(Value),
    /// A notification or a response, which has no answer.
    Silent,
    Invalid(Value),
}

impl PostKind {
    fn from_message(message: &Value) -> Self {
        let Value::Object(members) = message else { return Self::Invalid(Value::Null) };
        let given = members.get("id");
        let valid_id = given.filter(|id| id.is_string() || id.is_i64() || id.is_u64());
        let id = valid_id.cloned().unwrap_or_default();
        if members.get("jsonrpc") != Some(&json!("2.0")) {
            return Self::Invalid(id);
        }
        match members.get("method") {
            Some(Value::String(_)) => {}
            None if members.contains_key("result") || members.contains_key("error") => {
                return Self::Silent;
            }
            Some(_) | None => return Self::Invalid(id),
        }
        let params = members.get("params").unwrap_or(&Value::Null);
        let has_form = params.is_null() || params.is_object() || *params == json!([]);
        match given {
            None => Self::Silent,
            Some(_) if has_form && !id.is_null() => Self::Request(id),
            Some(_) => Self::Invalid(id),
        }
    }
}

fn judge_reply(headers: &PostHeaders, body: &[u8], heard: &ClientReply) {
    if let ClientReply::Json(406, text) = heard {
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        // A subscription can only be answered with a stream.
        let listens = message["method"] == "subscriptions/listen"
            && text.contains("must allow text/event-stream");
        let id = if listens { message["id"].clone() } else { Value::Null };
        assert!(listens || headers.accept.is_some(), "any reply is acceptable: {text}");
        assert_eq!(read_error_code(text, &id), Some(-32600));
        return;
    }
    match serde_json::from_slice(body) {
        Err(_) => assert_refused(heard, -32700),
        Ok(Value::Array(elements)) => judge_batch(headers, &elements, heard),
        Ok(message) => match PostKind::from_message(&message) {
            PostKind::Silent => judge_notification(headers, &message, heard),
            PostKind::Invalid(id) => {
                let ClientReply::Json(400, text) = heard else { panic!("{heard:?}") };
                assert_eq!(read_error_code(text, &id), Some(-32600));
            }
            PostKind::Request(id) => judge_request(&message, &id, heard),
        },
    }
}

/// Checks that a notification has no answer, except for a header with an unsupported version.
fn judge_notification(headers: &PostHeaders, message: &Value, heard: &ClientReply) {
    let version = headers.version.as_deref();
    match heard {
        ClientReply::Nothing => {}
        ClientReply::Json(400, text) if message.get("method").is_none() => {
            assert!(version.is_some(), "{text}");
            read_error_code(text, &Value::Null);
        }
        ClientReply::Json(400, text) => {
            assert!(version.is_some_and(|version| !KNOWN.contains(&version)), "{text}");
            assert_eq!(read_error_code(text, &Value::Null), Some(-32022));
        }
        other => panic!("{other:?}"),
    }
}

fn judge_request(message: &Value, id: &Value, heard: &ClientReply) {
    let meta = &message["params"]["_meta"];
    let (status, text) = match heard {
        ClientReply::Json(status, text) => (*status, text),
        ClientReply::Events(messages) => {
            let (last, news) = messages.split_last().unwrap();
            judge_progress(&meta["progressToken"], news);
            (200, last)
        }
        ClientReply::Nothing => panic!("a request is not answered"),
    };
    let code = read_error_code(text, id);
    match status {
        200 => assert!(!matches!(code, Some(-32700 | -32600 | -32020 | -32022)), "{text}"),
        400 => assert!(matches!(code, Some(-32602 | -32020 | -32022)), "{text}"),
        404 => assert!(code == Some(-32601) && meta.get(VERSION_KEY).is_some(), "{text}"),
        other => panic!("status {other}: {text}"),
    }
    let answer: Value = serde_json::from_str(text).unwrap();
    if let Some(result) = answer.get("result") {
        let modern = meta.get(VERSION_KEY).is_some();
        assert_eq!(result.get("resultType").is_some(), modern, "{text}");
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
        assert_eq!(server == "codeinfo", modern, "{text}");
    }
}

fn judge_progress(token: &Value, news: &[String]) {
    let mut last = 0;
    for text in news {
        assert!(token.as_str().is_none_or(|token| token.len() <= 1024), "a huge token is repeated");
        let message: Value = serde_json::from_str(text).unwrap();
        assert_eq!(message["method"], "notifications/progress");
        assert!(message.get("id").is_none(), "{text}");
        assert_eq!(&message["params"]["progressToken"], token);
        let progress = message["params"]["progress"].as_u64().unwrap();
        assert!(last < progress, "progress does not rise: {news:?}");
        last = progress;
    }
}

fn judge_batch(headers: &PostHeaders, elements: &[Value], heard: &ClientReply) {
    let kinds = elements.iter().map(PostKind::from_message);
    let ids: Vec<Value> = kinds
        .filter_map(|kind| match kind {
            PostKind::Silent => None,
            PostKind::Request(id) | PostKind::Invalid(id) => Some(id),
        })
        .collect();
    let allowed = headers.version.as_deref().is_none_or(|version| version == "2025-03-26");
    if !allowed || elements.is_empty() || MAX_BATCH < elements.len() {
        return assert_refused(heard, -32600);
    }
    let text = match heard {
        ClientReply::Nothing => return assert!(ids.is_empty(), "{elements:?} are not answered"),
        ClientReply::Json(200, text) => text,
        ClientReply::Events(texts) if texts.len() == 1 => &texts[0],
        other => panic!("{other:?}"),
    };
    let answers: Vec<Value> = serde_json::from_str(text).unwrap();
    assert!(!answers.is_empty() && answers.len() == ids.len(), "{text} for {ids:?}");
    for (answer, id) in answers.iter().zip(&ids) {
        read_error_code(&answer.to_string(), id);
    }
}

fn assert_refused(heard: &ClientReply, expected: i64) {
    let ClientReply::Json(400, text) = heard else { panic!("{heard:?}") };
    assert_eq!(read_error_code(text, &Value::Null), Some(expected));
}

/// Checks the form of an answer and returns the code of its error, if it is one.
fn read_error_code(text: &str, id: &Value) -> Option<i64> {
    let answer: Value = serde_json::from_str(text).unwrap();
    let members = answer.as_object().unwrap();
    assert_eq!(members.len(), 3, "{text}");
    assert_eq!(members["jsonrpc"], "2.0");
    assert_eq!(&members["id"], id, "{text}");
    match (members.get("result"), members.get("error")) {
        (Some(result), None) => {
            assert!(result.is_object(), "{text}");
            None
        }
        (None, Some(error)) => {
            assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{text}");
            Some(error["code"].as_i64().unwrap())
        }
        _ => panic!("neither result nor error, or both: {text}"),
    }
}

/// Four tools: one answers at once, one takes time, one is lost, one refuses.
struct JudgedTools {
    about: EndpointInfo,
    open: bool,
}

impl JudgedTools {
    fn new(open: bool) -> Self {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["question"],
            "properties": { "question": { "type": "string", "minLength": 1 } },
        });
        let tool =
            |name| McpTool::new(name, "title", "text", schema.clone(), ToolIdempotence::Changing);
        let tools = ["now", "later", "lost", "refused"].into_iter().map(|name| tool(name).unwrap());
        let about = EndpointInfo {
            title: "Test".to_owned(),
            instructions: "Ask.".to_owned(),
            tools: tools.collect(),
            shared: true,
        };
        Self { about, open }
    }
}

impl Endpoint for JudgedTools {
    fn endpoint_info(&self) -> &EndpointInfo {
        &self.about
    }

    fn gate_calls(&self) -> BoxFuture<'_, Result<(), JsonRpcError>> {
        let gate = if self.open { Ok(()) } else { Err(JsonRpcError::new(-32001, "GATED")) };
        future::ready(gate).boxed()
    }

    fn call_tool<'a>(
        &'a self,
        tool: &'a McpTool,
        arguments: Value,
        _: Map<String, Value>,
    ) -> BoxFuture<'a, Result<StartedCall, ToolCallError>> {
        let call = match tool.arguments().validate_and_parse::<Value>(arguments) {
            Err(faults) => Err(ToolCallError::Arguments(faults)),
            Ok(arguments) => {
                let result = McpToolResult::text(arguments.to_string()).with_meta("k", json!(1));
                let news = ["one", "two"].map(|text| CallUpdate::Progress(text.to_owned()));
                match tool.name() {
                    "now" => Ok(StartedCall::Done(result)),
                    "later" => {
                        let end = stream::iter([CallUpdate::Done(Ok(result))]);
                        Ok(StartedCall::Running(stream::iter(news).chain(end).boxed()))
                    }
                    "lost" => Ok(StartedCall::Running(stream::iter(news).boxed())),
                    _ => Err(ToolCallError::Error(JsonRpcError::internal_error())),
                }
            }
        };
        future::ready(call).boxed()
    }
}

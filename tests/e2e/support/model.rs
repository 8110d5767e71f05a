//! A model service that replays scripts: the OpenAI Responses API over server-sent events.

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use codeinfo_core::task::Tasks;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    Request, Response,
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Notify, mpsc, watch},
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;

/// Time limit of a test for something that must happen.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Reaction of the model to one request.
#[derive(Debug, Clone)]
pub(crate) enum ModelReply {
    /// Streams the items and completes.
    Items(Vec<OutputItem>),
    /// Streams the items, then ends without completing.
    Cut(Vec<OutputItem>),
    /// Streams the items, then stays silent until the client goes away.
    Silent(Vec<OutputItem>),
    /// Streams the items, and completes at a signal of the test.
    Held(Arc<Notify>, Vec<OutputItem>),
    /// Answers with an error status and body.
    Status(u16, Value),
}

/// One output item of the model.
#[derive(Debug, Clone)]
pub(crate) enum OutputItem {
    /// A reasoning item with these summary parts.
    Thinks(Vec<String>),
    /// A reasoning item that is never finished.
    BeginsToThink(String),
    /// A call of the search tool.
    Searches(Value),
    /// A script of a model that calls its tools by program.
    Scripts(String),
    /// A call of any function: namespace (may be blank), name, arguments.
    Calls(String, String, Value),
    /// A look for deferred tools by this query.
    FindsTools(String),
    /// A message.
    Says(String),
}

pub(crate) fn thinking_item(text: &str) -> OutputItem {
    OutputItem::Thinks(vec![text.to_owned()])
}

pub(crate) fn search_item(query: &str) -> OutputItem {
    OutputItem::Searches(json!({ "query": query }))
}

pub(crate) fn message_item(text: &str) -> OutputItem {
    OutputItem::Says(text.to_owned())
}

/// Returns a reply with one message for each text.
pub(crate) fn answer_replies(texts: &[&str]) -> Vec<ModelReply> {
    texts.iter().map(|text| ModelReply::Items(vec![message_item(text)])).collect()
}

type ModelScript = Box<dyn FnMut(&Value) -> ModelReply + Send>;

/// A listening model service. It ends with the test.
pub(crate) struct FakeModel {
    /// Base URL for Codex's `model_providers.*.base_url`.
    pub(crate) url: String,
    shared: Arc<FakeModelState>,
    tasks: Tasks,
}

struct FakeModelState {
    script: Mutex<ModelScript>,
    requests: Mutex<Vec<Value>>,
    responses: AtomicUsize,
    /// Number of requests that came.
    asked: watch::Sender<usize>,
    /// Number of streams that the client left before their end.
    left: watch::Sender<usize>,
}

impl FakeModel {
    /// Replays one reply for each request, in order; afterwards requests fail with 400.
    pub(crate) async fn replay(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        let mut replies: VecDeque<ModelReply> = replies.into_iter().collect();
        Self::answer_with(move |_| {
            let over =
                || ModelReply::Status(400, json!({ "error": { "message": "script is over" } }));
            replies.pop_front().unwrap_or_else(over)
        })
        .await
    }

    /// Answers each request with what `script` makes of its body.
    pub(crate) async fn answer_with(
        script: impl FnMut(&Value) -> ModelReply + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let shared = Arc::new(FakeModelState {
            script: Mutex::new(Box::new(script)),
            requests: Mutex::default(),
            responses: AtomicUsize::new(0),
            asked: watch::Sender::new(0),
            left: watch::Sender::new(0),
        });
        let tasks = Tasks::default();
        tasks.spawn(accept_connections(listener, Arc::clone(&shared), tasks.clone()));
        Self { url, shared, tasks }
    }

    /// Returns the bodies of all requests up to now.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Returns the whole text that the latest request carried, for looking for earlier turns.
    pub(crate) fn latest_request_text(&self) -> String {
        self.requests().last().unwrap()["input"].to_string()
    }

    /// Waits until `count` requests came.
    pub(crate) async fn wait_for_requests(&self, count: usize) {
        let mut asked = self.shared.asked.subscribe();
        timeout(TIMEOUT, asked.wait_for(|seen| *seen >= count)).await.unwrap().unwrap();
    }

    /// Waits until the client left `count` streams before their end.
    pub(crate) async fn wait_for_abandoned_streams(&self, count: usize) {
        let mut left = self.shared.left.subscribe();
        timeout(TIMEOUT, left.wait_for(|seen| *seen >= count)).await.unwrap().unwrap();
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.tasks.stop_token().cancel();
    }
}

async fn accept_connections(listener: TcpListener, shared: Arc<FakeModelState>, tasks: Tasks) {
    while let Some(Ok((stream, _))) =
        tasks.stop_token().run_until_cancelled(listener.accept()).await
    {
        let (shared, owner) = (Arc::clone(&shared), tasks.clone());
        tasks.spawn(async move {
            let service = service_fn(|request| {
                respond_to_request(request, Arc::clone(&shared), owner.clone())
            });
            let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A client that goes away in mid-stream is part of the scripts.
            drop(owner.stop_token().run_until_cancelled(serving).await);
        });
    }
}

type ModelBody = BoxBody<Bytes, Infallible>;

async fn respond_to_request(
    request: Request<Incoming>,
    shared: Arc<FakeModelState>,
    tasks: Tasks,
) -> Result<Response<ModelBody>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return Ok(json_response(404, &json!({ "error": { "message": "not a model request" } })));
    };
    let reply = (shared.script.lock().unwrap())(&body);
    shared.requests.lock().unwrap().push(body);
    shared.asked.send_modify(|asked| *asked += 1);
    let number = shared.responses.fetch_add(1, Ordering::SeqCst);
    if let ModelReply::Status(code, body) = &reply {
        return Ok(json_response(*code, body));
    }
    let (frames, stream) = mpsc::channel(64);
    tasks.spawn(stream_reply(number, reply, frames, shared));
    let body = StreamBody::new(ReceiverStream::new(stream)).boxed();
    Ok(Response::builder().header("content-type", "text/event-stream").body(body).unwrap())
}

type FrameSender = mpsc::Sender<Result<Frame<Bytes>, Infallible>>;

async fn stream_reply(
    number: usize,
    reply: ModelReply,
    frames: FrameSender,
    shared: Arc<FakeModelState>,
) {
    let id = format!("resp_{number}");
    let created = json!({ "type": "response.created", "response": { "id": id } });
    send_event(&frames, &created).await;
    let (items, end) = match reply {
        ModelReply::Items(items) => (items, StreamEnd::Completed),
        ModelReply::Cut(items) => (items, StreamEnd::Cut),
        ModelReply::Silent(items) => (items, StreamEnd::Silent),
        ModelReply::Held(told, items) => {
            told.notified().await;
            (items, StreamEnd::Completed)
        }
        ModelReply::Status(..) => return,
    };
    for (index, item) in items.iter().enumerate() {
        for event in item_events(&id, index, item) {
            send_event(&frames, &event).await;
        }
    }
    match end {
        StreamEnd::Completed => {
            let usage = json!({
                "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": 10, "output_tokens_details": { "reasoning_tokens": 5 },
                "total_tokens": 110,
            });
            let response = json!({ "id": id, "usage": usage });
            send_event(&frames, &json!({ "type": "response.completed", "response": response }))
                .await;
        }
        // The stream ends before its `response.completed`.
        StreamEnd::Cut => {}
        StreamEnd::Silent => {
            frames.closed().await;
            shared.left.send_modify(|left| *left += 1);
        }
    }
}

enum StreamEnd {
    Completed,
    Cut,
    Silent,
}

async fn send_event(frames: &FrameSender, event: &Value) {
    let name = event["type"].as_str().unwrap();
    let text = format!("event: {name}\ndata: {event}\n\n");
    drop(frames.send(Ok(Frame::data(Bytes::from(text)))).await);
}

/// Returns the events of one item, the way the Responses API streams it.
fn item_events(response: &str, index: usize, item: &OutputItem) -> Vec<Value> {
    let added = |item: &Value| json!({ "type": "response.output_item.added", "output_index": index, "item": item });
    let done = |item: &Value| json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    match item {
        OutputItem::Thinks(parts) => {
            let id = format!("rs_{response}_{index}");
            let mut events = vec![added(&json!({ "type": "reasoning", "id": id, "summary": [] }))];
            for (part, text) in parts.iter().enumerate() {
                events.push(json!({
                    "type": "response.reasoning_summary_part.added", "item_id": id,
                    "output_index": index, "summary_index": part,
                    "part": { "type": "summary_text", "text": "" },
                }));
                events.push(json!({
                    "type": "response.reasoning_summary_text.delta", "item_id": id,
                    "output_index": index, "summary_index": part, "delta": text,
                }));
            }
            let summary: Vec<Value> =
                parts.iter().map(|text| json!({ "type": "summary_text", "text": text })).collect();
            events.push(done(&json!({
                "type": "reasoning", "id": id, "summary": summary, "encrypted_content": "sealed",
            })));
            events
        }
        OutputItem::BeginsToThink(text) => {
            let mut events = item_events(response, index, &OutputItem::Thinks(vec![text.clone()]));
            events.pop();
            events
        }
        OutputItem::Searches(arguments) => {
            let call = OutputItem::Calls(SEARCH.into(), "VectorSearch".into(), arguments.clone());
            item_events(response, index, &call)
        }
        OutputItem::Calls(namespace, name, arguments) => {
            let mut call = json!({
                "type": "function_call", "id": format!("fc_{response}_{index}"),
                "call_id": format!("call_{response}_{index}"), "name": name,
                "arguments": arguments.to_string(),
            });
            if !namespace.is_empty() {
                call["namespace"] = namespace.as_str().into();
            }
            vec![added(&call), done(&call)]
        }
        OutputItem::Scripts(script) => {
            let call = json!({
                "type": "custom_tool_call", "id": format!("ct_{response}_{index}"),
                "call_id": format!("call_{response}_{index}"), "name": "exec", "input": script,
            });
            vec![added(&call), done(&call)]
        }
        OutputItem::FindsTools(query) => {
            let mut call = json!({ "type": "tool_search_call", "execution": "client" });
            call["call_id"] = format!("call_{response}_{index}").into();
            call["arguments"] = json!({ "query": query });
            vec![done(&call)]
        }
        OutputItem::Says(text) => {
            let id = format!("msg_{response}_{index}");
            let message = |content: Value| json!({ "type": "message", "id": id, "role": "assistant", "content": content });
            vec![
                added(&message(json!([]))),
                json!({
                    "type": "response.output_text.delta", "item_id": id, "output_index": index,
                    "content_index": 0, "delta": text,
                }),
                done(&message(json!([{ "type": "output_text", "text": text }]))),
            ]
        }
    }
}

/// The namespace under which Codex knows our search.
const SEARCH: &str = "mcp__codeinfo_search";

fn json_response(code: u16, body: &Value) -> Response<ModelBody> {
    let body = Full::from(body.to_string()).boxed();
    Response::builder().status(code).header("content-type", "application/json").body(body).unwrap()
}

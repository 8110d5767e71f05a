//! Streams of messages: the progress of a long-running call with its result, and changes of tools.
//!
//! Changes are opened by `GET` in the first era, and by `subscriptions/listen` in the second.

use std::time::Duration;

use futures_util::{
    FutureExt, Stream, StreamExt,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::{
    calls::CallGuard,
    endpoint::{CallUpdate, Endpoint, McpToolResult, ToolCallError},
    era::{self, CacheScope, ProtocolEra},
    message::{JsonRpcError, JsonRpcId, JsonRpcRequest, build_response},
    method::convert_call_result,
    post::{AcceptedFormats, McpPost},
};

/// Maximum bytes of a progress token, which each notification repeats.
const MAX_TOKEN_BYTES: usize = 1024;
const CHANGED: &str = "notifications/tools/list_changed";
/// Member of `_meta` with the id of the request that opened a subscription.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Request to reply to, with the form of the reply.
#[derive(Debug, Clone)]
pub(super) struct ReplyTarget {
    pub(super) id: JsonRpcId,
    pub(super) era: ProtocolEra,
    /// Progress token of the client, if it wants progress notifications.
    token: Option<Value>,
}

impl ReplyTarget {
    pub(super) fn from_request(request: &JsonRpcRequest, era: ProtocolEra) -> Self {
        let token = request.meta_value("progressToken");
        let token = token.filter(|token| match token.as_str() {
            Some(text) => text.len() <= MAX_TOKEN_BYTES,
            None => token.is_i64() || token.is_u64(),
        });
        Self { id: request.id.clone(), era, token: token.cloned() }
    }

    fn build_progress_message(&self, number: u64, message: &str) -> Option<String> {
        let notification = json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": { "progressToken": self.token.as_ref()?, "progress": number, "message": message },
        });
        Some(notification.to_string())
    }
}

/// A running call with its updates, and the guard that tells whether its client still waits.
pub(super) struct RunningCall {
    pub(super) updates: BoxStream<'static, CallUpdate>,
    pub(super) guard: CallGuard,
}

pub(super) async fn wait_for_answer(caller: ReplyTarget, mut call: RunningCall) -> Value {
    loop {
        let update = tokio::select! {
            biased;
            () = call.guard.wait_until_cancelled() => return build_response(&caller.id, Err(JsonRpcError::request_cancelled())),
            update = call.updates.next() => update,
        };
        match update {
            Some(CallUpdate::Progress(_)) => {}
            Some(CallUpdate::Done(end)) => {
                return build_response(&caller.id, convert_call_result(caller.era, end));
            }
            None => return build_response(&caller.id, Err(JsonRpcError::internal_error())),
        }
    }
}

/// Returns the messages of a running call: progress if wanted, repeated every `keep_alive` because
/// many clients give up after a minute without, then the response unless the call is cancelled.
pub(super) fn stream_messages(
    caller: ReplyTarget,
    call: RunningCall,
    keep_alive: Duration,
) -> impl Stream<Item = String> + Send + 'static {
    let mut ticks = interval_at(Instant::now() + keep_alive, keep_alive);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let started = Instant::now();
    let running = ProgressStream {
        caller,
        call,
        ticks,
        started,
        latest: "working".to_owned(),
        sent: 0,
        over: false,
    };
    stream::unfold(running, |mut running| async move {
        let message = running.next().await?;
        Some((message, running))
    })
}

struct ProgressStream {
    caller: ReplyTarget,
    call: RunningCall,
    ticks: Interval,
    started: Instant,
    /// Text of the last progress update.
    latest: String,
    /// Number of progress notifications sent. Their numbers must increase.
    sent: u64,
    over: bool,
}

impl ProgressStream {
    async fn next(&mut self) -> Option<String> {
        while !self.over {
            let text = tokio::select! {
                biased;
                () = self.call.guard.wait_until_cancelled() => return None,
                update = self.call.updates.next() => match update {
                    Some(CallUpdate::Progress(text)) => {
                        self.latest.clone_from(&text);
                        text
                    }
                    Some(CallUpdate::Done(end)) => return Some(self.finish_call(end)),
                    None => return Some(self.finish_call(Err(ToolCallError::Error(JsonRpcError::internal_error())))),
                },
                _ = self.ticks.tick() => {
                    format!("{} ({} s)", self.latest, self.started.elapsed().as_secs())
                }
            };
            self.sent += 1;
            if let Some(message) = self.caller.build_progress_message(self.sent, &text) {
                return Some(message);
            }
        }
        None
    }

    fn finish_call(&mut self, end: Result<McpToolResult, ToolCallError>) -> String {
        self.over = true;
        build_response(&self.caller.id, convert_call_result(self.caller.era, end)).to_string()
    }
}

/// Opens the stream of change notifications that a `GET` asks for; `None` if the client accepts no
/// events, is of the second era, or the tools never change.
pub fn open_change_stream(
    endpoint: &dyn Endpoint,
    get: &McpPost<'_>,
) -> Option<BoxStream<'static, String>> {
    let takes_events = matches!(
        get.accepted_formats(),
        AcceptedFormats::JsonAndEvents | AcceptedFormats::EventsOnly
    );
    if !takes_events || era::check_header(get.protocol_version()).is_err() {
        return None;
    }
    Some(endpoint.watch_tool_changes()?.map(|()| tools_changed_message()).boxed())
}

/// Builds the notification that the tools have changed, for a client of the first era.
pub fn tools_changed_message() -> String {
    json!({ "jsonrpc": "2.0", "method": CHANGED }).to_string()
}

/// Opens the stream of a subscription: acknowledgement, changes, and a result as the server stops.
pub(super) fn open_subscription(
    endpoint: &dyn Endpoint,
    request: &JsonRpcRequest,
    underway: CallGuard,
) -> Result<BoxStream<'static, String>, JsonRpcError> {
    let changes = endpoint
        .watch_tool_changes()
        .ok_or_else(|| JsonRpcError::method_not_found(&request.method))?;
    let Some(Value::Object(wanted)) = request.params.get("notifications") else {
        let fault = "`notifications` must be there and an object".to_owned();
        return Err(JsonRpcError::invalid_params(&[fault]));
    };
    let is_wanted = wanted.get("toolsListChanged") == Some(&Value::Bool(true));
    let granted = if is_wanted { json!({ "toolsListChanged": true }) } else { json!({}) };
    let id = request.id.clone();
    let first = build_notification("notifications/subscriptions/acknowledged", &id, &granted);
    let news = changes.filter_map({
        let id = id.clone();
        move |()| {
            let text = is_wanted.then(|| build_notification(CHANGED, &id, &Value::Null));
            std::future::ready(text)
        }
    });
    let end = stream::once(async move { build_subscription_end(&id) });
    let messages = stream::once(async move { first }).chain(news).chain(end);
    Ok(messages.take_until(async move { underway.wait_until_cancelled().await }.boxed()).boxed())
}

fn build_notification(method: &str, id: &JsonRpcId, granted: &Value) -> String {
    let mut params = json!({ "_meta": { SUBSCRIPTION_KEY: id.to_value() } });
    if let (false, Some(members)) = (granted.is_null(), params.as_object_mut()) {
        members.insert("notifications".to_owned(), granted.clone());
    }
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn build_subscription_end(id: &JsonRpcId) -> String {
    let meta = json!({ "_meta": { SUBSCRIPTION_KEY: id.to_value() } });
    let members = meta.as_object().cloned().unwrap_or_default();
    build_response(id, Ok(era::complete_result(members, CacheScope::Unsaid))).to_string()
}

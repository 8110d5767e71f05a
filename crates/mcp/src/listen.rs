//! Streams of tool changes: opened by `GET` in the first era, and by `subscriptions/listen` in the
//! second.

use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};

use super::{
    accept::AcceptedFormats,
    calls::CallGuard,
    endpoint::Endpoint,
    era,
    message::{JsonRpcError, JsonRpcId, JsonRpcRequest, build_response},
    modern::{self, CacheScope},
    post::McpPost,
};

const CHANGED: &str = "notifications/tools/list_changed";
/// Member of `_meta` with the id of the request that opened a subscription.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Opens the stream of change notifications that a `GET` asks for.
///
/// Returns `None` if the client accepts no events, is of the second era, or the tools never change.
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

/// Opens the stream of a subscription: the acknowledgement, each change, and the result when the
/// server stops.
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
    build_response(id, Ok(modern::complete_result(members, CacheScope::Unsaid))).to_string()
}

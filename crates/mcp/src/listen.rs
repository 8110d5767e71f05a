//! Streams by which a client hears that the tools have changed: what `GET` opens in the first era, and what
//! `subscriptions/listen` opens in the second.

use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};

use super::{
    accept::Accepts,
    calls::Underway,
    endpoint::Endpoint,
    era,
    message::{Error, Id, Request, answered},
    modern::{self, Keep},
    post::Post,
};

const CHANGED: &str = "notifications/tools/list_changed";
/// Where all messages of a subscription name the request that opened it.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Returns what a client hears on the stream that a `GET` opens; `None` if it is offered none, as it
/// takes no events, is of the second era, or the tools never change.
pub fn listen(endpoint: &dyn Endpoint, get: &Post<'_>) -> Option<BoxStream<'static, String>> {
    let takes_events = matches!(get.accepts(), Accepts::JsonAndEvents | Accepts::EventsOnly);
    if !takes_events || era::check_header(get.version()).is_err() {
        return None;
    }
    Some(endpoint.changes()?.map(|()| changed()).boxed())
}

/// Says that the tools have changed, to a client of the first era.
pub fn changed() -> String {
    json!({ "jsonrpc": "2.0", "method": CHANGED }).to_string()
}

/// Opens the stream of a subscription: what it was granted, each change, and at the end of the server its result.
pub(super) fn subscribe(
    endpoint: &dyn Endpoint,
    request: &Request,
    underway: Underway,
) -> Result<BoxStream<'static, String>, Error> {
    let changes = endpoint.changes().ok_or_else(|| Error::method_not_found(&request.method))?;
    let Some(Value::Object(wanted)) = request.params.get("notifications") else {
        let fault = "`notifications` must be there and an object".to_owned();
        return Err(Error::invalid_params(&[fault]));
    };
    let is_wanted = wanted.get("toolsListChanged") == Some(&Value::Bool(true));
    let granted = if is_wanted { json!({ "toolsListChanged": true }) } else { json!({}) };
    let id = request.id.clone();
    let first = notification("notifications/subscriptions/acknowledged", &id, &granted);
    let news = changes.filter_map({
        let id = id.clone();
        move |()| {
            let text = is_wanted.then(|| notification(CHANGED, &id, &Value::Null));
            std::future::ready(text)
        }
    });
    let end = stream::once(async move { ended(&id) });
    let messages = stream::once(async move { first }).chain(news).chain(end);
    Ok(messages.take_until(async move { underway.cancelled().await }.boxed()).boxed())
}

fn notification(method: &str, id: &Id, granted: &Value) -> String {
    let mut params = json!({ "_meta": { SUBSCRIPTION_KEY: id.value() } });
    if let (false, Some(members)) = (granted.is_null(), params.as_object_mut()) {
        members.insert("notifications".to_owned(), granted.clone());
    }
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

fn ended(id: &Id) -> String {
    let meta = json!({ "_meta": { SUBSCRIPTION_KEY: id.value() } });
    let members = meta.as_object().cloned().unwrap_or_default();
    answered(id, Ok(modern::complete(members, Keep::Unsaid))).to_string()
}

//! Parses and builds JSON-RPC 2.0 messages, strictly.

use std::borrow::Cow;

use serde_json::{Map, Number, Value, json};

/// Member of `_meta` with the name of the client; in the first era, `initialize` has the name.
pub const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// Request id: text or an integer of at most 64 bits, echoed unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JsonRpcId {
    Text(String),
    Number(Number),
}

impl JsonRpcId {
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            // The parser stores fractions, and numbers too large to echo exactly, as floats.
            Value::Number(number) if !number.is_f64() => Some(Self::Number(number.clone())),
            _ => None,
        }
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Number(number) => Value::Number(number.clone()),
        }
    }
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonRpcError {
    pub code: i64,
    pub message: Cow<'static, str>,
    pub data: Option<Value>,
}

impl JsonRpcError {
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(super) fn parse_error(reason: &serde_json::Error) -> Self {
        Self::new(-32700, format!("Parse error: {reason}"))
    }

    pub(super) fn invalid_request(reason: &str) -> Self {
        Self::new(-32600, format!("Invalid Request: {reason}"))
    }

    pub(super) fn method_not_found(method: &str) -> Self {
        let shortened: String = method.chars().take(100).collect();
        Self::new(-32601, format!("Method not found: `{shortened}`"))
    }

    /// Builds the error for invalid arguments. Each fault is one sentence that names its argument.
    pub fn invalid_params(faults: &[String]) -> Self {
        Self::new(-32602, "Invalid params").with_data(json!({ "faults": faults }))
    }

    /// Builds the error for a call that its client has cancelled, where an answer is required.
    pub(super) fn request_cancelled() -> Self {
        Self::new(-32800, "Request cancelled")
    }

    /// Builds the error for a bug of the server, without details. The log has them.
    pub fn internal_error() -> Self {
        Self::new(-32603, "Internal error")
    }
}

/// A request, which must be answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonRpcRequest {
    pub(super) id: JsonRpcId,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

impl JsonRpcRequest {
    /// Returns `params._meta.KEY`.
    pub(super) fn meta_value(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(key)
    }

    /// Returns the client name in the parameters of `initialize`.
    pub(super) fn client_name(&self) -> Option<String> {
        self.params.get("clientInfo")?.get("name")?.as_str().map(str::to_owned)
    }

    /// Sets the client name in `_meta`, unless the request has one.
    pub(super) fn name_client(&mut self, name: &str) {
        let meta = self.params.entry("_meta").or_insert_with(|| json!({}));
        if let Some(members) = meta.as_object_mut() {
            members.entry(CLIENT_KEY).or_insert_with(|| json!({ "name": name }));
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum JsonRpcMessage {
    Request(JsonRpcRequest),
    Cancelled(JsonRpcId),
    /// A notification, never answered, even if it is malformed.
    Notification,
    /// A response to a request. The server sends none, so it has no use.
    Response,
    Invalid(Option<JsonRpcId>, JsonRpcError),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum JsonRpcPayload {
    One(JsonRpcMessage),
    /// Unparsed messages of a batch, which may exceed the limit of messages.
    Batch(Vec<Value>),
}

/// Parses a body. Invalid JSON, or nesting beyond the parser's limit, is a parse error.
pub(super) fn parse_payload(body: &[u8]) -> Result<JsonRpcPayload, JsonRpcError> {
    match serde_json::from_slice(body).map_err(|error| JsonRpcError::parse_error(&error))? {
        Value::Array(elements) => Ok(JsonRpcPayload::Batch(elements)),
        value => Ok(JsonRpcPayload::One(parse_message(value))),
    }
}

pub(super) fn parse_message(value: Value) -> JsonRpcMessage {
    let Value::Object(mut members) = value else {
        return invalid_message(None, "a message must be an object");
    };
    let given = members.get("id").map(JsonRpcId::from_value);
    let id = given.clone().flatten();
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid_message(id, "`jsonrpc` must be \"2.0\"");
    }
    let method = match members.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return invalid_message(id, "`method` must be a string"),
        None if members.contains_key("result") || members.contains_key("error") => {
            return JsonRpcMessage::Response;
        }
        None => return invalid_message(id, "`method` is missing"),
    };
    match (given, members.remove("params")) {
        (None, params) => parse_notification(&method, params.as_ref()),
        (Some(None), _) => {
            invalid_message(None, "`id` must be a string or a whole number of 64 bits")
        }
        (Some(Some(id)), params) => match read_params(params) {
            Some(params) => JsonRpcMessage::Request(JsonRpcRequest { id, method, params }),
            None => invalid_message(Some(id), "`params` must be an object"),
        },
    }
}

/// Returns the members of `params`; none for `null` and `[]`, which some clients send for no
/// parameters. Returns `None` for other values that are not objects.
fn read_params(params: Option<Value>) -> Option<Map<String, Value>> {
    match params {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Array(list)) if list.is_empty() => Some(Map::new()),
        Some(Value::Object(params)) => Some(params),
        Some(_) => None,
    }
}

fn parse_notification(method: &str, params: Option<&Value>) -> JsonRpcMessage {
    let cancelled = || JsonRpcId::from_value(params?.get("requestId")?);
    match method {
        "notifications/cancelled" => {
            cancelled().map_or(JsonRpcMessage::Notification, JsonRpcMessage::Cancelled)
        }
        _ => JsonRpcMessage::Notification,
    }
}

fn invalid_message(id: Option<JsonRpcId>, reason: &str) -> JsonRpcMessage {
    JsonRpcMessage::Invalid(id, JsonRpcError::invalid_request(reason))
}

pub(super) fn build_response(
    id: &JsonRpcId,
    outcome: Result<Map<String, Value>, JsonRpcError>,
) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id.to_value(), "result": result }),
        Err(error) => build_error_response(Some(id), &error),
    }
}

/// Builds an error response. Its id is `null` if the request had no readable id.
pub(super) fn build_error_response(id: Option<&JsonRpcId>, error: &JsonRpcError) -> Value {
    let mut object = json!({ "code": error.code, "message": error.message });
    if let (Some(data), Some(members)) = (&error.data, object.as_object_mut()) {
        members.insert("data".to_owned(), data.clone());
    }
    json!({ "jsonrpc": "2.0", "id": id.map(JsonRpcId::to_value), "error": object })
}

#[cfg(test)]
mod tests {
    use super::{JsonRpcId, JsonRpcMessage, JsonRpcPayload, build_response, parse_payload};

    fn echoed(id: &str) -> String {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        match parse_payload(body.as_bytes()).unwrap() {
            JsonRpcPayload::One(JsonRpcMessage::Request(request)) => {
                build_response(&request.id, Ok(serde_json::Map::new()))["id"].to_string()
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn ids_are_echoed_exactly_or_refused() {
        for id in ["0", "-1", "18446744073709551615", "-9223372036854775808", r#""a\"b""#, r#""""#]
        {
            assert_eq!(echoed(id), id);
        }
        for id in ["null", "1.0", "1.5", "1e3", "18446744073709551616", "true", "[]", "{}"] {
            assert!(echoed(id).contains("-32600"), "{id}: {}", echoed(id));
        }
    }

    #[test]
    fn what_has_no_id_is_a_notification() {
        let read = |text: &str| parse_payload(text.as_bytes()).unwrap();
        let notification = JsonRpcPayload::One(JsonRpcMessage::Notification);
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"x"}"#), notification);
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"x","params":[1]}"#), notification);
        let cancelled = |id| {
            read(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{id}}}"#
            ))
        };
        for nothing in ["{}", "[]", r#"{"requestId":null}"#, r#"{"requestId":1.5}"#] {
            assert_eq!(cancelled(nothing), notification, "{nothing}");
        }
        let meant = JsonRpcId::Text("a".to_owned());
        assert_eq!(
            cancelled(r#"{"requestId":"a"}"#),
            JsonRpcPayload::One(JsonRpcMessage::Cancelled(meant))
        );
        let response = JsonRpcPayload::One(JsonRpcMessage::Response);
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), response);
    }
}

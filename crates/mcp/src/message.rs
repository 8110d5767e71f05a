//! JSON-RPC 2.0 messages, read strictly.

use std::borrow::Cow;

use serde_json::{Map, Number, Value, json};

/// Where a request of the second era names its client in `_meta`; one of the first era is given the name that
/// its greeting had.
pub const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// The id of a request: text or a whole number of at most 64 bits, echoed as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Id {
    Text(String),
    Number(Number),
}

impl Id {
    pub(super) fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            // A fraction, or a number too large to echo exactly, is kept as a float by the parser.
            Value::Number(number) if !number.is_f64() => Some(Self::Number(number.clone())),
            _ => None,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Number(number) => Value::Number(number.clone()),
        }
    }
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq)]
pub struct Error {
    pub code: i64,
    pub message: Cow<'static, str>,
    pub data: Option<Value>,
}

impl Error {
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    #[must_use]
    pub fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(super) fn parse(reason: &serde_json::Error) -> Self {
        Self::new(-32700, format!("Parse error: {reason}"))
    }

    pub(super) fn invalid_request(reason: &str) -> Self {
        Self::new(-32600, format!("Invalid Request: {reason}"))
    }

    pub(super) fn method_not_found(method: &str) -> Self {
        let method: String = method.chars().take(100).collect();
        Self::new(-32601, format!("Method not found: `{method}`"))
    }

    /// Refuses arguments; each fault is one sentence that names its argument.
    pub fn invalid_params(faults: &[String]) -> Self {
        Self::new(-32602, "Invalid params").with(json!({ "faults": faults }))
    }

    /// Answers a call that its client has cancelled, where something has to be answered.
    pub(super) fn cancelled() -> Self {
        Self::new(-32800, "Request cancelled")
    }

    /// Hides a bug of ours; the log has the details.
    pub fn internal() -> Self {
        Self::new(-32603, "Internal error")
    }
}

/// A request: something that is answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) params: Map<String, Value>,
}

impl Request {
    /// Returns `params._meta.KEY`.
    pub(super) fn meta(&self, key: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(key)
    }

    /// Returns the name that a client gives in its greeting.
    pub(super) fn client_name(&self) -> Option<String> {
        self.params.get("clientInfo")?.get("name")?.as_str().map(str::to_owned)
    }

    /// Has `_meta` name the client, unless it does so by itself.
    pub(super) fn name_client(&mut self, name: &str) {
        let meta = self.params.entry("_meta").or_insert_with(|| json!({}));
        if let Some(members) = meta.as_object_mut() {
            members.entry(CLIENT_KEY).or_insert_with(|| json!({ "name": name }));
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    Request(Request),
    /// The client does not wait for the answer to this request any more.
    Cancelled(Id),
    /// Never answered, not even when it makes no sense.
    Notification,
    /// An answer to a request that we never send.
    Response,
    Invalid(Option<Id>, Error),
}

/// What one body holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Payload {
    One(Message),
    /// Not taken apart yet, since there may be more than anybody will answer.
    Batch(Vec<Value>),
}

/// Reads a body. Text that is not JSON, or nested deeper than the parser goes, is a parse error.
pub(super) fn read(body: &[u8]) -> Result<Payload, Error> {
    match serde_json::from_slice(body).map_err(|error| Error::parse(&error))? {
        Value::Array(elements) => Ok(Payload::Batch(elements)),
        value => Ok(Payload::One(message(value))),
    }
}

/// Reads one message of a body.
pub(super) fn message(value: Value) -> Message {
    let Value::Object(mut members) = value else {
        return invalid(None, "a message must be an object");
    };
    let given = members.get("id").map(Id::read);
    let id = given.clone().flatten();
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "`jsonrpc` must be \"2.0\"");
    }
    let method = match members.remove("method") {
        Some(Value::String(method)) => method,
        Some(_) => return invalid(id, "`method` must be a string"),
        None if members.contains_key("result") || members.contains_key("error") => {
            return Message::Response;
        }
        None => return invalid(id, "`method` is missing"),
    };
    match (given, members.remove("params")) {
        (None, params) => notification(&method, params.as_ref()),
        (Some(None), _) => invalid(None, "`id` must be a string or a whole number of 64 bits"),
        (Some(Some(id)), params) => match read_params(params) {
            Some(params) => Message::Request(Request { id, method, params }),
            None => invalid(Some(id), "`params` must be an object"),
        },
    }
}

/// Returns the members of `params`: none of `null` and `[]`, which some clients send for nothing, and `None` for
/// values that are no object.
fn read_params(params: Option<Value>) -> Option<Map<String, Value>> {
    match params {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Array(list)) if list.is_empty() => Some(Map::new()),
        Some(Value::Object(params)) => Some(params),
        Some(_) => None,
    }
}

fn notification(method: &str, params: Option<&Value>) -> Message {
    let cancelled = || Id::read(params?.get("requestId")?);
    match method {
        "notifications/cancelled" => cancelled().map_or(Message::Notification, Message::Cancelled),
        _ => Message::Notification,
    }
}

fn invalid(id: Option<Id>, reason: &str) -> Message {
    Message::Invalid(id, Error::invalid_request(reason))
}

/// Writes the answer to a request.
pub(super) fn answered(id: &Id, outcome: Result<Map<String, Value>, Error>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id.value(), "result": result }),
        Err(error) => failed(Some(id), &error),
    }
}

/// Writes an error; without a readable id it is `null`.
pub(super) fn failed(id: Option<&Id>, error: &Error) -> Value {
    let mut object = json!({ "code": error.code, "message": error.message });
    if let (Some(data), Some(members)) = (&error.data, object.as_object_mut()) {
        members.insert("data".to_owned(), data.clone());
    }
    json!({ "jsonrpc": "2.0", "id": id.map(Id::value), "error": object })
}

#[cfg(test)]
mod tests {
    use super::{Id, Message, Payload, answered, read};

    fn echoed(id: &str) -> String {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        match read(body.as_bytes()).unwrap() {
            Payload::One(Message::Request(request)) => {
                answered(&request.id, Ok(serde_json::Map::new()))["id"].to_string()
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
        let read = |text: &str| read(text.as_bytes()).unwrap();
        let notification = Payload::One(Message::Notification);
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
        let meant = Id::Text("a".to_owned());
        assert_eq!(cancelled(r#"{"requestId":"a"}"#), Payload::One(Message::Cancelled(meant)));
        let response = Payload::One(Message::Response);
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), response);
    }
}

//! A message to an MCP endpoint: its body, headers, sender, and the reply formats that it accepts.

use std::{borrow::Cow, net::IpAddr};

use super::calls::MessageSender;

/// Separator between a session id and the name of its client.
const CLIENT_MARK: char = '~';
/// Maximum characters of a client's name in a session.
const MAX_NAME_CHARS: usize = 60;

/// Length of a session id in bytes; it is a UUID.
const ID_BYTES: usize = 36;

/// Returns the session id with the name of the client, so that the server need not store the name.
#[must_use]
pub fn name_session(session: &str, client: Option<&str>) -> String {
    let (id, _) = split_session(session);
    let plain_chars = client.unwrap_or_default().chars().filter(char::is_ascii_graphic);
    let name: String = plain_chars.take(MAX_NAME_CHARS).collect();
    if name.is_empty() { id.to_owned() } else { format!("{id}{CLIENT_MARK}{name}") }
}

/// Splits a session into its id and its client's name; an id made up by a client stays whole.
fn split_session(session: &str) -> (&str, Option<&str>) {
    let is_id =
        |id: &str| id.len() == ID_BYTES && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let parts = session.split_once(CLIENT_MARK).filter(|(id, _)| is_id(id));
    parts.map_or((session, None), |(id, name)| (id, Some(name)))
}

/// A message or a batch as it arrived.
#[derive(Debug, Clone)]
pub struct McpPost<'a> {
    /// Relevant headers; frames of a stream have none.
    pub(super) headers: Option<McpHeaders<'a>>,
    pub(super) sender: MessageSender,
    /// Name that the client gave in `initialize`, if the session contains it.
    pub(super) client: Option<String>,
    pub(super) body: &'a [u8],
}

/// Headers that affect the answer.
#[derive(Debug, Clone)]
pub(super) struct McpHeaders<'a> {
    pub(super) accept: Option<Cow<'a, str>>,
    pub(super) protocol_version: Option<Cow<'a, str>>,
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
}

impl<'a> McpPost<'a> {
    /// Creates the message of an HTTP request. `header` looks up a header by name.
    pub fn new(header: impl Fn(&str) -> Option<Cow<'a, str>>, body: &'a [u8]) -> Self {
        let session = header("mcp-session-id");
        let headers = McpHeaders {
            accept: header("accept"),
            protocol_version: header("mcp-protocol-version"),
            method: header("mcp-method"),
            name: header("mcp-name"),
        };
        Self::sent_in(session.as_deref(), Some(headers), body)
    }

    /// Creates the message of a stream frame, such as a WebSocket message. A frame has no headers:
    /// its version is that of `_meta`, and progress is wanted. `session` must be unique to the
    /// stream. Frames must be answered in order, as a later one may cancel a call: poll each
    /// [`answer_post`](super::answer_post) once before starting the next one.
    pub fn from_frame(session: &str, body: &'a [u8]) -> Self {
        Self::sent_in(Some(session), None, body)
    }

    fn sent_in(session: Option<&str>, headers: Option<McpHeaders<'a>>, body: &'a [u8]) -> Self {
        let (id, name) = session.map(split_session).unzip();
        let client = name.flatten().map(str::to_owned);
        let sender = MessageSender { session: id.map(str::to_owned), ..MessageSender::default() };
        Self { headers, sender, client, body }
    }

    /// Adds the sender, which distinguishes clients without a session.
    #[must_use]
    pub fn sent_by(mut self, address: Option<IpAddr>, principal: Option<&str>) -> Self {
        self.sender.address = address;
        self.sender.principal = principal.map(str::to_owned);
        self
    }

    /// Returns the header `MCP-Protocol-Version`.
    pub(super) fn protocol_version(&self) -> Option<&str> {
        self.headers.as_ref()?.protocol_version.as_deref()
    }

    pub(super) fn accepted_formats(&self) -> AcceptedFormats {
        match &self.headers {
            Some(headers) => AcceptedFormats::parse_header(headers.accept.as_deref()),
            None => AcceptedFormats::JsonAndEvents,
        }
    }
}

/// Reply formats that a client accepts. No header, or `*/*`, means JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AcceptedFormats {
    Json,
    JsonAndEvents,
    EventsOnly,
    Neither,
}

impl AcceptedFormats {
    pub(super) fn parse_header(header: Option<&str>) -> Self {
        let Some(header) = header.filter(|text| !text.trim().is_empty()) else {
            return Self::Json;
        };
        let mut json = false;
        let mut events = false;
        for range in header.split(',').filter(|range| !is_refused(range)) {
            let kind = range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            json |= matches!(kind.as_str(), "application/json" | "application/*" | "*/*");
            events |= matches!(kind.as_str(), "text/event-stream" | "text/*");
        }
        match (json, events) {
            (true, true) => Self::JsonAndEvents,
            (true, false) => Self::Json,
            (false, true) => Self::EventsOnly,
            (false, false) => Self::Neither,
        }
    }
}

/// A weight of zero means "not this".
fn is_refused(range: &str) -> bool {
    let mut parameters = range.split(';').skip(1);
    parameters.any(|parameter| {
        let weight = parameter.trim().strip_prefix("q=").and_then(|text| text.parse::<f32>().ok());
        weight.is_some_and(|weight| weight <= 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_names_its_client_and_stays_the_same_session() {
        let id = "0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17";
        assert_eq!(name_session(id, None), id);
        assert_eq!(name_session(id, Some(" \u{e9}\r\n")), id);
        let named = name_session(id, Some("the client\n~1"));
        assert_eq!(named, format!("{id}~theclient~1"));
        let long = name_session(&named, Some(&"x".repeat(100)));
        assert_eq!(long, format!("{id}~{}", "x".repeat(60)));
        let post = McpPost::from_frame(&named, b"");
        assert_eq!(post.client.as_deref(), Some("theclient~1"));
        assert_eq!(post.sender, McpPost::from_frame(id, b"").sender);
        // Clients with made-up ids must not cancel each other's calls.
        let [one, other] = ["user~1", "user~2"].map(|session| McpPost::from_frame(session, b""));
        assert_ne!(one.sender, other.sender);
        assert_eq!(one.client, None);
    }

    #[test]
    fn every_form_of_accept_is_understood() {
        for (header, expected) in [
            (None, AcceptedFormats::Json),
            (Some(""), AcceptedFormats::Json),
            (Some("*/*"), AcceptedFormats::Json),
            (Some("application/json"), AcceptedFormats::Json),
            (Some("application/json, text/event-stream"), AcceptedFormats::JsonAndEvents),
            (Some("Text/Event-Stream ;q=0.5, application/*"), AcceptedFormats::JsonAndEvents),
            (Some("text/event-stream, */*"), AcceptedFormats::JsonAndEvents),
            (Some("text/event-stream"), AcceptedFormats::EventsOnly),
            (Some("application/json;q=0, text/event-stream"), AcceptedFormats::EventsOnly),
            (Some("text/html"), AcceptedFormats::Neither),
            (Some("application/json; q=0.0"), AcceptedFormats::Neither),
        ] {
            assert_eq!(AcceptedFormats::parse_header(header), expected, "{header:?}");
        }
    }
}

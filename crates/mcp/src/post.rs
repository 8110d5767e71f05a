//! One message to an MCP endpoint: what carries it, who sent it, and the body.

use std::{borrow::Cow, net::IpAddr};

use super::{accept::AcceptedFormats, calls::MessageSender};

/// Separates the id of a session from the name of its client.
const CLIENT_MARK: char = '~';
/// Maximum characters of a client's name in a session.
const MAX_NAME_CHARS: usize = 60;

/// Bytes of an id, which is a UUID.
const ID_BYTES: usize = 36;

/// Returns the session with the name that its client gave, so that nothing has to be remembered of it.
#[must_use]
pub fn name_session(session: &str, client: Option<&str>) -> String {
    let (id, _) = split_session(session);
    let plain_chars = client.unwrap_or_default().chars().filter(char::is_ascii_graphic);
    let name: String = plain_chars.take(MAX_NAME_CHARS).collect();
    if name.is_empty() { id.to_owned() } else { format!("{id}{CLIENT_MARK}{name}") }
}

/// Returns the id of a session, and the name of its client. A session that a client made up is an id as a whole.
fn split_session(session: &str) -> (&str, Option<&str>) {
    let is_id =
        |id: &str| id.len() == ID_BYTES && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let parts = session.split_once(CLIENT_MARK).filter(|(id, _)| is_id(id));
    parts.map_or((session, None), |(id, name)| (id, Some(name)))
}

/// A message, or a batch, as it arrived.
#[derive(Debug, Clone)]
pub struct McpPost<'a> {
    /// The headers that matter; a frame of a stream has none.
    pub(super) headers: Option<McpHeaders<'a>>,
    pub(super) sender: MessageSender,
    /// The name that the client gave in its greeting, where the session has it.
    pub(super) client: Option<String>,
    pub(super) body: &'a [u8],
}

/// The headers that matter.
#[derive(Debug, Clone)]
pub(super) struct McpHeaders<'a> {
    pub(super) accept: Option<Cow<'a, str>>,
    pub(super) protocol_version: Option<Cow<'a, str>>,
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
}

impl<'a> McpPost<'a> {
    /// Returns the body of an HTTP request. Picks the headers out through `header`, which looks one up by name.
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

    /// Returns a frame of a stream, such as a message of a WebSocket: it has no headers, so its version is
    /// what `_meta` says, and progress is wanted. `session` is an id of the stream that no other has.
    ///
    /// A client may cancel a call by a later frame, so frames are to be answered in their order: each
    /// [`answer`](super::answer) polled once before the next one is asked for.
    pub fn from_frame(session: &str, body: &'a [u8]) -> Self {
        Self::sent_in(Some(session), None, body)
    }

    fn sent_in(session: Option<&str>, headers: Option<McpHeaders<'a>>, body: &'a [u8]) -> Self {
        let (id, name) = session.map(split_session).unzip();
        let client = name.flatten().map(str::to_owned);
        let sender = MessageSender { session: id.map(str::to_owned), ..MessageSender::default() };
        Self { headers, sender, client, body }
    }

    /// Adds who sent it, which distinguishes clients that have no session.
    #[must_use]
    pub fn sent_by(mut self, address: Option<IpAddr>, principal: Option<&str>) -> Self {
        self.sender.address = address;
        self.sender.principal = principal.map(str::to_owned);
        self
    }

    /// Returns what the header `MCP-Protocol-Version` says.
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

#[cfg(test)]
mod tests {
    use super::{McpPost, name_session};

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
        // Clients that make ids up do not cancel the calls of each other.
        let [one, other] = ["user~1", "user~2"].map(|session| McpPost::from_frame(session, b""));
        assert_ne!(one.sender, other.sender);
        assert_eq!(one.client, None);
    }
}

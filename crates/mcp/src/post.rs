//! One message to an MCP endpoint: what carries it, who sent it, and the body.

use std::{borrow::Cow, net::IpAddr};

use super::{accept::Accepts, calls::Sender};

/// A message, or a batch, as it arrived.
#[derive(Debug, Clone)]
pub struct Post<'a> {
    /// The headers that matter; a frame of a stream has none.
    pub(super) headers: Option<Headers<'a>>,
    pub(super) sender: Sender,
    pub(super) body: &'a [u8],
}

/// The headers that matter.
#[derive(Debug, Clone)]
pub(super) struct Headers<'a> {
    pub(super) accept: Option<Cow<'a, str>>,
    pub(super) protocol_version: Option<Cow<'a, str>>,
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
}

impl<'a> Post<'a> {
    /// Returns the body of an HTTP request. Picks the headers out through `header`, which looks one up by name.
    pub fn new(header: impl Fn(&str) -> Option<Cow<'a, str>>, body: &'a [u8]) -> Self {
        let session = header("mcp-session-id").map(Cow::into_owned);
        let headers = Headers {
            accept: header("accept"),
            protocol_version: header("mcp-protocol-version"),
            method: header("mcp-method"),
            name: header("mcp-name"),
        };
        Self { headers: Some(headers), sender: Sender { session, ..Sender::default() }, body }
    }

    /// Returns a frame of a stream, such as a message of a WebSocket: it has no headers, so its version is
    /// what `_meta` says, and progress is wanted. `session` is an id of the stream that no other has.
    ///
    /// A client may cancel a call by a later frame, so frames are to be answered in their order: each
    /// [`answer`](super::answer) polled once before the next one is asked for.
    pub fn frame(session: &str, body: &'a [u8]) -> Self {
        let sender = Sender { session: Some(session.to_owned()), ..Sender::default() };
        Self { headers: None, sender, body }
    }

    /// Adds who sent it, which distinguishes clients that have no session.
    #[must_use]
    pub fn sent_by(mut self, address: Option<IpAddr>, principal: Option<&str>) -> Self {
        self.sender.address = address;
        self.sender.principal = principal.map(str::to_owned);
        self
    }

    /// Returns what the header `MCP-Protocol-Version` says.
    pub(super) fn version(&self) -> Option<&str> {
        self.headers.as_ref()?.protocol_version.as_deref()
    }

    pub(super) fn accepts(&self) -> Accepts {
        match &self.headers {
            Some(headers) => Accepts::read(headers.accept.as_deref()),
            None => Accepts::JsonAndEvents,
        }
    }
}

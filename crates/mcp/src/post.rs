//! One POST to an MCP endpoint: the headers that matter, and the body.

use std::borrow::Cow;

/// The headers that matter, and the body.
#[derive(Debug, Clone)]
pub struct Post<'a> {
    pub(super) accept: Option<Cow<'a, str>>,
    pub(super) protocol_version: Option<Cow<'a, str>>,
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) body: &'a [u8],
}

impl<'a> Post<'a> {
    /// Picks the headers out through `header`, which looks one up by name.
    pub fn new(header: impl Fn(&str) -> Option<Cow<'a, str>>, body: &'a [u8]) -> Self {
        Self {
            accept: header("accept"),
            protocol_version: header("mcp-protocol-version"),
            method: header("mcp-method"),
            name: header("mcp-name"),
            body,
        }
    }
}

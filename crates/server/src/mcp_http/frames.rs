//! Serves an MCP endpoint over a WebSocket, one message a frame, for relays of standard streams.

use std::sync::Arc;

use codeinfo_core::Principal;
use codeinfo_http::{HttpError, Request, Response, WebSocket, WebSocketEvent};
use codeinfo_mcp::{Endpoint, McpContext, McpPost, McpReply};
use futures_util::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream, FuturesUnordered, SelectAll},
};
use tracing::debug;

/// Maximum number of messages of one client in progress; further ones are read later.
const MAX_UNDER_WAY: usize = 64;
/// Maximum messages in progress for a client that sends but does not read; more disconnect it.
const MAX_UNTAKEN: usize = 256;

enum MessageOutcome {
    Text(String),
    /// The answer to a client of the first era, which is notified of changes from here on.
    Greeting {
        text: String,
        client: Option<String>,
    },
    Listening(BoxStream<'static, String>),
    /// The answer takes a while.
    Later(BoxStream<'static, String>),
}

struct RelaySession {
    endpoint: Arc<dyn Endpoint>,
    bounds: McpContext,
    socket: WebSocket,
    /// Name of the client; it also separates its calls from those of others.
    session: String,
    principal: Option<Principal>,
    /// Messages without an outcome yet.
    begun: FuturesUnordered<BoxFuture<'static, Option<MessageOutcome>>>,
    /// Running calls. Dropping them ends their work.
    later: SelectAll<BoxStream<'static, String>>,
    /// Changes that the client listens for. The connection does not wait for them.
    changes: SelectAll<BoxStream<'static, String>>,
    /// True once no more messages are accepted.
    is_ending: bool,
    /// True once the client waits for no call.
    has_left: bool,
}

/// Accepts a handshake, then answers messages until the client leaves or the server stops.
///
/// A frame that is not text ends the input: immediate answers are sent, running calls are ended.
pub(super) fn serve_websocket(
    endpoint: Arc<dyn Endpoint>,
    request: &mut Request,
    bounds: &McpContext,
    session: String,
    is_greeted: bool,
) -> Result<Response, HttpError> {
    let context = bounds.clone();
    let principal = request.principal().cloned();
    codeinfo_http::accept_websocket(request, move |socket| async move {
        let mut frames = RelaySession {
            endpoint,
            bounds: context,
            socket,
            session,
            principal,
            begun: FuturesUnordered::new(),
            later: SelectAll::new(),
            changes: SelectAll::new(),
            is_ending: false,
            has_left: false,
        };
        frames.socket.allow_eviction();
        if is_greeted {
            frames.subscribe_to_changes();
        }
        frames.run().await;
        let RelaySession { socket, begun, later, .. } = frames;
        // Interrupts calls before waiting for the client.
        drop((begun, later));
        socket.close().await;
    })
}

impl RelaySession {
    async fn run(&mut self) {
        loop {
            let is_sent = self.socket.is_sent();
            let under_way = self.begun.len() + self.later.len();
            if self.is_ending && under_way == 0 && is_sent {
                return;
            }
            tokio::select! {
                biased;
                // Only after the client has received what came before.
                Some(came) = self.begun.next(), if is_sent => self.handle_outcome(came),
                Some(text) = self.later.next(), if is_sent => self.socket.send(text),
                Some(text) = self.changes.next(), if is_sent => self.socket.send(text),
                happened = self.socket.next(), if under_way < MAX_UNDER_WAY || !is_sent => {
                    match happened {
                        WebSocketEvent::Text(_) if self.is_ending => {}
                        WebSocketEvent::Text(text) => {
                            if under_way >= MAX_UNTAKEN || !self.receive_message(text).await {
                                return;
                            }
                        }
                        WebSocketEvent::Binary => {
                            (self.is_ending, self.has_left) = (true, true);
                            self.later.clear();
                        }
                        WebSocketEvent::Stopping => self.is_ending = true,
                        WebSocketEvent::Sent => {}
                        WebSocketEvent::TooLarge | WebSocketEvent::Over => return,
                    }
                }
            }
            if self.begun.is_empty() && self.later.is_empty() {
                self.socket.allow_eviction();
            }
        }
    }

    /// Starts to answer a message; returns whether the connection continues.
    async fn receive_message(&mut self, text: String) -> bool {
        if !self.socket.begin_work().await {
            return false;
        }
        debug!(frame.bytes = text.len(), "frame received");
        let endpoint = Arc::clone(&self.endpoint);
        let bounds = self.bounds.clone();
        let session = self.session.clone();
        let principal = self.principal.clone();
        let answering = async move {
            let frame = McpPost::from_frame(&session, text.as_bytes());
            let post = frame.sent_by(None, principal.as_ref().map(Principal::as_str));
            match codeinfo_mcp::answer_post(&endpoint, post, &bounds).await {
                McpReply::Accepted => None,
                McpReply::Greeting { text, client } => {
                    Some(MessageOutcome::Greeting { text, client })
                }
                McpReply::Json { text, .. } => Some(MessageOutcome::Text(text)),
                McpReply::Listening(messages) => Some(MessageOutcome::Listening(messages)),
                McpReply::Deferred(text) => Some(MessageOutcome::Later(stream::once(text).boxed())),
                McpReply::Events(messages) => Some(MessageOutcome::Later(messages)),
            }
        };
        self.begun.push(answering.boxed());
        true
    }

    /// Notifies the client of changes as a client of the first era expects.
    fn subscribe_to_changes(&mut self) {
        let changes = self.endpoint.watch_tool_changes().filter(|_| self.changes.is_empty());
        if let Some(changes) = changes {
            self.changes.push(changes.map(|()| codeinfo_mcp::tools_changed_message()).boxed());
        }
    }

    fn handle_outcome(&mut self, came: Option<MessageOutcome>) {
        match came {
            Some(MessageOutcome::Text(text)) => self.socket.send(text),
            Some(MessageOutcome::Greeting { text, client }) => {
                self.session = codeinfo_mcp::name_session(&self.session, client.as_deref());
                self.socket.send(text);
                self.subscribe_to_changes();
            }
            Some(MessageOutcome::Listening(messages)) if self.changes.len() < MAX_UNDER_WAY => {
                self.changes.push(messages);
            }
            Some(MessageOutcome::Later(messages)) if !self.has_left => self.later.push(messages),
            Some(MessageOutcome::Listening(_) | MessageOutcome::Later(_)) | None => {}
        }
    }
}

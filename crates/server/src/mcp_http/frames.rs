//! An MCP endpoint over a WebSocket, one message a frame: what a relay of standard streams forwards to.

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

/// Most messages of one client that are answered at a time; further ones are read later.
const MAX_UNDER_WAY: usize = 64;
/// Most of a client that takes no answers, but sends on.
const MAX_UNTAKEN: usize = 256;

/// What comes of one message.
enum MessageOutcome {
    Text(String),
    /// The answer to a client of the first era, which hears of changes from here on.
    Greeting {
        text: String,
        client: Option<String>,
    },
    /// The client listens for changes.
    Listening(BoxStream<'static, String>),
    /// The message takes its time from here on.
    Later(BoxStream<'static, String>),
}

/// What a connection is for.
struct RelaySession {
    endpoint: Arc<dyn Endpoint>,
    bounds: McpContext,
    socket: WebSocket,
    /// Distinguishes the client in the table of calls, and names it.
    session: String,
    principal: Option<Principal>,
    /// Messages that are not answered yet.
    begun: FuturesUnordered<BoxFuture<'static, Option<MessageOutcome>>>,
    /// Calls that take their time. Dropping them ends their work.
    later: SelectAll<BoxStream<'static, String>>,
    /// Changes that the client listens for, and waits for none.
    changes: SelectAll<BoxStream<'static, String>>,
    /// Whether nothing is taken from the client any more.
    is_ending: bool,
    /// Whether the client waits for no call any more.
    has_left: bool,
}

/// Answers a handshake, and then the messages of the client until it leaves or the server stops.
///
/// A frame that is not text, however it looks, is the end of what the client sends: what is answered at once
/// is still answered, what takes its time is ended.
pub(super) fn serve_websocket(
    endpoint: Arc<dyn Endpoint>,
    request: &mut Request,
    bounds: &McpContext,
    session: String,
    is_greeted: bool,
) -> Result<Response, HttpError> {
    let bounds = bounds.clone();
    let principal = request.principal().cloned();
    codeinfo_http::accept_websocket(request, move |socket| async move {
        let mut frames = RelaySession {
            endpoint,
            bounds,
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
        // Interrupted before the client is waited for.
        drop((begun, later));
        socket.close().await;
    })
}

impl RelaySession {
    async fn run(&mut self) {
        loop {
            let (is_sent, under_way) = (self.socket.is_sent(), self.begun.len() + self.later.len());
            if self.is_ending && under_way == 0 && is_sent {
                return;
            }
            tokio::select! {
                biased;
                // Only when the client has taken what came before.
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

    /// Takes a message of the client; returns whether the connection may go on.
    async fn receive_message(&mut self, text: String) -> bool {
        if !self.socket.begin_work().await {
            return false;
        }
        debug!(frame.bytes = text.len(), "frame received");
        let (endpoint, bounds) = (Arc::clone(&self.endpoint), self.bounds.clone());
        let (session, principal) = (self.session.clone(), self.principal.clone());
        let answering = async move {
            let post = McpPost::from_frame(&session, text.as_bytes());
            let post = post.sent_by(None, principal.as_ref().map(Principal::as_str));
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

    /// Has the client hear of changes as one of the first era does.
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

//! The handshake of a WebSocket, and the bounded connection after it.

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use hyper::{
    StatusCode,
    body::Body as _,
    header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, UPGRADE},
    upgrade::{OnUpgrade, Upgraded},
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncWriteExt, copy, sink},
    time::{Interval, MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, debug, error, info};

use super::{
    HttpError, Request, Response, record::ActivityGuard, reply, slots::ConnectionSlot,
    socket::ConnectionSocket,
};

const PROTOCOL: &str = "websocket";
const VERSION: &str = "13";
/// Length of a key: 16 bytes in Base64.
const KEY_CHARS: usize = 24;
/// Maximum messages waiting to be sent; beyond it, nothing is read.
const MAX_QUEUED: usize = 8;
/// Maximum pings without a sign of life from the client.
const MAX_UNANSWERED: u32 = 2;
/// Buffer size in bytes of a connection, which may be idle for hours.
const BUFFER_BYTES: usize = 4 * 1024;
/// Maximum time for a client to read its last message and confirm the close.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// The same limit if another client waits for the slot.
const HURRIED_GRACE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebSocketEvent {
    Text(String),
    /// The client sent data that is not text.
    Binary,
    /// The client sends more than allowed. Nothing more can be read.
    TooLarge,
    /// All messages have been sent.
    Sent,
    /// The server is stopping. Reported once.
    Stopping,
    /// The client left, broke the protocol or is silent, or the connection must close.
    Over,
}

/// Upgraded connection. Only [`WebSocket::next`] reads and writes it.
pub struct WebSocket {
    stream: WebSocketStream<ConnectionSocket>,
    slot: Arc<ConnectionSlot>,
    _busy: ActivityGuard,
    stopping: CancellationToken,
    is_stopping: bool,
    revoked: CancellationToken,
    queue: VecDeque<Message>,
    /// True if written data may still be in a buffer.
    unflushed: bool,
    pings: Interval,
    /// Pings since the last sign of life.
    unanswered: u32,
    /// Code for the close; `is_broken` tells that unreadable bytes may remain.
    code: CloseCode,
    is_broken: bool,
}

/// Accepts a handshake. `session` receives the upgraded connection in a task of the listener.
pub fn accept_websocket<F>(
    request: &mut Request,
    session: impl FnOnce(WebSocket) -> F + Send + 'static,
) -> Result<Response, HttpError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let accepted = validate_handshake(request)?;
    // A request of HTTP/1.0 has no upgrade.
    let announced = request.head.extensions.remove::<OnUpgrade>();
    let upgrade = announced.ok_or(HttpError::UpgradeRequired)?;
    let slot = Arc::clone(&request.slot);
    let tasks = request.tasks.clone();
    let stopping = tasks.stop_token().clone();
    let keep_alive = request.keep_alive;
    let max_bytes = request.max_body_bytes;
    let busy = request.activity.begin_work();
    let revoked = request.admission.revoked.clone();
    let opening = async move {
        // The upgrade fails if the client has left.
        let Ok(upgraded) = upgrade.await else { return };
        slot.mark_upgraded();
        let Some(stream) = open_websocket_stream(upgraded, max_bytes).await else { return };
        let mut pings = interval(keep_alive);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pings.reset();
        session(WebSocket {
            stream,
            slot,
            _busy: busy,
            stopping,
            is_stopping: false,
            revoked,
            queue: VecDeque::new(),
            unflushed: false,
            pings,
            unanswered: 0,
            code: CloseCode::Normal,
            is_broken: false,
        })
        .await;
    };
    tasks.spawn(opening.instrument(Span::current()));
    let mut response = reply::empty_response(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static(PROTOCOL));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    Ok(response)
}

fn validate_handshake(request: &Request) -> Result<HeaderValue, HttpError> {
    let lists = |name, token: &str| {
        let header = request.header(name).unwrap_or_default();
        header.split(',').any(|part| part.trim().eq_ignore_ascii_case(token))
    };
    let is_handshake = lists("upgrade", PROTOCOL)
        && lists("connection", "upgrade")
        && request.header("sec-websocket-version").is_some_and(|version| version == VERSION);
    if !is_handshake {
        return Err(HttpError::UpgradeRequired);
    }
    if !request.body.is_end_stream() {
        return Err(HttpError::BadRequest("a WebSocket handshake has no body"));
    }
    let key = request.header("sec-websocket-key").unwrap_or_default();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    if key.len() != KEY_CHARS || !key.bytes().all(is_digit) {
        return Err(HttpError::BadRequest("`Sec-WebSocket-Key` must be 16 bytes in Base64, once"));
    }
    HeaderValue::try_from(derive_accept_key(key.as_bytes())).map_err(|_| HttpError::Internal)
}

/// Takes the socket of a connection, with bytes that were read early.
async fn open_websocket_stream(
    upgraded: Upgraded,
    max_bytes: usize,
) -> Option<WebSocketStream<ConnectionSocket>> {
    let Ok(parts) = upgraded.downcast::<TokioIo<ConnectionSocket>>() else {
        error!("an upgraded connection is not over a socket of ours");
        return None;
    };
    let mut socket = parts.io.into_inner();
    socket.mark_upgraded();
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(max_bytes))
        .max_frame_size(Some(max_bytes));
    let read = parts.read_buf.to_vec();
    Some(WebSocketStream::from_partially_read(socket, read, Role::Server, Some(config)).await)
}

impl WebSocket {
    /// Queues a text to be sent, in the order of calls.
    pub fn send(&mut self, text: String) {
        self.queue.push_back(Message::text(text));
    }

    /// Returns whether all messages have been sent.
    pub fn is_sent(&self) -> bool {
        self.queue.is_empty() && !self.unflushed
    }

    /// Allows a new client to evict the connection while it waits for its client.
    pub fn allow_eviction(&self) {
        self.slot.mark_idle();
    }

    /// Marks the connection as working. Returns `false` if it must close.
    pub async fn begin_work(&self) -> bool {
        tokio::select! {
            biased;
            () = self.slot.gives_way() => false,
            () = self.slot.mark_busy() => true,
        }
    }

    /// Sends, pings, and waits for the next event. Dropping the future loses nothing.
    pub async fn next(&mut self) -> WebSocketEvent {
        let Self { stream, queue, unflushed, .. } = self;
        loop {
            let read = tokio::select! {
                biased;
                () = self.slot.gives_way() => {
                    self.code = CloseCode::Again;
                    return WebSocketEvent::Over;
                }
                () = self.revoked.cancelled() => {
                    info!("the token that opened this connection was revoked");
                    self.code = CloseCode::Policy;
                    return WebSocketEvent::Over;
                }
                () = self.stopping.cancelled(), if !self.is_stopping => {
                    self.code = CloseCode::Away;
                    self.is_stopping = true;
                    return WebSocketEvent::Stopping;
                }
                _ = self.pings.tick() => {
                    if self.unanswered >= MAX_UNANSWERED {
                        debug!("the client answers no pings");
                        return WebSocketEvent::Over;
                    }
                    self.unanswered += 1;
                    queue.push_front(Message::Ping(bytes::Bytes::new()));
                    continue;
                }
                exchanged = poll_fn(|context| poll_exchange(stream, queue, unflushed, context)) => {
                    match exchanged {
                        WebSocketExchange::Sent => return WebSocketEvent::Sent,
                        WebSocketExchange::Lost => return WebSocketEvent::Over,
                        WebSocketExchange::Read(message) => message,
                    }
                }
            };
            self.unanswered = 0;
            match read {
                Ok(Message::Text(text)) => return WebSocketEvent::Text(text.as_str().to_owned()),
                Ok(Message::Binary(_)) => return WebSocketEvent::Binary,
                // The protocol answers pings.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
                Ok(Message::Close(_)) => return WebSocketEvent::Over,
                Err(Error::Capacity(_)) => {
                    (self.code, self.is_broken) = (CloseCode::Size, true);
                    return WebSocketEvent::TooLarge;
                }
                Err(error) => {
                    debug!(%error, "a message cannot be read");
                    self.is_broken = true;
                    self.code = match error {
                        Error::Utf8(_) => CloseCode::Invalid,
                        _ => CloseCode::Protocol,
                    };
                    return WebSocketEvent::Over;
                }
            }
        }
    }

    /// Sends the waiting messages and closes the connection within a grace period.
    pub async fn close(mut self) {
        let hurried = self.code == CloseCode::Again;
        let grace = if hurried { HURRIED_GRACE } else { CLOSE_GRACE };
        // A client that has left or does not read misses nothing.
        drop(timeout(grace, self.flush_and_close()).await);
    }

    async fn flush_and_close(&mut self) -> Result<(), Error> {
        for message in self.queue.drain(..) {
            self.stream.feed(message).await?;
        }
        let reason = if self.code == CloseCode::Policy { "the token was revoked" } else { "" };
        let frame = CloseFrame { code: self.code, reason: reason.into() };
        // Fails if the client began to close, which is answered below.
        drop(self.stream.close(Some(frame)).await);
        // Wait for the client's close; otherwise it might miss the last messages.
        while let Some(Ok(_)) = self.stream.next().await {}
        if self.is_broken {
            let socket = self.stream.get_mut();
            socket.shutdown().await?;
            copy(socket, &mut sink()).await?;
        }
        Ok(())
    }
}

enum WebSocketExchange {
    Sent,
    Read(Result<Message, Error>),
    Lost,
}

/// Writes waiting messages, and reads unless too many wait.
fn poll_exchange(
    stream: &mut WebSocketStream<ConnectionSocket>,
    queue: &mut VecDeque<Message>,
    unflushed: &mut bool,
    context: &mut Context<'_>,
) -> Poll<WebSocketExchange> {
    while !queue.is_empty() {
        match stream.poll_ready_unpin(context) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Poll::Ready(WebSocketExchange::Lost),
            Poll::Pending => break,
        }
        if let Some(message) = queue.pop_front() {
            if stream.start_send_unpin(message).is_err() {
                return Poll::Ready(WebSocketExchange::Lost);
            }
            *unflushed = true;
        }
    }
    if queue.is_empty() && *unflushed {
        match stream.poll_flush_unpin(context) {
            Poll::Ready(Ok(())) => {
                *unflushed = false;
                return Poll::Ready(WebSocketExchange::Sent);
            }
            Poll::Ready(Err(_)) => return Poll::Ready(WebSocketExchange::Lost),
            Poll::Pending => {}
        }
    }
    if queue.len() >= MAX_QUEUED {
        return Poll::Pending;
    }
    stream
        .poll_next_unpin(context)
        .map(|read| read.map_or(WebSocketExchange::Lost, WebSocketExchange::Read))
}

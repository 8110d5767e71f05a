//! Connection of a relay to a server.

use std::{fmt::Write, time::Duration};

use crate::{
    mcp_http::{HEADER, PATH},
    takeover::RelayHandshake,
};
use codeinfo_core::task::Tasks;
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use tokio::{net::TcpStream, sync::mpsc, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        Message, client::IntoClientRequest, handshake::client::Request, http::HeaderValue,
        protocol::WebSocketConfig,
    },
};
use url::Url;

use super::ReachableServer;

/// Maximum time for a server of this machine to answer a handshake.
const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_WAITING: usize = 8;
const BUFFER_BYTES: usize = 16 * 1024;

type RelaySocket = WebSocketStream<TcpStream>;

/// Connection to a server. Dropping it ends the server's work for it.
pub(super) struct ServerLink {
    /// Queue of a separate writer task, so that reading never waits for writing.
    messages: mpsc::Sender<Message>,
    stream: SplitStream<RelaySocket>,
}

impl ServerLink {
    pub(super) async fn open(
        to: &ReachableServer,
        relay: &RelayHandshake,
        tasks: &Tasks,
    ) -> Result<Self, String> {
        let request = build_request(to, relay).map_err(|error| error.to_string())?;
        let opening = async {
            let url = Url::parse(&to.url).ok();
            let address = url.as_ref().and_then(|url| Some((url.host_str()?, url.port()?)));
            let (host, port) = address.ok_or("its address cannot be read")?;
            let host_name = host.trim_start_matches('[').trim_end_matches(']');
            let stream =
                TcpStream::connect((host_name, port)).await.map_err(|error| error.to_string())?;
            stream.set_nodelay(true).map_err(|error| error.to_string())?;
            let config = WebSocketConfig::default()
                .read_buffer_size(BUFFER_BYTES)
                .write_buffer_size(0)
                // The relay trusts its own server: an answer has no other bound.
                .max_message_size(None)
                .max_frame_size(None);
            let opened = client_async_with_config(request, stream, Some(config)).await;
            opened.map_err(|error| explain_refusal(&error))
        };
        let opened = timeout(TIMEOUT, opening).await;
        let (socket, _) = opened.map_err(|_| format!("{} does not answer", to.url))??;
        let (sink, stream) = socket.split();
        let (messages, receiver) = mpsc::channel(MAX_WAITING);
        tasks.spawn(write_messages(sink, receiver));
        Ok(Self { messages, stream })
    }

    /// Returns a handle that waits for room for a further message.
    pub(super) fn room(&self) -> SendRoom {
        SendRoom(self.messages.clone())
    }

    /// Sends a message if there is room. [`ServerLink::next_message`] notices a lost connection.
    pub(super) fn send(&self, text: String) {
        drop(self.messages.try_send(Message::text(text)));
    }

    /// Sends the end of the input, if there is room.
    pub(super) fn send_end(&self) {
        drop(self.messages.try_send(Message::binary(Vec::new())));
    }

    pub(super) async fn next_message(&mut self) -> Option<String> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return Some(text.as_str().to_owned()),
                Some(Ok(
                    Message::Ping(_) | Message::Pong(_) | Message::Binary(_) | Message::Frame(_),
                )) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
            }
        }
    }
}

pub(super) struct SendRoom(mpsc::Sender<Message>);

impl SendRoom {
    /// Waits until there is room, or the connection ends.
    pub(super) async fn wait_for_room(&self) {
        drop(self.0.reserve().await);
    }
}

async fn write_messages(
    mut sink: SplitSink<RelaySocket, Message>,
    mut messages: mpsc::Receiver<Message>,
) {
    while let Some(message) = messages.recv().await {
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

fn build_request(
    to: &ReachableServer,
    relay: &RelayHandshake,
) -> Result<Request, Box<dyn std::error::Error>> {
    let url = format!("{}{PATH}", to.url.replacen("http", "ws", 1));
    let mut request = url.into_client_request()?;
    let headers = request.headers_mut();
    headers
        .insert(HEADER, HeaderValue::from_str(&escape_non_ascii(&serde_json::to_string(relay)?))?);
    if let Some(key) = &to.key {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose()))?;
        bearer.set_sensitive(true);
        headers.insert("authorization", bearer);
    }
    Ok(request)
}

/// Escapes non-ASCII characters, which a header cannot hold, as JSON does.
fn escape_non_ascii(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for unit in json.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => escaped.push(char::from(byte)),
            // Writing to a `String` cannot fail.
            _ => drop(write!(escaped, "\\u{unit:04x}")),
        }
    }
    escaped
}

fn explain_refusal(error: &tokio_tungstenite::tungstenite::Error) -> String {
    use tokio_tungstenite::tungstenite::Error;
    match error {
        Error::Http(reply) => {
            let status = reply.status();
            let message = reply.body().as_deref().and_then(|body| {
                let value: serde_json::Value = serde_json::from_slice(body).ok()?;
                Some(value.get("message")?.as_str()?.to_owned())
            });
            match message {
                Some(message) => format!("the server refuses ({status}): {message}"),
                None => format!("the server refuses: {status}; is it of another version?"),
            }
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::escape_non_ascii;

    #[test]
    fn a_header_is_ascii_and_reads_the_same() {
        let json = serde_json::json!({ "folder": "/häuser/🏠" }).to_string();
        let escaped = escape_non_ascii(&json);
        assert!(escaped.is_ascii());
        let read: serde_json::Value = serde_json::from_str(&escaped).unwrap();
        assert_eq!(read["folder"], "/häuser/🏠");
    }
}

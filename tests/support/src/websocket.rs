//! A WebSocket client of a crate that shares no code with the server.

use std::{net::SocketAddr, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, protocol::frame::coding::CloseCode},
};

/// Long enough that only a hanging test meets it.
const TIMEOUT: Duration = Duration::from_mins(1);

pub struct WebSocketClient {
    pub stream: WebSocketStream<TcpStream>,
}

impl WebSocketClient {
    pub async fn open(to: SocketAddr) -> Self {
        Self::try_open(to).await.unwrap()
    }

    pub async fn try_open(to: SocketAddr) -> Result<Self, Error> {
        let stream = TcpStream::connect(to).await.unwrap();
        let opening = client_async(format!("ws://localhost:{}/ws", to.port()), stream);
        let (stream, reply) = timeout(TIMEOUT, opening).await.unwrap()?;
        assert_eq!(reply.status(), 101);
        Ok(Self { stream })
    }

    pub async fn send(&mut self, value: &Value) {
        self.send_message(Message::text(value.to_string())).await;
    }

    pub async fn send_message(&mut self, message: Message) {
        self.stream.send(message).await.unwrap();
    }

    /// Sends bytes past the protocol.
    pub async fn write_bytes(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).await.unwrap();
    }

    /// Waits for the next frame.
    pub async fn read_frame(&mut self) -> String {
        loop {
            match timeout(TIMEOUT, self.stream.next()).await.unwrap() {
                Some(Ok(Message::Text(text))) => return text.as_str().to_owned(),
                Some(Ok(Message::Ping(_))) => {}
                other => panic!("no frame: {other:?}"),
            }
        }
    }

    /// Waits for the next frame, and reads it.
    pub async fn read_json(&mut self) -> Value {
        serde_json::from_str(&self.read_frame().await).unwrap()
    }

    /// Returns the frames of a turn, to its end.
    pub async fn read_turn(&mut self) -> Vec<String> {
        let mut frames = Vec::new();
        loop {
            let frame = self.read_frame().await;
            let is_end = [r#"{"type":"complete""#, r#"{"type":"error""#]
                .iter()
                .any(|start| frame.starts_with(start));
            frames.push(frame);
            if is_end {
                return frames;
            }
        }
    }

    /// Sends a message and returns the code of the error that answers it.
    pub async fn send_and_read_error(&mut self, message: Message) -> String {
        self.send_message(message).await;
        let frame = self.read_json().await;
        assert_eq!(frame["type"], "error", "{frame}");
        frame["code"].as_str().unwrap().to_owned()
    }

    /// Waits until the server closes, with which code.
    pub async fn wait_for_close(&mut self) -> Option<CloseCode> {
        loop {
            match timeout(TIMEOUT, self.stream.next()).await.unwrap() {
                Some(Ok(Message::Close(frame))) => {
                    // Agreed to by the next poll.
                    drop(timeout(TIMEOUT, self.stream.next()).await.unwrap());
                    return frame.map(|frame| frame.code);
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }
}

//! `codeinfo stdio`: MCP over standard input and output, forwarded to the one server of the data folder.
//!
//! A message is a line here and a frame of a WebSocket there; only the server interprets it. The
//! relay reads little more than its id, to answer it when the server is lost.

mod frame;
mod link;
mod request_id;
mod streams;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::takeover::{RelayHandshake, replaces_connection};
use codeinfo_core::{Secret, task::Tasks};
use codeinfo_worktree::git::find_repository;
use futures_util::future::{self, BoxFuture};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use self::{
    link::{SendRoom, ServerLink},
    streams::{InputLine, StdinReader, StdoutWriter},
};

/// Maximum wait for the server's last answers after the end of the input.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const ATTEMPTS: usize = 20;
/// Maximum wait for a server after the end of the input.
const LAST_WAIT: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub struct ReachableServer {
    /// Base URL of the listener to forward to, such as `http://127.0.0.1:5011`.
    pub url: String,
    /// The owner's key, if it can be read.
    pub key: Option<Secret>,
}

/// Finds the server of the data folder, and starts one if none runs.
pub trait ServerLocator: Send + Sync {
    /// Returns a server that answers, or the reason why none can be reached.
    fn reach_server(&self) -> BoxFuture<'_, Result<ReachableServer, String>>;
}

/// Asks a server started by a relay to stop for one started by a person or a service. Returns its refusal or the
/// connection failure, which may mean that it is ending; `None` if it stays.
pub async fn request_takeover(from: &ReachableServer) -> Option<String> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let handshake = RelayHandshake { version, takes_over: true, ..RelayHandshake::default() };
    let tasks = Tasks::default();
    ServerLink::open(from, &handshake, &tasks).await.err()
}

/// Forwards until the input ends or the output is closed.
pub async fn run_relay(
    servers: &dyn ServerLocator,
    relay: RelayHandshake,
    home: Option<&Path>,
    max_line_bytes: usize,
    tasks: &Tasks,
) -> std::io::Result<()> {
    let (input, output) = streams::open_streams(max_line_bytes)?;
    let mut forwarding = RelayForwarder {
        servers,
        relay,
        home,
        input,
        output,
        link: None,
        waiting: Vec::new(),
        has_roots: false,
        has_moved: false,
        tasks,
    };
    // Starts the server while the client still introduces itself.
    forwarding.link = forwarding.connect_to_server().await.ok();
    forwarding.run().await;
    forwarding.output.close().await;
    Ok(())
}

enum RelayEvent {
    Line(Option<InputLine>),
    Message(Option<String>),
}

struct RelayForwarder<'a> {
    servers: &'a dyn ServerLocator,
    relay: RelayHandshake,
    /// Home folder, which never counts as a repository.
    home: Option<&'a Path>,
    input: StdinReader,
    output: StdoutWriter,
    link: Option<ServerLink>,
    /// Ids, as JSON, of requests without an answer yet.
    waiting: Vec<String>,
    /// True if the client can list the folders it works in.
    has_roots: bool,
    /// True if the server knows another folder than the client's current one.
    has_moved: bool,
    tasks: &'a Tasks,
}

impl RelayForwarder<'_> {
    async fn run(&mut self) {
        let mut ends_by: Option<Instant> = None;
        while ends_by.is_none() || self.link.is_some() {
            let room = self.link.as_ref().map(ServerLink::room);
            let event = tokio::select! {
                biased;
                () = self.output.wait_until_closed() => return,
                () = wait_until(ends_by) => return,
                text = next_message(self.link.as_mut()) => RelayEvent::Message(text),
                line = read_line_when_writable(&mut self.input, room), if ends_by.is_none() => RelayEvent::Line(line),
            };
            match event {
                RelayEvent::Message(Some(text)) => self.forward_reply(&text).await,
                // The server has sent its last answers.
                RelayEvent::Message(None) if ends_by.is_some() => return,
                RelayEvent::Message(None) => self.fail_waiting_requests().await,
                RelayEvent::Line(Some(InputLine::Text(text))) => self.forward_message(text).await,
                RelayEvent::Line(Some(InputLine::Refused(id))) => {
                    let request_id = id.as_deref().unwrap_or("null");
                    let reason = "a message is not text, or has too many bytes (`MAX_BODY_BYTES`)";
                    self.output
                        .write_message(&frame::build_error_reply(request_id, -32600, reason))
                        .await;
                }
                RelayEvent::Line(None) => {
                    ends_by = Some(Instant::now() + LAST_ANSWERS);
                    self.link.iter().for_each(ServerLink::send_end);
                }
            }
        }
    }

    /// Forwards a message, over a new connection if the last one was lost.
    async fn forward_message(&mut self, text: String) {
        if let Some(roots) = frame::parse_roots(&text) {
            self.adopt_root(&roots);
            return;
        }
        self.has_roots |= frame::has_roots(&text);
        if self.has_roots && frame::is_time_for_roots(&text) {
            self.output.write_message(&frame::ask_for_roots()).await;
        }
        let ids = frame::list_request_ids(&text);
        if let Some(id) = frame::parse_cancelled_id(&text) {
            self.remove_waiting(&id);
        }
        let mut failure = None;
        if self.link.is_none() {
            match self.connect_to_server().await {
                Ok(link) => self.link = Some(link),
                Err(reason) => failure = Some(reason),
            }
        }
        match (&mut self.link, failure) {
            (Some(link), _) => {
                self.waiting.extend(ids);
                if frame::is_greeting(&text) {
                    (self.relay.is_greeted, self.relay.client) = (true, frame::client_name(&text));
                }
                link.send(text);
            }
            (None, failure) => {
                let reason = failure.unwrap_or_default();
                warn!(%reason, "a message is not forwarded");
                for id in ids {
                    let reason = format!("CodeInfo cannot be reached: {reason}");
                    self.output
                        .write_message(&frame::build_error_reply(&id, -32603, &reason))
                        .await;
                }
            }
        }
    }

    async fn forward_reply(&mut self, text: &str) {
        for id in frame::list_answered_ids(text) {
            self.remove_waiting(&id);
        }
        self.output.write_message(text).await;
        self.leave_outdated_link();
    }

    /// Adopts the first folder of the client in a repository, else keeps the relay's start folder.
    fn adopt_root(&mut self, roots: &[PathBuf]) {
        let folder = roots.iter().find_map(|folder| find_repository(folder, self.home));
        if folder.is_some() && folder != self.relay.folder {
            self.relay.folder = folder;
            self.has_moved = true;
            self.leave_outdated_link();
        }
    }

    /// Leaves a connection that knows another folder, once no request waits for an answer over it.
    fn leave_outdated_link(&mut self) {
        if replaces_connection(self.has_moved, self.waiting.len()) {
            self.has_moved = false;
            self.link = None;
        }
    }

    fn remove_waiting(&mut self, id: &str) {
        if let Some(index) = self.waiting.iter().position(|waiting| waiting == id) {
            self.waiting.swap_remove(index);
        }
    }

    /// Answers the waiting requests with an error, because their server has ended.
    async fn fail_waiting_requests(&mut self) {
        self.link = None;
        for id in std::mem::take(&mut self.waiting) {
            let reason = "the CodeInfo server ended while it worked on this; ask again";
            self.output.write_message(&frame::build_error_reply(&id, -32603, reason)).await;
        }
    }

    /// Connects to a server, as long as the client may wait for it.
    async fn connect_to_server(&self) -> Result<ServerLink, String> {
        let giving_up = async {
            self.input.wait_for_end().await;
            tokio::time::sleep(LAST_WAIT).await;
        };
        tokio::select! {
            connected = self.connect_with_retries() => connected,
            () = giving_up => Err("it took too long".to_owned()),
            () = self.output.wait_until_closed() => Err("the client has closed the output".to_owned()),
        }
    }

    /// Connects to a server with retries, because a server that is found may be about to end.
    async fn connect_with_retries(&self) -> Result<ServerLink, String> {
        let mut last_reason = String::new();
        for _ in 0..ATTEMPTS {
            let reached = self.servers.reach_server().await?;
            match ServerLink::open(&reached, &self.relay, self.tasks).await {
                Ok(link) => return Ok(link),
                Err(reason) => last_reason = reason,
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(last_reason)
    }
}

/// Returns the next line of the input once it can be forwarded, so that replies are read meanwhile.
async fn read_line_when_writable(
    input: &mut StdinReader,
    room: Option<SendRoom>,
) -> Option<InputLine> {
    if let Some(room) = room {
        room.wait_for_room().await;
    }
    input.next_line().await
}

/// Waits for a moment; forever without one.
async fn wait_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => future::pending().await,
    }
}

/// Waits for the next message of the server; forever without a connection.
async fn next_message(link: Option<&mut ServerLink>) -> Option<String> {
    match link {
        Some(link) => link.next_message().await,
        None => future::pending().await,
    }
}

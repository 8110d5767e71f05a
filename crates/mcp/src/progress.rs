//! Long-running calls: progress notifications, then the result.

use std::time::Duration;

use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::{
    calls::Underway,
    endpoint::{CallError, Update},
    era::Era,
    message::{Error, Id, Request, answered},
    method::finished,
};

/// The longest token repeated in each notification.
const MAX_TOKEN_BYTES: usize = 1024;

/// Whom the answer is for and how it is to look.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) id: Id,
    pub(super) era: Era,
    /// What the client wants progress notifications marked with, if it wants them.
    token: Option<Value>,
}

impl Caller {
    pub(super) fn of(request: &Request, era: Era) -> Self {
        let token = request.meta("progressToken");
        let token = token.filter(|token| match token.as_str() {
            Some(text) => text.len() <= MAX_TOKEN_BYTES,
            None => token.is_i64() || token.is_u64(),
        });
        Self { id: request.id.clone(), era, token: token.cloned() }
    }

    fn progress(&self, number: u64, message: &str) -> Option<String> {
        let notification = json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": { "progressToken": self.token.as_ref()?, "progress": number, "message": message },
        });
        Some(notification.to_string())
    }
}

/// What a call does, and whether its client still waits for it.
pub(super) type Call = (BoxStream<'static, Update>, Underway);

/// Waits for the end and returns the answer.
pub(super) async fn ended(caller: Caller, (mut updates, underway): Call) -> Value {
    loop {
        let update = tokio::select! {
            biased;
            () = underway.cancelled() => return answered(&caller.id, Err(Error::cancelled())),
            update = updates.next() => update,
        };
        match update {
            Some(Update::Progress(_)) => {}
            Some(Update::Done(end)) => return answered(&caller.id, finished(caller.era, end)),
            None => return answered(&caller.id, Err(Error::internal())),
        }
    }
}

/// Returns the messages of a running call: progress if it is wanted, with a sign of life every
/// `keep_alive`, and the answer as the last one, unless the client cancels the call. Many clients give up on a call after a minute
/// without progress, whatever else they receive.
pub(super) fn messages(
    caller: Caller,
    call: Call,
    keep_alive: Duration,
) -> impl Stream<Item = String> + Send + 'static {
    let mut ticks = interval_at(Instant::now() + keep_alive, keep_alive);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let started = Instant::now();
    let (latest, sent, over) = ("working".to_owned(), 0, false);
    let running = Running { caller, call, ticks, started, latest, sent, over };
    stream::unfold(running, |mut running| async move {
        let message = running.next().await?;
        Some((message, running))
    })
}

struct Running {
    caller: Caller,
    call: Call,
    ticks: Interval,
    started: Instant,
    /// What it reported last.
    latest: String,
    /// Progress notifications so far; their numbers must rise.
    sent: u64,
    over: bool,
}

impl Running {
    async fn next(&mut self) -> Option<String> {
        while !self.over {
            let text = tokio::select! {
                biased;
                () = self.call.1.cancelled() => return None,
                update = self.call.0.next() => match update {
                    Some(Update::Progress(text)) => {
                        self.latest.clone_from(&text);
                        text
                    }
                    Some(Update::Done(end)) => return Some(self.end(end)),
                    None => return Some(self.end(Err(CallError::Error(Error::internal())))),
                },
                _ = self.ticks.tick() => {
                    format!("{} ({} s)", self.latest, self.started.elapsed().as_secs())
                }
            };
            self.sent += 1;
            if let Some(message) = self.caller.progress(self.sent, &text) {
                return Some(message);
            }
        }
        None
    }

    fn end(&mut self, end: Result<super::ToolResult, CallError>) -> String {
        self.over = true;
        answered(&self.caller.id, finished(self.caller.era, end)).to_string()
    }
}

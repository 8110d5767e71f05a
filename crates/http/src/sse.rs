//! Server-sent events with keep-alive comments. Only events of a resumable stream have ids, because
//! clients would try to resume.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::{Response, reply};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Value of `id:`, if the stream can be resumed after the event.
    pub id: Option<usize>,
    /// Value of `event:`; `None` omits the line.
    pub name: Option<&'static str>,
    /// Payload, usually JSON.
    pub data: String,
}

/// Streams `events` until they end, with a comment every `keep_alive`.
pub fn stream_events(
    events: impl Stream<Item = SseEvent> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    let pieces = events.map(|event| Bytes::from(render_event(&event)));
    let comment = Bytes::from_static(b": keep-alive\n\n");
    reply::stream_response("text/event-stream", with_ticks(pieces, keep_alive, comment))
}

/// Streams unnamed events, one for each text.
pub fn stream_messages(
    texts: impl Stream<Item = String> + Send + 'static,
    keep_alive: Duration,
) -> Response {
    stream_events(texts.map(|data| SseEvent { id: None, name: None, data }), keep_alive)
}

/// Inserts `tick` between the pieces every `period` until the pieces end.
pub(super) fn with_ticks(
    pieces: impl Stream<Item = Bytes> + Send + 'static,
    period: Duration,
    tick: Bytes,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    stream::unfold((Box::pin(pieces), ticks), move |(mut pieces, mut ticks)| {
        let tick = tick.clone();
        async move {
            let piece = tokio::select! {
                biased;
                piece = pieces.next() => piece?,
                _ = ticks.tick() => tick,
            };
            Some((piece, (pieces, ticks)))
        }
    })
}

/// Renders an event. Each line break in the payload starts another `data:` line.
fn render_event(event: &SseEvent) -> String {
    let mut text = String::with_capacity(event.data.len() + 32);
    if let Some(id) = event.id {
        text.extend(["id: ", &id.to_string(), "\n"]);
    }
    if let Some(name) = event.name {
        text.extend(["event: ", name, "\n"]);
    }
    for line in event.data.replace("\r\n", "\n").split(['\n', '\r']) {
        text.extend(["data: ", line, "\n"]);
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::{SseEvent, render_event};

    #[test]
    fn a_payload_of_several_lines_stays_one_event() {
        let data = "one\r\ntwo\rthree\n".to_owned();
        let event = SseEvent { id: None, name: Some("answer"), data };
        let numbered = SseEvent { id: Some(7), ..event.clone() };
        assert_eq!(render_event(&numbered), format!("id: 7\n{}", render_event(&event)));
        assert_eq!(
            render_event(&event),
            "event: answer\ndata: one\ndata: two\ndata: three\ndata: \n\n"
        );
    }
}

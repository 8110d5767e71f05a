//! Accounts for requests: one log line after the last byte of a reply, and a server's idle time.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use codeinfo_core::telemetry::{self, LabelledTimer};
use hyper::{
    StatusCode,
    body::{Body as HttpBody, Frame, SizeHint},
};
use tracing::{Span, debug, info};

use super::{ResponseBody, slots::ConnectionSlot};

/// Work in progress on the listeners that share it: requests, streamed replies, upgrades.
#[derive(Debug, Clone)]
pub struct ServerActivity(Arc<Mutex<ActivityState>>);

#[derive(Debug)]
struct ActivityState {
    under_way: usize,
    /// Time at which the last work ended.
    since: Instant,
}

impl Default for ServerActivity {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(ActivityState { under_way: 0, since: Instant::now() })))
    }
}

impl ServerActivity {
    /// Returns for how long the server has been idle; `None` while it works.
    pub fn idle_time(&self) -> Option<Duration> {
        let state = self.lock_state();
        (state.under_way == 0).then(|| state.since.elapsed())
    }

    /// Counts work as in progress until the result is dropped.
    pub(super) fn begin_work(&self) -> ActivityGuard {
        self.lock_state().under_way += 1;
        ActivityGuard(self.clone())
    }

    fn lock_state(&self) -> MutexGuard<'_, ActivityState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct ActivityGuard(ServerActivity);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        let mut state = self.0.lock_state();
        state.under_way -= 1;
        state.since = Instant::now();
    }
}

/// Extension of a reply that lowers its log line to debug level, for monitors and guessed tokens.
#[derive(Debug, Clone, Copy)]
pub struct QuietReply;

/// Counters of a listener's requests.
#[derive(Debug, Clone)]
pub(super) struct ListenerMetrics {
    pub(super) listener: &'static str,
    pub(super) requests: LabelledTimer<telemetry::RequestLabel>,
}

/// Log entry of a request, written when the handler's future or the reply's body is dropped.
pub(super) struct RequestLogEntry {
    span: Span,
    counts: ListenerMetrics,
    slot: Arc<ConnectionSlot>,
    /// Held until the last byte of the reply.
    _busy: ActivityGuard,
    started: Instant,
    status: Option<StatusCode>,
    sent_bytes: usize,
    whole: bool,
    quiet: bool,
    /// True for a `HEAD` request, whose reply has no body.
    without_body: bool,
}

impl RequestLogEntry {
    pub(super) fn new(
        span: Span,
        counts: ListenerMetrics,
        slot: Arc<ConnectionSlot>,
        busy: ActivityGuard,
    ) -> Self {
        Self {
            span,
            counts,
            slot,
            _busy: busy,
            started: Instant::now(),
            status: None,
            sent_bytes: 0,
            whole: false,
            quiet: false,
            without_body: false,
        }
    }

    /// Expects that no body is sent.
    pub(super) fn ends_with_head(&mut self) {
        self.without_body = true;
    }

    pub(super) fn record_reply(
        mut self,
        reply: hyper::Response<ResponseBody>,
    ) -> hyper::Response<RecordedBody> {
        self.status = Some(reply.status());
        self.quiet = reply.extensions().get::<QuietReply>().is_some();
        self.whole = self.without_body || reply.body().is_end_stream();
        reply.map(|inner| RecordedBody { inner, record: self })
    }
}

impl Drop for RequestLogEntry {
    fn drop(&mut self) {
        self.slot.mark_reply_complete();
        let Self { span, counts, slot: _, started, status, sent_bytes, whole, quiet, .. } = self;
        let elapsed = started.elapsed();
        let elapsed_ms = telemetry::to_milliseconds(elapsed);
        let status_code = status.map_or(0, |status| status.as_u16());
        let bytes = *sent_bytes;
        let label = telemetry::RequestLabel { listener: counts.listener, status: status_code };
        counts.requests.record_duration(&label, elapsed);
        let _inside = span.enter();
        match (whole, quiet) {
            (false, false) => {
                info!(http.status = status_code, http.bytes = bytes, elapsed_ms, "client left");
            }
            (false, true) => {
                debug!(http.status = status_code, http.bytes = bytes, elapsed_ms, "client left");
            }
            (true, true) => {
                debug!(http.status = status_code, http.bytes = bytes, elapsed_ms, "answered");
            }
            (true, false) => {
                info!(http.status = status_code, http.bytes = bytes, elapsed_ms, "answered");
            }
        }
    }
}

/// Body that counts the bytes sent. It is polled inside the span of its request.
pub(super) struct RecordedBody {
    inner: ResponseBody,
    record: RequestLogEntry,
}

impl HttpBody for RecordedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Self { inner, record } = &mut *self;
        let _inside = record.span.enter();
        let frame = ready!(Pin::new(&mut *inner).poll_frame(context));
        record.whole = frame.is_none() || inner.is_end_stream();
        if let Some(Ok(frame)) = &frame {
            record.sent_bytes += frame.data_ref().map_or(0, Bytes::len);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_idle_from_the_end_of_the_last_thing_on() {
        let activity = ServerActivity::default();
        while activity.idle_time().is_some_and(|idle| idle < Duration::from_millis(50)) {}
        let began = Instant::now();
        let first = activity.begin_work();
        let second = activity.clone().begin_work();
        drop(first);
        assert_eq!(activity.idle_time(), None);
        drop(second);
        assert!(activity.idle_time().is_some_and(|idle| idle <= began.elapsed()));
    }
}

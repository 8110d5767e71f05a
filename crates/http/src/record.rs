//! One log line for each request, written when the last byte of its reply has left.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::Bytes;
use codeinfo_core::telemetry::{self, LabelledTimer};
use hyper::{
    StatusCode,
    body::{Body as HttpBody, Frame, SizeHint},
};
use tracing::{Span, debug, info};

use super::{ResponseBody, activity::ActivityGuard, slots::ConnectionSlot};

/// Marks a reply, as an extension, whose log line is for debugging only: monitors ask often, and so does who guesses tokens.
#[derive(Debug, Clone, Copy)]
pub struct QuietReply;

/// Where a listener counts its requests.
#[derive(Debug, Clone)]
pub(super) struct ListenerMetrics {
    pub(super) listener: &'static str,
    pub(super) requests: LabelledTimer<telemetry::RequestLabel>,
}

/// What is known of a request; dropping it writes the line. Held by the handler's future and then by
/// the body of the reply, so it also sees clients that go away.
pub(super) struct RequestLogEntry {
    span: Span,
    counts: ListenerMetrics,
    slot: Arc<ConnectionSlot>,
    /// Until the last byte of the reply.
    _busy: ActivityGuard,
    started: Instant,
    status: Option<StatusCode>,
    sent_bytes: usize,
    whole: bool,
    quiet: bool,
    /// The request was a `HEAD`: nobody asks for the body.
    without_body: bool,
}

impl RequestLogEntry {
    pub(super) fn new(
        span: Span,
        counts: ListenerMetrics,
        (slot, busy): (Arc<ConnectionSlot>, ActivityGuard),
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

    /// Expects no body to be sent.
    pub(super) fn ends_with_head(&mut self) {
        self.without_body = true;
    }

    /// Goes on with the reply.
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
        let status = status.map_or(0, |status| status.as_u16());
        let bytes = *sent_bytes;
        let label = telemetry::RequestLabel { listener: counts.listener, status };
        counts.requests.record_duration(&label, elapsed);
        let _inside = span.enter();
        match (whole, quiet) {
            (false, false) => {
                info!(http.status = status, http.bytes = bytes, elapsed_ms, "client left");
            }
            (false, true) => {
                debug!(http.status = status, http.bytes = bytes, elapsed_ms, "client left");
            }
            (true, true) => {
                debug!(http.status = status, http.bytes = bytes, elapsed_ms, "answered");
            }
            (true, false) => {
                info!(http.status = status, http.bytes = bytes, elapsed_ms, "answered");
            }
        }
    }
}

/// A body that counts what leaves. It is polled inside the span of its request.
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

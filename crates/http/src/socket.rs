//! The socket of a connection: tracks bytes read, and fails for a client that reads nothing.

use std::{
    future::Future,
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::{framing::RequestFraming, slots::ConnectionSlot};

/// Number of a request that no connection reaches.
const NONE: u64 = u64::MAX;

/// Stream that reads no more of a head than allowed, and whose writes fail after `limit` without
/// progress: a client that never reads would hold its reply, and the turn behind it.
pub(super) struct ConnectionSocket {
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
    framing: RequestFraming,
    unclear: AmbiguousLength,
    limit: Duration,
    /// Runs from the first blocked write until one succeeds.
    waiting: Option<Pin<Box<Sleep>>>,
}

/// Number of the request with an ambiguous length, known before the request is parsed.
#[derive(Debug, Clone)]
pub(super) struct AmbiguousLength(Arc<AtomicU64>);

impl AmbiguousLength {
    /// Returns whether the request with this number, counted from 0, has an ambiguous length.
    pub(super) fn is_ambiguous(&self, number: u64) -> bool {
        self.0.load(Ordering::Relaxed) <= number
    }
}

impl ConnectionSocket {
    pub(super) fn new(stream: TcpStream, slot: Arc<ConnectionSlot>, limit: Duration) -> Self {
        let unclear = AmbiguousLength(Arc::new(AtomicU64::new(NONE)));
        Self { stream, slot, framing: RequestFraming::new(), unclear, limit, waiting: None }
    }

    pub(super) fn ambiguous_length(&self) -> AmbiguousLength {
        self.unclear.clone()
    }

    /// Stops tracking, because the connection uses another protocol.
    pub(super) fn mark_upgraded(&mut self) {
        self.framing = RequestFraming::for_other_protocol();
    }

    /// Fails a write that has waited too long. The timer wakes the writer.
    fn limit_write_time<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for ConnectionSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, framing, unclear, .. } = &mut *self;
        let pinned = Pin::new(stream);
        let before = buffer.filled().len();
        match framing.max_readable_bytes() {
            0 => return Poll::Ready(Err(io::ErrorKind::InvalidData.into())),
            room if room < buffer.remaining() => {
                let mut bounded = ReadBuf::new(buffer.initialize_unfilled_to(room));
                ready!(pinned.poll_read(context, &mut bounded))?;
                let read = bounded.filled().len();
                buffer.advance(read);
            }
            _ => ready!(pinned.poll_read(context, buffer))?,
        }
        let Some(read) = buffer.filled().get(before..) else {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        };
        framing.track_bytes(read);
        if let Some(number) = framing.ambiguous_request() {
            unclear.0.store(number, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ConnectionSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.limit_write_time(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.limit_write_time(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.slot.mark_flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

//! The accept loop, connections, and what happens to each request before and after its handler.

use std::{convert::Infallible, io, panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};

use futures_util::FutureExt;
use hyper::{Method, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, info_span, warn};

use super::{
    Fault, Handler, Request, RequestId, Response,
    guard::Guard,
    record::{Counts, Record, Recorded},
    stalled::Stalled,
};
use crate::{
    config::{self, Http},
    task::Tasks,
    telemetry::{self, Timed},
};

/// How long the loop rests after a failed accept, so that it does not spin while file handles are
/// short.
const BACKOFF: Duration = Duration::from_millis(50);

/// Bytes of a request line and its headers after which no more are read: a head that is not whole
/// by then is answered with 431. One read may go beyond.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// A bound socket and what is known of its requests.
pub struct Listener {
    pub socket: TcpListener,
    /// What metrics call it: `main` or `mcp`.
    pub name: &'static str,
    /// Where its requests are counted.
    pub requests: Timed<telemetry::Request>,
}

/// Answers the connections of `listener` until `tasks` are told to stop. From then on no connection
/// is accepted, idle ones are closed, and requests under way are finished; `tasks` waits for them.
pub fn serve<H: Handler>(
    listener: Listener,
    handler: H,
    http: &Http,
    guard: &config::Guard,
    tasks: Tasks,
) {
    let Listener { socket, name, requests } = listener;
    let counts = Counts { listener: name, requests };
    let server = Server { handler, http: http.clone(), guard: Guard::new(guard), counts };
    let owner = tasks.clone();
    drop(owner.spawn(accept(socket, Arc::new(server), tasks)));
}

struct Server<H> {
    handler: H,
    http: Http,
    guard: Guard,
    counts: Counts,
}

async fn accept<H: Handler>(listener: TcpListener, server: Arc<Server<H>>, tasks: Tasks) {
    let slots = Arc::new(Semaphore::new(server.http.max_connections));
    let stopping = tasks.stopping().clone();
    let mut failing = false;
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = next(&listener, &slots) => accepted,
        };
        match accepted {
            Ok((stream, slot)) => {
                failing = false;
                let server = Arc::clone(&server);
                drop(tasks.spawn(connection(stream, slot, server, stopping.clone())));
            }
            Err(error) => {
                // File handles may be short for half a minute: that is one event, not hundreds.
                if !failing {
                    warn!(%error, "accept failed");
                }
                failing = true;
                tokio::time::sleep(BACKOFF).await;
            }
        }
    }
}

/// Accepts when there is a slot; until then further connections wait in the kernel's queue.
async fn next(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

async fn connection<H: Handler>(
    stream: TcpStream,
    slot: OwnedSemaphorePermit,
    server: Arc<Server<H>>,
    stopping: CancellationToken,
) {
    // One that is reset already must not count as a failure of the listener.
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "connection ended early");
        return;
    }
    let timeout = server.http.read_timeout;
    let stream = Stalled::new(stream, server.http.write_timeout);
    let service = service_fn(move |request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(server.respond(request).await) }
    });
    // Half-closed connections count as closed: it is how the end of a client is noticed while its
    // request is being worked on.
    let exchange = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .half_close(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut exchange = pin!(exchange);
    let ended = tokio::select! {
        ended = exchange.as_mut() => ended,
        () = stopping.cancelled() => {
            exchange.as_mut().graceful_shutdown();
            exchange.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "connection ended early");
    }
    drop(slot);
}

impl<H: Handler> Server<H> {
    async fn respond(&self, request: hyper::Request<Incoming>) -> hyper::Response<Recorded> {
        let id = RequestId::of(request.headers());
        let span = info_span!(
            "request",
            request.id = %id,
            http.method = %request.method(),
            http.path = request.uri().path(),
            operation = tracing::field::Empty,
        );
        let mut record = Record::new(span.clone(), self.counts.clone());
        if request.method() == Method::HEAD {
            record.ends_with_head();
        }
        let mut response = self.checked(request).instrument(span).await;
        if let Some(id) = id.header_value() {
            response.headers_mut().insert(RequestId::HEADER, id);
        }
        record.answered(response)
    }

    async fn checked(&self, request: hyper::Request<Incoming>) -> Response {
        let (head, body) = request.into_parts();
        let checked = self.guard.check(&head.uri, &head.headers);
        let mut request = Request {
            head,
            body,
            max_body_bytes: self.http.max_body_bytes,
            read_timeout: self.http.read_timeout,
        };
        let response = match checked {
            Ok(()) => self.answered(&mut request).await,
            Err(fault) => fault.into(),
        };
        if response.status().is_client_error() {
            request.discard().await;
        }
        response
    }

    /// Calls the handler. A bug in one request must not take the connection with it.
    async fn answered(&self, request: &mut Request) -> Response {
        let answered = AssertUnwindSafe(self.handler.answer(request)).catch_unwind().await;
        answered.unwrap_or_else(|_| {
            error!("handler panicked");
            Fault::Internal.into()
        })
    }
}

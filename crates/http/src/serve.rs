//! Accepts connections, and processes each request before and after its handler.

use std::{
    convert::Infallible,
    error::Error,
    fs::File,
    io,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use codeinfo_core::{
    task::Tasks,
    telemetry::{self, LabelledTimer},
};
use futures_util::{FutureExt, StreamExt};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::{
    Method,
    body::{Body as _, Incoming},
    header::{CONNECTION, HeaderName, HeaderValue, TRANSFER_ENCODING, X_CONTENT_TYPE_OPTIONS},
    http::request::Parts,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, info_span, warn};

use super::{
    AccessRights, AuthContext, AuthGate, AuthRequest, HttpError, HttpRequestId, HttpSettings,
    Request, RequestHandler, Response, ServerActivity,
    framing::MAX_HEAD_BYTES,
    gate,
    guard::{AllowedNames, OriginGuard},
    peer_account::PeerAccounts,
    record::{ListenerMetrics, RecordedBody, RequestLogEntry},
    request::{ConnectionPeer, discard_body},
    slots::{ConnectionSlot, ConnectionSlots},
    socket::ConnectionSocket,
};

/// Pause after a failed accept, so that the loop does not spin while file handles are short.
const BACKOFF: Duration = Duration::from_millis(50);

/// Time in the kernel's queue, while file handles are short, before clients are turned away.
const PATIENCE: Duration = Duration::from_secs(10);

const UNCLEAR: &str = "the length of the body is not clear: send one `Content-Length`, or \
                       `Transfer-Encoding: chunked` without it";

/// Headers of every reply: its content type is final, and pages of other sites cannot use it.
const HEADERS: [(HeaderName, &str); 2] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Bound socket with the services for its requests.
pub struct Listener {
    pub socket: TcpListener,
    /// Name in metrics: `main` or `mcp`.
    pub name: &'static str,
    /// Counter of its requests.
    pub requests: LabelledTimer<telemetry::RequestLabel>,
    /// Decides which requests are admitted.
    pub gate: AuthGate,
    /// Activity to which its work counts.
    pub activity: ServerActivity,
}

/// Serves the connections of `listener` until `tasks` stop; then closes idle ones and finishes
/// requests in progress, for which `tasks` waits. Fails without a spare file handle to reserve.
pub fn serve<H: RequestHandler>(
    listener: Listener,
    handler: H,
    http: &HttpSettings,
    guard: &AllowedNames,
    tasks: Tasks,
) -> io::Result<()> {
    let Listener { socket, name, requests, gate, activity } = listener;
    let counts = ListenerMetrics { listener: name, requests };
    let port = socket.local_addr().map_or(0, |address| address.port());
    let guard = OriginGuard::new(guard, port);
    let server = HttpServer {
        handler,
        http: http.clone(),
        guard,
        gate,
        accounts: PeerAccounts::open(),
        counts,
        activity,
        tasks: tasks.clone(),
    };
    let spare = ReservedFileHandle::acquire()?;
    let owner = tasks.clone();
    owner.spawn(accept_connections(socket, spare, Arc::new(server), tasks));
    Ok(())
}

struct HttpServer<H> {
    handler: H,
    http: HttpSettings,
    guard: OriginGuard,
    gate: AuthGate,
    accounts: PeerAccounts,
    counts: ListenerMetrics,
    activity: ServerActivity,
    /// Owner of work that continues after a reply.
    tasks: Tasks,
}

async fn accept_connections<H: RequestHandler>(
    listener: TcpListener,
    mut spare: ReservedFileHandle,
    server: Arc<HttpServer<H>>,
    tasks: Tasks,
) {
    let slots = ConnectionSlots::new(server.http.max_connections);
    let stopping = tasks.stop_token().clone();
    let mut failing = None;
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = accept_next(&listener, &slots) => accepted,
        };
        match accepted {
            Ok((stream, slot)) => {
                failing = None;
                let server = Arc::clone(&server);
                tasks.spawn(run_connection(stream, slot, server, stopping.clone()));
            }
            Err(error) => {
                // A shortage of file handles may last half a minute and is logged once.
                if failing.is_none() {
                    warn!(%error, "accept failed");
                }
                let has_closed_one = slots.close_longest_idle();
                if failing.get_or_insert_with(Instant::now).elapsed() > PATIENCE && !has_closed_one
                {
                    spare.turn_away(&listener).await;
                }
                tokio::time::sleep(BACKOFF).await;
            }
        }
    }
}

/// File handle in reserve, released for a moment to accept a connection and close it.
struct ReservedFileHandle(Option<File>);

impl ReservedFileHandle {
    fn acquire() -> io::Result<Self> {
        let anything = if cfg!(windows) { "NUL" } else { "/dev/null" };
        Ok(Self(Some(File::open(anything)?)))
    }

    async fn turn_away(&mut self, listener: &TcpListener) {
        self.0 = None;
        // Another task may have accepted the connection meanwhile, hence the timeout.
        drop(tokio::time::timeout(BACKOFF, listener.accept()).await);
        self.0 = Self::acquire().ok().and_then(|spare| spare.0);
    }
}

/// Accepts a connection and acquires a slot for it; others wait in the kernel's queue meanwhile.
async fn accept_next(
    listener: &TcpListener,
    slots: &Arc<ConnectionSlots>,
) -> io::Result<(TcpStream, Arc<ConnectionSlot>)> {
    let (stream, _) = listener.accept().await?;
    Ok((stream, slots.acquire_slot().await?))
}

async fn run_connection<H: RequestHandler>(
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
    server: Arc<HttpServer<H>>,
    stopping: CancellationToken,
) {
    slot.mark_idle();
    let ended = tokio::select! {
        biased;
        () = slot.gives_way() => return,
        ended = serve_connection(stream, Arc::clone(&slot), server, stopping) => ended,
    };
    if let Err(error) = ended {
        debug!(%error, "connection ended early");
    }
}

async fn serve_connection<H: RequestHandler>(
    stream: TcpStream,
    slot: Arc<ConnectionSlot>,
    server: Arc<HttpServer<H>>,
    stopping: CancellationToken,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // A connection that is already reset must not count as a failure of the listener.
    stream.set_nodelay(true)?;
    let silence = server.http.first_byte_timeout;
    let timeout = server.http.read_timeout;
    let mut first = [0];
    tokio::select! {
        // A silent connection needs no buffers.
        peeked = tokio::time::timeout(silence.min(timeout), stream.peek(&mut first)) => {
            peeked??;
        }
        () = stopping.cancelled() => return Ok(()),
    }
    let is_another_account = server.accounts.is_another(&stream)?;
    let peer = ConnectionPeer { address: stream.peer_addr()?.ip(), is_another_account };
    let stream = ConnectionSocket::new(stream, Arc::clone(&slot), server.http.write_timeout);
    let unclear = stream.ambiguous_length();
    let count = AtomicU64::new(0);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let number = count.fetch_add(1, Ordering::Relaxed);
        let server = Arc::clone(&server);
        let slot = Arc::clone(&slot);
        let length = BodyLength::from_request(&request, unclear.is_ambiguous(number));
        async move {
            slot.mark_busy().await;
            Ok::<_, Infallible>(server.respond(request, length, slot).await)
        }
    });
    // The timeout runs from the first byte, or the last reply, to the end of the head. Half-closed
    // connections count as closed: their client has left while its request is processed.
    let exchange = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .half_close(false)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut pinned = Box::pin(exchange);
    tokio::select! {
        ended = pinned.as_mut() => ended?,
        () = stopping.cancelled() => {
            pinned.as_mut().graceful_shutdown();
            pinned.await?;
        }
    }
    Ok(())
}

/// Ends a streamed reply when its client is revoked. A complete one, which may confirm it, is sent.
fn until_revoked(response: Response, revoked: CancellationToken) -> Response {
    if response.body().size_hint().exact().is_some() {
        return response;
    }
    response.map(|body| {
        let pieces = BodyStream::new(body).take_until(revoked.cancelled_owned());
        StreamBody::new(pieces).boxed_unsync()
    })
}

/// Certainty about the end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    Known,
    /// Known from its last chunk. Nothing after it is read as a request.
    Chunked,
    /// Ambiguous: a proxy may have read it differently.
    Unclear,
}

impl BodyLength {
    fn from_request<B>(request: &hyper::Request<B>, is_unclear: bool) -> Self {
        match request.headers().contains_key(TRANSFER_ENCODING) {
            _ if is_unclear => Self::Unclear,
            true => Self::Chunked,
            false => Self::Known,
        }
    }
}

impl<H: RequestHandler> HttpServer<H> {
    async fn respond(
        &self,
        request: hyper::Request<Incoming>,
        length: BodyLength,
        slot: Arc<ConnectionSlot>,
    ) -> hyper::Response<RecordedBody> {
        let id = HttpRequestId::from_headers(request.headers());
        let span = info_span!(
            "request",
            request.id = %id,
            http.method = %request.method(),
            http.path = request.uri().path(),
            operation = tracing::field::Empty,
        );
        let mut record = RequestLogEntry::new(
            span.clone(),
            self.counts.clone(),
            Arc::clone(&slot),
            self.activity.begin_work(),
        );
        if request.method() == Method::HEAD {
            record.ends_with_head();
        }
        let mut response = match length {
            BodyLength::Unclear => HttpError::BadRequest(UNCLEAR).into(),
            BodyLength::Known | BodyLength::Chunked => {
                self.check_and_handle(request, slot).instrument(span).await
            }
        };
        if length != BodyLength::Known {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        if let Some(id) = id.header_value() {
            response.headers_mut().insert(HttpRequestId::HEADER, id);
        }
        record.record_reply(response)
    }

    async fn check_and_handle(
        &self,
        request: hyper::Request<Incoming>,
        slot: Arc<ConnectionSlot>,
    ) -> Response {
        let (head, body) = request.into_parts();
        let checked = self.authorize_request(&head);
        let mut request = Request {
            head,
            body,
            max_body_bytes: self.http.max_body_bytes,
            read_timeout: self.http.read_timeout,
            slot,
            admission: AuthContext::anonymous(AccessRights::Monitor),
            keep_alive: self.http.keep_alive,
            activity: self.activity.clone(),
            tasks: self.tasks.clone(),
        };
        let mut response = match checked {
            Ok(admission) => {
                let revoked = admission.revoked.clone();
                request.admission = admission;
                until_revoked(self.call_handler(&mut request).await, revoked)
            }
            Err(refusal) => refusal.into(),
        };
        if response.status().is_client_error()
            && let Some(rest) = request.into_unread_body()
        {
            if rest.size_hint().lower() > self.http.max_body_bytes as u64 {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            // Discarded during the refusal, so that the client reads that instead of a reset.
            let discarding = discard_body(rest, self.http.read_timeout);
            let stopping = self.tasks.stop_token().clone();
            let until_stopped = async move { stopping.run_until_cancelled(discarding).await };
            self.tasks.spawn(until_stopped);
        }
        response
    }

    /// Admits a request. The guard comes first, so the bearer of a foreign page is never judged.
    fn authorize_request(&self, head: &Parts) -> Result<AuthContext, HttpError> {
        self.guard.check_request(&head.uri, &head.headers)?;
        let bearer = gate::parse_bearer(&head.headers)?;
        let peer = head.extensions.get::<ConnectionPeer>();
        let is_another_account = peer.is_none_or(|peer| peer.is_another_account);
        let session = gate::parse_session(&head.headers);
        let path = head.uri.path();
        let peer_address = peer.map(|peer| peer.address);
        (self.gate)(AuthRequest { path, bearer, session, peer_address, is_another_account })
    }

    /// Calls the handler. A panic in one request does not end the connection.
    async fn call_handler(&self, request: &mut Request) -> Response {
        let answered = AssertUnwindSafe(self.handler.handle_request(request)).catch_unwind().await;
        answered.unwrap_or_else(|_| {
            error!("handler panicked");
            HttpError::Internal.into()
        })
    }
}

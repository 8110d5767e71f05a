//! Connections to the server: one channel for each node, calls with a limit, and retries.
//!
//! The channels are ours, because the client's pool repeats calls by itself and hides why a connection failed. Failures
//! that mean absence are retried with random pauses, which grow to an eighth of the whole time: reads for 8 s, writes
//! for `QDRANT_RETRY_SECS`, each time at another node if several are named. Failures inside a server, by which a node
//! reports that it has lost others, are retried four times at each node. Any other failure is returned at once.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use codeinfo_core::{
    error::format_error_chain,
    task::{BackoffSchedule, StallTracker, retry_until_success},
};
use futures_util::future::join_all;
use qdrant_client::qdrant::{
    HealthCheckRequest, collections_client::CollectionsClient, points_client::PointsClient,
    qdrant_client::QdrantClient,
};
use tokio_util::sync::CancellationToken;
use tonic::{
    Request, Response, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, ClientTlsConfig, Endpoint},
};
use tracing::warn;

use super::error::CallError;
use crate::{QdrantSettings, StoreError};

/// Maximum time for opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of keep-alive requests, and maximum time for the reply: a node that vanished is noticed in the sum of both.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// Bytes that the server may send ahead in one reply, and in all. The protocol's own 64 KiB make a reply of a hundred
/// chunks wait for acknowledgements, each a round trip.
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 32 << 20;
/// Maximum bytes of a reply: a page of the largest chunks stays far below.
const MAX_REPLY_BYTES: usize = 256 << 20;
/// Pause before the second try; it doubles up to this fraction of the time for retries, to leave little of that unused.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const PAUSE_FRACTION: u32 = 8;

tokio::task_local! {
    /// Cancelled when the caller of a change is dropped.
    pub(super) static ABANDONED: CancellationToken;
}

type Service = InterceptedService<Channel, ApiKey>;

/// The nodes of a server, one of which is in use.
pub(super) struct QdrantLink {
    nodes: Vec<QdrantNode>,
    current: AtomicUsize,
    timeout: Duration,
    stopping: CancellationToken,
    pub(super) stalls: StallTracker,
}

/// One node. Clones share the connection.
#[derive(Clone)]
pub(super) struct QdrantNode {
    place: usize,
    url: Arc<str>,
    channel: Channel,
    key: ApiKey,
    /// Failure of its last call, if it failed.
    failure: Arc<Mutex<Option<NodeFailure>>>,
}

#[derive(Clone)]
struct NodeFailure {
    /// True if it could not be reached; false if it answered with a failure.
    is_lost: bool,
    reason: String,
}

/// Adds the API key to each call.
#[derive(Clone)]
pub(super) struct ApiKey(Option<MetadataValue<Ascii>>);

impl Interceptor for ApiKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("api-key", key.clone());
        }
        Ok(request)
    }
}

impl QdrantNode {
    async fn call_once<T, F>(
        &self,
        limit: Duration,
        attempt: impl FnOnce(Self) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let answer = match tokio::time::timeout(limit, attempt(self.clone())).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(CallError::from_status(&status, &self.url)),
            Err(_) => {
                let reason = format!("no answer within {} s", limit.as_secs_f32());
                Err(CallError::Away { urls: format!("`{}`", self.url), reason, is_lost: false })
            }
        };
        self.note_failure(answer.as_ref().err());
        answer
    }

    fn note_failure(&self, error: Option<&CallError>) {
        let failure = match error {
            Some(CallError::Away { is_lost, reason, .. }) => Some((*is_lost, reason)),
            Some(CallError::Troubled { lacks: None, reason }) => Some((false, reason)),
            _ => None,
        };
        let with_reason =
            |(is_lost, reason): (bool, &String)| NodeFailure { is_lost, reason: reason.clone() };
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure.map(with_reason);
    }

    fn last_failure(&self) -> Option<NodeFailure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn points_client(&self) -> PointsClient<Service> {
        PointsClient::with_interceptor(self.channel.clone(), self.key.clone())
            .max_decoding_message_size(MAX_REPLY_BYTES)
    }

    pub(super) fn collections_client(&self) -> CollectionsClient<Service> {
        CollectionsClient::with_interceptor(self.channel.clone(), self.key.clone())
            .max_decoding_message_size(MAX_REPLY_BYTES)
    }

    pub(super) fn service_client(&self) -> QdrantClient<Service> {
        QdrantClient::with_interceptor(self.channel.clone(), self.key.clone())
    }
}

impl QdrantLink {
    /// Prepares the connections; the first call opens one. Must be called on a runtime.
    pub(super) fn new(
        settings: &QdrantSettings,
        stopping: CancellationToken,
    ) -> Result<Self, StoreError> {
        let key = settings.api_key.as_ref().map(|key| key.expose().parse()).transpose();
        let mut key: Option<MetadataValue<Ascii>> =
            key.map_err(|_| connection_error("the API key is no header value"))?;
        if let Some(key) = &mut key {
            key.set_sensitive(true);
        }
        if key.is_some() && settings.urls.iter().any(|url| is_readable_by_others(url)) {
            warn!("the key of `QDRANT_API_KEY` travels unencrypted; use https:// in `QDRANT_URL`");
        }
        let mut nodes = Vec::with_capacity(settings.urls.len());
        for (place, url) in settings.urls.iter().enumerate() {
            let endpoint =
                Endpoint::from_shared(url.clone()).and_then(|at| configure_endpoint(at, url));
            let channel = endpoint
                .map_err(|error| connection_error(&format_error_chain(&error)))?
                .connect_lazy();
            let (url, key) = (url.as_str().into(), ApiKey(key.clone()));
            nodes.push(QdrantNode { place, url, channel, key, failure: Arc::default() });
        }
        let (current, timeout) = (AtomicUsize::new(0), settings.timeout);
        Ok(Self { nodes, current, timeout, stopping, stalls: StallTracker::default() })
    }

    pub(super) async fn try_once<T, F>(
        &self,
        attempt: impl FnOnce(QdrantNode) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        self.try_within(self.timeout, attempt).await
    }

    /// Calls once, and waits for the answer no longer than `limit`.
    pub(super) async fn try_within<T, F>(
        &self,
        limit: Duration,
        attempt: impl FnOnce(QdrantNode) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let time_limit = limit.min(self.timeout);
        let place = self.current.load(Ordering::Relaxed) % self.nodes.len().max(1);
        let Some(node) = self.nodes.get(place) else {
            return Err(CallError::new_refusal("no node is known"));
        };
        let error = match node.call_once(time_limit, attempt).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if matches!(error, CallError::Away { .. } | CallError::Troubled { .. }) {
            // Unless another call has done so. A failing node may have lost all others.
            let next = (node.place + 1) % self.nodes.len();
            let order = Ordering::Relaxed;
            self.current.compare_exchange(place, next, order, order).ok();
        }
        Err(error)
    }

    /// Tries node after node until one succeeds, no try can help, or `retry_for` is over and each node was asked.
    pub(super) async fn retry<T, F>(
        &self,
        retry_for: Duration,
        attempt: impl Fn() -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let started = Instant::now();
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX).max(1);
        let mut _stalled = None;
        let wait = |error: &CallError, tries: u32| {
            let rounds = tries / nodes;
            let pause = error.pause().unwrap_or_else(|| retry_pause(rounds, retry_for));
            let is_over = !pause.is_zero() && started.elapsed() + pause >= retry_for;
            if is_over || !error.is_retryable(tries, rounds) {
                return None;
            }
            let explained = self.name_absent(error.clone());
            _stalled = Some(self.stalls.begin_retry(explained.into_store_error("use the index")));
            Some(pause)
        };
        let abandoned = ABANDONED.try_with(CancellationToken::clone).unwrap_or_default();
        let is_useless = async {
            tokio::select! {
                () = self.stopping.cancelled() => {}
                () = abandoned.cancelled() => {}
            }
        };
        retry_until_success(attempt, wait, is_useless)
            .await
            .map_err(|error| self.name_absent(error))
    }

    /// Asks each node for its version. Returns a warning that names those that cannot be reached.
    pub(super) async fn find_unreachable(&self) -> Option<String> {
        let ask = |node: &QdrantNode| {
            let node = node.clone();
            async move {
                let ask = |node: QdrantNode| async move {
                    node.service_client().health_check(HealthCheckRequest {}).await
                };
                node.call_once(CONNECT_TIMEOUT.min(self.timeout), ask).await.err()
            }
        };
        let failed = join_all(self.nodes.iter().map(ask)).await.into_iter().flatten().next()?;
        let CallError::Away { urls, reason, .. } = self.name_absent(failed) else { return None };
        Some(format!("Qdrant at {urls} cannot be reached ({reason}); other nodes serve"))
    }

    /// Blames nodes that cannot be reached, where others fail for lack of them, whichever was asked last.
    fn name_absent(&self, error: CallError) -> CallError {
        if !matches!(error, CallError::Away { .. } | CallError::Troubled { .. }) {
            return error;
        }
        let (mut urls, mut reasons, mut answer) = (Vec::new(), Vec::new(), None);
        for node in &self.nodes {
            match node.last_failure() {
                Some(NodeFailure { is_lost: true, reason }) => {
                    urls.push(format!("`{}`", node.url));
                    reasons.push(reason);
                }
                Some(NodeFailure { is_lost: false, reason }) => answer = Some(reason),
                None => {}
            }
        }
        let Some(last) = urls.pop() else { return error };
        reasons.dedup();
        reasons.extend(answer.map(|answer| format!("another node: {answer}")));
        let urls = if urls.is_empty() { last } else { format!("{} and {last}", urls.join(", ")) };
        CallError::Away { urls, reason: reasons.join("; "), is_lost: true }
    }
}

/// Returns the pause before the next try: none until each node was called once, then longer each round, with jitter.
fn retry_pause(rounds: u32, retry_for: Duration) -> Duration {
    if rounds == 0 {
        return Duration::ZERO;
    }
    let longest = FIRST_PAUSE.max(retry_for / PAUSE_FRACTION);
    BackoffSchedule { first: FIRST_PAUSE, longest }.spread_wait(rounds)
}

fn configure_endpoint(endpoint: Endpoint, url: &str) -> Result<Endpoint, tonic::transport::Error> {
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    if url.starts_with("https://") {
        return endpoint.tls_config(ClientTlsConfig::new().with_native_roots());
    }
    Ok(endpoint)
}

/// Returns whether traffic to an address can be read on the way.
fn is_readable_by_others(url: &str) -> bool {
    let Some(authority) = url.strip_prefix("http://") else { return false };
    !["127.", "localhost:", "[::1]:"].iter().any(|own| authority.starts_with(own))
}

fn connection_error(reason: &str) -> StoreError {
    StoreError::engine("prepare the connection to Qdrant", &reason)
}

//! Client of OpenAI-compatible embedding services, over `/v1/embeddings`.
//!
//! Sends texts in batches, with several concurrent requests, and retries when that may help. A
//! batch that is too large for the service is halved, and the accepted size is remembered.
//!
//! The model's id contains all that determines the vector of a document: the name, the requested
//! dimensions and a hash of the document prefix. It does not contain the query prefix, because
//! vectors of queries are not stored.

mod client;
mod error;
mod input;
mod retry;
mod wire;

use std::{
    future,
    num::NonZeroUsize,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use codeinfo_core::task::{self, StallTracker, Tasks};
use futures_util::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream};
use sha2::{Digest, Sha256};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tracing::{info, warn};

pub use self::error::EmbeddingServiceError;
use self::{
    client::{EmbeddingClient, EmbeddingRequestError, RetryAdvice},
    retry::{EmbeddingHealth, RequestPause, RetryPolicy},
};
use crate::{EmbedError, Embedder, EmbeddingDocument, EmbeddingModel, EmbeddingSettings};

/// Maximum times that a single text is halved if it is too long: to an eighth.
const MAX_CUTS: u32 = 3;
/// Text of the trial request that shows whether a service works.
const PROBE_TEXT: &str = "where are settings read";

/// Embedder that uses a service.
pub struct EmbeddingService {
    shared: Arc<SharedService>,
}

struct SharedService {
    client: EmbeddingClient,
    model: EmbeddingModel,
    dimensions: OnceLock<usize>,
    /// Maximum inputs per request that the service is known to accept.
    batch: AtomicUsize,
    document_permits: Semaphore,
    /// Permits of requests that a client waits for.
    query_permits: Semaphore,
    pause: RequestPause,
    health: EmbeddingHealth,
    has_cut: AtomicBool,
    stalls: StallTracker,
    tasks: Tasks,
}

struct EmbeddedBatch {
    vectors: Vec<Vec<f32>>,
    was_accepted_whole: bool,
}

impl EmbeddingService {
    /// Creates a client without contacting the service. Work ends when `tasks` stop.
    pub fn new(settings: EmbeddingSettings, tasks: Tasks) -> Result<Self, EmbedError> {
        let model = EmbeddingModel {
            name: settings.model.clone(),
            version: build_model_version(&settings),
        };
        let dimensions = settings.dimensions.map_or_else(OnceLock::new, OnceLock::from);
        let batch = settings.batch;
        let concurrency = settings.concurrency;
        let client = EmbeddingClient::new(settings, tasks.clone())?;
        let shared = SharedService {
            client,
            model,
            dimensions,
            batch: AtomicUsize::new(batch),
            document_permits: Semaphore::new(concurrency),
            query_permits: Semaphore::new(concurrency),
            pause: RequestPause::new(),
            health: EmbeddingHealth::default(),
            has_cut: AtomicBool::new(false),
            stalls: StallTracker::default(),
            tasks,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Sets the length of vectors, unless one is known; from then on another length is an error.
    pub fn expect_dimensions(&self, length: usize) {
        self.shared.dimensions.get_or_init(|| length);
    }
}

impl Embedder for EmbeddingService {
    fn model(&self) -> &EmbeddingModel {
        &self.shared.model
    }

    fn dimensions(&self) -> Option<usize> {
        self.shared.dimensions.get().copied()
    }

    fn embed_documents(
        &self,
        documents: Vec<EmbeddingDocument>,
    ) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
        let texts = documents.iter().map(EmbeddingDocument::to_text).collect();
        let prefix = &self.shared.client.settings().document_prefix;
        self.shared.until_stopped(self.shared.embed_texts(prefix, texts, retry::DOCUMENTS)).boxed()
    }

    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vec<f32>, EmbedError>> {
        async move {
            let prefix = &self.shared.client.settings().query_prefix;
            let embedding = self.shared.embed_texts(prefix, vec![text], retry::QUERY);
            let work = self.shared.until_stopped(embedding);
            let max_wait = self.shared.client.settings().timeout.min(retry::MAX_QUERY_WAIT);
            let slow = || EmbeddingServiceError::Slow { seconds: max_wait.as_secs() };
            let vectors = match tokio::time::timeout(max_wait, work).await {
                Ok(vectors) => vectors?,
                Err(_) => return Err(self.shared.client.wrap_error(slow())),
            };
            let count = || EmbeddingServiceError::Count { got: 0, wanted: 1 };
            vectors.into_iter().next().ok_or_else(|| self.shared.client.wrap_error(count()))
        }
        .boxed()
    }

    fn check_health(&self) -> BoxFuture<'_, Result<(), EmbedError>> {
        let shared = Arc::clone(&self.shared);
        // In a task of its own: a service that loads its model may answer after the caller is gone.
        let checked = self.shared.tasks.spawn_handle(async move {
            let check = || async {
                shared.until_stopped(shared.probe_length(retry::CHECK)).await.map(drop)
            };
            shared.health.get(retry::is_fresh, check).await
        });
        async { checked.await.unwrap_or(Err(EmbedError::Stopped)) }.boxed()
    }

    /// Batches rarely divide evenly into requests, so a further batch fills the gaps.
    fn concurrency(&self) -> usize {
        1 + self.shared.client.settings().concurrency.div_ceil(4)
    }

    fn stall_reason(&self) -> Option<String> {
        self.shared.stalls.latest_reason()
    }
}

/// Returns the model's id after its name: requested length and a hash of the document prefix.
fn build_model_version(settings: &EmbeddingSettings) -> String {
    let mut parts = vec!["service".to_owned()];
    parts.extend(settings.dimensions.map(|length| length.to_string()));
    if !settings.document_prefix.is_empty() {
        let [a, b, c, d, ..] = Sha256::digest(settings.document_prefix.as_bytes()).0;
        parts.push(format!("{:08x}", u32::from_be_bytes([a, b, c, d])));
    }
    parts.join("-")
}

impl SharedService {
    async fn until_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, EmbedError>>,
    ) -> Result<T, EmbedError> {
        let outcome = self.tasks.stop_token().run_until_cancelled(work).await;
        outcome.unwrap_or(Err(EmbedError::Stopped))
    }

    /// Embeds texts, one vector each, in order. Blank texts are not sent: services refuse them.
    async fn embed_texts(
        &self,
        prefix: &str,
        texts: Vec<String>,
        policy: RetryPolicy,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let settings = self.client.settings();
        let is_blank: Vec<bool> = texts.iter().map(|text| text.trim().is_empty()).collect();
        let inputs: Vec<String> = texts
            .into_iter()
            .filter(|text| !text.trim().is_empty())
            .map(|text| input::build_input(prefix, &text, settings.max_tokens))
            .collect();
        let wanted = inputs.len();
        let max_inputs = NonZeroUsize::new(self.batch.load(Ordering::Relaxed));
        let batches = input::split_into_batches(
            inputs,
            max_inputs.unwrap_or(NonZeroUsize::MIN),
            settings.batch_tokens,
        );
        let requests = batches.into_iter().map(|inputs| self.embed_batch(inputs, policy));
        let embedded: Vec<EmbeddedBatch> =
            stream::iter(requests).buffered(settings.concurrency).try_collect().await?;
        if is_blank.is_empty() {
            return Ok(Vec::new());
        }
        let length = self.fetch_vector_length(policy).await?;
        let got = embedded.iter().map(|batch| batch.vectors.len()).sum();
        let mut vectors = embedded.into_iter().flat_map(|batch| batch.vectors);
        let each = is_blank
            .into_iter()
            .map(|is_blank| if is_blank { Some(vec![0.0; length]) } else { vectors.next() });
        let each: Option<Vec<Vec<f32>>> = each.collect();
        each.ok_or_else(|| self.client.wrap_error(EmbeddingServiceError::Count { got, wanted }))
    }

    /// Returns the length of vectors, with a trial request if it is not known.
    async fn fetch_vector_length(&self, policy: RetryPolicy) -> Result<usize, EmbedError> {
        match self.dimensions.get() {
            Some(length) => Ok(*length),
            None => self.probe_length(policy).await,
        }
    }

    /// Embeds the trial text and returns the length of its vector.
    async fn probe_length(&self, policy: RetryPolicy) -> Result<usize, EmbedError> {
        let prefix = &self.client.settings().query_prefix;
        let probe = input::build_input(prefix, PROBE_TEXT, self.client.settings().max_tokens);
        let embedded = self.embed_batch(vec![probe], policy).await?;
        Ok(embedded.vectors.first().map_or(0, Vec::len))
    }

    /// Embeds a batch, in parts if it is too large.
    fn embed_batch(
        &self,
        mut inputs: Vec<String>,
        policy: RetryPolicy,
    ) -> BoxFuture<'_, Result<EmbeddedBatch, EmbedError>> {
        async move {
            let max_inputs = self.batch.load(Ordering::Relaxed);
            let is_sent_whole = inputs.len() <= max_inputs;
            if is_sent_whole {
                match self.request_vectors(&inputs, policy).await {
                    Ok(vectors) => {
                        self.health.record_result(Ok(()), Instant::now());
                        return Ok(EmbeddedBatch { vectors, was_accepted_whole: true });
                    }
                    Err(failure) if failure.advice != RetryAdvice::Smaller => {
                        let error = self.client.wrap_error(failure.error);
                        self.health.record_result(Err(error.clone()), Instant::now());
                        return Err(error);
                    }
                    Err(failure) if inputs.len() == 1 => {
                        return self.embed_shortened(inputs, failure, policy).await;
                    }
                    Err(_) => {}
                }
            }
            // A batch above the known limit is not sent as a whole.
            let place = if is_sent_whole { inputs.len().div_ceil(2) } else { max_inputs };
            let second = inputs.split_off(place);
            let size = inputs.len();
            let mut first = self.embed_batch(inputs, policy).await?;
            let second = self.embed_batch(second, policy).await?;
            if is_sent_whole && first.was_accepted_whole && second.was_accepted_whole {
                // The number of texts was the problem, not one long text.
                self.lower_batch_limit(size);
            }
            first.vectors.extend(second.vectors);
            Ok(EmbeddedBatch { vectors: first.vectors, was_accepted_whole: false })
        }
        .boxed()
    }

    /// Embeds a single text, shortened until the service accepts it.
    async fn embed_shortened(
        &self,
        mut inputs: Vec<String>,
        mut failure: EmbeddingRequestError,
        policy: RetryPolicy,
    ) -> Result<EmbeddedBatch, EmbedError> {
        for _ in 0..MAX_CUTS {
            for text in &mut inputs {
                *text = input::truncate_text(text, text.len() / 2).to_owned();
            }
            match self.request_vectors(&inputs, policy).await {
                Ok(vectors) => {
                    if !self.has_cut.swap(true, Ordering::Relaxed) {
                        let said = failure.error.to_string();
                        warn!(
                            said,
                            "texts are cut because the embedding service refuses longer ones"
                        );
                    }
                    return Ok(EmbeddedBatch { vectors, was_accepted_whole: false });
                }
                Err(next) => failure = next,
            }
            if failure.advice != RetryAdvice::Smaller {
                break;
            }
        }
        Err(self.client.wrap_error(failure.error))
    }

    fn lower_batch_limit(&self, inputs: usize) {
        if inputs < self.batch.fetch_min(inputs, Ordering::Relaxed) {
            info!(
                inputs,
                "the embedding service accepts smaller batches only; set `EMBEDDING_BATCH`"
            );
        }
    }

    /// Sends a request, with retries as `policy` allows.
    async fn request_vectors(
        &self,
        inputs: &[String],
        policy: RetryPolicy,
    ) -> Result<Vec<Vec<f32>>, EmbeddingRequestError> {
        let is_awaited = policy.max_wait < retry::DOCUMENTS.max_wait;
        let permits = if is_awaited { &self.query_permits } else { &self.document_permits };
        let attempt = || async {
            let permit = self.acquire_permit(permits, is_awaited).await;
            let answer = self.client.request_embeddings(inputs).await;
            if let Err(EmbeddingRequestError { advice: RetryAdvice::Same(Some(requested)), .. }) =
                &answer
                && !is_awaited
            {
                // Before another request gets the permit.
                self.pause.hold_for(*requested);
            }
            drop(permit);
            answer
        };
        let mut _stalled = None;
        let wait = |failure: &EmbeddingRequestError, attempt| {
            let RetryAdvice::Same(requested) = failure.advice else { return None };
            let wait = retry::compute_wait(self.client.settings().backoff, attempt, requested);
            let attempts = match failure.error {
                EmbeddingServiceError::Slow { .. } => {
                    policy.max_attempts.min(retry::MAX_SLOW_ATTEMPTS)
                }
                _ => policy.max_attempts,
            };
            if attempt >= attempts || wait > policy.max_wait {
                return None;
            }
            if !is_awaited {
                _stalled =
                    Some(self.stalls.begin_retry(self.client.wrap_error(failure.error.clone())));
            }
            let error = failure.error.to_string();
            info!(attempt, wait_ms = wait.as_millis(), error, "embedding request will be repeated");
            Some(wait)
        };
        let vectors = task::retry_until_success(attempt, wait, future::pending()).await?;
        self.check_lengths(vectors)
    }

    /// Waits for a permit. Requests for documents also wait until the service accepts requests.
    async fn acquire_permit<'a>(
        &self,
        permits: &'a Semaphore,
        is_awaited: bool,
    ) -> Result<SemaphorePermit<'a>, AcquireError> {
        loop {
            if !is_awaited {
                self.pause.wait_until_over().await;
            }
            // The semaphore is never closed.
            let permit = permits.acquire().await;
            if is_awaited || self.pause.is_over() {
                return permit;
            }
            // A pause began. The permit is returned so that later callers also wait for it.
            drop(permit);
        }
    }

    /// Checks that all vectors have the known length. The first vector sets it.
    fn check_lengths(
        &self,
        vectors: Vec<Vec<f32>>,
    ) -> Result<Vec<Vec<f32>>, EmbeddingRequestError> {
        for vector in &vectors {
            let got = vector.len();
            let wanted = *self.dimensions.get_or_init(|| vector.len());
            if got != wanted {
                let error = EmbeddingServiceError::Dimensions { got, wanted };
                return Err(EmbeddingRequestError { error, advice: RetryAdvice::Never });
            }
        }
        Ok(vectors)
    }
}

//! One request to a service and its reply.
//!
//! A reply is bounded in size and must contain one vector per input, matched by `index`: finite,
//! not zero, of a constant length. Requests ask for plain JSON numbers, which every service
//! supports; base64 replies, which save 0.05 to 0.15 ms of processor time per text, are accepted. A
//! key is sent only over TLS or to this machine, and never along a redirection.

use std::{error::Error, time::SystemTime};

use codeinfo_core::{Secret, install_crypto_provider, is_tls_error, task::Tasks};
use reqwest::{Response, StatusCode, header, redirect};

use super::{
    error::EmbeddingServiceError,
    retry,
    wire::{self, EmbeddingRequest},
};
use crate::{EmbedError, EmbeddingSettings};

/// Maximum bytes of a reply per input: a vector of 8,192 numbers with all digits.
const MAX_REPLY_BYTES: usize = 256 * 1024;
const MAX_ERROR_BYTES: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct EmbeddingRequestError {
    pub(super) error: EmbeddingServiceError,
    pub(super) advice: RetryAdvice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    /// A retry does not help.
    Never,
    /// Repeat the request, after the time that the service asks for.
    Same(Option<std::time::Duration>),
    /// Send fewer inputs, or a shorter one.
    Smaller,
}

/// HTTP client of one service.
#[derive(Debug)]
pub(super) struct EmbeddingClient {
    http: reqwest::Client,
    settings: EmbeddingSettings,
    tasks: Tasks,
}

impl EmbeddingClient {
    pub(super) fn new(settings: EmbeddingSettings, tasks: Tasks) -> Result<Self, EmbedError> {
        install_crypto_provider();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("codeinfo/", env!("CARGO_PKG_VERSION")))
            .timeout(settings.timeout)
            // A redirection would turn the request into a GET, or send the key to another place.
            .redirect(redirect::Policy::none());
        if settings.is_local {
            // Proxies of the environment are for remote hosts.
            builder = builder.no_proxy();
        }
        if settings.url.starts_with("http://") {
            // Plain HTTP verifies nothing, so no certificates are needed.
            builder = builder.tls_certs_only([]);
        }
        let failed = |error| EmbedError::Service {
            url: url_without_query(&settings.url),
            error: EmbeddingServiceError::Client(innermost_cause(&error)),
        };
        let http = builder.build().map_err(failed)?;
        Ok(Self { http, settings, tasks })
    }

    pub(super) fn settings(&self) -> &EmbeddingSettings {
        &self.settings
    }

    pub(super) fn wrap_error(&self, error: EmbeddingServiceError) -> EmbedError {
        EmbedError::Service { url: url_without_query(&self.settings.url), error }
    }

    pub(super) async fn request_embeddings(
        &self,
        inputs: &[String],
    ) -> Result<Vec<Vec<f32>>, EmbeddingRequestError> {
        let EmbeddingSettings { url, model, key, dimensions, .. } = &self.settings;
        let body = EmbeddingRequest {
            model,
            input: inputs,
            encoding_format: "float",
            dimensions: *dimensions,
        };
        let mut request = self.http.post(url).json(&body);
        if let Some(key) = key {
            request = request.bearer_auth(key.expose());
        }
        let mut reply = request.send().await.map_err(|error| self.classify_failure(&error))?;
        if !reply.status().is_success() {
            return Err(self.parse_refusal(reply).await);
        }
        let max_bytes = MAX_REPLY_BYTES.saturating_mul(inputs.len());
        let body = self.read_body(&mut reply, max_bytes).await?;
        let Some(body) = body else { return Err(give_up(EmbeddingServiceError::Huge(max_bytes))) };
        let wanted = inputs.len();
        let read = self.tasks.spawn_blocking(move || wire::parse_vectors(&body, wanted)).await;
        match read {
            Ok(vectors) => vectors.map_err(give_up),
            Err(failure) if failure.is_panic() => std::panic::resume_unwind(failure.into_panic()),
            // The runtime is ending, and with it every waiting caller.
            Err(_) => {
                Err(give_up(EmbeddingServiceError::BrokeOff("the process is stopping".to_owned())))
            }
        }
    }

    /// Reads a body. Returns `None` if it has more than `max_bytes` bytes.
    async fn read_body(
        &self,
        reply: &mut Response,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, EmbeddingRequestError> {
        let mut body = Vec::new();
        while let Some(part) = reply.chunk().await.map_err(|error| self.classify_failure(&error))? {
            if body.len() + part.len() > max_bytes {
                return Ok(None);
            }
            body.extend_from_slice(&part);
        }
        Ok(Some(body))
    }

    async fn parse_refusal(&self, mut reply: Response) -> EmbeddingRequestError {
        let status = reply.status();
        let headers = reply.headers();
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let location = header(header::LOCATION).map(|place| format!(": {place}"));
        let retry_after = header(header::RETRY_AFTER)
            .and_then(|value| retry::parse_retry_after(value, SystemTime::now()));
        // An unreadable body is not an error, because the status is known.
        let body = match self.read_body(&mut reply, MAX_ERROR_BYTES).await {
            Ok(Some(body)) => body,
            Ok(None) | Err(_) => Vec::new(),
        };
        let key = self.settings.key.as_ref().map(Secret::expose);
        let message = wire::extract_error_message(&body, key);
        let is_too_long = match status {
            StatusCode::PAYLOAD_TOO_LARGE => true,
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                wire::is_about_size(&message)
            }
            StatusCode::INTERNAL_SERVER_ERROR => wire::is_failure_about_size(&message),
            _ => false,
        };
        let number = status.as_u16();
        let (error, advice) = match status {
            _ if is_too_long => {
                (EmbeddingServiceError::TooLong { status: number, message }, RetryAdvice::Smaller)
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if key.is_none() => {
                (EmbeddingServiceError::NoKey { status: number, message }, RetryAdvice::Never)
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                (EmbeddingServiceError::WrongKey { status: number, message }, RetryAdvice::Never)
            }
            StatusCode::NOT_FOUND => {
                let model = self.settings.model.clone();
                (EmbeddingServiceError::NotFound { model, message }, RetryAdvice::Never)
            }
            StatusCode::TOO_MANY_REQUESTS if wire::is_about_quota(&body) => {
                (EmbeddingServiceError::Quota { message }, RetryAdvice::Never)
            }
            StatusCode::TOO_MANY_REQUESTS => {
                (EmbeddingServiceError::Limited { message }, RetryAdvice::Same(retry_after))
            }
            _ if status.is_redirection() => {
                let message = location.unwrap_or_default();
                (EmbeddingServiceError::Moved { status: number, message }, RetryAdvice::Never)
            }
            _ if status.is_server_error() => (
                EmbeddingServiceError::Failed { status: number, message },
                RetryAdvice::Same(retry_after),
            ),
            _ => (EmbeddingServiceError::Refused { status: number, message }, RetryAdvice::Never),
        };
        EmbeddingRequestError { error, advice }
    }

    /// Converts a failure without a complete reply to an error.
    fn classify_failure(&self, error: &reqwest::Error) -> EmbeddingRequestError {
        if is_tls_error(error) {
            return give_up(EmbeddingServiceError::Tls(innermost_cause(error)));
        }
        let error = if error.is_timeout() {
            EmbeddingServiceError::Slow { seconds: self.settings.timeout.as_secs() }
        } else if error.is_connect() {
            EmbeddingServiceError::Unreachable(innermost_cause(error))
        } else {
            EmbeddingServiceError::BrokeOff(innermost_cause(error))
        };
        EmbeddingRequestError { error, advice: RetryAdvice::Same(None) }
    }
}

fn give_up(error: EmbeddingServiceError) -> EmbeddingRequestError {
    EmbeddingRequestError { error, advice: RetryAdvice::Never }
}

/// Returns a URL without its query, which may contain secrets.
fn url_without_query(url: &str) -> String {
    url.split('?').next().unwrap_or_default().to_owned()
}

/// Returns the message of the innermost cause. The messages of outer causes repeat the URL.
fn innermost_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

//! One request to a service and its reply.
//!
//! A reply is bounded in size and must contain one vector per input, matched by `index`: finite,
//! not zero, and of a constant length. It is scaled to unit length. Requests ask for plain JSON
//! numbers, which every service supports, although base64 is a quarter to a half as large and saves
//! 0.05 to 0.15 ms of processor time per text; base64 replies are accepted. A key is sent only over
//! TLS or to this machine, and never along a redirection.

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
/// Maximum bytes that are read of an error's body.
const MAX_ERROR_BYTES: usize = 16 * 1024;

/// Error of a request, with advice for the caller.
#[derive(Debug)]
pub(super) struct EmbeddingRequestError {
    pub(super) error: EmbeddingServiceError,
    pub(super) then: RetryAdvice,
}

/// Advice on whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    /// A retry does not help.
    GiveUp,
    /// Repeat the request, after the time that the service asks for.
    Again(Option<std::time::Duration>),
    /// Send fewer inputs, or a shorter one.
    Less,
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
        let built = builder.build();
        let failed = |error| EmbedError::Service {
            url: url_without_query(&settings.url),
            error: EmbeddingServiceError::Client(innermost_cause(&error)),
        };
        let http = built.map_err(failed)?;
        Ok(Self { http, settings, tasks })
    }

    pub(super) fn settings(&self) -> &EmbeddingSettings {
        &self.settings
    }

    /// Adds the URL of the service to an error.
    pub(super) fn wrap_error(&self, error: EmbeddingServiceError) -> EmbedError {
        EmbedError::Service { url: url_without_query(&self.settings.url), error }
    }

    /// Embeds inputs with one request.
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
        let most = MAX_REPLY_BYTES.saturating_mul(inputs.len());
        let body = self.read_body(&mut reply, most).await?;
        let Some(body) = body else { return Err(give_up(EmbeddingServiceError::Huge(most))) };
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

    /// Converts a refusal to an error.
    async fn parse_refusal(&self, mut reply: Response) -> EmbeddingRequestError {
        let status = reply.status();
        let headers = reply.headers();
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let location = header(header::LOCATION).map(|place| format!(": {place}"));
        let after = header(header::RETRY_AFTER)
            .and_then(|value| retry::retry_after(value, SystemTime::now()));
        // An unreadable body is not an error, because the status is known.
        let body = match self.read_body(&mut reply, MAX_ERROR_BYTES).await {
            Ok(Some(body)) => body,
            Ok(None) | Err(_) => Vec::new(),
        };
        let key = self.settings.key.as_ref().map(Secret::expose);
        let said = wire::extract_error_message(&body, key);
        let number = status.as_u16();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if key.is_none() => {
                give_up(EmbeddingServiceError::NoKey { status: number, said })
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                give_up(EmbeddingServiceError::WrongKey { status: number, said })
            }
            StatusCode::NOT_FOUND => give_up(EmbeddingServiceError::NotFound {
                model: self.settings.model.clone(),
                said,
            }),
            StatusCode::TOO_MANY_REQUESTS if wire::is_about_quota(&body) => {
                give_up(EmbeddingServiceError::Quota { said })
            }
            StatusCode::TOO_MANY_REQUESTS => EmbeddingRequestError {
                error: EmbeddingServiceError::Limited { said },
                then: RetryAdvice::Again(after),
            },
            StatusCode::PAYLOAD_TOO_LARGE => EmbeddingRequestError {
                error: EmbeddingServiceError::TooLong { status: number, said },
                then: RetryAdvice::Less,
            },
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY
                if wire::is_about_size(&said) =>
            {
                EmbeddingRequestError {
                    error: EmbeddingServiceError::TooLong { status: number, said },
                    then: RetryAdvice::Less,
                }
            }
            StatusCode::INTERNAL_SERVER_ERROR if wire::is_failure_about_size(&said) => {
                EmbeddingRequestError {
                    error: EmbeddingServiceError::TooLong { status: number, said },
                    then: RetryAdvice::Less,
                }
            }
            status if status.is_redirection() => give_up(EmbeddingServiceError::Moved {
                status: number,
                said: location.unwrap_or_default(),
            }),
            status if status.is_server_error() => EmbeddingRequestError {
                error: EmbeddingServiceError::Failed { status: number, said },
                then: RetryAdvice::Again(after),
            },
            _ => give_up(EmbeddingServiceError::Refused { status: number, said }),
        }
    }

    /// Converts a failure without a complete reply to an error.
    fn classify_failure(&self, error: &reqwest::Error) -> EmbeddingRequestError {
        if is_tls_error(error) {
            return give_up(EmbeddingServiceError::Tls(innermost_cause(error)));
        }
        let kind = if error.is_timeout() {
            EmbeddingServiceError::Slow { seconds: self.settings.timeout.as_secs() }
        } else if error.is_connect() {
            EmbeddingServiceError::Unreachable(innermost_cause(error))
        } else {
            EmbeddingServiceError::BrokeOff(innermost_cause(error))
        };
        EmbeddingRequestError { error: kind, then: RetryAdvice::Again(None) }
    }
}

fn give_up(error: EmbeddingServiceError) -> EmbeddingRequestError {
    EmbeddingRequestError { error, then: RetryAdvice::GiveUp }
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

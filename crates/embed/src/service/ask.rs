//! One request to a service and its reply.
//!
//! A reply is bounded and has one vector for each input, by `index`: of one length for ever,
//! finite, not zero, scaled to unit length. Numbers are asked for as plain JSON, which every
//! service knows, though base64 is a quarter to a half as large and saves 0.05 to 0.15 ms of
//! processor time a text; it is read where it comes. A key goes over TLS or to this machine only,
//! and never along a redirection.

use std::{error::Error, time::SystemTime};

use codeinfo_core::{Secret, task::Tasks, tls};
use reqwest::{Response, StatusCode, header, redirect};

use super::{
    error::EmbeddingServiceError,
    retry,
    wire::{self, EmbeddingRequest},
};
use crate::{EmbedError, EmbeddingSettings};

/// The most bytes of a reply for each input: vectors of 8,192 numbers, written at length.
const MAX_REPLY_BYTES: usize = 256 * 1024;
/// The most bytes of an error that are read.
const MAX_ERROR_BYTES: usize = 16 * 1024;

/// Why a request brought nothing.
#[derive(Debug)]
pub(super) struct EmbeddingRequestError {
    pub(super) error: EmbeddingServiceError,
    pub(super) then: RetryAdvice,
}

/// What may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    /// Nothing.
    GiveUp,
    /// The same again, after the time that the service asks for.
    Again(Option<std::time::Duration>),
    /// Fewer inputs, or a shorter one.
    Less,
}

/// Asks one service.
#[derive(Debug)]
pub(super) struct EmbeddingClient {
    http: reqwest::Client,
    settings: EmbeddingSettings,
    tasks: Tasks,
}

impl EmbeddingClient {
    pub(super) fn new(settings: EmbeddingSettings, tasks: Tasks) -> Result<Self, EmbedError> {
        tls::install_crypto_provider();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("codeinfo/", env!("CARGO_PKG_VERSION")))
            .timeout(settings.timeout)
            // A redirection would turn the request into a GET, or carry the key elsewhere.
            .redirect(redirect::Policy::none());
        if settings.is_local {
            // A proxy of the environment is for the outside world, not for this machine.
            builder = builder.no_proxy();
        }
        if settings.url.starts_with("http://") {
            // Nothing to be verified, so that nothing need be there to verify with.
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

    /// Names the service in an error.
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
            // The runtime ends, and with it every caller that waits.
            Err(_) => {
                Err(give_up(EmbeddingServiceError::BrokeOff("the process is stopping".to_owned())))
            }
        }
    }

    /// Reads a body, unless it has more than `most` bytes.
    async fn read_body(
        &self,
        reply: &mut Response,
        most: usize,
    ) -> Result<Option<Vec<u8>>, EmbeddingRequestError> {
        let mut body = Vec::new();
        while let Some(part) = reply.chunk().await.map_err(|error| self.classify_failure(&error))? {
            if most < body.len() + part.len() {
                return Ok(None);
            }
            body.extend_from_slice(&part);
        }
        Ok(Some(body))
    }

    /// Reads why a request was refused.
    async fn parse_refusal(&self, mut reply: Response) -> EmbeddingRequestError {
        let status = reply.status();
        let headers = reply.headers();
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let location = header(header::LOCATION).map(|place| format!(": {place}"));
        let after = header(header::RETRY_AFTER)
            .and_then(|value| retry::retry_after(value, SystemTime::now()));
        // Whatever becomes of the body, the status is known.
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

    /// Reads why there was no whole reply.
    fn classify_failure(&self, error: &reqwest::Error) -> EmbeddingRequestError {
        if tls::is_at_fault(error) {
            return give_up(EmbeddingServiceError::Tls(innermost_cause(error)));
        }
        let error = if error.is_timeout() {
            EmbeddingServiceError::Slow { seconds: self.settings.timeout.as_secs() }
        } else if error.is_connect() {
            EmbeddingServiceError::Unreachable(innermost_cause(error))
        } else {
            EmbeddingServiceError::BrokeOff(innermost_cause(error))
        };
        EmbeddingRequestError { error, then: RetryAdvice::Again(None) }
    }
}

fn give_up(error: EmbeddingServiceError) -> EmbeddingRequestError {
    EmbeddingRequestError { error, then: RetryAdvice::GiveUp }
}

/// Returns a URL without its query, which may hold what nobody else should see.
fn url_without_query(url: &str) -> String {
    url.split('?').next().unwrap_or_default().to_owned()
}

/// Returns the words of the first cause; those of the others repeat the URL.
fn innermost_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

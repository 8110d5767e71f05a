//! Errors of an embedding service, with the setting to change.

/// Problem with a service, phrased as the end of a sentence that begins with the service's name.
/// `message` is the service's own message: blank, or `: ` and one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingServiceError {
    /// The HTTP client could not be created, for example without trusted certificates.
    #[error("cannot be asked: {0}; install the system's CA certificates, or set `SSL_CERT_FILE`")]
    Client(String),
    /// Nothing answers at the address.
    #[error("cannot be reached: {0}; start it, or correct `EMBEDDING_URL`")]
    Unreachable(String),
    /// The connection is not trusted or does not use TLS.
    #[error(
        "has no connection to be trusted: {0}; correct the scheme or host of `EMBEDDING_URL`, or \
         add its CA to the system's certificates"
    )]
    Tls(String),
    /// The connection was lost.
    #[error("broke off: {0}")]
    BrokeOff(String),
    /// No complete reply arrived in time.
    #[error(
        "did not answer within {seconds} s; raise `EMBEDDING_TIMEOUT_SECS`, or lower \
         `EMBEDDING_BATCH` or `EMBEDDING_CONCURRENCY`"
    )]
    Slow {
        /// Duration of the wait in seconds.
        seconds: u64,
    },
    /// 401 or 403 without a key.
    #[error("asks for a key ({status}{message}); set `EMBEDDING_API_KEY`")]
    NoKey {
        /// HTTP status.
        status: u16,
        /// Message of the service.
        message: String,
    },
    /// 401 or 403 with a key.
    #[error("refuses the key ({status}{message}); correct `EMBEDDING_API_KEY`")]
    WrongKey {
        /// HTTP status.
        status: u16,
        /// Message of the service.
        message: String,
    },
    /// 404: unknown model or path.
    #[error(
        "knows no model `{model}`, or no such path (404{message}); install the model there, or correct \
         `EMBEDDING_MODEL` or `EMBEDDING_URL`"
    )]
    NotFound {
        /// Requested model.
        model: String,
        /// Message of the service.
        message: String,
    },
    /// One input is too long even after it was shortened.
    #[error("finds a single text too long ({status}{message}); lower `EMBEDDING_MAX_TOKENS`")]
    TooLong {
        /// HTTP status.
        status: u16,
        /// Message of the service.
        message: String,
    },
    /// 429 that persists after waiting.
    #[error(
        "accepts no more requests for now (429{message}); lower `EMBEDDING_CONCURRENCY`, or try later"
    )]
    Limited {
        /// Message of the service.
        message: String,
    },
    /// 429 for an exhausted quota, which waiting cannot renew.
    #[error("has no quota left for this key (429{message}); see to its plan and billing")]
    Quota {
        /// Message of the service.
        message: String,
    },
    /// A redirection. Following it would send the key to another place.
    #[error("points to another place ({status}{message}); set `EMBEDDING_URL` to that")]
    Moved {
        /// HTTP status.
        status: u16,
        /// Target of the redirection.
        message: String,
    },
    /// 5xx.
    #[error("failed ({status}{message})")]
    Failed {
        /// HTTP status.
        status: u16,
        /// Message of the service.
        message: String,
    },
    /// Any other refusal.
    #[error(
        "refuses the request ({status}{message}); check `EMBEDDING_MODEL` and `EMBEDDING_DIMENSIONS`"
    )]
    Refused {
        /// HTTP status.
        status: u16,
        /// Message of the service.
        message: String,
    },
    /// The reply does not have the format of the API.
    #[error("answers no list of embeddings: {0}; check `EMBEDDING_URL`")]
    Malformed(String),
    /// The reply is larger than any valid one.
    #[error("answers more than {0} bytes; check `EMBEDDING_URL`")]
    Huge(usize),
    /// The number of vectors differs from the number of texts, or one index occurs twice.
    #[error("returned {got} vectors for {wanted} texts")]
    Count {
        /// Vectors with a distinct text.
        got: usize,
        /// Texts in the request.
        wanted: usize,
    },
    /// A vector's length differs from earlier vectors or from the setting.
    #[error(
        "returned a vector of {got} numbers where {wanted} are expected; start with `--reembed` to \
         embed every repository again, or correct `EMBEDDING_MODEL` or `EMBEDDING_DIMENSIONS`"
    )]
    Dimensions {
        /// Length of the vector.
        got: usize,
        /// Expected length.
        wanted: usize,
    },
    /// A vector has no direction.
    #[error("returned a vector that is {0}; `EMBEDDING_MODEL` may not be an embedding model")]
    Vector(&'static str),
}

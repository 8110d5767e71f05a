//! Why an embedding service cannot be used, and what to set.

/// What is wrong with a service, as the end of a sentence that begins with its name. `said` is what
/// the service itself said: blank, or `: ` and one line of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingServiceError {
    /// The client could not be made, such as without certificates to trust.
    #[error("cannot be asked: {0}; install the system's CA certificates, or set `SSL_CERT_FILE`")]
    Client(String),
    /// Nobody answers at the address.
    #[error("cannot be reached: {0}; start it, or correct `EMBEDDING_URL`")]
    Unreachable(String),
    /// The connection cannot be trusted or does not speak TLS.
    #[error(
        "has no connection to be trusted: {0}; correct the scheme or host of `EMBEDDING_URL`, or \
         add its CA to the system's certificates"
    )]
    Tls(String),
    /// The connection broke off.
    #[error("broke off: {0}")]
    BrokeOff(String),
    /// There was no whole reply in time.
    #[error(
        "did not answer within {seconds} s; raise `EMBEDDING_TIMEOUT_SECS`, or lower \
         `EMBEDDING_BATCH` or `EMBEDDING_CONCURRENCY`"
    )]
    Slow {
        /// How long was waited.
        seconds: u64,
    },
    /// 401 or 403, without a key.
    #[error("asks for a key ({status}{said}); set `EMBEDDING_API_KEY`")]
    NoKey {
        /// The status.
        status: u16,
        /// Its words.
        said: String,
    },
    /// 401 or 403, with a key.
    #[error("refuses the key ({status}{said}); correct `EMBEDDING_API_KEY`")]
    WrongKey {
        /// The status.
        status: u16,
        /// Its words.
        said: String,
    },
    /// 404: the model or the path.
    #[error(
        "knows no model `{model}`, or no such path (404{said}); install the model there, or correct \
         `EMBEDDING_MODEL` or `EMBEDDING_URL`"
    )]
    NotFound {
        /// The model asked for.
        model: String,
        /// Its words.
        said: String,
    },
    /// One input is too long even after it was cut.
    #[error("finds a single text too long ({status}{said}); lower `EMBEDDING_MAX_TOKENS`")]
    TooLong {
        /// The status.
        status: u16,
        /// Its words.
        said: String,
    },
    /// 429 that waiting did not end.
    #[error(
        "accepts no more requests for now (429{said}); lower `EMBEDDING_CONCURRENCY`, or try later"
    )]
    Limited {
        /// Its words.
        said: String,
    },
    /// 429 that waiting cannot end.
    #[error("has no quota left for this key (429{said}); see to its plan and billing")]
    Quota {
        /// Its words.
        said: String,
    },
    /// A redirection, which would carry the key elsewhere.
    #[error("points to another place ({status}{said}); set `EMBEDDING_URL` to that")]
    Moved {
        /// The status.
        status: u16,
        /// Where to.
        said: String,
    },
    /// 5xx.
    #[error("failed ({status}{said})")]
    Failed {
        /// The status.
        status: u16,
        /// Its words.
        said: String,
    },
    /// Any other refusal.
    #[error(
        "refuses the request ({status}{said}); check `EMBEDDING_MODEL` and `EMBEDDING_DIMENSIONS`"
    )]
    Refused {
        /// The status.
        status: u16,
        /// Its words.
        said: String,
    },
    /// The reply is not what the API promises.
    #[error("answers no list of embeddings: {0}; check `EMBEDDING_URL`")]
    Malformed(String),
    /// The reply is larger than any right one.
    #[error("answers more than {0} bytes; check `EMBEDDING_URL`")]
    Huge(usize),
    /// There are more or fewer vectors than texts, or one twice.
    #[error("returned {got} vectors for {wanted} texts")]
    Count {
        /// Vectors that belong to a text.
        got: usize,
        /// Texts.
        wanted: usize,
    },
    /// A vector has another length than the ones before, or than was set.
    #[error(
        "returned a vector of {got} numbers where {wanted} are expected; start with `--reembed` to \
         embed every repository again, or correct `EMBEDDING_MODEL` or `EMBEDDING_DIMENSIONS`"
    )]
    Dimensions {
        /// The vector's length.
        got: usize,
        /// The expected one.
        wanted: usize,
    },
    /// A vector has no direction.
    #[error("returned a vector that is {0}; `EMBEDDING_MODEL` may not be an embedding model")]
    Vector(&'static str),
}

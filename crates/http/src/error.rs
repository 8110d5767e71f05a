//! Reasons to refuse a request before its handler sees it.

use hyper::StatusCode;

/// Refusal by the HTTP layer. The message is for the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("there is nothing at this path")]
    RouteNotFound,
    #[error("this path answers {allow} only")]
    MethodNotAllowed { allow: &'static str },
    #[error("this path answers WebSocket handshakes only, of version 13")]
    UpgradeRequired,
    #[error("{0}")]
    BadRequest(&'static str),
    #[error("the body is not JSON: {0}")]
    InvalidJson(String),
    #[error("the body ended before its announced length")]
    Incomplete,
    #[error("the body has more than {limit} bytes")]
    BodyTooLarge { limit: usize },
    #[error("the request must be sent with `content-type: application/json`")]
    UnsupportedMediaType,
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    Unauthorized(&'static str),
    #[error(
        "too many wrong tokens came from here, and this one is not known either; try again in {retry_after_s} s, \
         or send one that is known, which is answered at once"
    )]
    TooManyWrongTokens { retry_after_s: u64 },
    #[error("the server is shutting down and another one is taking over; retry in a moment")]
    Stopping,
    #[error("the body did not arrive in time")]
    Timeout,
    #[error("an internal error happened; the log of the server says more")]
    Internal,
}

impl HttpError {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::RouteNotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::UpgradeRequired => StatusCode::UPGRADE_REQUIRED,
            Self::BadRequest(_) | Self::InvalidJson(_) | Self::Incomplete => {
                StatusCode::BAD_REQUEST
            }
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
            Self::TooManyWrongTokens { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::REQUEST_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the code on the wire.
    pub fn code(&self) -> &'static str {
        match self {
            Self::RouteNotFound => "ROUTE_NOT_FOUND",
            Self::MethodNotAllowed { .. } => "METHOD_NOT_ALLOWED",
            Self::UpgradeRequired => "UPGRADE_REQUIRED",
            Self::BadRequest(_) => "BAD_REQUEST",
            Self::InvalidJson(_) | Self::Incomplete => "INVALID_JSON",
            Self::BodyTooLarge { .. } => "BODY_TOO_LARGE",
            Self::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Self::Forbidden(_) => "FORBIDDEN",
            Self::Unauthorized(_) => "UNAUTHORIZED",
            Self::TooManyWrongTokens { .. } | Self::Stopping => "BUSY",
            Self::Timeout => "REQUEST_TIMEOUT",
            Self::Internal => "INTERNAL",
        }
    }
}

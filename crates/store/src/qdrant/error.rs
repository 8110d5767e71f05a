//! Failures of calls of the server, and the decision to retry them.

use std::{
    error::Error,
    io::{self, ErrorKind},
    time::Duration,
};

use tonic::{Code, Status};

use crate::{IndexError, StoreError};

/// Maximum tries at each node after an error of the server, such as having just lost another node.
const MAX_TROUBLED_ROUNDS: u32 = 4;
/// Maximum number of tries of a call whose collection is missing.
const MAX_MISSING_TRIES: u32 = 4;
/// Maximum pause that a server may request.
const MAX_PAUSE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(super) enum CallError {
    /// No usable answer: another node may give one, or this one in a moment. Nodes are named in
    /// backticks; `is_lost` if the connection to this node failed.
    Away { urls: String, reason: String, is_lost: bool },
    /// The server is at its limit and may have named a pause.
    Exhausted { reason: String, pause: Option<Duration> },
    /// The server failed, in some cases because it `lacks` another node, named in backticks.
    Troubled { reason: String, lacks: Option<String> },
    /// There is no such collection.
    Missing { reason: String },
    /// The key does not permit the call.
    Denied { url: String, reason: String },
    /// The server refuses the call for good.
    Refused { reason: String },
    /// The store holds vectors of another model.
    Mismatch { stored: String, wanted: String },
    /// The store was made for another meaning of paths.
    OtherPaths { is_shared: bool },
}

impl CallError {
    /// Classifies a status of the server, or of tonic when the connection failed.
    pub(super) fn from_status(status: &Status, url: &str) -> Self {
        // A status of the server has no local cause.
        if let Some(cause) = status.source() {
            let urls = format!("`{url}`");
            return Self::Away { urls, reason: explain_connection_failure(cause), is_lost: true };
        }
        let (url, reason) = (url.to_owned(), status_message(status));
        let lacks = lacking_peer(&reason);
        match status.code() {
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted => {
                Self::Away { urls: format!("`{url}`"), reason, is_lost: false }
            }
            Code::ResourceExhausted => Self::Exhausted { reason, pause: requested_pause(status) },
            Code::Internal | Code::Unknown | Code::DataLoss => {
                let reason = if lacks.is_some() { format!("by its peer `{url}`") } else { reason };
                Self::Troubled { reason, lacks }
            }
            Code::NotFound => Self::Missing { reason },
            Code::Unauthenticated | Code::PermissionDenied => Self::Denied { url, reason },
            Code::Ok
            | Code::InvalidArgument
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented => Self::Refused { reason },
        }
    }

    pub(super) fn new_refusal(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    /// Returns whether another try may succeed after `tries`, `rounds` of them at each node.
    pub(super) fn is_retryable(&self, tries: u32, rounds: u32) -> bool {
        match self {
            Self::Away { .. } | Self::Exhausted { .. } => true,
            Self::Troubled { .. } => rounds < MAX_TROUBLED_ROUNDS,
            Self::Missing { .. } => tries < MAX_MISSING_TRIES,
            Self::Denied { .. }
            | Self::Refused { .. }
            | Self::Mismatch { .. }
            | Self::OtherPaths { .. } => false,
        }
    }

    pub(super) fn pause(&self) -> Option<Duration> {
        if let Self::Exhausted { pause, .. } = self { *pause } else { None }
    }

    pub(super) fn into_store_error(self, action: &'static str) -> StoreError {
        match self {
            Self::Away { urls, reason, .. } => StoreError::Unreachable { action, urls, reason },
            Self::Troubled { reason, lacks: Some(urls) } => {
                StoreError::Unreachable { action, urls, reason }
            }
            Self::Denied { url, reason } => StoreError::Denied { url, reason },
            Self::Mismatch { stored, wanted } => {
                IndexError::ModelMismatch { stored, wanted }.into()
            }
            Self::OtherPaths { is_shared } => StoreError::PathsMismatch { is_shared },
            Self::Exhausted { reason, .. }
            | Self::Troubled { reason, lacks: None }
            | Self::Missing { reason }
            | Self::Refused { reason } => StoreError::Engine { action, reason },
        }
    }
}

/// Returns the message of the server, or the message of another node that it quotes.
fn status_message(status: &Status) -> String {
    let message = match status.message() {
        "" => status.code().description(),
        message => message,
    };
    let quoted = message.rsplit_once("message: \"").and_then(|(_, rest)| rest.split('"').next());
    let words = quoted.filter(|quoted| !quoted.is_empty()).unwrap_or(message);
    words.trim_start_matches("Service internal error: ").to_owned()
}

/// Returns the node that the server could not reach, by its message.
fn lacking_peer(words: &str) -> Option<String> {
    let (_, rest) = words.split_once("Failed to connect to ")?;
    Some(format!("`{}`", rest.split([',', ' ']).next()?.trim_end_matches('/')))
}

/// Explains why a connection failed, by its first known cause.
fn explain_connection_failure(failure: &(dyn Error + 'static)) -> String {
    let (mut cause, mut text) = (Some(failure), String::new());
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if let Some(words) = io.and_then(|error| explain_kind(error.kind())) {
            return words.to_owned();
        }
        text = error.to_string();
        // An error of input and output hides what it wraps from `source`.
        let wrapped = io.and_then(io::Error::get_ref);
        cause = wrapped.map_or_else(|| error.source(), |wrapped| Some(wrapped));
    }
    if let Some(fault) = text.strip_prefix("invalid peer certificate: ") {
        return format!("its certificate is not trusted: {fault}; see `SSL_CERT_FILE`");
    }
    if text.contains("InvalidContentType") {
        return "it does not use TLS; write `http://` instead of `https://`".to_owned();
    }
    if text.starts_with("failed to lookup address") {
        return "its host name is not known".to_owned();
    }
    text
}

fn explain_kind(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ConnectionRefused => "connection refused",
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => "the connection was lost",
        ErrorKind::TimedOut => "no answer in time",
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => "there is no route to it",
        _ => return None,
    })
}

fn requested_pause(status: &Status) -> Option<Duration> {
    let seconds: u64 = status.metadata().get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_another_one_lacks_is_named() {
        let message = "Service internal error: 1 of 1 read operations failed: Service internal error: Tonic status \
                    error: status: Unavailable, message: \"Failed to connect to http://b:6335/, error: transport \
                    error\", details: [], metadata: MetadataMap { headers: {} }";
        let error = CallError::from_status(&Status::internal(message), "http://a:6334")
            .into_store_error("search");
        let expected = "cannot search: Qdrant at `http://b:6335` cannot be reached (by its peer `http://a:6334`)";
        assert!(error.to_string().starts_with(expected), "{error}");
        let message = "Service internal error: no active replica";
        let error = CallError::from_status(&Status::internal(message), "http://a:6334")
            .into_store_error("search");
        assert_eq!(error.to_string(), "cannot search: no active replica");
    }

    /// A cause as transports wrap them.
    #[derive(Debug, thiserror::Error)]
    #[error("tcp connect error")]
    struct ConnectFailure(#[source] io::Error);

    #[test]
    fn a_failed_connection_is_explained_by_its_cause() {
        let lookup = "failed to lookup address information: Name or service not known";
        for (cause, expected) in [
            (io::Error::from(ErrorKind::ConnectionRefused), "connection refused"),
            (io::Error::from(ErrorKind::BrokenPipe), "the connection was lost"),
            (io::Error::new(ErrorKind::TimedOut, "deadline has elapsed"), "no answer in time"),
            (io::Error::other(lookup), "its host name is not known"),
            (io::Error::other("keep-alive timed out"), "keep-alive timed out"),
        ] {
            assert_eq!(explain_connection_failure(&ConnectFailure(cause)), expected);
        }
    }
}

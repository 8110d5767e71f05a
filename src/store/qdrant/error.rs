//! Why a call of the server failed, and whether another try may help.

use std::{error::Error, time::Duration};

use tonic::{Code, Status};

use super::super::StoreError;

/// The most tries, at each node, of a call that the server failed by itself, as a node does that has
/// just lost another one.
const MAX_TROUBLED: u32 = 4;
/// The most looks for a collection.
const MAX_MISSING: u32 = 4;
/// The longest pause that a server may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// A failure of one call.
#[derive(Debug, Clone)]
pub(super) enum CallError {
    /// Nobody answered: another node may, or this one in a moment.
    Away { url: String, reason: String },
    /// The server is at its limit and may have said when to come again.
    Exhausted { reason: String, pause: Option<Duration> },
    /// The server failed.
    Troubled { reason: String },
    /// There is no such collection.
    Missing { reason: String },
    /// The key is not good for this.
    Denied { url: String, reason: String },
    /// The server will never do this.
    Refused { reason: String },
    /// The store holds vectors of another model.
    Mismatch { stored: String, wanted: String },
    /// The store takes paths in another way.
    OtherPaths { is_shared: bool },
}

impl CallError {
    /// Reads a status, which is the server's, or tonic's own when the connection failed.
    pub(super) fn of(status: &Status, url: &str) -> Self {
        let (url, reason) = (url.to_owned(), words(status));
        // What a server says has no cause on this side.
        if status.source().is_some() {
            return Self::Away { url, reason };
        }
        match status.code() {
            Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted => {
                Self::Away { url, reason }
            }
            Code::ResourceExhausted => Self::Exhausted { reason, pause: pause(status) },
            Code::Internal | Code::Unknown | Code::DataLoss => Self::Troubled { reason },
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

    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused { reason: reason.into() }
    }

    /// Whether the try after `tries`, `rounds` of them at each node, may do better.
    pub(super) fn may_pass(&self, tries: u32, rounds: u32) -> bool {
        match self {
            Self::Away { .. } | Self::Exhausted { .. } => true,
            Self::Troubled { .. } => rounds < MAX_TROUBLED,
            Self::Missing { .. } => tries < MAX_MISSING,
            Self::Denied { .. }
            | Self::Refused { .. }
            | Self::Mismatch { .. }
            | Self::OtherPaths { .. } => false,
        }
    }

    /// How long the server wants to be left alone.
    pub(super) fn pause(&self) -> Option<Duration> {
        match self {
            Self::Exhausted { pause, .. } => *pause,
            Self::Away { .. }
            | Self::Troubled { .. }
            | Self::Missing { .. }
            | Self::Denied { .. }
            | Self::Refused { .. }
            | Self::Mismatch { .. }
            | Self::OtherPaths { .. } => None,
        }
    }

    /// Says what was attempted.
    pub(super) fn into_store_error(self, action: &'static str) -> StoreError {
        match self {
            Self::Away { url, reason } => StoreError::Unreachable { action, url, reason },
            Self::Denied { url, reason } => StoreError::Denied { url, reason },
            Self::Mismatch { stored, wanted } => StoreError::ModelMismatch { stored, wanted },
            Self::OtherPaths { is_shared } => StoreError::PathsMismatch { is_shared },
            Self::Exhausted { reason, .. }
            | Self::Troubled { reason }
            | Self::Missing { reason }
            | Self::Refused { reason } => StoreError::Engine { action, reason },
        }
    }
}

/// Returns the message with its causes, each once.
fn words(status: &Status) -> String {
    let mut words = match status.message() {
        "" => status.code().description().to_owned(),
        message => message.to_owned(),
    };
    let mut cause = status.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words.extend([": ", &text]);
        }
        cause = error.source();
    }
    words
}

fn pause(status: &Status) -> Option<Duration> {
    let seconds: u64 = status.metadata().get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

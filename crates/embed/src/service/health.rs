//! Health of a service, known from its latest answers or from a trial request.
//!
//! A success is valid for 30 s and a failure for 1 s. Then one small request is sent, and
//! concurrent callers wait for it. The health endpoint of the server waits at most two seconds.

use std::time::Duration;

use codeinfo_core::task::CachedProbe;

use crate::EmbedError;

/// Validity of a success. Requests of ingest and search renew it at no cost.
const BELIEVED: Duration = Duration::from_secs(30);
/// Validity of a failure. It is short, because a person who repaired something wants to see the
/// result.
const DISBELIEVED: Duration = Duration::from_secs(1);

/// Outcome of the latest request.
pub(super) type EmbeddingHealth = CachedProbe<Result<(), EmbedError>>;

/// Returns whether an outcome of this age is still valid.
pub(super) fn is_fresh(outcome: &Result<(), EmbedError>, age: Duration) -> bool {
    age < if outcome.is_ok() { BELIEVED } else { DISBELIEVED }
}

//! What is known of whether a service works: from its latest answers, or else by asking.
//!
//! The latest outcome counts for 30 s, a failure for 1 s; then one small request is made, and all
//! who ask meanwhile wait for it, at most two seconds.

use std::time::Duration;

use codeinfo_core::task::CachedProbe;

use crate::EmbedError;

/// How long a success is believed. Requests of ingest and search renew it for free.
const BELIEVED: Duration = Duration::from_secs(30);
/// How long a failure is believed: a person who has just repaired something wants to see it.
const DISBELIEVED: Duration = Duration::from_secs(1);

/// How the latest request ended.
pub(super) type EmbeddingHealth = CachedProbe<Result<(), EmbedError>>;

/// Whether an outcome of this age still counts.
pub(super) fn is_fresh(outcome: &Result<(), EmbedError>, age: Duration) -> bool {
    age < if outcome.is_ok() { BELIEVED } else { DISBELIEVED }
}

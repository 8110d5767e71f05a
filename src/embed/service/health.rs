//! What is known of whether a service works: from its latest answers, or else by asking.
//!
//! The latest outcome counts for 30 s, a failure for 1 s; then one small request is made, and all
//! who ask meanwhile wait for it, at most two seconds.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::embed::EmbedError;

/// How long a success is believed. Requests of ingest and search renew it for free.
const BELIEVED: Duration = Duration::from_secs(30);
/// How long a failure is believed: a person who has just repaired something wants to see it.
const DISBELIEVED: Duration = Duration::from_secs(1);

/// The latest outcome.
#[derive(Debug, Clone)]
struct Look {
    at: Instant,
    outcome: Result<(), EmbedError>,
}

impl Look {
    fn is_fresh(&self) -> bool {
        let age = self.at.elapsed();
        age < if self.outcome.is_ok() { BELIEVED } else { DISBELIEVED }
    }
}

/// What is known of one service.
#[derive(Debug)]
pub(super) struct Health {
    latest: watch::Sender<Option<Look>>,
    is_asking: AtomicBool,
}

impl Health {
    pub(super) fn new() -> Self {
        Self { latest: watch::Sender::new(None), is_asking: AtomicBool::new(false) }
    }

    /// Notes how a request ended.
    pub(super) fn note(&self, outcome: Result<(), EmbedError>) {
        self.latest.send_replace(Some(Look { at: Instant::now(), outcome }));
    }

    /// Returns what is known, or waits for what `ask` finds out. It has to start a task that ends with
    /// [`Health::found`]; while one is at work, no other is started.
    pub(super) async fn known(&self, ask: impl FnOnce()) -> Result<(), EmbedError> {
        let mut latest = self.latest.subscribe();
        if let Some(look) = latest.borrow_and_update().as_ref().filter(|look| look.is_fresh()) {
            return look.outcome.clone();
        }
        if !self.is_asking.swap(true, Ordering::AcqRel) {
            ask();
        }
        // The sender lives as long as this.
        drop(latest.changed().await);
        let look = latest.borrow();
        look.as_ref().map_or(Ok(()), |look| look.outcome.clone())
    }

    /// Ends what [`Health::known`] started.
    pub(super) fn found(&self, outcome: Result<(), EmbedError>) {
        self.is_asking.store(false, Ordering::Release);
        self.note(outcome);
    }
}

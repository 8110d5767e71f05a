//! How often things ended, how, and how long they took, for `GET /metrics`.

use std::{fmt, hash::Hash, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

/// Upper bounds of the buckets, in seconds: from a search in memory to the longest turn.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0];

/// Everything that is measured where it happens. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// HTTP requests of both listeners.
    pub requests: Timed<Request>,
    /// Turns of Codex.
    pub turns: Timed<Outcome>,
    /// Searches, over HTTP and MCP.
    pub searches: Timed<Outcome>,
}

/// One HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Request {
    /// `main` or `mcp`.
    pub listener: &'static str,
    /// The HTTP status; 0 when the client left before there was one.
    pub status: u16,
}

/// How one piece of work ended: `ok`, or the code of its failure.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Outcome {
    /// `ok` or an error code such as `BUSY`.
    pub outcome: &'static str,
}

/// A count by label and a histogram of durations. Clones share them.
#[derive(Clone)]
pub struct Timed<L> {
    ended: Family<L, Counter>,
    seconds: Histogram,
}

impl<L: Clone + Hash + Eq + fmt::Debug + EncodeLabelSet + Send + Sync + 'static> Timed<L> {
    /// Counts one that ended as `label` after `elapsed`.
    pub fn ended(&self, label: &L, elapsed: Duration) {
        self.ended.get_or_create(label).inc();
        self.seconds.observe(elapsed.as_secs_f64());
    }

    /// Registers the count as `<plural>_total` and the durations as `<singular>_seconds`.
    pub fn register(&self, registry: &mut Registry, plural: &str, singular: &str, help: &str) {
        registry.register(plural, help, self.ended.clone());
        let seconds = format!("{singular}_seconds");
        registry.register(seconds, format!("{help}: how long"), self.seconds.clone());
    }
}

impl<L: Clone + Hash + Eq> Default for Timed<L> {
    fn default() -> Self {
        Self { ended: Family::default(), seconds: Histogram::new(SECONDS) }
    }
}

impl<L> fmt::Debug for Timed<L> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Timed").finish_non_exhaustive()
    }
}

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
    /// Calls of tools, ours over MCP and those of toolkits.
    pub tool_calls: Timed<ToolCall>,
    /// Whether the result of a tool that only reads was there already.
    pub tool_cache: Counted<Outcome>,
    /// Turns that had a toolkit.
    pub toolkits_used: Counted<ToolkitUse>,
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

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolCall {
    /// `local` or `mcp`.
    pub source: &'static str,
    /// The toolkit, or nothing for a tool of ours. See [`REQUEST`].
    pub toolkit: String,
    /// `ok`, or why there is no result.
    pub outcome: &'static str,
}

/// A turn that had a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolkitUse {
    /// See [`REQUEST`].
    pub toolkit: String,
    /// Which layer of the configuration named it.
    pub origin: &'static str,
}

/// Starts of a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolkitStart {
    /// See [`REQUEST`].
    pub toolkit: String,
    /// `ok` or `failed`.
    pub outcome: &'static str,
}

/// A toolkit by its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolkitLabel {
    /// See [`REQUEST`].
    pub toolkit: String,
}

/// Stands for the names of toolkits that requests carry: callers choose those, and each name is a series.
pub const REQUEST: &str = "(request)";

/// A count by label. Clones share it.
#[derive(Debug, Clone)]
pub struct Counted<L>(Family<L, Counter>);

impl<L: Clone + Hash + Eq + fmt::Debug + EncodeLabelSet + Send + Sync + 'static> Counted<L> {
    /// Counts one.
    pub fn add(&self, label: &L) {
        self.0.get_or_create(label).inc();
    }

    /// Registers the count as `<name>_total`.
    pub fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, self.0.clone());
    }
}

impl<L: Clone + Hash + Eq> Default for Counted<L> {
    fn default() -> Self {
        Self(Family::default())
    }
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

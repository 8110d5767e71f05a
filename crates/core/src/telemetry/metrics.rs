//! Counters and duration histograms for `GET /metrics`.

use std::{fmt, hash::Hash, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

/// Upper bounds of the histogram buckets in seconds, from an in-memory search to the longest turn.
const SECONDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0];

/// Metrics that are recorded where the work happens. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct ServerMetrics {
    /// HTTP requests on both listeners.
    pub requests: LabelledTimer<RequestLabel>,
    /// Codex turns.
    pub turns: LabelledTimer<OutcomeLabel>,
    /// Searches over HTTP and MCP.
    pub searches: LabelledTimer<OutcomeLabel>,
    /// Tool calls: CodeInfo's own tools over MCP and the tools of toolkits.
    pub tool_calls: LabelledTimer<ToolCallLabel>,
    /// Cache lookups for results of read-only tools.
    pub tool_cache: LabelledCounter<OutcomeLabel>,
    /// Turns that used a toolkit.
    pub toolkits_used: LabelledCounter<ToolkitUseLabel>,
}

/// Labels of one HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabel {
    /// `main` or `mcp`.
    pub listener: &'static str,
    /// HTTP status, or 0 if the client disconnected before a response.
    pub status: u16,
}

/// Outcome of one piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabel {
    /// `ok` or an error code such as `BUSY`.
    pub outcome: &'static str,
}

/// Labels of one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolCallLabel {
    /// `local` or `mcp`.
    pub source: &'static str,
    /// Name of the toolkit, or empty for CodeInfo's own tools. See [`REQUEST_TOOLKIT`].
    pub toolkit: String,
    /// `ok`, or the reason why there is no result.
    pub outcome: &'static str,
}

/// Labels of a turn that used a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolkitUseLabel {
    /// See [`REQUEST_TOOLKIT`].
    pub toolkit: String,
    /// Configuration layer that named the toolkit.
    pub origin: &'static str,
}

/// Labels of a toolkit start.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolkitStartLabel {
    /// See [`REQUEST_TOOLKIT`].
    pub toolkit: String,
    /// `ok` or `failed`.
    pub outcome: &'static str,
}

/// Label with the name of a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolkitLabel {
    /// See [`REQUEST_TOOLKIT`].
    pub toolkit: String,
}

/// Label value for toolkits of requests, whose names callers choose: each would add a series.
pub const REQUEST_TOOLKIT: &str = "(request)";

/// Counter per label. Clones share it.
#[derive(Debug, Clone)]
pub struct LabelledCounter<L>(Family<L, Counter>);

impl<L: Clone + Hash + Eq + fmt::Debug + EncodeLabelSet + Send + Sync + 'static>
    LabelledCounter<L>
{
    /// Adds one to the counter of `label`.
    pub fn increment(&self, label: &L) {
        self.0.get_or_create(label).inc();
    }

    /// Registers the counter as `<name>_total`.
    pub fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, self.0.clone());
    }
}

impl<L: Clone + Hash + Eq> Default for LabelledCounter<L> {
    fn default() -> Self {
        Self(Family::default())
    }
}

/// Counter per label and a histogram of durations. Clones share them.
#[derive(Clone)]
pub struct LabelledTimer<L> {
    ended: Family<L, Counter>,
    seconds: Histogram,
}

impl<L: Clone + Hash + Eq + fmt::Debug + EncodeLabelSet + Send + Sync + 'static> LabelledTimer<L> {
    /// Counts one event that ended as `label` after `elapsed`.
    pub fn record_duration(&self, label: &L, elapsed: Duration) {
        self.ended.get_or_create(label).inc();
        self.seconds.observe(elapsed.as_secs_f64());
    }

    /// Registers the counter as `<plural>_total` and the histogram as `<singular>_seconds`.
    pub fn register(&self, registry: &mut Registry, plural: &str, singular: &str, help: &str) {
        registry.register(plural, help, self.ended.clone());
        let seconds = format!("{singular}_seconds");
        registry.register(seconds, format!("{help}: how long"), self.seconds.clone());
    }
}

impl<L: Clone + Hash + Eq> Default for LabelledTimer<L> {
    fn default() -> Self {
        Self { ended: Family::default(), seconds: Histogram::new(SECONDS) }
    }
}

impl<L> fmt::Debug for LabelledTimer<L> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LabelledTimer").finish_non_exhaustive()
    }
}

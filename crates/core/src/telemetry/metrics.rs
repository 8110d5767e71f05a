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
pub struct ServerMetrics {
    /// HTTP requests of both listeners.
    pub requests: LabelledTimer<RequestLabel>,
    /// Turns of Codex.
    pub turns: LabelledTimer<OutcomeLabel>,
    /// Searches, over HTTP and MCP.
    pub searches: LabelledTimer<OutcomeLabel>,
    /// Calls of tools, ours over MCP and those of toolkits.
    pub tool_calls: LabelledTimer<ToolCallLabel>,
    /// Whether the result of a tool that only reads was there already.
    pub tool_cache: LabelledCounter<OutcomeLabel>,
    /// Turns that had a toolkit.
    pub toolkits_used: LabelledCounter<ToolkitUseLabel>,
}

/// One HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabel {
    /// `main` or `mcp`.
    pub listener: &'static str,
    /// The HTTP status; 0 when the client left before there was one.
    pub status: u16,
}

/// How one piece of work ended: `ok`, or the code of its failure.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabel {
    /// `ok` or an error code such as `BUSY`.
    pub outcome: &'static str,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolCallLabel {
    /// `local` or `mcp`.
    pub source: &'static str,
    /// The toolkit, or nothing for a tool of ours. See [`REQUEST`].
    pub toolkit: String,
    /// `ok`, or why there is no result.
    pub outcome: &'static str,
}

/// A turn that had a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolkitUseLabel {
    /// See [`REQUEST`].
    pub toolkit: String,
    /// Which layer of the configuration named it.
    pub origin: &'static str,
}

/// Starts of a toolkit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ToolkitStartLabel {
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
pub struct LabelledCounter<L>(Family<L, Counter>);

impl<L: Clone + Hash + Eq + fmt::Debug + EncodeLabelSet + Send + Sync + 'static>
    LabelledCounter<L>
{
    /// Counts one.
    pub fn increment(&self, label: &L) {
        self.0.get_or_create(label).inc();
    }

    /// Registers the count as `<name>_total`.
    pub fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        registry.register(name, help, self.0.clone());
    }
}

impl<L: Clone + Hash + Eq> Default for LabelledCounter<L> {
    fn default() -> Self {
        Self(Family::default())
    }
}

/// A count by label and a histogram of durations. Clones share them.
#[derive(Clone)]
pub struct LabelledTimer<L> {
    ended: Family<L, Counter>,
    seconds: Histogram,
}

impl<L: Clone + Hash + Eq + fmt::Debug + EncodeLabelSet + Send + Sync + 'static> LabelledTimer<L> {
    /// Counts one that ended as `label` after `elapsed`.
    pub fn record_duration(&self, label: &L, elapsed: Duration) {
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

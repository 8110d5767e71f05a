//! `GET /metrics`: counters and gauges of the server in the text format of Prometheus.

use std::sync::atomic::AtomicU64;

use codeinfo_codex::CodexAvailability;
use codeinfo_core::telemetry::{ToolkitLabel, ToolkitStartLabel};
use codeinfo_http::{Response, reply};
use prometheus_client::{
    encoding::text::encode,
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::Gauge,
    },
    registry::Registry,
};

use super::{ApiState, error::ApiError};

/// `OpenMetrics`, the open standard that grew out of Prometheus' own format.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl ApiState {
    /// Returns counts since the start and current sizes. Leaves out a part that fails.
    pub(super) async fn reply_metrics(&self) -> Result<Response, ApiError> {
        let mut registry = Registry::with_prefix("codeinfo");
        self.register_counters(&mut registry);
        self.register_gauges(&mut registry).await;
        self.register_codex_counts(&mut registry);
        self.register_toolkit_counts(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).map_err(|_| codeinfo_http::HttpError::Internal)?;
        Ok(reply::text_response(FORMAT, text))
    }

    fn register_counters(&self, registry: &mut Registry) {
        let metrics = &self.services.metrics;
        metrics.requests.register(registry, "http_requests", "http_request", "HTTP requests");
        metrics.turns.register(registry, "turns", "turn", "Turns of Codex");
        metrics.searches.register(registry, "searches", "search", "Searches");
        metrics.tool_calls.register(registry, "tool_calls", "tool_call", "Calls of tools");
        metrics.tool_cache.register(registry, "tool_cache", "Results that were there or not");
        metrics.toolkits_used.register(registry, "toolkits_used", "Turns that had a toolkit");
    }

    async fn register_gauges(&self, registry: &mut Registry) {
        let services = &*self.services;
        register_gauge(
            registry,
            "uptime_seconds",
            "Time since the start",
            self.started.elapsed().as_secs(),
        );
        if let Ok(health) = services.store.health().await {
            register_gauge(registry, "chunks", "Chunks in the index", health.chunks);
        }
        if let Ok(roots) = services.ingest.list_roots().await {
            let active = roots.iter().filter(|status| status.run_id.is_some()).count();
            let files = roots.iter().map(|status| status.root.counts.files).sum();
            register_gauge(registry, "repositories", "Indexed repositories", to_u64(roots.len()));
            register_gauge(registry, "files", "Indexed files", files);
            register_gauge(
                registry,
                "ingest_runs_active",
                "Ingest runs that wait or work",
                to_u64(active),
            );
        }
    }

    fn register_toolkit_counts(&self, registry: &mut Registry) {
        let starts = Family::default();
        let tools = Family::default();
        for (toolkit, status) in self.services.toolkits.list_statuses() {
            let start = |outcome| ToolkitStartLabel { toolkit: toolkit.clone(), outcome };
            let counted: [(&'static str, u64); 2] =
                [("ok", status.starts), ("failed", status.failed_starts)];
            for (outcome, count) in counted {
                let ended: Counter = starts.get_or_create_owned(&start(outcome));
                ended.inc_by(count);
            }
            let listed: Gauge<u64, AtomicU64> =
                tools.get_or_create_owned(&ToolkitLabel { toolkit: toolkit.clone() });
            listed.set(to_u64(status.tools));
        }
        registry.register("toolkit_starts", "Starts of toolkits", starts);
        registry.register("toolkit_tools", "Tools that a toolkit lists", tools);
    }

    fn register_codex_counts(&self, registry: &mut Registry) {
        let is_available =
            matches!(self.services.codex.availability(), CodexAvailability::Available { .. });
        register_gauge(
            registry,
            "codex_available",
            "Whether Codex can be used",
            is_available.into(),
        );
        let counts = self.services.codex.counts();
        let counters = [
            ("codex_starts", "Starts of the Codex process", counts.starts),
            ("codex_malformed_lines", "Lines of Codex that are not JSON", counts.malformed_lines),
            (
                "codex_unknown_notifications",
                "Notifications of Codex that are new to us",
                counts.unknown_notifications,
            ),
            (
                "codex_refused_requests",
                "Requests of Codex that were refused",
                counts.refused_requests,
            ),
        ];
        for (name, help, value) in counters {
            registry.register(name, help, ConstCounter::new(value));
        }
    }
}

fn register_gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<u64, AtomicU64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

fn to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

//! `GET /metrics`: what the server did and what it holds, in the text format of Prometheus.

use std::sync::atomic::AtomicU64;

use prometheus_client::{
    encoding::text::encode,
    metrics::{counter::ConstCounter, gauge::Gauge},
    registry::Registry,
};

use super::{Parts, error::ApiError};
use crate::{
    codex::Presence,
    net::{self, Response, reply},
};

/// The open standard that grew out of Prometheus' own format.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl Parts {
    /// Counts since the start, and what is there now. A part that fails is left out.
    pub(super) async fn metrics(&self) -> Result<Response, ApiError> {
        let mut registry = Registry::with_prefix("codeinfo");
        self.measured(&mut registry);
        self.held(&mut registry).await;
        self.codex_counts(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).map_err(|_| net::HttpError::Internal)?;
        Ok(reply::text(FORMAT, text))
    }

    fn measured(&self, registry: &mut Registry) {
        let metrics = &self.services.metrics;
        metrics.requests.register(registry, "http_requests", "http_request", "HTTP requests");
        metrics.turns.register(registry, "turns", "turn", "Turns of Codex");
        metrics.searches.register(registry, "searches", "search", "Searches");
    }

    async fn held(&self, registry: &mut Registry) {
        let services = &*self.services;
        gauge(registry, "uptime_seconds", "Time since the start", self.started.elapsed().as_secs());
        if let Ok(health) = services.store.health().await {
            gauge(registry, "chunks", "Chunks in the index", health.chunks);
        }
        if let Ok(roots) = services.ingest.roots().await {
            let active = roots.iter().filter(|status| status.run_id.is_some()).count();
            let files = roots.iter().map(|status| status.root.counts.files).sum();
            gauge(registry, "repositories", "Indexed repositories", count(roots.len()));
            gauge(registry, "files", "Indexed files", files);
            gauge(registry, "ingest_runs_active", "Ingest runs that wait or work", count(active));
        }
    }

    fn codex_counts(&self, registry: &mut Registry) {
        let is_available = matches!(self.services.codex.presence(), Presence::Available { .. });
        gauge(registry, "codex_available", "Whether Codex can be used", is_available.into());
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

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<u64, AtomicU64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

//! Settings of indexing.

use std::time::Duration;

/// Bounds of ingest.
#[derive(Debug, Clone, Copy)]
pub struct IngestSettings {
    /// Larger files are left out and counted as skipped.
    pub max_file_bytes: u64,
    /// Most runs that wait for their turn.
    pub max_queued_runs: usize,
    /// Finished runs whose status is kept.
    pub max_finished_runs: usize,
    /// Time after which a run no longer holds up runs of other repositories.
    pub run_patience: Duration,
}

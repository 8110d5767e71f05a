//! Settings of indexing.

use std::time::Duration;

/// Limits of indexing.
#[derive(Debug, Clone, Copy)]
pub struct IngestSettings {
    /// Maximum bytes of a file; larger files are skipped and counted.
    pub max_file_bytes: u64,
    /// Maximum number of waiting runs.
    pub max_queued_runs: usize,
    /// Maximum number of finished runs with a status.
    pub max_finished_runs: usize,
    /// Time after which a run no longer delays runs of other repositories.
    pub run_patience: Duration,
}

//! Limits of a toolkit's process tree: memory, number of processes and the size of its folder.

mod folder;
mod tree;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use codeinfo_core::task::Tasks;
use tokio::time::sleep;

use super::{ConnectionTiming, ToolkitCommand};
use crate::spec::{ToolkitSandbox, ToolkitSpec};

const MIB: u64 = 1024 * 1024;
/// Default limits in the sandbox. Published servers on Node and Python take 60 to 500 MiB and up to 100
/// threads; one that compiles or downloads at its start takes more of both.
const MEMORY_MIB: u64 = 2048;
const HOME_MIB: u64 = 4096;
const PROCESSES: u64 = 1024;
/// Pause after a measurement, as a multiple of its duration, and the maximum pause, so that a busy machine does
/// not hide an excess.
const PAUSE_FACTOR: u32 = 20;
const MAX_PAUSE: Duration = Duration::from_secs(3);

/// Maximum usage of a toolkit; `None` is unlimited.
#[derive(Debug, Clone)]
pub(super) struct ResourceLimits {
    memory_mib: Option<u64>,
    processes: Option<u64>,
    folder: Option<(PathBuf, u64)>,
    /// Minimum time between two measurements.
    tick: Duration,
    pub(super) tasks: Tasks,
}

impl ResourceLimits {
    pub(super) fn new(
        spec: &ToolkitSpec,
        launch: &ToolkitCommand,
        timing: &ConnectionTiming,
        tasks: &Tasks,
    ) -> Self {
        let default = |value| (spec.sandbox != ToolkitSandbox::Off).then_some(value);
        let home_mib = spec.home_mb.unwrap_or(HOME_MIB);
        Self {
            memory_mib: spec.memory_mb.or(default(MEMORY_MIB)),
            processes: spec.max_processes.or(default(PROCESSES)),
            folder: launch.own.clone().map(|folder| (folder, home_mib)),
            tick: timing.tick,
            tasks: tasks.clone(),
        }
    }

    /// Waits until the process `id` and its descendants exceed a limit. Returns the limit and the setting that
    /// raises it.
    pub(super) async fn wait_for_excess(&self, id: Option<u32>) -> String {
        let Some(id) = id else { return std::future::pending().await };
        tokio::select! {
            excess = self.measure_repeatedly(move |bounds| bounds.find_process_excess(id)) => excess,
            excess = self.measure_repeatedly(Self::find_folder_excess) => excess,
        }
    }

    /// Measures repeatedly, with longer pauses if measuring takes long.
    async fn measure_repeatedly(
        &self,
        find: impl Fn(&Self) -> Option<String> + Copy + Send + 'static,
    ) -> String {
        loop {
            let bounds = self.clone();
            let measured = self.tasks.spawn_blocking(move || {
                let started = Instant::now();
                (find(&bounds), started.elapsed())
            });
            match measured.await {
                Ok((Some(excess), _)) => return excess,
                Ok((None, took)) => sleep(self.tick.max(MAX_PAUSE.min(took * PAUSE_FACTOR))).await,
                // The server is stopping, and the toolkit with it.
                Err(_) => return std::future::pending().await,
            }
        }
    }

    fn find_process_excess(&self, id: u32) -> Option<String> {
        if self.memory_mib.is_none() && self.processes.is_none() {
            return None;
        }
        let max_bytes = self.memory_mib.map_or(u64::MAX, |most| most.saturating_mul(MIB));
        let usage = tree::measure_process_tree(id, self.tick / 2, max_bytes);
        if let Some(most) = self.processes.filter(|most| usage.processes > *most) {
            return Some(format!(
                "it had more than {most} processes and threads; set `maxProcesses` if it needs more"
            ));
        }
        let most = self.memory_mib.filter(|_| usage.bytes > max_bytes)?;
        Some(format!(
            "it used more than {most} MiB of memory, with the files that it has there; set `memoryMb` if it needs more"
        ))
    }

    fn find_folder_excess(&self) -> Option<String> {
        let (folder, most) = self.folder.as_ref()?;
        folder::find_excess(folder, *most).map(|excess| {
            format!("its HOME {excess}; remove what it does not need there, or set `homeMb`")
        })
    }
}

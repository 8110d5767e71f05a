//! Blocking threads that read and chunk the files of a run.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use codeinfo_core::{FileRecord, RootId, task::Tasks};
use codeinfo_worktree::beneath::RootDir;
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    Run, RunDependencies,
    other_versions::OtherTreeVersions,
    read::{ReadOutcome, RunFileReader},
};
use crate::{
    discover::DiscoveredFile,
    error::IngestError,
    io_watchdog::{IoHeartbeat, PathPermit},
    plan::RunMode,
    status::RunProgress,
};

/// Maximum bytes of files between reading and writing; memory use with vectors is about triple.
const MAX_BYTES: u32 = 32 << 20;
/// Maximum bytes that one file counts for. An incomplete batch holds less than [`MAX_BYTES`] minus
/// this, so that the readers never wait for a batch that waits for them.
const MAX_FILE_WEIGHT: u32 = 8 << 20;

pub(super) struct FileReadResult {
    pub(super) outcome: ReadOutcome,
    /// Size of the file when the folder was walked.
    pub(super) bytes: u64,
    /// Permit that makes room for other files when dropped.
    pub(super) permit: OwnedSemaphorePermit,
}

pub(super) struct ReadJob {
    root: RootId,
    folder: RootDir,
    max_file_bytes: u64,
    mode: RunMode,
    other_versions: OtherTreeVersions,
    files: Vec<(DiscoveredFile, Option<FileRecord>)>,
    next: AtomicUsize,
    /// Free bytes of files between reading and writing.
    free_bytes: Arc<Semaphore>,
    cancel: CancellationToken,
    progress: RunProgress,
    /// Held until the last reader ends, which may be after the run.
    hold: PathPermit,
}

pub(super) struct ReaderThreads {
    threads: Vec<JoinHandle<()>>,
    pulses: Vec<Arc<IoHeartbeat>>,
}

impl ReaderThreads {
    pub(super) fn heartbeats(&self) -> Vec<Arc<IoHeartbeat>> {
        self.pulses.clone()
    }

    /// Waits until all readers have ended; once cancelled, leaves them to end by themselves.
    pub(super) async fn wait_until_ended(
        self,
        cancel: &CancellationToken,
    ) -> Result<(), IngestError> {
        for thread in self.threads {
            tokio::select! {
                biased;
                ended = thread => ended?,
                () = cancel.cancelled() => return Err(IngestError::Cancelled),
            }
        }
        Ok(())
    }
}

impl ReadJob {
    pub(super) fn new(
        run: &Run,
        deps: &RunDependencies,
        folder: RootDir,
        hold: PathPermit,
        files: Vec<DiscoveredFile>,
        other_versions: OtherTreeVersions,
        mode: RunMode,
    ) -> Self {
        Self {
            root: run.root.id,
            folder,
            max_file_bytes: deps.max_file_bytes,
            mode,
            other_versions,
            files: files
                .into_iter()
                .map(|file| {
                    let known = run.index_state.get(&file.path).cloned();
                    (file, known)
                })
                .collect(),
            next: AtomicUsize::new(0),
            free_bytes: Arc::new(Semaphore::new(MAX_BYTES as usize)),
            cancel: run.cancel.clone(),
            progress: run.progress.clone(),
            hold,
        }
    }

    /// Starts one reader per processor, but leaves one of more than two processors to the runtime.
    pub(super) fn start_readers(
        self,
        tasks: &Tasks,
        to: &mpsc::Sender<FileReadResult>,
    ) -> ReaderThreads {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let readers = if 2 < processors { processors - 1 } else { processors };
        let shared = Arc::new(self);
        let start = |pulse: &Arc<IoHeartbeat>| {
            let (shared, to, pulse) = (Arc::clone(&shared), to.clone(), Arc::clone(pulse));
            let runtime = Handle::current();
            tasks.spawn_blocking(move || shared.read_all(&to, &runtime, &pulse))
        };
        let pulses: Vec<Arc<IoHeartbeat>> =
            (0..readers.min(shared.files.len())).map(|_| Arc::default()).collect();
        shared.hold.add_heartbeats(&pulses);
        ReaderThreads { threads: pulses.iter().map(start).collect(), pulses }
    }

    /// Reads files until none remains or the receiver is dropped.
    fn read_all(&self, to: &mpsc::Sender<FileReadResult>, runtime: &Handle, pulse: &IoHeartbeat) {
        let reader = RunFileReader {
            root: self.root,
            folder: &self.folder,
            pulse,
            max_file_bytes: self.max_file_bytes,
            mode: self.mode,
            other_versions: &self.other_versions,
        };
        while let Some((file, known)) = self.files.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.cancel.is_cancelled() {
                return;
            }
            let weight = u32::try_from(file.size).unwrap_or(u32::MAX).min(MAX_FILE_WEIGHT);
            let permit = Arc::clone(&self.free_bytes).acquire_many_owned(weight);
            // The semaphore is never closed.
            let Ok(permit) = runtime.block_on(permit) else { return };
            self.progress.set_current_file(&file.path);
            let outcome = reader.read_file(file, known.as_ref());
            if to.blocking_send(FileReadResult { outcome, bytes: file.size, permit }).is_err() {
                return;
            }
        }
    }
}

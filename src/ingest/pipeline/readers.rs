//! The blocking threads that read and cut the files of a run.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    Run, Tools,
    read::{Outcome, Reader},
};
use crate::{
    domain::{FileRecord, RootId},
    ingest::{discover::Found, plan::Mode, status::Progress},
    task::Tasks,
};

/// What the readers of a run share.
pub(super) struct Reading {
    root: RootId,
    folder: PathBuf,
    max_file_bytes: u64,
    mode: Mode,
    /// Each file to read, with what the store knows of it.
    files: Vec<(Found, Option<FileRecord>)>,
    next: AtomicUsize,
    cancel: CancellationToken,
    progress: Progress,
}

impl Reading {
    pub(super) fn new(run: &Run, tools: &Tools, files: Vec<Found>, mode: Mode) -> Self {
        let known = |file: &Found| run.ledger.get(&file.path).cloned();
        Self {
            root: run.root.id,
            folder: run.root.path.clone(),
            max_file_bytes: tools.max_file_bytes,
            mode,
            files: files
                .into_iter()
                .map(|file| {
                    let known = known(&file);
                    (file, known)
                })
                .collect(),
            next: AtomicUsize::new(0),
            cancel: run.cancel.clone(),
            progress: run.progress.clone(),
        }
    }

    /// Starts a reader for each processor, sparing one for the runtime where there are several.
    pub(super) fn start(self, tasks: &Tasks, to: &mpsc::Sender<Outcome>) -> Vec<JoinHandle<()>> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let readers = if 2 < processors { processors - 1 } else { processors };
        let shared = Arc::new(self);
        let start = |_| {
            let (shared, to) = (Arc::clone(&shared), to.clone());
            tasks.spawn_blocking(move || shared.read_all(&to))
        };
        (0..readers.min(shared.files.len())).map(start).collect()
    }

    /// Reads file after file until none is left or nobody listens.
    fn read_all(&self, to: &mpsc::Sender<Outcome>) {
        let reader = Reader {
            root: self.root,
            folder: &self.folder,
            max_file_bytes: self.max_file_bytes,
            mode: self.mode,
        };
        while let Some((file, known)) = self.files.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.cancel.is_cancelled() {
                return;
            }
            self.progress.reading(&file.path);
            if to.blocking_send(reader.read(file, known.as_ref())).is_err() {
                return;
            }
        }
    }
}

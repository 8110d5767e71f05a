//! Reads the indexed text of many files in batches, until the time or work of a request is spent.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use codeinfo_core::{FileRecord, RootId};

use super::{Evidence, EvidenceError, snapshot::FileSnapshot};

const BATCH_CHUNKS: usize = 1000;
/// Maximum bytes parsed for a request; further text is scanned for comment and string marks only.
const MAX_PARSED_BYTES: usize = 16 << 20;
/// Time after which no parsing starts, so that the steps after it end before the timeout.
const PARSING_TIME: Duration = Duration::from_secs(4);
/// Time after which counting stops, before the timeout; the counts then report missing files.
const DEADLINE: Duration = Duration::from_secs(8);
/// Maximum lines that are collected for one request, few of which are shown.
const MAX_KEPT: usize = 20_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct ScanBudget {
    began: Instant,
    parsed_bytes: usize,
    /// Number of lines that may still be collected.
    pub(super) kept: usize,
}

impl Default for ScanBudget {
    fn default() -> Self {
        Self { began: Instant::now(), parsed_bytes: MAX_PARSED_BYTES, kept: MAX_KEPT }
    }
}

impl ScanBudget {
    /// Returns true if the request has used all its time.
    pub(super) fn is_spent(&self) -> bool {
        self.began.elapsed() > DEADLINE
    }

    pub(super) fn reserve_parsed_bytes(&mut self, bytes: usize) -> bool {
        let left = self.parsed_bytes.checked_sub(bytes);
        self.parsed_bytes = left.unwrap_or(0);
        left.is_some() && self.began.elapsed() < PARSING_TIME
    }
}

impl Evidence {
    /// Calls `read` with `found`, the index of the root and the content of each file, on a blocking
    /// thread. Returns `found` and the number of files unread because the time ran out, they are
    /// being indexed, or `read` returned `false`.
    pub(super) async fn scan_files<T, F>(
        &self,
        files: Vec<(usize, FileRecord)>,
        mut found: T,
        read: F,
    ) -> Result<(T, usize), EvidenceError>
    where
        T: Send + 'static,
        F: FnMut(&mut T, usize, &FileSnapshot, &mut ScanBudget) -> bool + Clone + Send + 'static,
    {
        let mut budget = ScanBudget::default();
        let mut unread = 0;
        let mut rest = files.into_iter().peekable();
        while rest.peek().is_some() {
            if budget.is_spent() {
                unread += rest.count();
                break;
            }
            let mut batch = Vec::new();
            let mut roots = Vec::new();
            let mut chunks = 0;
            while let Some((root, record)) = rest.next_if(|_| chunks < BATCH_CHUNKS) {
                chunks += record.chunks as usize;
                roots.push(root);
                batch.push(record);
            }
            let mut missing = batch.len();
            let places: HashMap<RootId, usize> =
                batch.iter().zip(roots).map(|(record, root)| (record.root, root)).collect();
            let snapshots = self.load_snapshots(batch).await?;
            let mut read_file = read.clone();
            let work = move || {
                for snapshot in snapshots {
                    if budget.is_spent() {
                        break;
                    }
                    let root = places.get(&snapshot.record.root).copied().unwrap_or_default();
                    missing -= usize::from(read_file(&mut found, root, &snapshot, &mut budget));
                }
                (found, budget, missing)
            };
            let missing;
            (found, budget, missing) = self.run_blocking(work).await?;
            unread += missing;
        }
        Ok((found, unread))
    }
}

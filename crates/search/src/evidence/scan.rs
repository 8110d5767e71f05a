//! Reads the indexed text of many files in batches, until the time runs out.

use std::collections::HashMap;

use codeinfo_core::{FileRecord, RootId};

use super::{Evidence, EvidenceError, classify::ScanBudget, snapshot::FileSnapshot};

/// Chunks in a batch.
const BATCH_CHUNKS: usize = 1000;

impl Evidence {
    /// Calls `read` with `found`, the index of the root and the content of each file, on a blocking
    /// thread.
    ///
    /// Returns `found` and the number of unread files: the time ran out, they are being indexed, or
    /// `read` returned `false`.
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

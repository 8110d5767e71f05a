//! State of a root in the store, updated with every write of a run, and its repair after an
//! unfinished run.

use std::collections::{BTreeSet, HashMap, HashSet};

use codeinfo_core::{FileRecord, IndexCounts, OmittedPaths, RootId, hash};
use codeinfo_store::StoredChunk;
use tokio_util::sync::CancellationToken;

use super::RunTarget;
use crate::{
    error::IngestError,
    plan::FileRecords,
    skip::{self, SkipSummary},
    status::RunCounts,
};

/// Message of a run without files, because an empty result looks like an error.
const NOTHING: &str = "found nothing to index: each file is hidden, left out by an ignore file \
                       (`.gitignore`, `.ignore`, `.codeinfoignore`), vendored, generated or no text";

/// Number of chunks that a repair reads, and may remove, at a time; each may have some kilobytes.
const PAGE: usize = 500;

/// Number of replaced secrets, and of files that had them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RedactionCounts {
    secrets: u64,
    files: u64,
}

impl RedactionCounts {
    pub(super) fn for_file(secrets: u64) -> Self {
        Self { secrets, files: u64::from(secrets > 0) }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.secrets += other.secrets;
        self.files += other.files;
    }

    /// Returns a message such as `3 secrets in 2 files replaced by [secret]`, if there are any.
    fn message(self) -> Option<String> {
        let secrets = if self.secrets == 1 { "secret" } else { "secrets" };
        let files = if self.files == 1 { "file" } else { "files" };
        let Self { secrets: count, files: in_files } = self;
        (count > 0).then(|| format!("{count} {secrets} in {in_files} {files} replaced by [secret]"))
    }
}

/// Files that were decoded with losses: the count of all, and the names of the first in path order.
#[derive(Debug, Default)]
pub(super) struct LossyFiles {
    count: u64,
    named: BTreeSet<String>,
}

impl LossyFiles {
    const MAX_NAMED: usize = 10;

    pub(super) fn extend(&mut self, paths: Vec<String>) {
        self.count += paths.len() as u64;
        self.named.extend(paths);
        while Self::MAX_NAMED < self.named.len() {
            self.named.pop_last();
        }
    }

    /// Returns a message such as ``read 1 file with `�` for what is in no known encoding: a.c``.
    fn message(&self) -> Option<String> {
        let files = if self.count == 1 { "file" } else { "files" };
        let rest = self.count - self.named.len() as u64;
        let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        let named: Vec<&str> = self.named.iter().map(String::as_str).collect();
        let (count, named) = (self.count, named.join(", "));
        let what = "with `\u{fffd}` for what is in no known encoding";
        (0 < count).then(|| format!("read {count} {files} {what}: {named}{more}"))
    }
}

/// File records of the root, and the changes of the run.
#[derive(Debug)]
pub(super) struct IndexState {
    records: FileRecords,
    totals: IndexCounts,
    deleted: u64,
    has_changed: bool,
    pub(super) skips: SkipSummary,
    /// Number of files chunked by lines because parsing took too long.
    pub(super) fallbacks: u64,
    /// Replaced secrets in the files that this run read.
    pub(super) redacted: RedactionCounts,
    pub(super) lossy: LossyFiles,
}

impl IndexState {
    /// Creates the state of a whole root. `has_changed` is true if the run has already changed it.
    pub(super) fn new(records: FileRecords, has_changed: bool) -> Self {
        let mut totals = IndexCounts::default();
        for record in records.values() {
            add_to_totals(&mut totals, record);
        }
        Self { has_changed, ..Self::for_part(records, totals) }
    }

    /// Creates the state of a part of a root; `totals` are the counts of the whole root.
    pub(super) fn for_part(records: FileRecords, totals: IndexCounts) -> Self {
        Self {
            records,
            totals: IndexCounts { embedded: 0, ..totals },
            deleted: 0,
            has_changed: false,
            skips: SkipSummary::default(),
            fallbacks: 0,
            redacted: RedactionCounts::default(),
            lossy: LossyFiles::default(),
        }
    }

    pub(super) fn get(&self, path: &str) -> Option<&FileRecord> {
        self.records.get(path)
    }

    pub(super) fn records(&self) -> &FileRecords {
        &self.records
    }

    pub(super) fn record_written(&mut self, records: Vec<FileRecord>, embedded: u64) {
        self.totals.embedded += embedded;
        for record in records {
            add_to_totals(&mut self.totals, &record);
            let (version, chunks) = (record.version.clone(), record.chunks);
            let old = self.records.insert(record.path.clone(), record);
            self.has_changed |= match old {
                Some(old) => {
                    subtract_from_totals(&mut self.totals, &old);
                    old.version != version && 0 < old.chunks.max(chunks)
                }
                None => 0 < chunks,
            };
        }
    }

    pub(super) fn record_removed(&mut self, paths: &[String]) {
        for path in paths {
            if let Some(old) = self.records.remove(path) {
                subtract_from_totals(&mut self.totals, &old);
                self.deleted += 1;
                self.has_changed |= 0 < old.chunks;
            }
        }
    }

    /// Returns true if the run changed search results.
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    pub(super) fn totals(&self) -> IndexCounts {
        self.totals
    }

    /// Returns the excluded paths: by path as discovered, by content as in the file records.
    pub(super) fn omitted_paths(&self) -> OmittedPaths {
        let mut omitted = self.skips.omitted.clone();
        for record in self.records.values().filter(|record| record.chunks == 0) {
            if let Some(rule) = hash::split_omitted(&record.version).1 {
                omitted.add_file(rule, &record.path);
            }
        }
        omitted
    }

    /// Returns remarks for people, if any. A run that `ended_well` without files is remarked on.
    pub(super) fn build_notes(&self, ended_well: bool, omitted: &OmittedPaths) -> Option<String> {
        let fallbacks = match self.fallbacks {
            0 => None,
            1 => Some("cut 1 file by lines, because parsing it took too long".to_owned()),
            count => {
                Some(format!("cut {count} files by lines, because parsing them took too long"))
            }
        };
        let nothing = (ended_well && self.totals.files == 0).then(|| NOTHING.to_owned());
        let notes = [
            nothing,
            self.skips.message(),
            self.redacted.message(),
            self.lossy.message(),
            fallbacks,
        ];
        let present: Vec<String> = notes.into_iter().flatten().collect();
        let joined = (!present.is_empty()).then(|| present.join("; "));
        let lines: Vec<String> = joined.into_iter().chain(skip::omission_lines(omitted)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    pub(super) fn run_counts(&self) -> RunCounts {
        RunCounts {
            files: self.totals.files,
            chunks: self.totals.chunks,
            embedded: self.totals.embedded,
            skipped: self.skips.count,
            deleted: self.deleted,
        }
    }
}

fn add_to_totals(totals: &mut IndexCounts, record: &FileRecord) {
    totals.files += u64::from(0 < record.chunks);
    totals.chunks += u64::from(record.chunks);
}

fn subtract_from_totals(totals: &mut IndexCounts, record: &FileRecord) {
    totals.files = totals.files.saturating_sub(u64::from(0 < record.chunks));
    totals.chunks = totals.chunks.saturating_sub(u64::from(record.chunks));
}

/// Compares chunks with file records after an unfinished run: deletes chunks of versions that no
/// record names, and clears the records of files with missing chunks, so that these are read again.
/// Returns true if chunks existed that were deleted or lost their record.
///
/// A killed run may leave chunks without a record, or records without all of their chunks. A later
/// run would overwrite most of them, but not for a file that has its former content again: its
/// record says that nothing is to be done.
pub(super) async fn repair_index(
    target: &RunTarget,
    records: &mut FileRecords,
    cancel: &CancellationToken,
) -> Result<bool, IngestError> {
    let named = load_named_versions(target, records).await?;
    let mut present: HashMap<(String, String), u32> = HashMap::with_capacity(records.len());
    let mut has_deleted = false;
    let mut after = None;
    loop {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        let page = target.store.chunks_of_owner(target.owner, after, PAGE).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|stored| stored.id);
        let mut strays = Vec::new();
        for StoredChunk { id, record: chunk } in page {
            if named.get(&chunk.path).is_some_and(|versions| versions.contains(&chunk.version)) {
                *present.entry((chunk.path, chunk.version)).or_default() += 1;
            } else {
                strays.push(id);
            }
        }
        if !strays.is_empty() {
            target.store.remove_chunks(strays).await?;
            has_deleted = true;
        }
        if is_last {
            break;
        }
    }
    let is_whole = |record: &FileRecord| {
        let place = (record.path.clone(), record.version.clone());
        present.get(&place).copied().unwrap_or_default() == record.chunks
    };
    let mut incomplete = Vec::new();
    for record in records.values_mut().filter(|record| !is_whole(record)) {
        has_deleted |= present.contains_key(&(record.path.clone(), record.version.clone()));
        // Counts as changed: no content has an empty version, and a time of 0 is unreliable.
        record.version.clear();
        record.modified_ns = 0;
        record.chunks = 0;
        incomplete.push(record.clone());
    }
    // A file that is unreadable now keeps its record, which must not name chunks that are gone.
    for batch in incomplete.chunks(PAGE) {
        if cancel.is_cancelled() {
            return Err(IngestError::Cancelled);
        }
        target.store.put_files(batch.to_vec()).await?;
    }
    for former in RootId::former_record_ids(target.owner) {
        let mut broken = target.store.files(former).await?;
        broken.retain(|record| !is_whole(record));
        for batch in broken.chunks(PAGE) {
            let paths = batch.iter().map(|record| record.path.clone()).collect();
            target.store.remove_files(former, paths).await?;
        }
    }
    Ok(has_deleted)
}

/// Returns the versions of each path that any tree of the repository has, or had.
async fn load_named_versions(
    target: &RunTarget,
    records: &FileRecords,
) -> Result<HashMap<String, HashSet<String>>, IngestError> {
    let mut named: HashMap<String, HashSet<String>> = HashMap::with_capacity(records.len());
    let mut add = |path: &str, version: &str| {
        if let Some(versions) = named.get_mut(path) {
            versions.insert(version.to_owned());
        } else {
            named.insert(path.to_owned(), HashSet::from([version.to_owned()]));
        }
    };
    for record in records.values() {
        add(&record.path, &record.version);
    }
    let roots = target.store.roots().await?;
    let owner_roots =
        roots.iter().filter(|root| root.chunk_owner() == target.owner).map(|root| root.id);
    let others = owner_roots.filter(|root| *root != target.root);
    for other in others.chain(RootId::former_record_ids(target.owner)) {
        for record in target.store.files(other).await? {
            add(&record.path, &record.version);
        }
    }
    Ok(named)
}

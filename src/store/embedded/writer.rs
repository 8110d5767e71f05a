//! The one writer: journals a change, applies it, and from time to time lets the engine put
//! everything on disk so that the journal can be forgotten.
//!
//! The engine makes durable only what it has flushed, and a flush costs tens of milliseconds: it
//! is flushed every 32 MiB of journal, at the end of a run and when stopping, and opening replays
//! the rest. After `kill -9` nothing acknowledged is missing; after a power failure, writes since
//! the last flush may be. A change that fails after it was journaled needs a restart.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tracing::warn;

use super::{
    super::{Collection, StoreError, atomic, catalog},
    checksums::Checksums,
    entry::Entry,
    journal::{AppendError, Journal},
    manifest::{Manifest, Numbers},
    roster::Roster,
    shard::{Rebuild, Shard},
};
use crate::domain::{LastRun, Root};

/// Journal size at which the engine is made to flush. Bounds what opening has to replay (a second
/// or so) against flushing, which costs some tenths of a second.
const CHECKPOINT_BYTES: u64 = 32 << 20;

/// What must be free on the disk for chunks to be written.
const MIN_FREE: u64 = 64 << 20;

/// The three collections.
#[derive(Debug)]
pub(super) struct Shards {
    pub(super) chunks: Shard,
    pub(super) files: Shard,
    pub(super) roots: Shard,
}

impl Shards {
    pub(super) fn get(&self, collection: Collection) -> &Shard {
        match collection {
            Collection::Chunks => &self.chunks,
            Collection::Files => &self.files,
            Collection::Roots => &self.roots,
        }
    }
}

/// What a store keeps beside its shards.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) journal: Journal,
    pub(super) manifest: Manifest,
    pub(super) numbers: Numbers,
    pub(super) checksums: Checksums,
    pub(super) roster: Roster,
}

/// Makes changes durable. Owned by the task that writes; flushes when dropped.
#[derive(Debug)]
pub(super) struct Writer {
    shards: Arc<Shards>,
    journal: Journal,
    manifest: Manifest,
    numbers: Numbers,
    checksums: Checksums,
    roster: Roster,
    /// How many changes there were, to know later whether there were any since.
    changes: u64,
    /// Chunks written since the segment that takes them was last sealed.
    unsealed: usize,
    /// About how many points changed since segments were last settled.
    unsettled: usize,
    /// Collections with changes that only the journal has on disk.
    changed: Vec<Collection>,
    /// Set while segments are rebuilt: then the engine must not flush, and the journal grows.
    optimizing: bool,
    /// Present on disk while segments are rebuilt: if the process is killed, a point may be in an
    /// old segment and in a new one.
    marker: PathBuf,
    /// Set when rebuilding failed: old segments may still be on disk, to be found when opening.
    marker_stays: bool,
    /// Why the engine's state in memory may differ from the journal, if it may.
    broken: Option<String>,
}

impl Writer {
    /// Takes over opened shards and replays the journal. [`Writer::recovered`] must follow.
    pub(super) fn replay(
        folder: &Path,
        shards: Arc<Shards>,
        notes: Notes,
    ) -> Result<Self, StoreError> {
        let Notes { mut journal, mut manifest, mut numbers, checksums, roster } = notes;
        let mut changed = Vec::new();
        journal.replay(|entry| {
            let collection = entry.collection();
            if manifest.discarding() && collection != Collection::Roots {
                // It belongs to a former model and went with it.
                return Ok(());
            }
            numbers.take(&mut manifest)?;
            note(&mut changed, collection);
            shards.get(collection).apply(entry)
        })?;
        let marker = folder.join("optimizing");
        Ok(Self {
            shards,
            journal,
            manifest,
            numbers,
            checksums,
            roster,
            changes: 0,
            unsealed: 0,
            unsettled: 0,
            changed,
            optimizing: false,
            marker,
            marker_stays: false,
            broken: None,
        })
    }

    /// Returns whether segments were being rebuilt when the process ended, so that a point may be in
    /// two of them.
    pub(super) fn was_optimizing(&self) -> Result<bool, StoreError> {
        Ok(atomic::read(&self.marker)?.is_some())
    }

    /// Notes that what a crash left has been repaired.
    pub(super) fn recovered(&mut self) -> Result<(), StoreError> {
        self.checkpoint()?;
        atomic::remove(&self.marker)
    }

    /// Has every root say that its index was discarded, and notes that chunks and files are gone.
    pub(super) fn finish_discarding(&mut self) -> Result<(), StoreError> {
        let mut roots = self.roots()?;
        let is_known = |roots: &[Root], lost: &Root| roots.iter().any(|root| root.id == lost.id);
        for lost in self.roster.roots() {
            if self.roster.is_damaged(lost.id) && !is_known(&roots, &lost) {
                roots.push(lost);
            }
        }
        let discarded = |root| Root { last_run: LastRun::Discarded, ..root };
        let points = roots.into_iter().map(|root| catalog::root_point(&discarded(root)));
        let points: Vec<_> = points.collect::<Result<_, StoreError>>()?;
        if !points.is_empty() {
            self.write(Entry::Upsert(Collection::Roots, points))?;
        }
        self.flush()?;
        self.manifest.finish_discarding()
    }

    pub(super) fn shards(&self) -> &Arc<Shards> {
        &self.shards
    }

    /// Makes a change; it survives `kill -9` once this returns.
    pub(super) fn write(&mut self, entry: Entry) -> Result<(), StoreError> {
        self.prepare(&entry)?;
        let collection = entry.collection();
        let applied = self.shards.get(collection).apply(entry);
        self.settle(applied)?;
        if collection == Collection::Roots {
            self.list_roots();
        }
        if CHECKPOINT_BYTES <= self.journal.bytes() { self.checkpoint() } else { Ok(()) }
    }

    /// Journals a change that the caller then applies, reporting to [`Writer::settle`].
    pub(super) fn prepare(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.check()?;
        if let Entry::Upsert(Collection::Chunks | Collection::Files, _) = entry {
            self.check_room()?;
        }
        self.checksums.disturb()?;
        self.changes += 1;
        self.numbers.take(&mut self.manifest)?;
        match self.journal.append(entry) {
            Ok(()) => {}
            Err(AppendError::Refused(error)) => return Err(error),
            Err(AppendError::Torn(error)) => {
                self.broken = Some(error.to_string());
                return Err(error);
            }
        }
        note(&mut self.changed, entry.collection());
        let points = entry.points();
        self.unsettled = self.unsettled.saturating_add(points);
        if let Entry::Upsert(Collection::Chunks, _) = entry {
            self.unsealed = self.unsealed.saturating_add(points);
        }
        Ok(())
    }

    /// Brings the list of roots up to date that is kept apart.
    pub(super) fn list_roots(&self) {
        let listed = self.roots().and_then(|roots| self.roster.follow(&roots));
        if let Err(error) = listed {
            warn!(%error, "the list of roots could not be written");
        }
    }

    /// Returns the roots that the engine knows.
    pub(super) fn roots(&self) -> Result<Vec<Root>, StoreError> {
        let mut roots = Vec::new();
        self.shards.roots.each(|payload| {
            // Tests of the store keep other things there.
            roots.extend(serde_json::from_value::<Root>(payload.into()).ok());
            Ok(())
        })?;
        Ok(roots)
    }

    pub(super) fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Returns a number that is another one after each change.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes what every file holds, if everything is on disk and nothing is being rebuilt. A failure
    /// leaves the store as good as it was: its files are not compared at the next start.
    pub(super) fn rest(&mut self) {
        if self.checksums.is_at_rest() {
            return;
        }
        let is_on_disk = self.changed.is_empty() && self.journal.bytes() == 0;
        if self.optimizing || self.marker_stays || self.check().is_err() || !is_on_disk {
            return;
        }
        // Opening changes numbers in memory that the engine writes when it is closed.
        let flush = |collection: &Collection| self.shards.get(*collection).flush();
        let flushed = Collection::ALL.iter().try_for_each(flush);
        let noted = flushed.and_then(|()| self.checksums.rest());
        if let Err(error) = noted.and_then(|()| self.manifest.note_checksums()) {
            warn!(%error, "the checksums of the store could not be written");
        }
    }

    /// Returns about how many points were written or deleted since segments were last settled.
    pub(super) fn unsettled(&self) -> usize {
        self.unsettled
    }

    /// Returns how many chunks were written since the last call of [`Writer::start_optimizing`].
    pub(super) fn unsealed(&self) -> usize {
        self.unsealed
    }

    /// Fails when an earlier failure makes further writes impossible.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match &self.broken {
            None => self.journal.check_place(),
            Some(reason) => {
                let reason = format!("an earlier write failed ({reason}); restart to recover");
                Err(StoreError::Engine { action: "write", reason })
            }
        }
    }

    /// Fails when the disk is nearly full. The engine maps files that are mostly holes: writing to one
    /// when no room is left would end the process.
    pub(super) fn check_room(&self) -> Result<(), StoreError> {
        let path = self.marker.parent().unwrap_or(&self.marker);
        let free = free_bytes(path).map_err(|source| StoreError::io(path, source))?;
        if free < MIN_FREE {
            return Err(StoreError::Full { path: path.to_owned(), wanted: MIN_FREE });
        }
        Ok(())
    }

    /// Stops writing after a change that was journaled but not applied: only replaying the journal
    /// brings the two together again.
    pub(super) fn settle(&mut self, applied: Result<(), StoreError>) -> Result<(), StoreError> {
        if let Err(error) = &applied {
            self.broken = Some(error.to_string());
        }
        applied
    }

    /// Puts everything on disk: in the engine, or in the journal while the engine must not flush.
    pub(super) fn flush(&mut self) -> Result<(), StoreError> {
        if self.optimizing { self.journal.sync() } else { self.checkpoint() }
    }

    /// Returns whether the journal has grown so far that writers should wait for the optimizer.
    pub(super) fn overfull(&self) -> bool {
        self.optimizing && 8 * CHECKPOINT_BYTES <= self.journal.bytes()
    }

    /// Notes that segments are about to be rebuilt. Everything must have been flushed.
    pub(super) fn start_optimizing(&mut self, rebuild: Rebuild) -> Result<(), StoreError> {
        self.checksums.disturb()?;
        self.changes += 1;
        atomic::replace(&self.marker, b"")?;
        self.unsealed = 0;
        if rebuild == Rebuild::Settle {
            self.unsettled = 0;
        }
        self.optimizing = true;
        Ok(())
    }

    /// Notes that rebuilding ended, and which collections it changed.
    pub(super) fn finish_optimizing(
        &mut self,
        rebuilt: Result<Vec<Collection>, StoreError>,
    ) -> Result<(), StoreError> {
        self.optimizing = false;
        self.marker_stays |= rebuilt.is_err();
        for collection in rebuilt? {
            note(&mut self.changed, collection);
        }
        self.checkpoint()?;
        if self.marker_stays { Ok(()) } else { atomic::remove(&self.marker) }
    }

    pub(super) fn optimizing(&self) -> bool {
        self.optimizing
    }

    fn checkpoint(&mut self) -> Result<(), StoreError> {
        if self.optimizing || self.broken.is_some() {
            return Ok(());
        }
        self.journal.check_place()?;
        for collection in &self.changed {
            self.shards.get(*collection).flush()?;
        }
        self.changed.clear();
        if self.journal.bytes() == 0 { Ok(()) } else { self.journal.clear() }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Err(error) = self.flush() {
            // Nothing is lost: the journal is replayed when the store is opened again.
            warn!(%error, "store was closed without flushing");
        }
        self.rest();
    }
}

#[cfg(target_os = "linux")]
fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
fn free_bytes(_: &Path) -> std::io::Result<u64> {
    Ok(u64::MAX)
}

fn note(changed: &mut Vec<Collection>, collection: Collection) {
    if !changed.contains(&collection) {
        changed.push(collection);
    }
}

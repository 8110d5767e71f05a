//! Merges segments on a background thread, so that there are few, and removes deleted records.
//!
//! Reads and writes continue. Stopping does not wait: the next start removes an unfinished segment.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Instant,
};

use codeinfo_core::telemetry;
use tracing::{debug, warn};

use crate::{
    snapshot::LiveSegment,
    writer::{self, IndexWriter},
};

/// Number of segments at which the smallest are merged. A search spends some microseconds on each.
const MIN_SEGMENTS: usize = 12;
/// Number of segments that are merged at a time: each chunk is rewritten once for each eightfold growth.
const SEGMENTS_PER_MERGE: usize = 8;
/// A segment is rewritten when one in this many of its chunks was deleted.
const DELETED_FRACTION: u32 = 4;

/// Owner of the merging thread. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct SegmentMerger {
    writer: Arc<Mutex<IndexWriter>>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl SegmentMerger {
    pub(crate) fn new(writer: Arc<Mutex<IndexWriter>>) -> Self {
        Self { writer, thread: Arc::default() }
    }

    /// Starts to merge if that is worthwhile and nothing is merging. The caller holds the writer.
    pub(crate) fn start_if_useful(&self, writer: &IndexWriter) {
        let mut thread = self.lock_thread();
        let is_busy = thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_busy || choose_mergeable(&writer.current().get().segments).is_empty() {
            return;
        }
        let merger = self.clone();
        match thread::Builder::new()
            .name("store-merger".to_owned())
            .spawn(move || merger.merge_all())
        {
            Ok(started) => *thread = Some(started),
            Err(error) => warn!(%error, "segments cannot be merged"),
        }
    }

    /// Blocks until nothing is being merged.
    pub(crate) fn wait(&self) {
        let thread = self.lock_thread().take();
        if let Some(thread) = thread {
            // A panic was reported when it occurred.
            drop(thread.join());
        }
    }

    /// Merges until it is no longer worthwhile.
    fn merge_all(&self) {
        loop {
            let began = Instant::now();
            let (sources, number, (folder, dimensions)) = {
                let mut writer = self.lock_writer();
                let sources = choose_mergeable(&writer.current().get().segments);
                if sources.is_empty() {
                    return;
                }
                (sources, writer.take_number(), writer.folder_and_dimensions())
            };
            let merged = number
                .and_then(|number| writer::write_merged(&folder, dimensions, &sources, number));
            let finish = |merged| self.lock_writer().finish_merge(&sources, merged);
            let elapsed_ms = telemetry::to_milliseconds(began.elapsed());
            debug!(segments = sources.len(), elapsed_ms, "segments merged");
            if let Err(error) = merged.and_then(finish) {
                warn!(%error, "segments could not be merged");
                return;
            }
        }
    }

    fn lock_writer(&self) -> MutexGuard<'_, IndexWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the segments to merge now: the smallest of many, or those with many deletions.
fn choose_mergeable(segments: &[LiveSegment]) -> Vec<LiveSegment> {
    let on_disk = || segments.iter().filter(|live| live.number.is_some());
    if on_disk().count() >= MIN_SEGMENTS {
        let mut smallest: Vec<LiveSegment> = on_disk().cloned().collect();
        smallest.sort_by_key(LiveSegment::chunk_count);
        smallest.truncate(SEGMENTS_PER_MERGE);
        return smallest;
    }
    let is_worn = |live: &&LiveSegment| {
        live.deleted_chunks.len() * DELETED_FRACTION > live.segment.chunks.len()
    };
    on_disk().filter(is_worn).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use tempfile::TempDir;

    use super::*;
    use crate::{
        IndexError,
        folder::LOCK_FILE,
        manifest::{MANIFEST_FILE, segment_file_name},
        snapshot::Snapshot,
        test_support::{DIMENSIONS, ROOT, chunk, file, id, open},
    };

    /// An index of two segments, with two chunks and a file in each.
    fn create_index() -> (TempDir, PathBuf, IndexWriter) {
        let above = TempDir::new().unwrap();
        let folder = above.path().join("store");
        let mut writer = open(&folder);
        for first in [1, 3] {
            writer.put_chunks(vec![chunk(first), chunk(first + 1)]).unwrap();
            writer.put_files(vec![file(&first.to_string())]).unwrap();
            writer.commit().unwrap();
        }
        (above, folder, writer)
    }

    /// The sources of a merge and its result.
    fn merge(
        writer: &mut IndexWriter,
    ) -> (Vec<LiveSegment>, Result<Option<LiveSegment>, IndexError>) {
        let sources = writer.current().get().segments.clone();
        let number = writer.take_number().unwrap();
        let (folder, _) = writer.folder_and_dimensions();
        let merged = writer::write_merged(&folder, DIMENSIONS, &sources, number);
        (sources, merged)
    }

    /// Chunks by their lines, and paths of files.
    fn read_contents(snapshot: &Snapshot) -> (Vec<u32>, Vec<String>) {
        let chunks = snapshot.chunks(None, None, 100).unwrap();
        let mut files: Vec<String> =
            snapshot.files(ROOT).unwrap().into_iter().map(|file| file.path).collect();
        files.sort();
        (chunks.into_iter().map(|stored| stored.record.start_line).collect(), files)
    }

    fn list_names(folder: &Path, end: &str) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_deleted_while_segments_are_merged_stays_deleted() {
        let (_above, folder, mut writer) = create_index();
        let (sources, merged) = merge(&mut writer);
        writer.remove_chunks(vec![id(2)]);
        writer.put_chunks(vec![chunk(3)]).unwrap();
        writer.remove_files(ROOT, &["1".to_owned()]);
        let expected = (vec![1, 3, 4], vec!["3".to_owned()]);
        writer.finish_merge(&sources, merged.unwrap()).unwrap();
        assert_eq!(read_contents(&writer.current().get()), expected);
        drop(writer);
        let writer = open(&folder);
        assert_eq!(read_contents(&writer.current().get()), expected);
        assert_eq!(writer.current().get().count(None), 3);
    }

    #[test]
    fn a_chunk_that_is_replaced_while_segments_are_merged_survives_a_kill() {
        let (above, folder, mut writer) = create_index();
        let (sources, merged) = merge(&mut writer);
        writer.put_chunks(vec![chunk(1)]).unwrap();
        writer.finish_merge(&sources, merged.unwrap()).unwrap();
        // The files as they are if the process is killed now.
        let killed = above.path().join("killed");
        fs::create_dir(&killed).unwrap();
        for name in list_names(&folder, "") {
            fs::copy(folder.join(&name), killed.join(&name)).unwrap();
        }
        assert_eq!(read_contents(&open(&killed).current().get()).0, [1, 2, 3, 4]);
    }

    #[test]
    fn a_merge_of_segments_that_are_gone_is_dropped_with_its_file() {
        let (_above, folder, mut writer) = create_index();
        let before = read_contents(&writer.current().get());
        let (first, second) = (merge(&mut writer), merge(&mut writer));
        writer.finish_merge(&first.0, first.1.unwrap()).unwrap();
        writer.finish_merge(&second.0, second.1.unwrap()).unwrap();
        assert_eq!(read_contents(&writer.current().get()), before);
        assert_eq!(list_names(&folder, ".segment"), [segment_file_name(3)]);
    }

    #[test]
    fn a_damaged_segment_is_not_merged() {
        let (_above, folder, mut writer) = create_index();
        let before = list_names(&folder, "");
        let path = folder.join(&list_names(&folder, ".segment")[0]);
        let mut bytes = fs::read(&path).unwrap();
        // A body is not compared when the segment is opened.
        bytes[0] ^= 1;
        fs::write(path, bytes).unwrap();
        let error = merge(&mut writer).1.unwrap_err();
        assert!(error.to_string().contains("it is not what was written"), "{error}");
        assert_eq!(list_names(&folder, ""), before);
    }

    #[test]
    fn nothing_is_merged_into_a_folder_that_took_the_place_of_the_store() {
        let (_above, folder, mut writer) = create_index();
        let (sources, merged) = merge(&mut writer);
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(LOCK_FILE), "").unwrap();
        writer.finish_merge(&sources, merged.unwrap()).unwrap_err();
        writer.take_number().unwrap_err();
        drop(writer);
        assert_eq!(list_names(&folder, ""), [LOCK_FILE]);
    }

    #[test]
    fn a_commit_that_fails_leaves_one_segment_for_the_next_try() {
        let (_above, folder, mut writer) = create_index();
        let manifest = folder.join(MANIFEST_FILE);
        let before = fs::read(&manifest).unwrap();
        fs::remove_file(&manifest).unwrap();
        // Nothing can be renamed to it.
        fs::create_dir(&manifest).unwrap();
        writer.put_chunks(vec![chunk(5)]).unwrap();
        for _ in 0..3 {
            writer.commit().unwrap_err();
            assert_eq!(list_names(&folder, ".segment").len(), 3);
        }
        fs::remove_dir(&manifest).unwrap();
        fs::write(&manifest, before).unwrap();
        writer.commit().unwrap();
        drop(writer);
        assert_eq!(read_contents(&open(&folder).current().get()).0, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn many_small_writes_stay_few_segments_in_memory() {
        let (_above, _folder, mut writer) = create_index();
        for number in 10..110 {
            writer.put_chunks(vec![chunk(number)]).unwrap();
            assert!(writer.current().get().segments.len() < 36);
        }
        assert_eq!(writer.current().get().count(None), 104);
    }
}

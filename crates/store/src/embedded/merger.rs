//! Merges segments in the background, on a thread of its own, so that there are few, and what was deleted
//! goes.
//!
//! Reads and writes go on meanwhile. Stopping does not wait: the process may end meanwhile as it may be
//! killed, and the next start removes what was not finished.

use std::{
    sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Instant,
};

use codeinfo_core::telemetry;
use tokio::sync::Mutex;
use tracing::{debug, warn};

use super::{
    state::Live,
    writer::{self, Writer},
};

/// From this many segments on the smallest are merged. A search spends some microseconds on each.
const MANY: usize = 12;
/// How many are merged at a time: each chunk is written again once for each eightfold growth.
const TOGETHER: usize = 8;
/// A segment is written again once one in so many of its chunks was deleted.
const DELETED: u32 = 4;

/// The owner of the thread. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Merger {
    writer: Arc<Mutex<Writer>>,
    thread: Arc<SyncMutex<Option<JoinHandle<()>>>>,
}

impl Merger {
    /// Merges the segments of a writer's store.
    pub(super) fn of(writer: Arc<Mutex<Writer>>) -> Self {
        Self { writer, thread: Arc::default() }
    }

    /// Starts to merge if there is anything worth it and nothing is being merged. The caller holds the
    /// writer, and everything is on disk.
    pub(super) fn start(&self, writer: &mut Writer) {
        let mut thread = self.thread();
        let is_busy = thread.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_busy || wanted(&writer.current().get().segments).is_empty() {
            return;
        }
        let merger = self.clone();
        match thread::Builder::new().name("store-merger".to_owned()).spawn(move || merger.run()) {
            Ok(started) => *thread = Some(started),
            Err(error) => warn!(%error, "segments cannot be merged"),
        }
    }

    /// Waits, blocking, until nothing is being merged.
    pub(super) fn join(&self) {
        let thread = self.thread().take();
        if let Some(thread) = thread {
            // A panic was reported when it happened.
            drop(thread.join());
        }
    }

    /// Merges until nothing is worth it.
    fn run(&self) {
        loop {
            let began = Instant::now();
            let (sources, number, (folder, dimensions)) = {
                let mut writer = self.writer.blocking_lock();
                let sources = wanted(&writer.current().get().segments);
                if sources.is_empty() {
                    return;
                }
                (sources, writer.number(), writer.place())
            };
            let made =
                number.and_then(|number| writer::merged(&folder, dimensions, &sources, number));
            let finish = |made| self.writer.blocking_lock().finish_merge(&sources, made);
            let elapsed_ms = telemetry::to_milliseconds(began.elapsed());
            debug!(segments = sources.len(), elapsed_ms, "segments merged");
            if let Err(error) = made.and_then(finish) {
                warn!(%error, "segments could not be merged");
                return;
            }
        }
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the segments that are to be merged now: the smallest of many, or those with much deleted.
fn wanted(segments: &[Live]) -> Vec<Live> {
    let on_disk = || segments.iter().filter(|live| live.number.is_some());
    if MANY <= on_disk().count() {
        let mut smallest: Vec<Live> = on_disk().cloned().collect();
        smallest.sort_by_key(Live::chunks);
        smallest.truncate(TOGETHER);
        return smallest;
    }
    let is_worn = |live: &&Live| live.segment.chunks.len() < live.deleted_chunks.len() * DELETED;
    on_disk().filter(is_worn).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use tempfile::TempDir;

    use super::{
        super::{
            StoreError,
            fixture::{DIMENSIONS, ROOT, chunk, file, id, open},
            held,
            manifest::{self, segment_file},
            state::State,
        },
        *,
    };

    /// A store of two segments, with two chunks and a file in each.
    fn store() -> (TempDir, PathBuf, Writer) {
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

    /// The sources of a merge, and what it made of them.
    fn merged(writer: &mut Writer) -> (Vec<Live>, Result<Option<Live>, StoreError>) {
        let sources = writer.current().get().segments.clone();
        let number = writer.number().unwrap();
        let (folder, _) = writer.place();
        let made = writer::merged(&folder, DIMENSIONS, &sources, number);
        (sources, made)
    }

    /// Chunks by their lines, and paths of files.
    fn contents(state: &State) -> (Vec<u32>, Vec<String>) {
        let chunks = state.chunks(None, None, 100).unwrap();
        let mut files: Vec<String> =
            state.files(ROOT).unwrap().into_iter().map(|file| file.path).collect();
        files.sort();
        (chunks.into_iter().map(|stored| stored.record.start_line).collect(), files)
    }

    fn names(folder: &Path, end: &str) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_deleted_while_segments_are_merged_stays_deleted() {
        let (_above, folder, mut writer) = store();
        let (sources, made) = merged(&mut writer);
        writer.remove_chunks(vec![id(2)]);
        writer.put_chunks(vec![chunk(3)]).unwrap();
        writer.remove_files(ROOT, &["1".to_owned()]);
        let expected = (vec![1, 3, 4], vec!["3".to_owned()]);
        writer.finish_merge(&sources, made.unwrap()).unwrap();
        assert_eq!(contents(&writer.current().get()), expected);
        drop(writer);
        let writer = open(&folder);
        assert_eq!(contents(&writer.current().get()), expected);
        assert_eq!(writer.current().get().count(None), 3);
    }

    #[test]
    fn a_chunk_that_is_replaced_while_segments_are_merged_survives_a_kill() {
        let (above, folder, mut writer) = store();
        let (sources, made) = merged(&mut writer);
        writer.put_chunks(vec![chunk(1)]).unwrap();
        writer.finish_merge(&sources, made.unwrap()).unwrap();
        // As the files are if the process is killed now.
        let killed = above.path().join("killed");
        fs::create_dir(&killed).unwrap();
        for name in names(&folder, "") {
            fs::copy(folder.join(&name), killed.join(&name)).unwrap();
        }
        assert_eq!(contents(&open(&killed).current().get()).0, [1, 2, 3, 4]);
    }

    #[test]
    fn a_merge_of_segments_that_are_gone_is_dropped_with_its_file() {
        let (_above, folder, mut writer) = store();
        let before = contents(&writer.current().get());
        let (first, second) = (merged(&mut writer), merged(&mut writer));
        writer.finish_merge(&first.0, first.1.unwrap()).unwrap();
        writer.finish_merge(&second.0, second.1.unwrap()).unwrap();
        assert_eq!(contents(&writer.current().get()), before);
        assert_eq!(names(&folder, ".segment"), [segment_file(3)]);
    }

    #[test]
    fn a_damaged_segment_is_not_merged() {
        let (_above, folder, mut writer) = store();
        let before = names(&folder, "");
        let path = folder.join(&names(&folder, ".segment")[0]);
        let mut bytes = fs::read(&path).unwrap();
        // Of a body, which is not compared when it is opened.
        bytes[0] ^= 1;
        fs::write(path, bytes).unwrap();
        let error = merged(&mut writer).1.unwrap_err();
        assert!(error.to_string().contains("it is not what was written"), "{error}");
        assert_eq!(names(&folder, ""), before);
    }

    #[test]
    fn nothing_is_merged_into_a_folder_that_took_the_place_of_the_store() {
        let (_above, folder, mut writer) = store();
        let (sources, made) = merged(&mut writer);
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(held::FILE), "").unwrap();
        writer.finish_merge(&sources, made.unwrap()).unwrap_err();
        writer.number().unwrap_err();
        drop(writer);
        assert_eq!(names(&folder, ""), [held::FILE]);
    }

    #[test]
    fn a_commit_that_fails_leaves_one_segment_for_the_next_try() {
        let (_above, folder, mut writer) = store();
        let manifest = folder.join(manifest::FILE);
        let before = fs::read(&manifest).unwrap();
        fs::remove_file(&manifest).unwrap();
        // Nothing can be renamed to it.
        fs::create_dir(&manifest).unwrap();
        writer.put_chunks(vec![chunk(5)]).unwrap();
        for _ in 0..3 {
            writer.commit().unwrap_err();
            assert_eq!(names(&folder, ".segment").len(), 3);
        }
        fs::remove_dir(&manifest).unwrap();
        fs::write(&manifest, before).unwrap();
        writer.commit().unwrap();
        drop(writer);
        assert_eq!(contents(&open(&folder).current().get()).0, [1, 2, 3, 4, 5]);
    }

    #[test]
    fn many_small_writes_stay_few_segments_in_memory() {
        let (_above, _folder, mut writer) = store();
        for number in 10..110 {
            writer.put_chunks(vec![chunk(number)]).unwrap();
            assert!(writer.current().get().segments.len() < 36);
        }
        assert_eq!(writer.current().get().count(None), 104);
    }
}

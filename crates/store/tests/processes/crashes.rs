//! The embedded store under `kill -9`: a real child process writes, reports what is on disk, and is
//! killed at some moment; all of that must be there, and nothing twice.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use codeinfo_core::TermVector;
use codeinfo_store::{ChunkQuery, DataDirLock, NewChunk, find_lock_holder};
use codeinfo_test_support::{
    embedded::{StoreFolder, open_store},
    store::{self, DIMENSIONS, Store, make_chunk, make_root, make_root_id},
};
use tempfile::TempDir;

/// Set for the child only: the folder to write to, and the number of the round.
const FOLDER: &str = "STORE_CRASH_FOLDER";
const ROUND: &str = "STORE_CRASH_ROUND";
/// Chunks per write.
const BATCH: u64 = 20;
/// Number of later writes after which a write is deleted again.
const KEPT: u64 = 40;
/// Number of writes between two flushes; more than the engine seals by itself.
const FLUSHED: u64 = 5;

#[tokio::test]
async fn what_was_put_on_disk_survives_kill_9() {
    let folder = StoreFolder::new();
    // Early, while segments are merged, and late.
    for (round, flushes) in [1, 21, 12, 31, 4].into_iter().enumerate() {
        let round = round as u64;
        let flushed = run_and_kill(folder.path(), round, flushes);
        let store = open_store(folder.path()).await.unwrap();
        check_round(&store, round, flushed).await;
        assert_no_duplicates(&store).await;
    }
}

#[tokio::test]
async fn a_lock_dies_with_its_holder() {
    let folder = TempDir::new().unwrap();
    let mut child = start_child(folder.path(), "hold_the_lock_until_killed", 0);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("ack locked")));
    let error = DataDirLock::acquire(folder.path()).unwrap_err();
    let expected = format!("in use by process {} at http://127.0.0.1:5010", child.id());
    assert!(error.to_string().contains(&expected), "{error}");
    let held = find_lock_holder(folder.path()).unwrap().unwrap();
    assert_eq!((held.pid, held.mcp_url), (child.id(), None));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(folder.path().join("lock.json").try_exists().unwrap());
    assert_eq!(find_lock_holder(folder.path()).unwrap(), None);
    drop(DataDirLock::acquire(folder.path()).unwrap());
}

/// Compares a round with the number of its flushes. Later writes may be there or not, each
/// write as a whole.
async fn check_round(store: &Store, round: u64, flushed: u64) {
    let written = flushed * FLUSHED;
    let roots = store.roots().await.unwrap();
    let noted: u64 = roots[0].description.as_ref().unwrap().parse().unwrap();
    // The root is put on disk with all that was written before it.
    assert!(noted == written || noted == written + FLUSHED, "{noted} after {written}");
    let written = noted;
    for write in 0..written {
        let is_there = written <= write + KEPT;
        let is_known = is_there == (count_chunks(store, round, write).await == BATCH);
        // Some of those that were deleted next may be missing already.
        let is_next = written <= write + KEPT && write + KEPT <= written + 2 * FLUSHED;
        assert!(is_known || is_next, "write {write} of {written}");
    }
    let newest = store.chunks(Some(make_root_id("newest")), None, 9).await.unwrap();
    let paths: Vec<&str> = newest.iter().map(|stored| stored.record.path.as_str()).collect();
    let possible: Vec<String> =
        (written - 1..written + 2 * FLUSHED).map(|write| chunk_path(round, write)).collect();
    assert!(paths.len() == 1 && possible.contains(&paths[0].to_owned()), "{paths:?}");
    let last = written - 1;
    let terms = TermVector { indices: vec![1], values: vec![1.0] };
    let found =
        store.search(ChunkQuery::lexical(terms, Some(make_root_id("kept")), 10_000)).await.unwrap();
    assert_eq!(found.iter().filter(|hit| hit.record.path == chunk_path(round, last)).count(), 20);
    let to = make_round_vector(round, last, 7).to_vec();
    let found = store.search(ChunkQuery::nearest(to, Some(make_root_id("kept")), 1)).await.unwrap();
    assert!((found[0].score - 1.0).abs() < 1e-3);
}

async fn assert_no_duplicates(store: &Store) {
    let mut after = None;
    let mut read = 0;
    loop {
        let page = store.chunks(None, after, 1000).await.unwrap();
        read += page.len() as u64;
        assert!(page.is_sorted_by(|a, b| a.id < b.id));
        after = page.last().map(|stored| stored.id);
        if page.len() < 1000 {
            break;
        }
    }
    assert_eq!(store.count(None).await.unwrap(), read);
}

async fn count_chunks(store: &Store, round: u64, write: u64) -> u64 {
    let all = store.chunks(Some(make_root_id("kept")), None, 10_000).await.unwrap();
    all.iter().filter(|stored| stored.record.path == chunk_path(round, write)).count() as u64
}

/// Lets a child write, and kills it once it has put everything on disk so often. Returns how often it did.
fn run_and_kill(folder: &Path, round: u64, wanted: u64) -> u64 {
    let mut child = start_child(folder, "write_until_killed", round);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut flushed = 0;
    // Lines in the pipe when the child dies were flushed as well.
    for line in lines {
        // The harness may write in front of the first line.
        flushed += u64::from(line.unwrap().ends_with("ack flushed"));
        if flushed == wanted {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(wanted <= flushed, "the child ended by itself after {flushed}");
    flushed
}

/// Starts this binary again, to run only the function that plays the child.
fn start_child(folder: &Path, child: &str, round: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("crashes::{child}"), "--nocapture"])
        .env(FOLDER, folder)
        .env(ROUND, round.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The child process of [`what_was_put_on_disk_survives_kill_9`]; run as a test it does nothing.
#[tokio::test]
async fn write_until_killed() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let round: u64 = env::var_os(ROUND).unwrap().into_string().unwrap().parse().unwrap();
    let store = open_store(&folder).await.unwrap();
    store.remove_root(make_root_id("kept")).await.unwrap();
    for write in 0.. {
        let mut chunks: Vec<NewChunk> =
            (0..BATCH).map(|n| make_round_chunk(round, write, n)).collect();
        chunks.push(make_chunk(
            1,
            "newest",
            &chunk_path(round, write),
            make_round_vector(round, write, 0),
            &[],
        ));
        store.put_chunks(chunks).await.unwrap();
        if write >= KEPT {
            let ids = (0..BATCH).map(|n| make_round_chunk(round, write - KEPT, n).id);
            store.remove_chunks(ids.collect()).await.unwrap();
        }
        if (write + 1) % FLUSHED == 0 {
            let mut noted = make_root("one");
            (noted.counts.chunks, noted.description) = (0, Some((write + 1).to_string()));
            store.put_root(noted).await.unwrap();
            report_progress("flushed").unwrap();
        }
    }
}

/// The child of [`a_lock_dies_with_its_holder`].
#[test]
fn hold_the_lock_until_killed() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut lock = DataDirLock::acquire(&folder).unwrap();
    let mut held = find_lock_holder(&folder).unwrap().unwrap();
    held.main_url = Some("http://127.0.0.1:5010".to_owned());
    lock.announce(&held).unwrap();
    report_progress("locked").unwrap();
    // Until killed, or until the parent is gone.
    io::stdin().lock().lines().for_each(drop);
}

fn report_progress(what: &str) -> Result<(), io::Error> {
    let mut out = io::stdout().lock();
    writeln!(out, "ack {what}")?;
    out.flush()
}

fn make_round_chunk(round: u64, write: u64, number: u64) -> NewChunk {
    let id = 1000 + (round * 1000 + write) * 100 + number;
    make_chunk(
        id,
        "kept",
        &chunk_path(round, write),
        make_round_vector(round, write, number),
        &[(1, 1.0)],
    )
}

fn chunk_path(round: u64, write: u64) -> String {
    format!("{round}/{write}")
}

fn make_round_vector(round: u64, write: u64, number: u64) -> [f32; DIMENSIONS] {
    store::make_vector(round * 31 + write * 7 + number)
}

//! The embedded store under `kill -9`: a real child process writes, reports what was acknowledged,
//! and is killed at some moment; everything acknowledged must be there.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use codeinfo::{
    domain::Sparse,
    store::{Collection, Field, Filter, Lock, Point, holder},
};
use tempfile::TempDir;

use crate::{
    store_embedded::{Folder, open},
    store_suite::{self, DIMENSIONS, Store, chunk, root},
};

/// Set for the child only: the folder to write to, and the number of the round.
const FOLDER: &str = "STORE_CRASH_FOLDER";
const ROUND: &str = "STORE_CRASH_ROUND";
/// Points per write.
const BATCH: u64 = 20;
/// A write is deleted again when this many more were made.
const KEPT: u64 = 40;

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let folder = Folder::new();
    let mut survivors: Vec<(u64, u64)> = Vec::new();
    // Early, within a rebuild (the child flushes now and then), and late.
    for (round, writes) in [3, 102, 60, 153, 20].into_iter().enumerate() {
        let round = round as u64;
        let told = run_and_kill(folder.path(), round, writes);
        let store = open(folder.path()).await.unwrap();
        let writes = check(&store, round, &told).await;
        survivors.extend(writes.map(|write| (round, write)));
        for (round, write) in &survivors {
            assert_eq!(count(&store, *round, *write).await, BATCH, "round {round}, write {write}");
        }
        nothing_is_there_twice(&store).await;
    }
}

#[tokio::test]
async fn a_lock_dies_with_its_holder() {
    let folder = TempDir::new().unwrap();
    let mut child = start(folder.path(), "hold_the_lock_until_killed", 0);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("ack locked")));
    let error = Lock::acquire(folder.path()).unwrap_err();
    let expected = format!("in use by process {} at http://127.0.0.1:5010", child.id());
    assert!(error.to_string().ends_with(&expected), "{error}");
    let held = holder(folder.path()).unwrap().unwrap();
    assert_eq!((held.pid, held.mcp_url), (child.id(), None));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(folder.path().join("lock.json").try_exists().unwrap());
    assert_eq!(holder(folder.path()).unwrap(), None);
    drop(Lock::acquire(folder.path()).unwrap());
}

/// What the child said before it was killed.
#[derive(Debug, Default)]
struct Told {
    written: u64,
    deleted: u64,
}

/// Compares a round with what was acknowledged. Returns the writes that must be there from now on.
async fn check(store: &Store, round: u64, told: &Told) -> impl Iterator<Item = u64> {
    for write in 0..told.deleted {
        assert_eq!(count(store, round, write).await, 0, "deleted write {write} of {told:?}");
    }
    // One write and one deletion may have been under way.
    let deleting = u64::from(KEPT < told.written);
    let kept = told.deleted + deleting..told.written;
    for write in kept.clone() {
        assert_eq!(count(store, round, write).await, BATCH, "write {write} of {told:?}");
    }
    if let Some(write) = kept.clone().last() {
        let path = Filter::default().with(Field::Path, [path(round, write)]);
        let terms = Sparse { indices: vec![1], values: vec![1.0] };
        assert_eq!(store.lexical(terms, path.clone(), 100).await.unwrap().len(), 20);
        let found = store.nearest(vector(round, write, 7).to_vec(), path, 1).await.unwrap();
        assert_eq!(found[0].id, point(round, write, 7).id);
        assert!((found[0].score - 1.0).abs() < 1e-3);
    }
    // The point that each write replaces: the last acknowledged content, or that of the next write.
    if told.written > 0 {
        let newest = store.scroll(Collection::Chunks, root(["newest"]), None, 9).await.unwrap();
        let paths: Vec<_> = newest.iter().map(|stored| stored.payload["path"].clone()).collect();
        let possible = [told.written - 1, told.written].map(|write| path(round, write));
        assert!(
            paths.len() == 1 && possible.contains(&paths[0].as_str().unwrap().into()),
            "{paths:?}"
        );
    }
    kept
}

async fn nothing_is_there_twice(store: &Store) {
    let mut after = None;
    let mut scrolled = 0;
    loop {
        let page = store.scroll(Collection::Chunks, Filter::default(), after, 1000).await.unwrap();
        scrolled += page.len() as u64;
        after = page.last().map(|stored| stored.id);
        if page.len() < 1000 {
            break;
        }
    }
    assert_eq!(store.count(Collection::Chunks, Filter::default()).await.unwrap(), scrolled);
}

async fn count(store: &Store, round: u64, write: u64) -> u64 {
    let filter = root(["kept"]).with(Field::Path, [path(round, write)]);
    store.count(Collection::Chunks, filter).await.unwrap()
}

/// Lets a child write, and kills it once it has acknowledged `writes`.
fn run_and_kill(folder: &Path, round: u64, writes: u64) -> Told {
    let mut child = start(folder, "write_until_killed", round);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = Told::default();
    // What is in the pipe when the child dies was acknowledged too.
    for line in lines {
        let line = line.unwrap();
        // The harness may write in front of the first line.
        match line.split_once("ack ").map_or("", |(_, said)| said) {
            "written" => told.written += 1,
            "deleted" => told.deleted += 1,
            _ => {}
        }
        if told.written == writes {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(writes <= told.written, "the child ended by itself: {told:?}");
    told
}

/// Starts this binary again, to run only the function that plays the child.
fn start(folder: &Path, child: &str, round: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("store_crash::{child}"), "--nocapture"])
        .env(FOLDER, folder)
        .env(ROUND, round.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The child of [`what_was_acknowledged_survives_kill_9`]; as a test of its own it does nothing.
#[tokio::test]
async fn write_until_killed() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let round: u64 = env::var_os(ROUND).unwrap().into_string().unwrap().parse().unwrap();
    let store = open(&folder).await.unwrap();
    for write in 0.. {
        let mut points: Vec<Point> = (0..BATCH).map(|n| point(round, write, n)).collect();
        points.push(chunk(1, "newest", &path(round, write), vector(round, write, 0), &[]));
        store.upsert(Collection::Chunks, points).await.unwrap();
        acknowledge("written").unwrap();
        if write >= KEPT {
            let path = path(round, write - KEPT);
            let filter = Filter::default().with(Field::Path, [path]);
            store.delete(Collection::Chunks, filter).await.unwrap();
            acknowledge("deleted").unwrap();
        }
        if write % 50 == 49 {
            store.flush().await.unwrap();
        }
    }
}

/// The child of [`a_lock_dies_with_its_holder`].
#[test]
fn hold_the_lock_until_killed() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut lock = Lock::acquire(&folder).unwrap();
    let mut held = holder(&folder).unwrap().unwrap();
    held.main_url = Some("http://127.0.0.1:5010".to_owned());
    lock.announce(&held).unwrap();
    acknowledge("locked").unwrap();
    // Until killed, or until the parent is gone.
    io::stdin().lock().lines().for_each(drop);
}

fn acknowledge(what: &str) -> Result<(), io::Error> {
    let mut out = io::stdout().lock();
    writeln!(out, "ack {what}")?;
    out.flush()
}

fn point(round: u64, write: u64, number: u64) -> Point {
    let id = 1000 + (round * 1000 + write) * 100 + number;
    chunk(id, "kept", &path(round, write), vector(round, write, number), &[(1, 1.0)])
}

fn path(round: u64, write: u64) -> String {
    format!("{round}/{write}")
}

fn vector(round: u64, write: u64, number: u64) -> [f32; DIMENSIONS] {
    store_suite::vector(round * 31 + write * 7 + number)
}

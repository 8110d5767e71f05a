//! The embedded store under `kill -9` before each call of the system that touches a file, and the order in
//! which it asks for its files to be on disk. `strace` kills and lists.

use std::{
    collections::BTreeSet,
    env,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use codeinfo_core::FileRecord;
use codeinfo_test_support::{
    embedded::{
        StoreFolder, damage_file, list_damaged_stores, list_failed_roots, list_names_with_suffix,
        open_store_with_options,
    },
    store::{
        MODEL, Store, load_all_chunks, make_chunk, make_chunk_id, make_file_record, make_root,
        make_root_id, make_vector, put_chunks, read_chunk_numbers,
    },
};

/// Set for the child only: the folder of its store.
const FOLDER: &str = "STORE_CALLS_FOLDER";
/// Calls between which what another process sees of the files differs.
const CALLS: [&str; 3] = ["write", "rename", "unlink"];

/// Chunks by their numbers, files with their versions, and roots.
type StoreContents = (Vec<u64>, Vec<String>, Vec<String>);

async fn open_small_store(folder: &Path) -> Store {
    // A command, which merges nothing in the background.
    open_store_with_options(folder, MODEL, codeinfo_store::OnMismatch::Refuse, [false, true])
        .await
        .unwrap()
}

/// The changes that the child makes. Each ends with a commit.
const CHANGES: usize = 4;

async fn apply_change(store: &Store, number: usize) {
    let one = |count| {
        let mut one = make_root("one");
        one.counts.chunks = count;
        one
    };
    let of = |n, version| make_chunk(n, "one", version, make_vector(n), &[(1, 1.0)]);
    match number {
        0 => {
            put_chunks(store, (1..=20).map(|n| of(n, "x"))).await;
            let files: Vec<FileRecord> =
                (1..=5).map(|n| make_file_record(make_root_id("one"), n, "1")).collect();
            store.put_files(files).await.unwrap();
            store.put_root(one(20)).await.unwrap();
        }
        1 => {
            put_chunks(store, [of(1, "y"), of(21, "y")]).await;
            store.remove_chunks((2..=4).map(make_chunk_id).collect()).await.unwrap();
            store.put_files(vec![make_file_record(make_root_id("one"), 1, "2")]).await.unwrap();
            store
                .remove_files(
                    make_root_id("one"),
                    vec![make_file_record(make_root_id("one"), 2, "1").path],
                )
                .await
                .unwrap();
            store.put_root(one(18)).await.unwrap();
        }
        2 => {
            put_chunks(store, (31..=39).map(|n| make_chunk(n, "two", "x", make_vector(n), &[])))
                .await;
            let mut two = make_root("two");
            two.counts.chunks = 9;
            store.put_root(two).await.unwrap();
        }
        _ => store.remove_root(make_root_id("one")).await.unwrap(),
    }
}

async fn read_contents(store: &Store) -> StoreContents {
    let stored = load_all_chunks(store).await;
    let versions = stored.iter().map(|stored| stored.record.path.clone());
    let files = store.files(make_root_id("one")).await.unwrap();
    let files = files.into_iter().map(|file| format!("{} {}", file.path, file.version));
    let roots = store.roots().await.unwrap();
    let roots = roots.into_iter().map(|root| format!("{} {:?}", root.name, root.last_run));
    let mut texts: Vec<String> = versions.chain(files).collect();
    texts.sort();
    (read_chunk_numbers(&stored), texts, roots.collect())
}

/// Starts this binary again, to run only [`make_the_changes`], under `strace`; `None` where that is not
/// installed.
fn run_traced(folder: &Path, arguments: &[&str]) -> Option<bool> {
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq", "-y"])
        .args(arguments)
        .arg(env::current_exe().unwrap())
        .args(["--exact", "system_calls::make_the_changes", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.status() {
        Ok(status) => Some(status.success()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            writeln!(io::stdout(), "skipped: there is no `strace` here").unwrap();
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The child process; run as a test it does nothing. `strace` counts the calls of each thread separately, so
/// that one thread makes all of them.
#[test]
fn make_the_changes() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    // More than the thread of the harness writes, which is killed at its own.
    let nowhere = || File::options().write(true).open("/dev/null").unwrap();
    let first = move || (0..16).for_each(|_| nowhere().write_all(b"x").unwrap());
    runtime.block_on(async {
        tokio::task::spawn_blocking(first).await.unwrap();
        let changes = if folder.join("manifest.json").try_exists().unwrap() { 0 } else { CHANGES };
        let store = open_small_store(&folder).await;
        for number in 0..changes {
            apply_change(&store, number).await;
        }
    });
}

/// Runs the child and has it killed before one of its calls, by the number among those of a name. Returns
/// whether it came to its end before.
fn run_killed(folder: &Path, name: &str, number: usize) -> Option<bool> {
    let trace = format!("trace={name}");
    let kill = format!("inject={name}:signal=KILL:when={number}");
    let run = || run_traced(folder, &["-o", "/dev/null", "-e", &trace, "-e", &kill]);
    tokio::task::block_in_place(run)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_killed_before_any_call_has_each_change_as_a_whole() {
    let folder = StoreFolder::new();
    let store = open_small_store(folder.path()).await;
    let mut expected = vec![read_contents(&store).await];
    for number in 0..CHANGES {
        apply_change(&store, number).await;
        expected.push(read_contents(&store).await);
    }
    drop(store);
    let mut reached = BTreeSet::new();
    for name in CALLS {
        for number in 1.. {
            let call = (name, number);
            let folder = StoreFolder::new();
            let Some(ended) = run_killed(folder.path(), call.0, call.1) else { return };
            let store = open_small_store(folder.path()).await;
            assert_eq!(store.damage(), None, "killed before {call:?}");
            let seen = read_contents(&store).await;
            let last = expected.iter().position(|expected| *expected == seen);
            assert!(last.is_some(), "killed before {call:?}: {seen:?}");
            assert_eq!(
                list_names_with_suffix(folder.path(), ".tmp"),
                [""; 0],
                "killed before {call:?}"
            );
            reached.extend(last);
            if ended {
                break;
            }
        }
    }
    assert_eq!(reached, (0..=CHANGES).collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_killed_forgets_no_damage() {
    for (file, name) in
        [".segment", "manifest.json"].into_iter().flat_map(|file| CALLS.map(|name| (file, name)))
    {
        for number in 1.. {
            let call = (name, number);
            let folder = StoreFolder::new();
            let store = open_small_store(folder.path()).await;
            apply_change(&store, 0).await;
            drop(store);
            damage_file(folder.path(), file, b"other");
            let Some(ended) = run_killed(folder.path(), call.0, call.1) else { return };
            let store = open_small_store(folder.path()).await;
            let output_text = store.damage().unwrap_or_default();
            assert!(
                output_text.ends_with("repairing: one"),
                "{file}, killed before {call:?}: {output_text}"
            );
            assert_eq!(list_failed_roots(&store).await, ["one"]);
            // A folder that was created for it may be empty.
            assert!(
                list_damaged_stores(folder.path().parent().unwrap()).len() <= 2,
                "{file}, {call:?}"
            );
            if ended {
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_a_manifest_names_is_on_disk_before_it_and_until_the_next_one_is() {
    let folder = StoreFolder::new();
    let log = folder.path().with_extension("log");
    let trace = "trace=openat,fsync,rename,unlink";
    let Some(ended) = run_traced(folder.path(), &["-o", log.to_str().unwrap(), "-e", trace]) else {
        return;
    };
    assert!(ended);
    let at = folder.path().to_str().unwrap();
    let (mut unsynced, mut renames, mut unlinks) = (BTreeSet::new(), 0, 0);
    for line in fs::read_to_string(log).unwrap().lines().filter(|line| line.contains(at)) {
        let path = |at: usize| line.split('"').nth(at).unwrap_or_default().to_owned();
        let (_, call) = line.split_once(' ').unwrap();
        match call.trim_start().split('(').next().unwrap() {
            "openat" if line.contains("O_CREAT") && !path(1).ends_with("lock") => {
                unsynced.insert(path(1));
            }
            "fsync" => {
                let synced = line.split(['<', '>']).nth(1).unwrap();
                unsynced.remove(synced);
            }
            "rename" => {
                assert!(!unsynced.contains(&path(1)), "{line}");
                if path(3).ends_with("manifest.json") {
                    assert_eq!(unsynced, BTreeSet::new(), "{line}");
                    renames += 1;
                }
                let folder = Path::new(&path(3)).parent().unwrap().to_str().unwrap().to_owned();
                unsynced.insert(folder);
            }
            "unlink" if line.contains("= 0") => {
                assert_eq!(unsynced, BTreeSet::new(), "{line}");
                unlinks += 1;
            }
            _ => {}
        }
    }
    assert!(renames > CHANGES && unlinks > 0, "{renames} {unlinks}");
}

//! Damage of the embedded store: every file of small stores is halved, flipped, deleted, emptied or
//! lengthened, and afterwards the same is found as before.

use std::{
    env,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::FileExt,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use codeinfo_core::{LastRun, task::Tasks};
use codeinfo_embed::BuiltinEmbedder;
use codeinfo_test_support::{
    embedded::list_damaged_stores,
    random::next_random,
    searchable::{IndexSnapshot, SearchableStore, build_changed_store, copy_store},
    sources::list_files,
};
use futures_util::{FutureExt, StreamExt, stream};
use tempfile::TempDir;
use tokio::time::timeout;

/// Set to have every file damaged in every way, which takes some minutes.
pub(crate) const ALL: &str = "STORE_DAMAGE_ALL";
/// Set to damage as in an earlier run.
const SEED: &str = "STORE_DAMAGE_SEED";
/// Time limit of one repair; failed files are tried again after a minute.
const TIMEOUT: Duration = Duration::from_secs(50);
/// Number of files of a store that are damaged unless all are.
const SOME: usize = 20;
/// Number of stores that are damaged in parallel.
const SIDE_BY_SIDE: usize = 2;
#[derive(Debug, Clone, Copy)]
enum FileDamage {
    Halve,
    Flip,
    Delete,
    Empty,
    Append,
}

const DAMAGES: [FileDamage; 5] = [
    FileDamage::Halve,
    FileDamage::Flip,
    FileDamage::Delete,
    FileDamage::Empty,
    FileDamage::Append,
];

impl FileDamage {
    fn damage_file(self, path: &Path) {
        if let Self::Delete = self {
            return fs::remove_file(path).unwrap();
        }
        let file = File::options().read(true).write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        match self {
            Self::Halve => file.set_len(length / 2).unwrap(),
            Self::Empty => file.set_len(0).unwrap(),
            Self::Append => file.write_all_at(&[0x5a; 100], length).unwrap(),
            Self::Flip => {
                for at in [0, length / 2, length.saturating_sub(8)] {
                    let mut bytes = [0; 8];
                    let read = file.read_at(&mut bytes, at).unwrap();
                    for byte in &mut bytes {
                        *byte ^= 0xa5;
                    }
                    file.write_all_at(&bytes[..read], at).unwrap();
                }
            }
            Self::Delete => {}
        }
    }
}

pub(crate) fn read_seed() -> u64 {
    let given = env::var_os(SEED).map(|seed| seed.to_str().unwrap().parse().unwrap());
    given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs())
}

/// Damages a file of a copy and has it repaired. Returns how long the longest start took.
async fn repair_damaged_copy(
    file: &Path,
    damage: FileDamage,
    data: &Path,
    before: &IndexSnapshot,
    embedder: &Arc<BuiltinEmbedder>,
    seal_chunks: usize,
) -> Duration {
    let work = TempDir::new().unwrap();
    let copied = work.path().join("data");
    copy_store(data, &copied).await;
    damage.damage_file(&copied.join(file.strip_prefix(data).unwrap()));
    // A repaired store stays repaired.
    let starts = if env::var_os(ALL).is_some() { 2 } else { 1 };
    let mut longest = Duration::ZERO;
    for time in 0..starts {
        let started = Instant::now();
        let harness = SearchableStore::open(&copied, embedder, seal_chunks).await;
        longest = longest.max(started.elapsed());
        let what = format!("{damage:?} {}, start {time}", file.display());
        timeout(TIMEOUT, harness.ingest.repair_damaged_roots()).await.expect(&what).unwrap();
        assert_eq!(harness.store.damage(), None, "{what}");
        assert_eq!(harness.take_snapshot().await, *before, "{what}");
        harness.close().await;
    }
    assert!(
        list_damaged_stores(&copied).len() <= 1,
        "{damage:?} {}: {:?}",
        file.display(),
        list_damaged_stores(&copied)
    );
    longest
}

#[tokio::test(flavor = "multi_thread")]
async fn every_damaged_file_is_noticed_and_its_content_restored() {
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let mut state = read_seed();
    let started_with = state;
    let (mut count, mut failed, mut longest) = (0, Vec::new(), Duration::ZERO);
    for seal_chunks in [4096, 32] {
        let folder = TempDir::new().unwrap();
        let before = build_changed_store(folder.path(), &embedder, seal_chunks).await;
        let data = folder.path().join("data");
        let mut all = list_files(&data.join("store"));
        let has = |extension: &str| {
            all.iter().filter(|path| path.extension().is_some_and(|it| it == extension)).count()
        };
        assert!(1 < has("segment") && 0 < has("deleted"), "{all:?}");
        all.push(data.join("roots.json"));
        let some = |file: &PathBuf| {
            let chosen = [DAMAGES[usize::try_from(next_random(&mut state) % 5).unwrap()]];
            let damages = if env::var_os(ALL).is_some() { &DAMAGES[..] } else { &chosen };
            damages.iter().map(|damage| (file.clone(), *damage)).collect::<Vec<_>>()
        };
        let mut cases: Vec<_> = all.iter().flat_map(some).collect();
        if env::var_os(ALL).is_none() {
            cases.sort_by_cached_key(|_| next_random(&mut state));
            cases.truncate(SOME);
        }
        count += cases.len();
        let run = |(file, damage): (PathBuf, FileDamage)| {
            let (embedder, data, before) = (&embedder, &data, &before);
            async move {
                let case = repair_damaged_copy(&file, damage, data, before, embedder, seal_chunks);
                let ended = AssertUnwindSafe(case).catch_unwind().await;
                ended.map_err(|_| format!("{damage:?} {}", file.display()))
            }
        };
        let mut ended = stream::iter(cases).map(run).buffer_unordered(SIDE_BY_SIDE);
        let mut done = 0;
        while let Some(ended) = ended.next().await {
            done += 1;
            if done % 50 == 0 {
                writeln!(io::stdout(), "{done} of {count}, {failed:?}").unwrap();
            }
            match ended {
                Ok(took) => longest = longest.max(took),
                Err(case) => failed.push(case),
            }
        }
    }
    let peak = peak_bytes();
    writeln!(
        io::stdout(),
        "{count} cases, the longest start {longest:?}, {} MiB of memory",
        peak >> 20
    )
    .unwrap();
    assert!(failed.is_empty(), "{failed:#?} of {count}; {SEED}={started_with}");
    // Otherwise other tests of this process would add to its memory.
    assert!(env::var_os(ALL).is_none() || peak < 3 << 30, "{peak} bytes of memory");
}

#[tokio::test(flavor = "multi_thread")]
async fn completing_a_run_of_one_repository_leaves_the_others() {
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let folder = TempDir::new().unwrap();
    let before = build_changed_store(folder.path(), &embedder, 4096).await;
    let harness = SearchableStore::open(&folder.path().join("data"), &embedder, 4096).await;
    for name in ["valves", "pumps"] {
        let roots = harness.store.roots().await.unwrap();
        let mut root = roots.into_iter().find(|root| root.name == name).unwrap();
        root.last_run = LastRun::Interrupted;
        harness.store.put_root(root).await.unwrap();
        harness.ingest(&folder.path().join("repos").join(name), name).await;
        assert_eq!(harness.take_snapshot().await, before, "{name}");
    }
    harness.close().await;
}

/// Returns the peak memory of this process.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

//! Damage of the embedded store: every file of small stores is halved, flipped, deleted, emptied or
//! lengthened, and afterwards the same is found as before.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::FileExt,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use codeinfo_core::{LastRun, PathMap, Root, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_ingest::{Ingest, IngestRequest, RunState};
use codeinfo_search::{Search, SearchQuery};
use codeinfo_store::{EmbeddedEngine, OnMismatch, Store, StoreMode};
use futures_util::{FutureExt, StreamExt, stream};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

/// Set to have every file damaged in every way, which takes some minutes.
pub(crate) const ALL: &str = "STORE_DAMAGE_ALL";
/// Set to damage as in an earlier run.
const SEED: &str = "STORE_DAMAGE_SEED";
/// How long one repair may take; what fails is tried again after a minute.
const TIMEOUT: Duration = Duration::from_secs(50);
/// How many files of a store are damaged unless all are.
const SOME: usize = 20;
/// How many stores are damaged side by side.
const SIDE_BY_SIDE: usize = 2;
/// What is asked before and after.
const QUESTIONS: [&str; 4] =
    ["valve pressure", "how is the pump started", "fn regulate_7", "notes about the boiler"];

#[derive(Debug, Clone, Copy)]
enum Damage {
    Halve,
    Flip,
    Delete,
    Empty,
    Append,
}

const DAMAGES: [Damage; 5] =
    [Damage::Halve, Damage::Flip, Damage::Delete, Damage::Empty, Damage::Append];

impl Damage {
    fn strike(self, path: &Path) {
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

/// What somebody sees of a store.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) roots: Vec<Root>,
    answers: Vec<Vec<String>>,
    /// Paths and versions of all chunks, by id.
    chunks: BTreeMap<String, (String, String)>,
}

/// A store in use.
pub(crate) struct Harness {
    pub(crate) store: Store,
    pub(crate) ingest: Ingest,
    search: Search,
    tasks: Tasks,
}

impl Harness {
    pub(crate) async fn open(
        data: &Path,
        embedder: &Arc<BuiltinEmbedder>,
        seal_chunks: usize,
    ) -> Self {
        let tasks = Tasks::default();
        let settings = codeinfo_store::EmbeddedStoreSettings {
            seal_chunks,
            background_merge: true,
            repairs: true,
        };
        let (model, dimensions) = (embedder.model().id(), embedder.dimensions().unwrap());
        let (at, refuse) = (data.join("store"), OnMismatch::Refuse);
        let open =
            || EmbeddedEngine::open(&at, &model, dimensions, refuse, &settings, tasks.clone());
        let engine = crate::store_embedded::retried(open).await.unwrap();
        let store = Store::new(engine, StoreMode::Exclusive, tasks.clone());
        let limits =
            codeinfo_ingest::IngestSettings { max_queued_runs: 8, ..crate::ingest_bench::LIMITS };
        let embedder: Arc<dyn Embedder> = Arc::<BuiltinEmbedder>::clone(embedder);
        let ingest = Ingest::new(store.clone(), Arc::clone(&embedder), limits, tasks.clone());
        let search = Search::new(store.clone(), embedder, PathMap::default());
        Self { store, ingest, search, tasks }
    }

    pub(crate) async fn ingest(&self, path: &Path, name: &str) {
        let description = Some(format!("the {name} of the boiler"));
        let request = IngestRequest {
            path: path.to_owned(),
            name: Some(name.to_owned()),
            description,
            ..IngestRequest::default()
        };
        let run = self.ingest.start_run(request).await.unwrap();
        let mut status = self.ingest.watch_run(run).unwrap();
        let ended = status.wait_for(|status| status.state.is_final()).await.unwrap().state;
        assert!(matches!(ended, RunState::Completed | RunState::Skipped), "{ended:?}");
    }

    pub(crate) async fn look(&self) -> Seen {
        let mut roots = self.store.roots().await.unwrap();
        for root in &mut roots {
            (root.last_ingest_at, root.changed_at, root.counts.embedded) = (None, None, 0);
        }
        let mut answers = Vec::new();
        for question in QUESTIONS {
            let query = SearchQuery::new(question, None, Some(10)).unwrap();
            let found = self.search.find_chunks(&query).await.unwrap();
            let line = |hit: codeinfo_core::Hit| {
                format!("{}/{}:{}-{}", hit.repo, hit.rel_path, hit.start_line, hit.end_line)
            };
            answers.push(found.hits.into_iter().map(line).collect());
        }
        let all = self.store.chunks(None, None, 10_000).await.unwrap();
        let chunks = all
            .into_iter()
            .map(|stored| (stored.id.to_string(), (stored.record.path, stored.record.version)));
        Seen { roots, answers, chunks: chunks.collect() }
    }

    pub(crate) async fn close(self) {
        assert!(self.tasks.stop(Duration::from_mins(1)).await);
        self.store.flush().await.unwrap();
    }
}

/// A store of two repositories, with changes and a deletion, closed.
pub(crate) async fn build(
    folder: &Path,
    embedder: &Arc<BuiltinEmbedder>,
    seal_chunks: usize,
) -> Seen {
    let repos = folder.join("repos");
    for (name, word) in [("valves", "valve"), ("pumps", "pump")] {
        fs::create_dir_all(repos.join(name)).unwrap();
        for number in 0..40 {
            let text = format!(
                "/// Has the {word} {number} started when the pressure is right.\n\
                 fn regulate_{number}() {{\n    {word}_{number}.open();\n}}\n"
            );
            fs::write(repos.join(name).join(format!("{word}{number}.rs")), text).unwrap();
        }
    }
    let data = folder.join("data");
    fs::create_dir(&data).unwrap();
    let harness = Harness::open(&data, embedder, seal_chunks).await;
    for name in ["valves", "pumps"] {
        harness.ingest(&repos.join(name), name).await;
    }
    fs::write(repos.join("valves/notes.md"), "# Notes\n\nAbout the boiler.\n").unwrap();
    fs::write(repos.join("valves/valve3.rs"), "/// Is another one.\nfn regulate_99() {}\n")
        .unwrap();
    fs::remove_file(repos.join("pumps/pump5.rs")).unwrap();
    for name in ["valves", "pumps"] {
        harness.ingest(&repos.join(name), name).await;
    }
    let seen = harness.look().await;
    assert_eq!(seen.roots.len(), 2);
    assert!(seen.answers.iter().all(|answer| !answer.is_empty()), "{seen:?}");
    harness.close().await;
    seen
}

pub(crate) fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Copies a store with its holes.
pub(crate) async fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-a", "--sparse=always"]).args([from, to]).status();
    assert!(copied.await.unwrap().success());
}

/// The next of a row of numbers that follow from a seed (`SplitMix64`).
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) fn seed() -> u64 {
    let given = env::var_os(SEED).map(|seed| seed.to_str().unwrap().parse().unwrap());
    given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs())
}

/// Names of what was moved out of the way.
pub(crate) fn aside(data: &Path) -> Vec<String> {
    let names = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| name.starts_with("store.damaged-")).collect()
}

/// Damages a file of a copy and has it repaired. Returns how long the longest start took.
async fn survives(
    (file, damage): (&Path, &Damage),
    (data, before): (&Path, &Seen),
    (embedder, seal_chunks): (&Arc<BuiltinEmbedder>, usize),
) -> Duration {
    let work = TempDir::new().unwrap();
    let copied = work.path().join("data");
    copy(data, &copied).await;
    damage.strike(&copied.join(file.strip_prefix(data).unwrap()));
    // What is repaired stays so.
    let starts = if env::var_os(ALL).is_some() { 2 } else { 1 };
    let mut longest = Duration::ZERO;
    for time in 0..starts {
        let started = Instant::now();
        let harness = Harness::open(&copied, embedder, seal_chunks).await;
        longest = longest.max(started.elapsed());
        let what = format!("{damage:?} {}, start {time}", file.display());
        timeout(TIMEOUT, harness.ingest.repair_damaged_roots()).await.expect(&what).unwrap();
        assert_eq!(harness.store.damage(), None, "{what}");
        assert_eq!(harness.look().await, *before, "{what}");
        harness.close().await;
    }
    assert!(aside(&copied).len() <= 1, "{damage:?} {}: {:?}", file.display(), aside(&copied));
    longest
}

#[tokio::test(flavor = "multi_thread")]
async fn every_damaged_file_is_noticed_and_what_it_held_is_found_again() {
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let mut state = seed();
    let started_with = state;
    let (mut count, mut failed, mut longest) = (0, Vec::new(), Duration::ZERO);
    for seal_chunks in [4096, 32] {
        let folder = TempDir::new().unwrap();
        let before = build(folder.path(), &embedder, seal_chunks).await;
        let data = folder.path().join("data");
        let mut all = Vec::new();
        files(&data.join("store"), &mut all);
        let has = |extension: &str| {
            all.iter().filter(|path| path.extension().is_some_and(|it| it == extension)).count()
        };
        assert!(1 < has("segment") && 0 < has("deleted"), "{all:?}");
        all.push(data.join("roots.json"));
        let some = |file: &PathBuf| {
            let chosen = [DAMAGES[usize::try_from(next(&mut state) % 5).unwrap()]];
            let damages = if env::var_os(ALL).is_some() { &DAMAGES[..] } else { &chosen };
            damages.iter().map(|damage| (file.clone(), *damage)).collect::<Vec<_>>()
        };
        let mut cases: Vec<_> = all.iter().flat_map(some).collect();
        if env::var_os(ALL).is_none() {
            cases.sort_by_cached_key(|_| next(&mut state));
            cases.truncate(SOME);
        }
        count += cases.len();
        let run = |(file, damage): (PathBuf, Damage)| {
            let (embedder, data, before) = (&embedder, &data, &before);
            async move {
                let case = survives((&file, &damage), (data, before), (embedder, seal_chunks));
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
    // Otherwise other tests of this process take memory, too.
    assert!(env::var_os(ALL).is_none() || peak < 3 << 30, "{peak} bytes of memory");
}

#[tokio::test(flavor = "multi_thread")]
async fn completing_a_run_of_one_repository_leaves_the_others() {
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let folder = TempDir::new().unwrap();
    let before = build(folder.path(), &embedder, 4096).await;
    let harness = Harness::open(&folder.path().join("data"), &embedder, 4096).await;
    for name in ["valves", "pumps"] {
        let roots = harness.store.roots().await.unwrap();
        let mut root = roots.into_iter().find(|root| root.name == name).unwrap();
        root.last_run = LastRun::Interrupted;
        harness.store.put_root(root).await.unwrap();
        harness.ingest(&folder.path().join("repos").join(name), name).await;
        assert_eq!(harness.look().await, before, "{name}");
    }
    harness.close().await;
}

/// The most memory that this process had at once.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

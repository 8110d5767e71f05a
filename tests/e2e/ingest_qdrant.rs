//! Ingest into a store that a Qdrant server keeps: connections and leases are lost in the middle of a run,
//! and several processes work side by side.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use codeinfo_core::{LastRun, Root, task::Tasks};
use codeinfo_embed::{BuiltinEmbedder, Embedder};
use codeinfo_ingest::{Ingest, IngestRequest, RunState, RunStatus};
use codeinfo_store::{Store, StoreMode};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

use crate::{
    ingest_bench::Faults,
    support::{
        process::{Environment, Program, fresh, run},
        qdrant::{Problem, Rule, StandIn, VERSION, fixture::Fixture, tls},
    },
};

/// Far more than any wait here takes.
const LIMIT: Duration = Duration::from_mins(3);

/// One process of several: a store and an ingest of its own.
pub(crate) struct Process {
    pub(crate) store: Store,
    pub(crate) ingest: Ingest,
}

impl Process {
    pub(crate) async fn new(fixture: &Fixture, owner: &str) -> Self {
        Self::with(fixture, owner, &Arc::default()).await
    }

    /// Returns one whose writes these faults happen to.
    pub(crate) async fn with(fixture: &Fixture, owner: &str, faults: &Arc<Faults>) -> Self {
        let tasks = Tasks::default();
        let embedder = BuiltinEmbedder::load(tasks.clone()).unwrap();
        let (id, dimensions) = (embedder.model().id(), embedder.dimensions().unwrap());
        let engine = fixture.open_engine(&id, dimensions, owner, &tasks).await.unwrap();
        let engine = faults.before(Arc::new(engine), None);
        let store = Store::with_engine(engine, StoreMode::Shared, tasks.clone());
        let limits =
            codeinfo_ingest::IngestSettings { max_queued_runs: 8, ..crate::ingest_bench::LIMITS };
        let ingest = Ingest::new(store.clone(), Arc::new(embedder), limits, tasks);
        Self { store, ingest }
    }

    pub(crate) async fn ingest(&self, path: &Path) -> RunStatus {
        let request = IngestRequest { path: path.to_owned(), ..IngestRequest::default() };
        let run = self.ingest.start_run(request).await.unwrap();
        let mut status = self.ingest.watch_run(run).unwrap();
        status.wait_for(|status| status.state.is_final()).await.unwrap().clone()
    }

    /// Ids of all chunks, which say which path and version they are of.
    async fn chunks(&self) -> Vec<Uuid> {
        let all = self.store.chunks(None, None, 10_000);
        all.await.unwrap().into_iter().map(|chunk| chunk.id).collect()
    }

    async fn roots(&self) -> Vec<Root> {
        self.store.roots().await.unwrap()
    }

    /// Waits until the only repository says so of its last run.
    async fn until_last_run(&self, is_reached: impl Fn(&LastRun) -> bool) {
        let reaching = async {
            while !self.roots().await.first().is_some_and(|root| is_reached(&root.last_run)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(LIMIT, reaching).await.unwrap();
    }
}

/// A repository with so many files that a run writes several times.
fn repository(version: &str) -> TempDir {
    let folder = fresh();
    write_all(folder.path(), version);
    folder
}

fn write_all(folder: &Path, version: &str) {
    for file in 0..120 {
        let functions = (0..8).map(|n| {
            let body = format!("    let pump = \"{version} {file} {n}\";\n").repeat(20);
            format!("/// Fills tank {n}.\nfn fill_{file}_{n}() {{\n{body}}}\n\n")
        });
        let text: String = functions.collect();
        fs::write(folder.join(format!("tank_{file:03}.rs")), text).unwrap();
    }
}

fn fixture(stand_in: &StandIn) -> Fixture {
    let mut fixture = Fixture::for_stand_in(stand_in);
    fixture.settings.retry = Duration::from_secs(5);
    fixture
}

fn cut_after(writes: usize) -> Rule {
    Rule { call: "upsert", of: "_chunks_", after: writes, times: 1, problem: Problem::Cut }
}

/// Waits until the stand-in has shut its doors.
async fn until_cut(stand_in: &StandIn) {
    while stand_in.is_open(0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_when_the_connection_comes_back() {
    let stand_in = StandIn::start();
    let fixture = fixture(&stand_in);
    let process = Process::new(&fixture, "a").await;
    let repository = repository("one");
    stand_in.rule(cut_after(3));
    let back = async {
        until_cut(&stand_in).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        stand_in.open(0);
    };
    let (status, ()) = tokio::join!(process.ingest(repository.path()), back);
    assert_eq!((status.state, status.last_error), (RunState::Completed, None));
    let chunks = process.chunks().await;
    assert_eq!(chunks.len() as u64, status.counts.chunks);
    // What was written twice is there once: another store that lost nothing holds the same.
    let other = Fixture::for_stand_in(&stand_in);
    let undisturbed = Process::new(&other, "b").await;
    undisturbed.ingest(repository.path()).await;
    assert_eq!(undisturbed.chunks().await, chunks);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_its_store_says_so() {
    let stand_in = StandIn::start();
    let fixture = fixture(&stand_in);
    let process = Process::new(&fixture, "a").await;
    let repository = repository("one");
    stand_in.rule(cut_after(3));
    let request = IngestRequest { path: repository.path().to_owned(), ..IngestRequest::default() };
    let run = process.ingest.start_run(request).await.unwrap();
    let told = loop {
        let status = process.ingest.run_status(run).unwrap();
        assert!(!status.state.is_final(), "{status:?}");
        match status.message {
            Some(message) => break message,
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    let waiting = "trying again: cannot use the index: Qdrant at `http://127.0.0.1:";
    assert!(told.starts_with(waiting) && told.contains("cannot be reached"), "{told}");
    stand_in.open(0);
    let mut status = process.ingest.watch_run(run).unwrap();
    let ended = status.wait_for(|status| status.state.is_final()).await.unwrap().clone();
    assert_eq!((ended.state, ended.message), (RunState::Completed, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_store_is_gone_fails_clearly_and_begins_again_when_it_is_back() {
    let stand_in = StandIn::start();
    let mut fixture = fixture(&stand_in);
    fixture.settings.retry = Duration::from_millis(300);
    let process = Process::new(&fixture, "a").await;
    let repository = repository("one");
    let first = process.ingest(repository.path()).await;
    assert_eq!(first.state, RunState::Completed, "{first:?}");
    let before = process.chunks().await;

    write_all(repository.path(), "two");
    stand_in.rule(cut_after(4));
    let failed = process.ingest(repository.path()).await;
    assert_eq!(failed.state, RunState::Error);
    let error = failed.last_error.unwrap();
    assert!(error.starts_with("cannot write the index: Qdrant at `http://127.0.0.1:"), "{error}");
    assert!(error.contains("cannot be reached"), "{error}");
    assert!(error.ends_with("the run begins again when the index can be used"), "{error}");

    stand_in.open(0);
    process.until_last_run(LastRun::is_completed).await;
    assert_ne!(process.chunks().await, before);
    let other = Fixture::for_stand_in(&stand_in);
    let undisturbed = Process::new(&other, "b").await;
    undisturbed.ingest(repository.path()).await;
    assert_eq!(process.chunks().await, undisturbed.chunks().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_run_that_wrote_nothing_begins_again_too() {
    let stand_in = StandIn::start();
    let mut fixture = fixture(&stand_in);
    fixture.settings.retry = Duration::from_millis(300);
    let process = Process::new(&fixture, "a").await;
    let repository = repository("one");
    // After what is read to accept the run.
    let problem = Problem::Refuse(tonic::Code::Unavailable);
    stand_in.rule(Rule { call: "scroll", of: "_roots_", after: 1, times: usize::MAX, problem });
    let failed = process.ingest(repository.path()).await;
    assert_eq!(failed.state, RunState::Error, "{failed:?}");
    stand_in.forgive();
    process.until_last_run(LastRun::is_completed).await;
    assert_eq!(process.roots().await[0].counts.files, 120);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_fails_by_decides_whether_it_begins_again() {
    let stand_in = StandIn::start();
    let mut fixture = fixture(&stand_in);
    fixture.settings.retry = Duration::from_millis(300);
    let process = Process::new(&fixture, "a").await;
    let repository = repository("one");
    let fail_with = |code| {
        let problem = Problem::Refuse(code);
        stand_in.rule(Rule {
            call: "upsert",
            of: "_chunks_",
            after: 1,
            times: usize::MAX,
            problem,
        });
    };
    // The next process continues it, and this one tries again.
    fail_with(tonic::Code::Unavailable);
    process.ingest(repository.path()).await;
    let resumes = |last_run: &LastRun| matches!(last_run, LastRun::Failed { resumes: true, .. });
    process.until_last_run(resumes).await;
    let tried = stand_in.calls("upsert", "_chunks_");
    while stand_in.calls("upsert", "_chunks_") == tried {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // One that the server refuses would be refused again.
    stand_in.forgive();
    fail_with(tonic::Code::InvalidArgument);
    let is_final = |last_run: &LastRun| matches!(last_run, LastRun::Failed { resumes: false, .. });
    process.until_last_run(is_final).await;
    let tried = stand_in.calls("upsert", "_chunks_");
    Process::new(&fixture, "a").await.ingest.repair_damaged_roots().await.unwrap();
    assert_eq!(stand_in.calls("upsert", "_chunks_"), tried);
    assert!(is_final(&process.roots().await[0].last_run));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_loses_its_lease_ends_and_writes_no_more() {
    let stand_in = StandIn::with_doors(2);
    let mut fixture = fixture(&stand_in);
    let [a_url, b_url] = <[String; 2]>::try_from(stand_in.urls()).unwrap();
    fixture.settings.urls = vec![a_url];
    fixture.settings.lease = Duration::from_secs(6);
    // Longer than the lease, so that it is the lease that ends the run.
    fixture.settings.retry = Duration::from_secs(20);
    let a = Process::new(&fixture, "a").await;
    let repository = repository("one");
    stand_in.rule(cut_after(2));
    let failed = a.ingest(repository.path()).await;
    assert_eq!(failed.state, RunState::Error);
    let error = failed.last_error.unwrap();
    assert!(error.starts_with("the lease of the repository was lost"), "{error}");
    // For the other process only: this one would begin again.
    stand_in.open(1);
    fixture.settings.urls = vec![b_url];
    fixture.settings.lease = Duration::from_mins(1);
    // Started again on the same data folder, so that it need not wait for its own former lease.
    let b = Process::new(&fixture, "a").await;
    let writes = stand_in.calls("upsert", "_files_");
    let status = b.ingest(repository.path()).await;
    assert_eq!((status.state, &status.last_error), (RunState::Completed, &None));
    assert!(writes < stand_in.calls("upsert", "_files_"));
    let chunks = b.chunks().await;
    assert_eq!(chunks.len() as u64, status.counts.chunks);
    // The first one knows what the second one wrote, and begins again to find nothing to do.
    stand_in.open(0);
    let skipping = async {
        while a.ingest.list_roots().await.unwrap()[0].state != RunState::Skipped {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, skipping).await.unwrap();
    assert_eq!((a.roots().await, a.chunks().await), (b.roots().await, chunks));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_asked_for_a_root_at_once_do_it_once() {
    let fixture = Fixture::new();
    let (a, b) = (Process::new(&fixture, "a").await, Process::new(&fixture, "b").await);
    let repository = repository("one");
    let (first, second) = tokio::join!(a.ingest(repository.path()), b.ingest(repository.path()));
    let mut states = [first.state, second.state];
    states.sort_by_key(|state| *state != RunState::Completed);
    assert_eq!(states, [RunState::Completed, RunState::Skipped], "{first:?} {second:?}");
    let embedded = first.counts.embedded + second.counts.embedded;
    assert_eq!(embedded, a.chunks().await.len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_a_root_that_another_process_works_on_is_told_so() {
    let stand_in = StandIn::start();
    let mut fixture = fixture(&stand_in);
    fixture.settings.lease = Duration::from_secs(2);
    let (a, b) = (Process::new(&fixture, "a").await, Process::new(&fixture, "b").await);
    let repository = repository("one");
    let slow = Problem::Delay(Duration::from_millis(400));
    stand_in.rule(Rule { call: "upsert", of: "_chunks_", after: 0, times: 48, problem: slow });
    let later = async {
        while stand_in.calls("upsert", "_chunks_") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let refused = b.ingest(repository.path()).await;
        let shown = b.ingest.list_roots().await.unwrap();
        (refused, shown, b.ingest.remove_root(repository.path().to_str().unwrap()).await)
    };
    let (done, (refused, shown, removed)) = tokio::join!(a.ingest(repository.path()), later);
    assert_eq!((done.state, refused.state), (RunState::Completed, RunState::Error));
    let told = "the repository is being changed by process a; try again when that has ended";
    assert_eq!(refused.last_error.unwrap(), told);
    assert_eq!(
        (shown[0].state, &shown[0].root.last_run),
        (RunState::Embedding, &LastRun::Completed)
    );
    assert_eq!(removed.err().unwrap().to_string(), told);
    // What one process was answered is not what the other one sees.
    let shown = a.ingest.list_roots().await.unwrap();
    assert!(shown.iter().all(|status| status.root.last_run.is_completed()), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_removed_keeps_neither_name_nor_state() {
    let fixture = Fixture::new();
    let (a, b) = (Process::new(&fixture, "a").await, Process::new(&fixture, "b").await);
    let folders = fresh();
    let folder = |name: &str| -> PathBuf {
        let folder = folders.path().join(name).join("pumps");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("pump.rs"), format!("fn pump_{name}() {{}}\n")).unwrap();
        folder
    };
    let (one, two) = (folder("one"), folder("two"));
    assert_eq!(a.ingest(&one).await.root, "pumps");
    let seen: Vec<String> = b.roots().await.into_iter().map(|root| root.name).collect();
    assert_eq!(seen, ["pumps"]);
    b.ingest.remove_root("pumps").await.unwrap();
    assert_eq!(a.ingest.list_roots().await.unwrap(), []);
    // The name is free again, also where it was given first.
    assert_eq!(a.ingest(&two).await.root, "pumps");
    assert_eq!(b.ingest(&one).await.root, "pumps-2");
}

/// Settings of a program whose store is in `fixture`.
pub(crate) fn environment(fixture: &Fixture) -> Environment {
    let settings = &fixture.settings;
    let mut environment = vec![
        ("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned()),
        ("QDRANT_URL".to_owned(), settings.urls.join(",")),
        ("QDRANT_COLLECTION".to_owned(), settings.collection.clone()),
        ("QDRANT_SHARDS".to_owned(), "1".to_owned()),
        ("QDRANT_SHARED_PATHS".to_owned(), settings.shared_paths.to_string()),
        ("QDRANT_RETRY_SECS".to_owned(), "2".to_owned()),
    ];
    if let Some(key) = &settings.api_key {
        environment.push(("QDRANT_API_KEY".to_owned(), key.expose().to_owned()));
    }
    environment
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_on_one_store_see_each_others_repositories() {
    let fixture = Fixture::new();
    let environment = environment(&fixture);
    let (data, repository) = ([fresh(), fresh()], repository("one"));
    let paths: [&Path; 0] = [];
    let start = |data: &TempDir| {
        let (data, environment) = (data.path().to_owned(), environment.clone());
        async move { Program::serve(&data, &paths, &environment).await }
    };
    let programs = join_all(data.iter().map(start)).await;
    let [a, b] = &programs[..] else { panic!() };
    // Asked at once, one of them does it; the other one waits for it and finds nothing to do.
    let path = repository.path();
    let ended = tokio::join!(a.ingest(path), b.ingest(path));
    let embedded = |status: &Value| status["counts"]["embedded"].as_u64().unwrap();
    let states = [&ended.0["state"], &ended.1["state"]];
    assert!(
        states.contains(&&json!("completed")) && states.contains(&&json!("skipped")),
        "{ended:?}"
    );
    assert_eq!(embedded(&ended.0).min(embedded(&ended.1)), 0);
    for program in [a, b] {
        let health = program.read("/health").await;
        let store = &health["store"];
        assert_eq!((&store["backend"], &store["ok"]), (&json!("qdrant"), &json!(true)));
        assert_eq!(store["chunks"].as_u64().unwrap(), embedded(&ended.0) + embedded(&ended.1));
        let roots = program.read("/ingest/roots").await;
        assert_eq!(roots["roots"][0]["path"], json!(path.canonicalize().unwrap()), "{roots}");
        let query = json!({ "query": "fill_7_3" });
        let found = program.api("/tools/vector-search", &query).await;
        assert_eq!(found["results"][0]["relPath"], "tank_007.rs", "{found}");
    }
    // One command works beside them, on a folder of its own.
    let own = fresh();
    let said = run(own.path(), &environment, &["search", "fill_7_3"]).await;
    assert!(String::from_utf8_lossy(&said.stdout).contains("tank_007.rs"), "{said:?}");
    let id = a.read("/ingest/roots").await["roots"][0]["id"].as_str().unwrap().to_owned();
    b.api(&format!("/ingest/remove/{id}"), &json!({})).await;
    assert_eq!(a.read("/ingest/roots").await["roots"], json!([]));
    for program in programs {
        assert!(program.terminate().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_encrypted_and_the_certificate_is_checked() {
    let stand_in = StandIn::encrypted();
    stand_in.require("right");
    let data = fresh();
    let mut environment: Environment = vec![
        ("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned()),
        ("QDRANT_URL".to_owned(), stand_in.urls().concat()),
        ("QDRANT_API_KEY".to_owned(), "right".to_owned()),
    ];
    let doctor = async |environment: &Environment| {
        let said = run(data.path(), environment, &["doctor"]).await.stdout;
        String::from_utf8(said).unwrap()
    };
    let untrusted = doctor(&environment).await;
    let store = untrusted.lines().find(|line| line.starts_with("FAIL  store: ")).unwrap();
    let distrusted =
        "cannot be reached (its certificate is not trusted: UnknownIssuer; see `SSL_CERT_FILE`)";
    assert!(store.contains(distrusted), "{store}");
    assert!(!untrusted.contains("nothing is indexed"), "nobody knows: {untrusted}");
    environment.push(("SSL_CERT_FILE".to_owned(), tls("ca.pem").to_str().unwrap().to_owned()));
    let trusted = doctor(&environment).await;
    assert!(trusted.contains(&format!("ok    store: qdrant {VERSION}, 0 chunks\n")), "{trusted}");
    assert!(trusted.contains("nothing is indexed yet"), "{trusted}");
    environment[2].1 = "wrong".to_owned();
    let refused = doctor(&environment).await;
    let store = refused.lines().find(|line| line.starts_with("FAIL  store: Qdrant at ")).unwrap();
    assert!(store.contains("set `QDRANT_API_KEY`"), "{store}");
    assert!(refused.contains("ok    embedder: "), "{refused}");
    let unencrypted = StandIn::start();
    environment[1].1 = unencrypted.urls().concat().replace("http://", "https://");
    let plain = doctor(&environment).await;
    assert!(
        plain.contains("cannot be reached (it speaks no TLS, which `https://` asks for)"),
        "{plain}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_starts_without_its_store_and_finds_it_later() {
    let stand_in = StandIn::start();
    let fixture = Fixture::for_stand_in(&stand_in);
    let environment = environment(&fixture);
    stand_in.shut(0);
    let (data, repository) = (fresh(), fresh());
    fs::write(repository.path().join("pump.rs"), "fn pump() {}\n").unwrap();
    let program = Program::serve(data.path(), &[], &environment).await;
    let index = program.said.iter().find(|line| line.starts_with("Index")).unwrap();
    assert!(index.contains("away: ") && index.contains("cannot be reached"), "{index}");
    let health = program.read("/health").await;
    assert_eq!((&health["status"], &health["store"]["ok"]), (&json!("degraded"), &json!(false)));
    let reason = health["store"]["reason"].as_str().unwrap();
    assert!(reason.contains("`QDRANT_URL` names its gRPC port"), "{reason}");
    let started = Instant::now();
    let start = program.api("/ingest/start", &json!({ "path": repository.path() })).await;
    let search = program.api("/tools/vector-search", &json!({ "query": "pump" })).await;
    assert_eq!(start["error"], "STORE_UNAVAILABLE", "{start}");
    assert_eq!(search["error"], "STORE_UNAVAILABLE", "{search}");
    let message = search["message"].as_str().unwrap();
    assert!(message.starts_with("cannot search: Qdrant at `http://"), "{message}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let doctor = run(data.path(), &environment, &["doctor"]).await;
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert_eq!(doctor.status.code(), Some(1));
    assert!(said.contains("FAIL  store: cannot use the index: Qdrant at `http://"), "{said}");

    stand_in.open(0);
    assert_eq!(program.ingest(repository.path()).await["state"], "completed");
    let health = program.read("/health").await;
    assert_eq!(health["store"]["version"], VERSION);
    assert_eq!(health["store"]["chunks"], 1);
    let doctor = run(data.path(), &environment, &["doctor"]).await;
    let said = String::from_utf8(doctor.stdout).unwrap();
    let expected = format!("ok    store: qdrant {VERSION}, 1 chunk");
    assert!(said.contains(&expected), "{said}");
    assert!(program.terminate().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn people_see_how_many_copies_a_cluster_has_and_what_to_do() {
    let stand_in = StandIn::with_doors(2);
    let fixture = Fixture::for_stand_in(&stand_in);
    let mut environment = environment(&fixture);
    environment.push(("QDRANT_REPLICATION".to_owned(), "2".to_owned()));
    let data = fresh();
    let paths: [&Path; 0] = [];
    let program = Program::serve(data.path(), &paths, &environment).await;
    let doctor = async || {
        let said = run(data.path(), &environment, &["doctor"]).await.stdout;
        String::from_utf8(said).unwrap()
    };
    let said = doctor().await;
    let well = format!("ok    store: qdrant {VERSION}, 0 chunks, 2 of 2 copies\n");
    assert!(said.contains(&well) && !said.contains("note  store"), "{said}");
    let chunks = stand_in.collections().into_iter().find(|name| name.contains("_chunks_")).unwrap();
    stand_in.set_copies("_chunks_", 1);
    let store = program.read("/health").await["store"].take();
    let listed = json!({ "collection": chunks, "copies": 1, "wanted": 2 });
    assert_eq!((&store["ok"], &store["copies"][0]), (&json!(true), &listed));
    let warning = store["warning"].as_str().unwrap();
    let expected =
        format!("too few copies for `QDRANT_REPLICATION=2` (`{chunks}` has 1), so that ");
    assert!(warning.starts_with(&expected), "{warning}");
    let said = doctor().await;
    assert!(said.contains("0 chunks, 1 of 2 copies\n"), "{said}");
    assert!(said.contains(&format!("note  store: {warning}\n")), "{said}");
    assert!(warning.ends_with("`codeinfo docs qdrant` says how"), "{warning}");
    stand_in.set_copies("_chunks_", 2);
    stand_in.shut(1);
    let lost = format!("Qdrant at `{}` cannot be reached (", stand_in.urls()[1]);
    let said = doctor().await;
    assert!(said.contains(&format!("note  store: {lost}")), "{said}");
    assert!(said.contains("; other nodes serve\n"), "{said}");
    assert!(program.terminate().await.success());
}

//! Kills `serve --reembed`: repositories that are listed as indexed are, and the next start indexes the others.

use std::{
    env, fs,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use codeinfo_core::LastRun;
use codeinfo_test_support::{
    embeddings::FakeEmbeddingServer,
    qdrant::{FakeQdrant, FaultKind, FaultRule, fixture::QdrantFixture, process::IngestProcess},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Child,
    time::timeout,
};

use crate::support::process::{
    ProgramEnvironment, RunningServer, create_scratch_folder, program_command, qdrant_environment,
    run_command,
};

/// Set to kill before each call, not before some.
const KILLS: &str = "REEMBED_KILLS";
/// Time limit for an index to be complete, and for a server to start.
const TIMEOUT: Duration = Duration::from_mins(3);

/// Two repositories: the names, and a phrase in each.
const REPOSITORIES: [(&str, &str); 2] =
    [("boiler", "relieve pressure"), ("garden", "water plants")];
/// Number of chunks of each of them.
const CHUNKS: u64 = 6;

fn create_repositories() -> TempDir {
    let base = create_scratch_folder();
    for (name, phrase) in REPOSITORIES {
        let folder = base.path().join(name);
        fs::create_dir(&folder).unwrap();
        let function = phrase.replace(' ', "_");
        for number in 0..CHUNKS {
            let text = format!("/// Will {phrase}, {number}.\nfn {function}_{number}() {{}}\n");
            fs::write(folder.join(format!("file{number}.rs")), text).unwrap();
        }
    }
    base
}

/// The two ways in which a server is started in turn. Each needs `--reembed` after the other.
type EnvironmentPair = [ProgramEnvironment; 2];

/// Starts `serve --reembed` and returns at once.
fn start_reembedding(data: &Path, environment: &ProgramEnvironment) -> Child {
    let mut command = program_command(data, environment);
    command.args(["serve", "--reembed"]).stdout(Stdio::piped()).stderr(Stdio::null());
    command.kill_on_drop(true).spawn().unwrap()
}

/// Returns the name, the state, and the number of chunks of each listed root.
async fn list_roots(server: &RunningServer) -> Vec<(String, String, u64)> {
    let listed = server.get_api("/ingest/roots").await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let root = |root: &Value| {
        let chunks = root["counts"]["chunks"].as_u64().unwrap();
        // Nothing was left to do after a late kill.
        let state = text(&root["state"]).replace("skipped", "completed");
        (text(&root["name"]), state, chunks)
    };
    listed["roots"].as_array().unwrap().iter().map(root).collect()
}

/// Waits until both repositories are indexed and found. One that is listed as completed before must be found then.
async fn wait_until_complete(server: &RunningServer, when: &str) {
    let whole = REPOSITORIES.map(|(name, _)| (name.to_owned(), "completed".to_owned(), CHUNKS));
    let waiting = async {
        loop {
            let roots = list_roots(server).await;
            for (name, state, chunks) in &roots {
                let is_there = async || {
                    let phrase = REPOSITORIES.iter().find(|known| known.0 == name).unwrap().1;
                    finds_phrase(server, name, phrase).await
                };
                assert!(state != "completed" || *chunks == CHUNKS, "{when}: {roots:?}");
                assert!(state != "completed" || is_there().await, "{when}: {roots:?}");
            }
            if roots == whole {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let is_whole = timeout(TIMEOUT, waiting).await.is_ok();
    assert!(is_whole, "{when}: never whole: {:#}", server.get_api("/ingest/roots").await);
    assert_eq!(server.get_api("/health").await["store"]["chunks"], 2 * CHUNKS, "{when}");
}

async fn finds_phrase(server: &RunningServer, name: &str, phrase: &str) -> bool {
    let query = json!({ "query": phrase, "repository": name });
    let found = server.post_api("/tools/vector-search", &query).await;
    found["results"].as_array().is_some_and(|results| !results.is_empty())
}

/// Repeats the start until it reports that all is done.
async fn run_to_end(server: &mut Child) {
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.starts_with("Ctrl-C") {
            return;
        }
    }
    panic!("it ended: {:?}", server.wait().await);
}

/// Makes an index in the first of two ways.
async fn create_index(data: &Path, ways: &EnvironmentPair, base: &Path) {
    let folders = REPOSITORIES.map(|(name, _)| base.join(name));
    let server = RunningServer::serve(data, &folders.each_ref().map(AsRef::as_ref), &ways[0]).await;
    wait_until_complete(&server, "at first").await;
    assert!(server.terminate().await.success());
}

/// Starts normally after a kill, until all is there; returns which of two environments the index now has.
async fn recover_index(data: &Path, ways: &EnvironmentPair, wanted: usize, when: &str) -> usize {
    let is_wanted = run_command(data, &ways[wanted], &["repos"]).await.status.success();
    let now = if is_wanted { wanted } else { 1 - wanted };
    let server = RunningServer::serve(data, &[], &ways[now]).await;
    wait_until_complete(&server, when).await;
    assert!(server.terminate().await.success());
    now
}

/// Kills a server that embeds everything again before each call to a fake Qdrant server, one after the other.
async fn kill_at_each_call(fake_qdrant: &FakeQdrant, ways: &EnvironmentPair) {
    let (data, base) = (create_scratch_folder(), create_repositories());
    create_index(data.path(), ways, base.path()).await;
    let (mut now, mut after) = (0, 0);
    let step = if env::var_os(KILLS).is_some() { 1 } else { 9 };
    loop {
        let wanted = 1 - now;
        let problem = FaultKind::Delay(TIMEOUT * 2);
        fake_qdrant.add_fault(FaultRule {
            call: "",
            of: "",
            after,
            times: usize::MAX,
            kind: problem,
        });
        let mut server = start_reembedding(data.path(), &ways[wanted]);
        let reached = async {
            while !fake_qdrant.has_failed() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let ended = async {
            tokio::select! {
                () = reached => false,
                () = run_to_end(&mut server) => true,
            }
        };
        let is_done = timeout(TIMEOUT, ended).await.expect("neither a call nor the end");
        server.kill().await.unwrap();
        fake_qdrant.clear_faults();
        now = recover_index(data.path(), ways, wanted, &format!("before call {after}")).await;
        if is_done {
            assert!(now == wanted && 30 < after, "{after} calls");
            return;
        }
        after += step;
    }
}

/// The settings of a process with this embedding service.
fn service_environment(embeddings: &FakeEmbeddingServer) -> ProgramEnvironment {
    let pairs = [("EMBEDDING_URL", embeddings.url.as_str()), ("EMBEDDING_MODEL", "stand-in")];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_change_of_model_on_a_server_continues() {
    let (fake_qdrant, embeddings) = (FakeQdrant::start(), FakeEmbeddingServer::start().await);
    let builtin = qdrant_environment(&QdrantFixture::for_server(&fake_qdrant));
    let service = [builtin.clone(), service_environment(&embeddings)].concat();
    kill_at_each_call(&fake_qdrant, &[builtin, service]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_change_of_shared_paths_continues() {
    let fake_qdrant = FakeQdrant::start();
    let mut fixture = QdrantFixture::for_server(&fake_qdrant);
    fixture.settings.shared_paths = false;
    let apart = qdrant_environment(&fixture);
    fixture.settings.shared_paths = true;
    let shared = qdrant_environment(&fixture);
    kill_at_each_call(&fake_qdrant, &[apart, shared]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_change_of_model_continues() {
    let embeddings = FakeEmbeddingServer::start().await;
    let builtin = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    let ways = [builtin.clone(), [builtin, service_environment(&embeddings)].concat()];
    let (data, base) = (create_scratch_folder(), create_repositories());
    create_index(data.path(), &ways, base.path()).await;
    let began = Instant::now();
    let mut server = start_reembedding(data.path(), &ways[1]);
    run_to_end(&mut server).await;
    server.kill().await.unwrap();
    let whole = began.elapsed();
    let mut now = recover_index(data.path(), &ways, 1, "after its end").await;
    assert_eq!(now, 1);
    let kills = if env::var_os(KILLS).is_some() { 60 } else { 8 };
    for kill in 0..kills {
        let after = whole * kill / kills;
        let wanted = 1 - now;
        let mut server = start_reembedding(data.path(), &ways[wanted]);
        drop(timeout(after, run_to_end(&mut server)).await);
        server.kill().await.unwrap();
        now = recover_index(data.path(), &ways, wanted, &format!("after {after:?}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_a_former_version_left_empty_is_rebuilt() {
    let (fixture, base) = (QdrantFixture::new(), create_repositories());
    let process = IngestProcess::new(&fixture, "a").await;
    let folder = base.path().join(REPOSITORIES[0].0);
    assert_eq!(process.ingest(&folder).await.counts.chunks, CHUNKS);
    let [root] = &process.store.roots().await.unwrap()[..] else { panic!() };
    // The state that the former version left: a root that is marked as indexed, without content.
    process.store.remove_root(root.id).await.unwrap();
    process.store.put_root(root.clone()).await.unwrap();
    process.ingest.repair_damaged_roots().await.unwrap();
    let [repaired] = &process.store.roots().await.unwrap()[..] else { panic!() };
    assert_eq!(
        (&repaired.last_run, repaired.counts.chunks, repaired.counts.embedded),
        (&LastRun::Completed, CHUNKS, CHUNKS)
    );
    assert_eq!(process.store.count(None).await.unwrap(), CHUNKS);
}

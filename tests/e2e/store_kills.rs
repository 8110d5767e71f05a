//! `kill -9` at random moments of ingest, watch, re-embed and remove: nothing is lost, nothing is stored
//! twice, and nothing is reported as damage.

use std::{
    cell::RefCell,
    env,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::Path,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use codeinfo_test_support::{
    embedded::list_damaged_stores,
    git::{commit_all, run_git},
    random::next_random,
    sources::fetch_crate_source,
};
use serde_json::{Value, json};

use crate::support::process::{ProgramEnvironment, RunningServer, create_scratch_folder};

/// Number of kills; 50 when this was last run for all.
const KILLS: &str = "STORE_KILLS";
/// Set to kill at the moments of an earlier run.
const SEED: &str = "STORE_KILLS_SEED";
/// Work during which the server is killed, in turn.
const DEEDS: [&str; 4] = ["ingest", "watch", "re-embed", "remove"];
const QUESTIONS: [&str; 4] =
    ["GitignoreBuilder add_line", "walk parallel threads", "zebra stripes", "greet the okapi"];

fn read_number(name: &str) -> Option<u64> {
    env::var_os(name).map(|value| value.to_str().unwrap().parse().unwrap())
}

fn codex_less_environment(watches: bool) -> ProgramEnvironment {
    let watch = ("WATCH".to_owned(), watches.to_string());
    vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned()), watch]
}

/// Changes some files, makes one and removes one.
fn edit_files(tree: &Path, state: &mut u64, round: u64) {
    let files = fs::read_dir(tree).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect();
    files.sort();
    for _ in 0..4 {
        let file = &files[usize::try_from(next_random(state)).unwrap_or_default() % files.len()];
        let text = fs::read_to_string(file).unwrap();
        fs::write(
            file,
            format!("{text}\n/// Has zebra stripes {round}.\nfn zebra_{round}() {{}}\n"),
        )
        .unwrap();
    }
    fs::write(tree.join(format!("new{round}.rs")), "/// Is new.\nfn fresh() {}\n").unwrap();
    drop(fs::remove_file(tree.join(format!("new{}.rs", round.wrapping_sub(2)))));
}

/// Does something to its end, and notes how far it was last seen to be.
async fn run_deed(deed: &str, tree: &Path, server: &RunningServer, seen: &RefCell<String>) {
    let note = |state: &Value| seen.replace(state.as_str().unwrap_or_default().to_owned());
    let run = match deed {
        "ingest" => server.post_api("/ingest/start", &json!({ "path": tree })).await,
        "re-embed" => server.post_api("/ingest/reembed/tree", &json!({})).await,
        "remove" => {
            note(&json!("removing"));
            server.post_api("/ingest/remove/tree", &json!({})).await;
            return;
        }
        // The watcher sees what was edited.
        _ => {
            let before = get_root(server).await["lastIngestAt"].clone();
            loop {
                let root = get_root(server).await;
                note(&root["state"]);
                if root["lastIngestAt"] != before {
                    return;
                }
            }
        }
    };
    let run = run["runId"].as_str().unwrap_or_else(|| panic!("{deed}: {run}")).to_owned();
    loop {
        let status = server.get_api(&format!("/ingest/status/{run}")).await;
        note(&status["state"]);
        if !["queued", "scanning", "embedding"].contains(&status["state"].as_str().unwrap()) {
            return;
        }
    }
}

/// Returns the server's entry of the changing repository.
async fn get_root(server: &RunningServer) -> Value {
    let roots = server.get_api("/ingest/roots").await;
    let mut roots = roots["roots"].as_array().unwrap().iter();
    roots.find(|root| root["name"] == "tree").unwrap().clone()
}

/// Starts a server that has work to do, and no other work.
async fn start_ready(deed: &str, data: &Path, edit: impl FnOnce()) -> RunningServer {
    if deed != "watch" {
        edit();
        return RunningServer::serve(data, &[], &codex_less_environment(false)).await;
    }
    let server = RunningServer::serve(data, &[], &codex_less_environment(true)).await;
    edit();
    server
}

/// Relation between the two indexed folders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FolderPair {
    /// Not at all.
    Apart,
    /// They are worktrees of one repository.
    Worktrees,
}

/// Returns a client's view of both folders: the counts, and the hits.
async fn observe_server(server: &RunningServer, folders: FolderPair) -> (Value, Vec<Vec<Value>>) {
    let mut seen = Vec::new();
    // Former content of worktrees is stored for a while.
    if folders == FolderPair::Apart {
        seen.push(server.get_api("/health").await["store"]["chunks"].clone());
    }
    let roots = server.get_api("/ingest/roots").await;
    for root in roots["roots"].as_array().unwrap() {
        let counts = &root["counts"];
        seen.push(json!([root["name"], root["lastError"], counts["files"], counts["chunks"]]));
    }
    let mut answers = Vec::new();
    for question in QUESTIONS {
        let found = server
            .post_api("/tools/vector-search", &json!({ "query": question, "limit": 20 }))
            .await;
        let hits = found["results"].as_array().unwrap_or_else(|| panic!("{found}"));
        let hits = hits.iter().map(|hit| json!([hit["repo"], hit["relPath"], hit["startLine"]]));
        answers.push(hits.collect());
    }
    (Value::Array(seen), answers)
}

/// Compares two servers. Deleted chunks count in term weights until their segment is rebuilt, so
/// that hits of about the same score may change places, and another chunk of a file may come first:
/// all later ones count much less.
async fn compare_servers(
    server: &RunningServer,
    fresh: &RunningServer,
    folders: FolderPair,
    what: &str,
) {
    let ((counts, answers), (fresh_counts, fresh_answers)) =
        (observe_server(server, folders).await, observe_server(fresh, folders).await);
    assert_eq!(counts, fresh_counts, "{what}");
    let is_of = |hit: &Value, other: &Value| (&hit[0], &hit[1]) == (&other[0], &other[1]);
    for (one, other) in answers.iter().zip(&fresh_answers) {
        assert_eq!(one.len(), other.len(), "{what}");
        let has_best = |of: &[Value], all: &[Value]| {
            of.iter().take(10).all(|hit| all.iter().any(|other| is_of(hit, other)))
        };
        let same = one.iter().take(10).filter(|hit| other.contains(hit)).count();
        let is_alike =
            has_best(one, other) && has_best(other, one) && same >= one.len().min(10) - 1;
        assert!(is_alike, "{what}: {one:?}\n{other:?}");
    }
}

#[tokio::test]
async fn a_server_killed_at_any_moment_ends_with_what_a_fresh_index_holds() {
    kill_repeatedly(read_number(KILLS).unwrap_or(8), FolderPair::Apart).await;
}

#[tokio::test]
async fn worktrees_hold_what_a_fresh_index_of_them_holds_whenever_their_server_is_killed() {
    kill_repeatedly(read_number(KILLS).unwrap_or(4), FolderPair::Worktrees).await;
}

/// Makes a folder that changes and one that does not.
async fn create_folders(tree: &Path, calm: &Path, folders: FolderPair) {
    fs::create_dir(calm).unwrap();
    fs::write(calm.join("okapi.rs"), "/// Greets the okapi.\nfn greet_okapi() {}\n").unwrap();
    match folders {
        FolderPair::Apart => fs::create_dir(tree).unwrap(),
        FolderPair::Worktrees => {
            commit_all(calm, "Begin");
            run_git(calm, &["worktree", "add", "--quiet", "--detach", "../tree"]);
        }
    }
    for entry in fs::read_dir(fetch_crate_source("ignore").await.join("src")).unwrap().flatten() {
        fs::copy(entry.path(), tree.join(entry.file_name())).unwrap();
    }
}

async fn kill_repeatedly(kills: u64, folders: FolderPair) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = read_number(SEED).unwrap_or(now);
    let mut state = seed;
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let (tree, calm) = (folder.path().join("tree"), folder.path().join("calm"));
    create_folders(&tree, &calm, folders).await;
    let first =
        RunningServer::serve(data.path(), &[&tree, &calm], &codex_less_environment(false)).await;
    first.kill().await;
    // The duration of each, so that the kills are spread over all of it.
    let mut lasts = Vec::new();
    for (deed, round) in DEEDS.into_iter().zip(kills..) {
        let server = start_ready(deed, data.path(), || edit_files(&tree, &mut state, round)).await;
        let begun = Instant::now();
        run_deed(deed, &tree, &server, &RefCell::default()).await;
        lasts.push(begun.elapsed());
        server.ingest(&tree).await;
        server.kill().await;
    }
    let mut hits = String::new();
    let deeds = DEEDS.len() as u64;
    for round in 0..kills {
        let number = usize::try_from(round % deeds).unwrap();
        let deed = DEEDS[number];
        // One in each of as many parts as there are kills.
        let part = lasts[number] / u32::try_from(kills.div_ceil(deeds)).unwrap();
        let pause = part * u32::try_from(round / deeds).unwrap()
            + part * u32::try_from(next_random(&mut state) % 1000).unwrap() / 1000;
        let what = format!("{deed} after {pause:?} in round {round}; {SEED}={seed}");
        let server = start_ready(deed, data.path(), || edit_files(&tree, &mut state, round)).await;
        let progress = RefCell::default();
        let ended = tokio::time::timeout(pause, run_deed(deed, &tree, &server, &progress)).await;
        server.kill().await;
        let how = if ended.is_ok() { "after its end" } else { "at work" };
        writeln!(
            hits,
            "{deed} of {:?} after {pause:?}: {how}, {:?}",
            lasts[number],
            progress.borrow()
        )
        .unwrap();

        let server = RunningServer::serve(data.path(), &[], &codex_less_environment(false)).await;
        let health = server.get_api("/health").await;
        assert_eq!(health["store"]["ok"], true, "{what}: {health}");
        let calm_run = server.ingest(&calm).await;
        assert_eq!(calm_run["state"], "skipped", "{what}: {calm_run}");
        let ended = server.ingest(&tree).await;
        assert!(["completed", "skipped"].contains(&ended["state"].as_str().unwrap()), "{what}");
        assert_eq!(list_damaged_stores(data.path()), [""; 0], "{what}");
        if round % 4 == 3 || round + 1 == kills {
            let other = create_scratch_folder();
            let fresh =
                RunningServer::serve(other.path(), &[&tree, &calm], &codex_less_environment(false))
                    .await;
            compare_servers(&server, &fresh, folders, &what).await;
            fresh.kill().await;
        }
        server.kill().await;
    }
    // For those who run many: `cargo test killed_at_any -- --nocapture`.
    writeln!(io::stdout(), "{hits}").unwrap();
    for deed in DEEDS {
        let is_hit = |line: &str| line.starts_with(deed) && line.contains("at work");
        assert!(kills < 40 || hits.lines().any(is_hit), "{deed} was never hit: {hits}");
    }
}

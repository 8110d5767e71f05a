//! `kill -9` at random moments of ingest, watch, re-embed and remove: nothing is lost, nothing is there
//! twice, and nothing is taken for damage.

use std::{
    env, fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};

use crate::{
    store_damage::{aside, next},
    support::process::{Environment, Program, crate_source, fresh},
};

/// How many times the server is killed; 50 when this was last run for all.
const KILLS: &str = "STORE_KILLS";
/// Set to kill at the moments of an earlier run.
const SEED: &str = "STORE_KILLS_SEED";
/// What the server is killed at, in turn.
const DEEDS: [&str; 4] = ["ingest", "watch", "re-embed", "remove"];
const QUESTIONS: [&str; 4] =
    ["GitignoreBuilder add_line", "walk parallel threads", "zebra stripes", "greet the okapi"];

fn number(name: &str) -> Option<u64> {
    env::var_os(name).map(|value| value.to_str().unwrap().parse().unwrap())
}

fn without_codex(watches: bool) -> Environment {
    let watch = ("WATCH".to_owned(), watches.to_string());
    vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned()), watch]
}

/// Changes some files, makes one and removes one.
fn edit(tree: &Path, state: &mut u64, round: u64) {
    let mut files: Vec<_> =
        fs::read_dir(tree).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for _ in 0..4 {
        let file = &files[usize::try_from(next(state)).unwrap_or_default() % files.len()];
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

/// Starts to do something and kills the server on the way.
async fn kill_at(deed: &str, tree: &Path, server: Program, pause: Duration) {
    let started = async {
        match deed {
            "ingest" => drop(server.api("/ingest/start", &json!({ "path": tree })).await),
            "re-embed" => drop(server.api("/ingest/reembed/tree", &json!({})).await),
            "remove" => drop(server.api("/ingest/remove/tree", &json!({})).await),
            // The watcher sees what was edited.
            _ => {}
        }
        std::future::pending::<()>().await;
    };
    drop(tokio::time::timeout(pause, started).await);
    server.kill().await;
}

/// What somebody sees of both repositories.
async fn look(server: &Program) -> Value {
    let mut seen = vec![server.read("/health").await["store"]["chunks"].clone()];
    let roots = server.read("/ingest/roots").await;
    for root in roots["roots"].as_array().unwrap() {
        let counts = &root["counts"];
        seen.push(json!([root["name"], root["lastError"], counts["files"], counts["chunks"]]));
    }
    for question in QUESTIONS {
        let found =
            server.api("/tools/vector-search", &json!({ "query": question, "limit": 20 })).await;
        let hits = found["results"].as_array().unwrap_or_else(|| panic!("{found}"));
        seen.extend(hits.iter().map(|hit| json!([hit["repo"], hit["relPath"], hit["startLine"]])));
    }
    Value::Array(seen)
}

#[tokio::test]
async fn a_server_killed_at_any_moment_ends_with_what_a_fresh_index_holds() {
    let kills = number(KILLS).unwrap_or(8);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let seed = number(SEED).unwrap_or(now);
    let mut state = seed;
    let (data, work) = (fresh(), fresh());
    let (tree, calm) = (work.path().join("tree"), work.path().join("calm"));
    fs::create_dir(&tree).unwrap();
    for entry in fs::read_dir(crate_source("ignore").await.join("src")).unwrap().flatten() {
        fs::copy(entry.path(), tree.join(entry.file_name())).unwrap();
    }
    fs::create_dir(&calm).unwrap();
    fs::write(calm.join("okapi.rs"), "/// Greets the okapi.\nfn greet_okapi() {}\n").unwrap();
    let first = Program::serve(data.path(), &[&tree, &calm], &without_codex(false)).await;
    first.kill().await;
    for round in 0..kills {
        let deed = DEEDS[usize::try_from(round).unwrap() % DEEDS.len()];
        let pause = Duration::from_millis(next(&mut state) % 900);
        let what = format!("{deed} after {pause:?} in round {round}; {SEED}={seed}");
        edit(&tree, &mut state, round);
        let server = Program::serve(data.path(), &[], &without_codex(deed == "watch")).await;
        kill_at(deed, &tree, server, pause).await;

        let server = Program::serve(data.path(), &[], &without_codex(false)).await;
        let health = server.read("/health").await;
        assert_eq!(health["store"]["ok"], true, "{what}: {health}");
        let calm_run = server.ingest(&calm).await;
        assert_eq!(calm_run["state"], "skipped", "{what}: {calm_run}");
        let ended = server.ingest(&tree).await;
        assert!(["completed", "skipped"].contains(&ended["state"].as_str().unwrap()), "{what}");
        assert_eq!(aside(data.path()), [""; 0], "{what}");
        if round % 4 == 3 || round + 1 == kills {
            let other = fresh();
            let fresh = Program::serve(other.path(), &[&tree, &calm], &without_codex(false)).await;
            assert_eq!(look(&server).await, look(&fresh).await, "{what}");
            fresh.kill().await;
        }
        server.kill().await;
    }
}

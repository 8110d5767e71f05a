//! The same answers from both engines, over the sources of real crates and in every scope; and how many round trips each
//! takes where a server has the store.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use codeinfo_core::{PathMap, task::Tasks};
use codeinfo_embed::BuiltinEmbedder;
use codeinfo_ingest::RunState;
use codeinfo_search::{Search, SearchError, SearchQuery};
use codeinfo_test_support::{
    git::{commit_all, run_git},
    qdrant::{FakeQdrant, fixture::QdrantFixture, process::IngestProcess},
    sources::{copy_folder, fetch_crate_source},
};
use futures_util::{StreamExt, join, stream};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::process::{
    ProgramEnvironment, RunningServer, create_scratch_folder, qdrant_environment,
};

/// Real repositories of different size and style.
const CRATES: [&str; 3] = ["ignore", "tokio-stream", "hyper"];
/// Number of questions in each scope.
const QUESTIONS: usize = 100;
/// By how much the score of a hit may differ: each engine rounds vectors in its own way, which moves neighbours that are
/// about as near.
const TOLERANCE: f64 = 5e-3;
/// Number of questions at a time.
const AT_ONCE: usize = 4;

/// The repositories, of which the first has a tag and another work tree.
struct SourceRepositories {
    folder: TempDir,
}

impl SourceRepositories {
    async fn new() -> Self {
        let sources = Self { folder: create_scratch_folder() };
        for name in CRATES {
            copy_folder(&fetch_crate_source(name).await, &sources.join(name));
            commit_all(&sources.join(name), "Publish");
        }
        let (main, tree) = (sources.join(CRATES[0]), sources.join("tree"));
        run_git(&main, &["tag", "v1"]);
        change_sources(&main, 3);
        commit_all(&main, "Change");
        run_git(
            &main,
            &["worktree", "add", "--quiet", "-b", "other", tree.to_str().unwrap(), "v1"],
        );
        change_sources(&tree, 4);
        sources
    }

    fn join(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    async fn index_all(&self, server: &RunningServer) {
        for name in CRATES.into_iter().chain(["tree", "ignore@v1"]) {
            let ended = server.ingest(&self.join(name)).await;
            assert_eq!(ended["state"], "completed", "{ended}");
        }
    }

    /// Returns questions that the comments of a repository are answers to.
    fn list_questions(&self, name: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
        read_sources(&self.join(name), &mut texts);
        for text in texts.values() {
            let comments = text.lines().filter_map(|line| line.trim().strip_prefix("/// "));
            lines.extend(comments.filter(|line| 30 < line.len()).map(str::to_owned));
        }
        // From all over the repository.
        let step = (lines.len() / QUESTIONS).max(1);
        lines.into_iter().step_by(step).take(QUESTIONS).collect()
    }
}

fn read_sources(folder: &Path, texts: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_sources(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            texts.insert(path.clone(), fs::read_to_string(&path).unwrap());
        }
    }
}

/// Changes one source in `every`.
fn change_sources(folder: &Path, every: usize) {
    let mut texts = BTreeMap::new();
    read_sources(folder, &mut texts);
    for (path, text) in texts.into_iter().step_by(every) {
        let added = "\n/// Tells whether a pattern was changed since it was read.\nfn is_changed() -> bool {\n    false\n}\n";
        fs::write(path, text.replace("self", "this") + added).unwrap();
    }
}

/// Returns a scope of each kind, by its description.
fn list_scopes() -> [(&'static str, Value); 7] {
    [
        ("everything", json!({})),
        (CRATES[0], json!({ "repository": CRATES[0] })),
        (CRATES[1], json!({ "repository": CRATES[1] })),
        (CRATES[2], json!({ "repository": CRATES[2] })),
        ("work tree", json!({ "repository": "tree" })),
        ("commit", json!({ "repository": "ignore@v1" })),
        ("between", json!({ "between": ["ignore@v1", "ignore"] })),
    ]
}

/// Shows a figure to who runs the test with `--nocapture`.
#[expect(clippy::print_stdout, reason = "figures are read by people")]
fn print_figure(figure: &str) {
    println!("{figure}");
}

async fn run_search(server: &RunningServer, scope: &Value, query: &str) -> Value {
    let mut body = scope.clone();
    (body["query"], body["limit"]) = (query.into(), 5.into());
    let found = server.post_api("/tools/vector-search", &body).await;
    assert!(found["results"].is_array(), "{found}");
    found
}

/// Returns the places of hits with their scores.
fn list_hits(found: &Value) -> Vec<(String, f64)> {
    let hits = found["results"].as_array().unwrap().iter();
    let place = |hit: &Value| format!("{} {}:{}", hit["repo"], hit["relPath"], hit["startLine"]);
    hits.map(|hit| (place(hit), hit["score"].as_f64().unwrap())).collect()
}

/// Serves the embedded store.
async fn serve_embedded(data: &TempDir) -> RunningServer {
    let environment: ProgramEnvironment =
        vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    let paths: [&Path; 0] = [];
    RunningServer::serve(data.path(), &paths, &environment).await
}

/// Differences between the answers of both engines in one scope.
#[derive(Debug, Default)]
struct AnswerDifference {
    asked: usize,
    /// Answers with other hits, in another order, or with scores further apart than [`TOLERANCE`].
    others: usize,
    greatest: f64,
}

impl AnswerDifference {
    fn add_answers(&mut self, one: &[(String, f64)], other: &[(String, f64)]) {
        let scores: BTreeMap<&String, f64> = one.iter().map(|(at, score)| (at, *score)).collect();
        let both = other.iter().filter_map(|(at, score)| Some((score - scores.get(at)?).abs()));
        let apart = both.fold(0.0, f64::max);
        let is_order = one.iter().map(|(at, _)| at).eq(other.iter().map(|(at, _)| at));
        self.asked += 1;
        self.others += usize::from(!is_order || TOLERANCE < apart);
        self.greatest = self.greatest.max(apart);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_answers_like_the_embedded_store_in_every_scope() {
    let sources = SourceRepositories::new().await;
    let mut fixture = QdrantFixture::new();
    // As hosts with other files have it: ids of repositories are not those of the embedded store.
    fixture.settings.shared_paths = false;
    let (data, other) = (create_scratch_folder(), create_scratch_folder());
    let paths: [&Path; 0] = [];
    let engines = [
        serve_embedded(&data).await,
        RunningServer::serve(other.path(), &paths, &qdrant_environment(&fixture)).await,
    ];
    for engine in &engines {
        sources.index_all(engine).await;
    }
    let mut differences: BTreeMap<&str, AnswerDifference> = BTreeMap::new();
    for (name, scope) in &list_scopes() {
        let of_one = if CRATES.contains(name) { name } else { CRATES[0] };
        let asked = CRATES.into_iter().filter(|asked| *name == "everything" || *asked == of_one);
        let questions = stream::iter(asked.flat_map(|asked| sources.list_questions(asked)));
        let answers = questions.map(|query| {
            let [one, two] = engines.each_ref();
            async move { join!(run_search(one, scope, &query), run_search(two, scope, &query)) }
        });
        for (one, two) in answers.buffered(AT_ONCE).collect::<Vec<_>>().await {
            differences.entry(name).or_default().add_answers(&list_hits(&one), &list_hits(&two));
        }
    }
    // A server and the embedded store may prefer another tree's version of the same code.
    let is_same = |AnswerDifference { asked, others, .. }: &AnswerDifference| {
        QUESTIONS / 2 < *asked && others * 20 <= *asked
    };
    assert!(differences.values().all(is_same), "{differences:#?}");
    print_figure(&format!("{differences:#?}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_of_a_server_takes_two_round_trips() {
    let sources = SourceRepositories::new().await;
    let fake_qdrant = FakeQdrant::start_nodes(3);
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let (data, paths): (_, [&Path; 0]) = (create_scratch_folder(), []);
    let server = RunningServer::serve(data.path(), &paths, &qdrant_environment(&fixture)).await;
    sources.index_all(&server).await;
    fake_qdrant.count_rounds();
    for (name, scope) in list_scopes() {
        let mut rounds = Vec::new();
        for query in sources.list_questions(CRATES[0]).iter().take(9) {
            fake_qdrant.count_rounds();
            run_search(&server, &scope, query).await;
            rounds.push(fake_qdrant.count_rounds());
        }
        print_figure(&format!("{name}: {rounds:?}"));
        // Later questions reuse what the first ones loaded, and some look up names.
        rounds.sort_unstable();
        // A comparison also reads both versions of the files that differ.
        let most = if name == "between" { 4 } else { 2 };
        assert!(0 < rounds[0] && rounds[rounds.len() / 2] <= most, "{name}: {rounds:?}");
    }
    let ask = async || {
        let mut answers = Vec::new();
        for (_, scope) in list_scopes() {
            answers.push(
                run_search(&server, &scope, &sources.list_questions(CRATES[0])[0]).await["results"]
                    .take(),
            );
        }
        answers
    };
    let before = ask().await;
    fake_qdrant.close_node(0);
    assert_eq!(ask().await, before, "with one of three nodes lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_changes_is_found_by_the_next_search() {
    let fake_qdrant = FakeQdrant::start();
    let fixture = QdrantFixture::for_server(&fake_qdrant);
    let (reader, writer) = (
        IngestProcess::new(&fixture, "reader").await,
        IngestProcess::new(&fixture, "writer").await,
    );
    let folder = create_scratch_folder();
    let text = |name: &str| format!("/// Fills the tank to the mark.\nfn {name}() {{}}\n");
    fs::write(folder.path().join("tank.rs"), text("fill_0")).unwrap();
    fs::write(folder.path().join("mill.rs"), "/// Grinds the corn.\nfn grind() {}\n").unwrap();
    writer.ingest(folder.path()).await;
    let embedder = Arc::new(BuiltinEmbedder::load(Tasks::default()).unwrap());
    let search = Search::new(reader.store.clone(), embedder, PathMap::default());
    let query = SearchQuery::new("fill the tank to the mark", None, Some(2)).unwrap();
    let look_ups =
        || fake_qdrant.count_calls("get", "_files_") + fake_qdrant.count_calls("scroll", "_files_");
    for change in 1..4 {
        let mut searches = 0;
        // Until the reader looks nothing up any more.
        loop {
            let before = look_ups();
            search.find_chunks(&query).await.unwrap();
            if before == look_ups() {
                break;
            }
            searches += 1;
            assert!(searches < 10_000, "its files are not remembered");
        }
        let name = format!("fill_{change}");
        fs::write(folder.path().join("tank.rs"), text(&name)).unwrap();
        assert_eq!(writer.ingest(folder.path()).await.state, RunState::Completed);
        let found = search.find_chunks(&query).await.unwrap();
        assert_eq!(found.hits[0].symbol.as_deref(), Some(name.as_str()));
        assert!(found.hits.iter().all(|hit| hit.symbol.as_deref() != Some("fill_0")));
    }
    writer.ingest.remove_root(folder.path().to_str().unwrap()).await.unwrap();
    assert!(matches!(search.find_chunks(&query).await, Err(SearchError::IngestRequired)));
}

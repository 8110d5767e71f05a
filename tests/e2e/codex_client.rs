//! Codex as the client: its presentation of the catalogue to a model, and its tool search.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::Value;
use tokio::{process::Command, time::timeout};

use crate::support::{
    codex,
    model::{FakeModel, ModelReply, OutputItem, message_item},
    process::{RunningServer, create_scratch_folder},
};

const TIMEOUT: Duration = Duration::from_mins(2);

/// A model that finds deferred tools by a search, and one that finds them by program.
const SEARCHING_MODEL: &str = "gpt-5.5";
const PROGRAMMING_MODEL: &str = "gpt-6.1-sol";

/// Searches of models before they read code themselves.
const QUERIES: [&str; 16] = [
    "search code",
    "find implementation",
    "find usages of function",
    "grep",
    "callers of a function",
    "references",
    "explore the codebase",
    "architecture",
    "how does this code work",
    "where is X defined",
    "instead of grep",
    "what does a change affect",
    "understand a repository",
    "read files",
    "codebase_question",
    "why does the code do this",
];

/// Returns the requests of `codex exec` with the model `model_name`, in which `entry` names the server.
pub(crate) async fn run_codex(
    folder: &Path,
    model: &FakeModel,
    entry: &str,
    model_name: &str,
) -> Vec<Value> {
    let entry = format!("[mcp_servers.codeinfo]\n{entry}\n");
    let home = codex::write_codex_home(folder, &model.url, &entry);
    let before = model.requests().len();
    let run = Command::new(codex::codex_binary())
        .args(["exec", "--skip-git-repo-check", "-s", "read-only", "-m", model_name])
        .args(["-c", "features.plugins=false", "hello"])
        .env("CODEX_HOME", home)
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let run = timeout(TIMEOUT, run).await.unwrap().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    model.requests().split_off(before)
}

/// Returns the line by which Codex names the server's deferred tools.
fn find_shown_line(request: &Value) -> String {
    let texts = request["input"].as_array().unwrap().iter();
    let texts = texts.filter_map(|item| item["content"].as_array()).flatten();
    let mut lines = texts.filter_map(|part| part["text"].as_str()).flat_map(str::lines);
    let shown = lines.find_map(|line| line.strip_prefix("- mcp__codeinfo: "));
    shown.unwrap_or_else(|| panic!("{request:#}")).to_owned()
}

/// Returns the results of the searches for tools, in their order.
fn list_search_results(request: &Value) -> Vec<&Value> {
    let items = request["input"].as_array().unwrap().iter();
    items.filter(|item| item["type"] == "tool_search_output").map(|item| &item["tools"]).collect()
}

#[tokio::test]
async fn models_of_the_catalogue_are_told_when_to_ask_and_find_the_tool() {
    let model = FakeModel::answer_with(|request| {
        let is_searching = request["model"] == SEARCHING_MODEL;
        let query = QUERIES.get(list_search_results(request).len()).filter(|_| is_searching);
        let item = query.map_or_else(
            || message_item("Done."),
            |query| OutputItem::FindsTools((*query).to_owned()),
        );
        ModelReply::Items(vec![item])
    })
    .await;
    let folder = create_scratch_folder();
    let names =
        ["web-storefront", "payment-service", "infrastructure", "mobile-app", "sdk", "docs"];
    let repositories = names.map(|name| folder.path().join("repositories").join(name));
    for repository in &repositories {
        fs::create_dir_all(repository).unwrap();
        fs::write(repository.join("valve.rs"), "fn open() {}\n").unwrap();
    }
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let environment = codex::codex_environment(&inner, &model.url);
    let paths = repositories.each_ref().map(PathBuf::as_path);
    let server = RunningServer::serve(&folder.path().join("data"), &paths, &environment).await;
    let entry = format!("url = \"{}\"", server.mcp);

    for model_name in [SEARCHING_MODEL, PROGRAMMING_MODEL] {
        let requests = run_codex(folder.path(), &model, &entry, model_name).await;
        let shown = find_shown_line(&requests[0]);
        let told =
            "what a change affects: it answers from the whole index with path:lines. Indexed: ";
        assert!(shown.contains("Before grep or reading files, ask codebase_question"), "{shown}");
        assert!(shown.contains(told), "{shown}");
        if model_name == SEARCHING_MODEL {
            let results = list_search_results(requests.last().unwrap());
            assert_eq!(results.len(), QUERIES.len());
            let finds = |tools: &Value| tools.to_string().contains("\"codebase_question\"");
            let queries = QUERIES.iter().zip(results);
            let missed: Vec<_> = queries.filter(|(_, tools)| !finds(tools)).collect();
            assert!(missed.is_empty(), "{missed:?}");
        }
    }
    server.terminate().await;
}

//! The programs in `examples/`: each searches, asks, continues the conversation, and prints errors plainly.

use std::{
    env,
    path::{Path, PathBuf},
    process::Output,
};

use insta::assert_snapshot;
use tokio::process::Command;
use uuid::Uuid;

use crate::{
    end_to_end::CodexSetup,
    support::{
        install,
        model::{ModelReply, message_item},
        process::{RunningServer, create_scratch_folder},
    },
};

const QUESTIONS: [&str; 2] = ["What opens the valve?", "When does it open?"];

/// Returns the examples by name, each with the program that runs it.
fn list_examples() -> [(&'static str, PathBuf); 4] {
    [
        ("ask.sh", "sh".into()),
        ("ask.py", "python3".into()),
        // Whichever Node npm came with, and the one that other tests install.
        ("ask.ts", "node".into()),
        ("ask.ts", install::find_node().to_owned()),
    ]
}

/// Runs an example against a server, with only those variables that find programs.
async fn run_example(name: &str, interpreter: &Path, api: &str, mcp: &str) -> Output {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    let kept = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, env::var_os(name)?)));
    let mut command = Command::new(interpreter);
    command.arg(file).args(QUESTIONS).env_clear().envs(kept);
    command.env("CODEINFO_API", api).env("CODEINFO_MCP", mcp).env("LC_ALL", "C.UTF-8");
    command.kill_on_drop(true).output().await.unwrap()
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Replaces the id in the last line, which must be one.
fn hide_conversation(printed: &str) -> String {
    let (before, id) = printed.trim_end().rsplit_once("conversation: ").unwrap();
    assert!(Uuid::try_parse(id).is_ok(), "{printed}");
    format!("{before}conversation: [id]")
}

#[tokio::test]
async fn every_example_searches_asks_and_continues_the_conversation() {
    let examples = list_examples();
    let answers = ["It is in src/valve.rs.", "Above 3 bar."];
    let replies = examples
        .iter()
        .flat_map(|_| answers.map(|text| ModelReply::Items(vec![message_item(text)])));
    let setup = CodexSetup::replay(replies).await;
    let server = setup.serve_with(&[]).await;
    let mut printed = Vec::new();
    for (name, interpreter) in &examples {
        let output = run_example(name, interpreter, &server.main, &server.mcp).await;
        assert!(output.status.success(), "{name}: {}", into_text(output.stderr));
        printed.push(hide_conversation(&into_text(output.stdout)));
        // The second question reached the model behind the first one and its answer.
        let sent = setup.model.latest_request_text();
        let places = [QUESTIONS[0], answers[0], QUESTIONS[1]].map(|text| sent.find(text).unwrap());
        assert!(places.is_sorted(), "{name}: {sent}");
    }
    assert_snapshot!(printed[0], @r"
    found: src/valve.rs:1-4
    found: src/heater.rs:1-2
    answer: It is in src/valve.rs.
    answer: Above 3 bar.
    conversation: [id]
    ");
    assert!(printed.iter().all(|other| *other == printed[0]), "{printed:#?}");
    server.terminate().await;
}

#[tokio::test]
async fn every_example_prints_what_is_wrong_and_fails() {
    let folder = create_scratch_folder();
    let repository = folder.path().join("boiler");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("valve.rs"), "fn open_valve() {}\n").unwrap();
    let away = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    let without_codex =
        RunningServer::serve(&folder.path().join("data"), &[&repository], &away).await;
    let without_index = RunningServer::serve(&folder.path().join("empty"), &[], &away).await;
    let mut printed = Vec::new();
    for (name, interpreter) in list_examples() {
        let mut both = String::new();
        for server in [&without_codex, &without_index] {
            let output = run_example(name, &interpreter, &server.main, &server.mcp).await;
            assert_eq!(output.status.code(), Some(1), "{name}");
            both += &(into_text(output.stdout) + &into_text(output.stderr));
        }
        printed.push(both);
    }
    assert_snapshot!(printed[0], @r"
    found: valve.rs:1-1
    error: CODE_INFO_LLM_UNAVAILABLE: the Codex command line is not found: CODEX_BIN does not name a program: install it with `npm install -g @openai/codex` and sign in with `codex login`, or set CODEX_BIN to the path of the binary
    error: INGEST_REQUIRED: nothing is indexed yet; index a repository with `codeinfo ingest PATH`
    ");
    assert!(printed.iter().all(|other| *other == printed[0]), "{printed:#?}");
    let (main, mcp) = (without_index.main.clone(), without_index.mcp.clone());
    without_index.terminate().await;
    without_codex.terminate().await;
    for (name, interpreter) in list_examples() {
        let output = run_example(name, &interpreter, &main, &mcp).await;
        assert!(!output.status.success(), "{name}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{name}");
    }
}

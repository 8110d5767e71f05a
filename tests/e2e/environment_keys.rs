//! Keys of the environment, as the system shows the environments of the real program and of its Codex.

use std::{fs, process::Output};

use codeinfo_test_support::embeddings::FakeEmbeddingServer;
use serde_json::json;

use crate::support::{
    codex,
    model::{FakeModel, ModelReply, message_item},
    process::{ProgramEnvironment, RunningServer, create_scratch_folder, run_command},
};

/// The environment of a process, as `/proc` shows it.
fn read_environment(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap();
    String::from_utf8_lossy(&bytes).replace('\0', "\n")
}

/// Returns the targets of the open files of a process.
fn list_open_files(pid: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.map(|link| link.display().to_string()).collect()
}

/// The processes that `pid` started.
fn list_children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    lists.iter().flat_map(|list| list.split_whitespace()).map(|pid| pid.parse().unwrap()).collect()
}

async fn prepare_setup() -> (tempfile::TempDir, FakeEmbeddingServer, FakeModel, ProgramEnvironment)
{
    let folder = create_scratch_folder();
    let model = FakeModel::answer_with(|_| ModelReply::Items(vec![message_item("Done.")])).await;
    let embeddings = FakeEmbeddingServer::start().await;
    let mut environment = codex::codex_environment(folder.path(), &model.url);
    codex::write_codex_home(folder.path(), &model.url, "env_key = \"MODEL_KEY\"\n");
    let pairs = [
        ("EMBEDDING_URL", embeddings.url.as_str()),
        ("EMBEDDING_MODEL", "stand-in"),
        ("EMBEDDING_API_KEY", "our-embedding-secret"),
        ("QDRANT_API_KEY", "our-qdrant-secret"),
        ("MODEL_KEY", "the-model-secret"),
        ("OTHER_TOKEN", "another-secret"),
        ("OTHER_SETTING", "nobody asked for it"),
        ("DATABASE_URL", "postgres://u:another-secret@host/db"),
    ];
    environment.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    (folder, embeddings, model, environment)
}

#[tokio::test]
async fn the_environments_of_the_server_and_its_codex_contain_no_key() {
    let (folder, embeddings, model, environment) = prepare_setup().await;
    let repository = folder.path().join("repo");
    fs::create_dir(&repository).unwrap();
    fs::write(repository.join("a.rs"), "fn a() {}\n").unwrap();
    let data = folder.path().join("data");
    let program = RunningServer::serve(&data, &[&repository], &environment).await;
    assert!(
        embeddings
            .authorization_headers()
            .contains(&Some("Bearer our-embedding-secret".to_owned()))
    );
    let reply = program.ask_question(json!({ "question": "What?" })).await;
    assert!(reply["result"].to_string().contains("Done."), "{reply}");
    let server = read_environment(program.pid());
    assert!(server.contains("EMBEDDING_MODEL=stand-in"), "{server}");
    assert!(!server.contains("secret"), "{server}");
    let processes = list_children(program.pid());
    for pid in processes.iter().copied().chain([program.pid()]) {
        // The file in memory that brought the keys.
        let files = list_open_files(pid);
        assert!(!files.iter().any(|file| file.contains("memfd:keys")), "{files:?}");
    }
    let codex: Vec<String> = processes.into_iter().map(read_environment).collect();
    let [codex] = codex.as_slice() else { panic!("{} processes of Codex", codex.len()) };
    assert!(codex.contains("MODEL_KEY=the-model-secret"), "{codex}");
    assert!(!codex.contains("our-") && !codex.contains("another-secret"), "{codex}");
    assert!(!codex.contains("OTHER_SETTING") && !codex.contains("EMBEDDING_MODEL"), "{codex}");
    drop(model);
    assert!(program.terminate().await.success());
}

#[tokio::test]
async fn commands_with_keys_work_and_keep_their_exit_codes() {
    let (folder, embeddings, _model, environment) = prepare_setup().await;
    let data = folder.path().join("data");
    let repository = folder.path().join("repo");
    fs::create_dir(&repository).unwrap();
    fs::write(repository.join("a.rs"), "fn a() {}\n").unwrap();
    let at = repository.to_string_lossy().into_owned();
    let ended = |output: &Output| (output.status.code(), output.stderr.clone());
    let ingested = run_command(&data, &environment, &["ingest", &at]).await;
    assert!(ingested.status.success(), "{:?}", ended(&ingested));
    assert!(
        embeddings
            .authorization_headers()
            .contains(&Some("Bearer our-embedding-secret".to_owned()))
    );
    assert_eq!(run_command(&data, &environment, &["no-such-command"]).await.status.code(), Some(2));
    let mut wrong = environment.clone();
    wrong.push(("PORT".to_owned(), "x".to_owned()));
    assert_eq!(run_command(&data, &wrong, &["doctor"]).await.status.code(), Some(2));
    let missing = run_command(&data, &environment, &["ingest", "/no/such/folder"]).await;
    assert_eq!(missing.status.code(), Some(1), "{:?}", ended(&missing));
}

/// Starts the server and reads what the system shows of it, both with the rights of a plain user.
#[cfg(target_os = "linux")]
const NEIGHBOUR: &str = "coproc SERVER { exec \"$0\" serve; }
while read -r line <&${SERVER[0]}; do case $line in Ctrl-C*) break;; esac; done
cat /proc/self/environ >/dev/null && echo own shown
cat /proc/$SERVER_PID/environ >/dev/null 2>&1 && echo environment shown
head -c 0 /proc/$SERVER_PID/mem 2>/dev/null && echo memory shown
kill $SERVER_PID
wait $SERVER_PID";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_other_process_of_the_user_reads_the_memory_of_the_server() {
    let data = create_scratch_folder();
    let output = tokio::process::Command::new("unshare")
        .args(["--user", "bash", "-c", NEIGHBOUR, env!("CARGO_BIN_EXE_codeinfo")])
        .current_dir(data.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("DATA_DIR", data.path())
        .env("PORT", "0")
        .env("MCP_PORT", "0")
        .env("CODEX_BIN", "/nonexistent/codex")
        .output()
        .await
        .unwrap();
    let [shown, logged] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    assert_eq!(shown, "own shown\n", "{logged}");
    assert!(output.status.success(), "{logged}");
}

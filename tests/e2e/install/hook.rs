//! `codeinfo hook`: added to the settings of Claude Code and removed, and its output for a prompt.

use std::net::TcpListener;

use codeinfo_store::{DataDirLock, LockHolder};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::*;
use crate::support::{
    codex,
    model::{FakeModel, ModelReply},
    process::RunningServer,
};

const SETTINGS: &str = ".claude/settings.json";
const MAX_BYTES: usize = 600;
/// Longest that a hook which hangs holds this test up.
const GUARD: std::time::Duration = std::time::Duration::from_mins(1);

/// Runs the hook for a prompt in `folder`, and returns its output; it must never fail.
async fn run_hook(home: &TestHome, input: &str, switches: &[&str]) -> String {
    let mut command = home.command(BINARY);
    command.arg("hook").args(switches).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = tokio::process::Command::from(command).kill_on_drop(true).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may have ended before it has read all.
    drop(tokio::io::AsyncWriteExt::write_all(&mut stdin, input.as_bytes()).await);
    drop(stdin);
    let output = timeout(GUARD, child.wait_with_output()).await.expect("it ends").unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    String::from_utf8(output.stdout).unwrap()
}

fn prompt_input(folder: &Path) -> String {
    json!({ "hook_event_name": "UserPromptSubmit", "prompt": "why?", "cwd": folder }).to_string()
}

#[tokio::test]
async fn a_prompt_gets_a_note_about_the_index_in_indexed_folders() {
    let home = TestHome::new();
    home.write("boiler/src/valve.rs", "/// Opens the valve.\npub fn relieve_pressure() {}\n");
    home.write("boiler/.git/HEAD", "ref: refs/heads/main\n");
    home.write("boiler/nested/.git/HEAD", "ref: refs/heads/main\n");
    home.write("other/notes.txt", "x\n");
    let model = FakeModel::answer_with(|_| ModelReply::Items(Vec::new())).await;
    let codex = codex::codex_environment(home.0.path(), &model.url);
    let server = RunningServer::serve(&home.path("data"), &[&home.path("boiler")], &codex).await;
    // A machine under load may be slower than a prompt would wait.
    let patient = ["--wait-ms", "120000"];
    for folder in ["boiler", "boiler/src"] {
        let output_text = run_hook(&home, &prompt_input(&home.path(folder)), &patient).await;
        assert!(
            output_text.contains("mcp__codeinfo__codebase_question"),
            "{folder}: {output_text}"
        );
        assert!(output_text.len() <= MAX_BYTES, "{} bytes", output_text.len());
    }
    let elsewhere = ["other", "boiler/nested"].map(|folder| prompt_input(&home.path(folder)));
    let root = prompt_input(Path::new("/"));
    for input in [&elsewhere[0], &elsewhere[1], &*root, "{}", "", "{\"cwd\": 1}"] {
        assert_eq!(run_hook(&home, input, &patient).await, "", "{input}");
    }
    drop(server);
    assert_eq!(run_hook(&home, &prompt_input(&home.path("boiler")), &patient).await, "");
    // A question would be refused.
    let away = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    let _server = RunningServer::serve(&home.path("data"), &[&home.path("boiler")], &away).await;
    assert_eq!(run_hook(&home, &prompt_input(&home.path("boiler")), &patient).await, "");
}

#[tokio::test]
async fn a_prompt_does_not_wait_for_a_server_that_does_not_answer() {
    let home = TestHome::new();
    // There is no data folder, or its server has not published its address yet.
    assert_eq!(run_hook(&home, &prompt_input(home.0.path()), &[]).await, "");
    let mut lock = DataDirLock::acquire(&home.path("data")).unwrap();
    assert_eq!(run_hook(&home, &prompt_input(home.0.path()), &[]).await, "");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    lock.announce(&LockHolder { main_url: Some(url), ..LockHolder::this_process() }).unwrap();
    // The system takes the connection, and nothing ever reads from it.
    assert_eq!(run_hook(&home, &prompt_input(home.0.path()), &[]).await, "");
    // A setting that no other command starts with.
    let mut command = home.command(BINARY);
    let ended = home.finish_command(command.env("MAX_BATCH", "many").arg("hook"));
    assert_eq!((ended.code, ended.output_text.as_str(), ended.failed.as_str()), (Some(0), "", ""));
}

#[test]
fn the_hook_is_a_choice_that_uninstall_takes_back() {
    let home = TestHome::with_program();
    let own = "{\n  \"hooks\": {\n    \"UserPromptSubmit\": [\n      {\n        \"hooks\": [\n          {\n            \
               \"type\": \"command\",\n            \"command\": \"mine hook\"\n          }\n        ]\n      }\n    \
               ]\n  }\n}\n";
    home.write(SETTINGS, own);
    let install = |switches: &[&str]| {
        home.run_successfully(
            &[&["install", "claude-code", "--no-instructions", "--yes"], switches].concat(),
        )
    };
    install(&[]);
    assert!(!home.read_file(SETTINGS).contains("codeinfo hook"));
    let shown = install(&["--hook"]);
    assert!(shown.contains("\"command\": \"codeinfo hook || exit 0 # codeinfo\""), "{shown}");
    let settings =
        |home: &TestHome| serde_json::from_str::<Value>(&home.read_file(SETTINGS)).unwrap();
    let hooks = settings(&home)["hooks"]["UserPromptSubmit"].clone();
    let ours =
        json!({ "type": "command", "command": "codeinfo hook || exit 0 # codeinfo", "timeout": 1 });
    assert_eq!(hooks[0]["hooks"][0]["command"], "mine hook");
    assert_eq!(hooks[1], json!({ "hooks": [ours] }));
    // A user who agreed once gets no question at every update.
    let installed = home.read_file(SETTINGS);
    install(&[]);
    assert_eq!(home.read_file(SETTINGS), installed);
    install(&["--no-permissions"]);
    assert_eq!(settings(&home)["hooks"]["UserPromptSubmit"], hooks);
    assert!(!home.read_file(SETTINGS).contains("codebase_question"));
    home.run_successfully(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(SETTINGS), own);
    // From a file that changed since, with a permission that is the user's own.
    let own = "{\"permissions\": {\"allow\": [\"mcp__codeinfo__codebase_question\"]}}";
    home.write(SETTINGS, own);
    install(&["--hook"]);
    home.write(SETTINGS, home.read_file(SETTINGS) + "\n");
    home.run_successfully(&["uninstall", "--yes"]);
    let left = settings(&home);
    assert_eq!(left["hooks"]["UserPromptSubmit"], json!([]));
    assert_eq!(left["permissions"]["allow"], json!(["mcp__codeinfo__codebase_question"]));
}

#[test]
fn the_hook_is_asked_for_where_claude_code_is_and_a_shell_can_run_it() {
    let home = TestHome::new();
    let program = home.path("it's mine/codeinfo");
    fs::create_dir(program.parent().unwrap()).unwrap();
    fs::hard_link(BINARY, &program).unwrap();
    let mut command = home.command(program.to_str().unwrap());
    command.args(["install", "claude-code", "--hook", "--yes"]);
    assert_eq!(home.finish_command(&mut command).code, Some(0));
    let settings: Value = serde_json::from_str(&home.read_file(SETTINGS)).unwrap();
    let line = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"].as_str().unwrap();
    let mut shell = home.command("/bin/sh");
    let ended = home.finish_command(shell.args(["-c", line]));
    assert_eq!((ended.code, ended.failed.as_str()), (Some(0), ""), "{line}");
    home.run_successfully(&["uninstall", "--yes"]);
    assert!(!home.has_file(SETTINGS));

    let home = TestHome::with_program();
    let mut terminal = TerminalSession::start(&home, "install claude-code");
    terminal.answer_question("index it in the background", "");
    terminal.answer_question("each time?", "");
    terminal.answer_question("what agents read in every folder", "");
    terminal.answer_question("with each prompt", "");
    terminal.answer_question("Write this?", "y");
    let (code, output_text) = terminal.wait_for_end();
    assert_eq!(code, Some(0), "{output_text}");
    assert!(!home.read_file(SETTINGS).contains("hook"), "{output_text}");
}

/// Installs as the program at `path`, and returns the commands of all hooks and the output.
fn install_as(home: &TestHome, path: &str, switches: &[&str]) -> (Vec<String>, String) {
    let program = home.path(path);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::hard_link(BINARY, &program).unwrap();
    let mut command = home.command(program.to_str().unwrap());
    command.args(["install", "claude-code", "--no-instructions", "--yes"]).args(switches);
    let ended = home.finish_command(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let settings: Value = serde_json::from_str(&home.read_file(SETTINGS)).unwrap();
    let hooks = settings["hooks"]["UserPromptSubmit"].as_array().cloned().unwrap_or_default();
    let commands =
        hooks.iter().map(|hook| hook["hooks"][0]["command"].as_str().unwrap().to_owned());
    (commands.collect(), ended.output_text)
}

#[test]
fn the_hook_follows_the_program_whatever_its_name_is() {
    let home = TestHome::new();
    let line = |path| format!("{} hook || exit 0 # codeinfo", home.path(path).display());
    assert_eq!(install_as(&home, "a/ci-1.2", &["--hook"]).0, [line("a/ci-1.2")]);
    // Values that the user set beside the command stay.
    let patient = home.read_file(SETTINGS).replace("\"timeout\": 1", "\"timeout\": 7");
    home.write(SETTINGS, patient);
    assert_eq!(install_as(&home, "b/codeinfo", &[]).0, [line("b/codeinfo")]);
    assert!(home.read_file(SETTINGS).contains("\"timeout\": 7"));
    // One without the mark is the user's own.
    home.write(SETTINGS, home.read_file(SETTINGS).replace(" # codeinfo", ""));
    let own = line("b/codeinfo").replace(" # codeinfo", "");
    assert_eq!(install_as(&home, "c/ci", &["--hook"]).0, [own.clone(), line("c/ci")]);
    // A runner has to unpack it first.
    let (left, output_text) = install_as(&home, "_npx/bin/codeinfo", &[]);
    assert!(
        left == [own.clone()] && output_text.contains("no reminder with each prompt"),
        "{output_text}"
    );
    let (left, output_text) = install_as(&home, "_npx/other/codeinfo", &["--hook"]);
    assert!(left == [own] && output_text.contains("no reminder with each prompt"), "{output_text}");
    install_as(&home, "d/ci", &["--hook"]);
    fs::remove_dir_all(home.path("data")).unwrap();
    home.run_successfully(&["uninstall", "--yes"]);
    assert!(!home.read_file(SETTINGS).contains("# codeinfo"));
}

#[test]
fn a_hook_that_the_user_had_stays() {
    let home = TestHome::with_program();
    let own = json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "codeinfo hook", "timeout": 5}]}]}});
    home.write(SETTINGS, own.to_string());
    home.run(&["uninstall", "--yes"]);
    assert_eq!(home.read_file(SETTINGS), own.to_string());
    home.run_successfully(&["install", "claude-code", "--yes"]);
    home.write(SETTINGS, home.read_file(SETTINGS) + "\n");
    home.run_successfully(&["uninstall", "--yes"]);
    assert!(home.read_file(SETTINGS).contains("\"timeout\":5"), "{}", home.read_file(SETTINGS));
}

#[test]
fn a_no_takes_the_hook_out_and_what_is_there_is_not_asked_for() {
    let home = TestHome::with_program();
    home.run_successfully(&["install", "claude-code", "--hook", "--yes"]);
    let mut terminal = TerminalSession::start(&home, "install claude-code --no-instructions");
    terminal.answer_question("index it in the background", "");
    terminal.answer_question("each time?", "");
    terminal.answer_question("Write this?", "y");
    let (code, output_text) = terminal.wait_for_end();
    assert_eq!(code, Some(0), "{output_text}");
    assert!(home.read_file(SETTINGS).contains("codeinfo hook"), "{output_text}");
    home.run_successfully(&["install", "claude-code", "--no-hook", "--yes"]);
    assert!(!home.read_file(SETTINGS).contains("codeinfo hook"));
    assert!(home.read_file(SETTINGS).contains("codebase_question"));
}

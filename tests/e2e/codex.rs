//! Availability of Codex: found, started, signed in, lost and found again.

use std::{fs, path::Path, time::Duration};

use codeinfo_chat::ChatEvent;
use codeinfo_codex::{Codex, CodexAvailability, UnavailableReason};
use codeinfo_core::{error::ErrorCode, task::Tasks};
use futures_util::StreamExt;

use crate::support::{
    codex::{codex_binary, shim_folder, write_codex_home},
    harness::{ChatHarness, codex_settings, create_folder, render_outcome},
    model::{FakeModel, ModelReply, message_item, thinking_item},
    process::RunningServer,
};

fn build_codex(settings: codeinfo_codex::CodexSettings) -> Codex {
    Codex::new(settings, Tasks::default())
}

fn unavailable_reason(presence: CodexAvailability) -> String {
    match presence {
        CodexAvailability::Available { .. } => "available".to_owned(),
        CodexAvailability::Unavailable(UnavailableReason { reason, .. }) => reason,
    }
}

#[tokio::test]
async fn a_binary_that_appears_is_found_without_a_restart() {
    let folder = create_folder();
    let mut settings = codex_settings(&folder);
    settings.bin = None;
    settings.path = folder.path().join("bin").into();
    settings.home = Some(write_codex_home(folder.path(), "http://127.0.0.1:1/v1", ""));
    let codex = build_codex(settings);
    assert_eq!(
        codex.check_availability().await,
        CodexAvailability::Unavailable(UnavailableReason {
            reason: "the Codex command line is not found: no `codex` on PATH".to_owned(),
            hint:
                "install it with `npm install -g @openai/codex` and sign in with `codex login`, or set \
                   CODEX_BIN to the path of the binary"
                    .to_owned(),
        })
    );
    fs::create_dir(folder.path().join("bin")).unwrap();
    create_link(codex_binary(), &folder.path().join("bin/codex"));
    assert_eq!(
        codex.current_availability().await,
        CodexAvailability::Available {
            version: "0.169.0".to_owned(),
            model: Some("mock-model".to_owned())
        }
    );
}

#[tokio::test]
async fn the_command_that_npm_installs_works_and_ends_like_the_binary() {
    let model = FakeModel::answer_with(|_| ModelReply::Silent(Vec::new())).await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        settings.bin = None;
        let node = std::env::split_paths(&settings.path).collect::<Vec<_>>();
        settings.path = std::env::join_paths([shim_folder()].into_iter().chain(node)).unwrap();
    })
    .await;
    let turn = harness.begin_turn("What?", None).await.unwrap();
    harness.model.wait_for_requests(1).await;
    assert!(harness.tasks.stop(Duration::from_secs(20)).await);
    assert_eq!(list_children(&harness.codex_home()), Vec::<String>::new());
    drop(turn);
}

#[tokio::test]
async fn a_file_that_is_no_binary_is_reported() {
    let folder = create_folder();
    let mut settings = codex_settings(&folder);
    settings.bin = Some(folder.path().join("nowhere"));
    let reason_of = |settings: &codeinfo_codex::CodexSettings| {
        let codex = build_codex(settings.clone());
        async move { unavailable_reason(codex.check_availability().await) }
    };
    assert_eq!(
        reason_of(&settings).await,
        "the Codex command line is not found: CODEX_BIN does not name a program"
    );
    let program = folder.path().join("codex");
    fs::write(&program, "#!/bin/sh\necho 'no such subcommand' >&2\nexit 1\n").unwrap();
    make_runnable(&program);
    settings.bin = Some(program);
    let ended = "the Codex process ended with exit status 1, saying: no such subcommand";
    assert_eq!(reason_of(&settings).await, ended);
    settings.path = folder.path().into();
    settings.bin = Some("codex".into());
    assert_eq!(reason_of(&settings).await, ended, "a bare name is looked for on the path");
    settings.bin = Some("codex-next".into());
    assert_eq!(
        reason_of(&settings).await,
        "the Codex command line is not found: CODEX_BIN names no program on PATH"
    );
}

#[tokio::test]
async fn signing_in_and_out_is_seen_without_a_restart() {
    let folder = create_folder();
    let mut settings = codex_settings(&folder);
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    settings.home = Some(home.clone());
    let codex = build_codex(settings);
    assert_eq!(unavailable_reason(codex.check_availability().await), "Codex is signed out");
    let sign_in = r#"{"auth_mode":"apikey","OPENAI_API_KEY":"sk-none"}"#;
    fs::write(home.join("auth.json"), sign_in).unwrap();
    // The default model of this Codex, since it does not offer the preferred one.
    let available = CodexAvailability::Available {
        version: "0.169.0".to_owned(),
        model: Some("gpt-6.1-sol".to_owned()),
    };
    assert_eq!(codex.current_availability().await, available);
    assert_eq!(codex.availability(), available);
    fs::remove_file(home.join("auth.json")).unwrap();
    assert_eq!(unavailable_reason(codex.check_availability().await), "Codex is signed out");
}

#[tokio::test]
async fn the_key_of_a_provider_counts_from_the_environment_and_from_the_env_file() {
    let folder = create_folder();
    let mut settings = codex_settings(&folder);
    let home =
        write_codex_home(folder.path(), "http://127.0.0.1:1/v1", "env_key = \"MODEL_KEY\"\n");
    settings.home = Some(home.clone());
    let missing = build_codex(settings.clone());
    assert_eq!(
        unavailable_reason(missing.check_availability().await),
        "the model provider `mock` needs the environment variable `MODEL_KEY`, which is not set"
    );
    fs::write(home.join(".env"), "MODEL_KEY=k\n").unwrap();
    assert_eq!(unavailable_reason(missing.current_availability().await), "available");
    fs::remove_file(home.join(".env")).unwrap();
    settings.environment =
        codeinfo_codex::OtherVariables::new([("MODEL_KEY".to_owned(), "k".to_owned())]);
    assert_eq!(unavailable_reason(build_codex(settings).check_availability().await), "available");
}

#[tokio::test]
async fn a_broken_configuration_is_reported_and_its_repair_seen() {
    let folder = create_folder();
    let mut settings = codex_settings(&folder);
    let home = write_codex_home(folder.path(), "http://127.0.0.1:1/v1", "");
    let config = home.join("config.toml");
    let good = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{good}\n[mcp_servers.x]\nurl = 1\n")).unwrap();
    settings.home = Some(home);
    let codex = build_codex(settings);
    let reported = unavailable_reason(codex.check_availability().await);
    assert!(reported.starts_with("Codex cannot use its configuration: "), "{reported}");
    fs::write(&config, good).unwrap();
    assert_eq!(unavailable_reason(codex.current_availability().await), "available");
}

#[tokio::test]
async fn a_process_killed_in_a_turn_fails_it_and_the_next_question_works() {
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item("Before.")]),
        ModelReply::Silent(vec![thinking_item("hm")]),
        ModelReply::Items(vec![message_item("After.")]),
    ])
    .await;
    let before = harness.ask("Before?").await;
    let mut turn = harness.begin_turn("What?", None).await.unwrap();
    while !matches!(turn.next().await.unwrap(), ChatEvent::Thinking { .. }) {}
    kill_children(&harness.codex_home());
    let outcome = codeinfo_chat::collect_outcome(turn).await;
    assert_eq!(
        render_outcome(&outcome),
        "thinking: hm\nfailure: CODE_INFO_LLM_UNAVAILABLE: in the middle of the turn, the Codex \
         process ended with signal 9 (SIGKILL)"
    );
    assert_eq!(
        render_outcome(&harness.follow_up(before.conversation, "And now?").await),
        "answer: After."
    );
    assert!(harness.model.latest_request_text().contains("Before."));
    assert_eq!(harness.codex.counts().starts, 2);
}

#[tokio::test]
async fn a_conversation_continues_when_the_process_is_replaced() {
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item("Before.")]),
        ModelReply::Items(vec![message_item("After.")]),
    ])
    .await;
    let before = harness.ask("Before?").await;
    fs::write(harness.codex_home().join(".env"), "NEW=1\n").unwrap();
    assert_eq!(
        render_outcome(&harness.follow_up(before.conversation, "After?").await),
        "answer: After."
    );
    assert_eq!(harness.codex.counts().starts, 2);
    assert!(harness.model.latest_request_text().contains("Before."));
}

#[tokio::test]
async fn a_process_that_dies_again_and_again_is_not_started_in_a_loop() {
    let folder = create_folder();
    let mut settings = codex_settings(&folder);
    let (program, runs) = (folder.path().join("codex"), folder.path().join("runs"));
    fs::write(&program, format!("#!/bin/sh\necho run >> '{}'\n", runs.display())).unwrap();
    make_runnable(&program);
    settings.bin = Some(program);
    let codex = build_codex(settings);
    for _ in 0..20 {
        drop(codex.check_availability().await);
    }
    let runs = fs::read_to_string(runs).unwrap().lines().count();
    assert!((2..8).contains(&runs), "{runs} starts");
}

#[tokio::test]
async fn a_process_that_crashes_twice_keeps_a_question_waiting_and_refuses_none() {
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Here.")])]).await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        let program = settings.workdir.with_file_name("codex");
        let runs = program.with_extension("runs").display().to_string();
        let crashes =
            format!("echo >> '{runs}'; if [ $(wc -l < '{runs}') -le 2 ]; then exit 3; fi");
        let script = format!("#!/bin/sh\n{crashes}\nexec '{}' \"$@\"\n", codex_binary().display());
        fs::write(&program, script).unwrap();
        // A script is accepted when it is beside a package of Codex, as the one of npm is.
        let packages = program.with_file_name("node_modules");
        fs::create_dir(&packages).unwrap();
        create_link(codex_binary().ancestors().nth(5).unwrap(), &packages.join("@openai"));
        make_runnable(&program);
        settings.bin = Some(program);
    })
    .await;
    assert_eq!(render_outcome(&harness.ask("Where?").await), "answer: Here.");
    assert_eq!(harness.codex.counts().starts, 3);
}

#[tokio::test]
async fn a_process_killed_while_idle_is_noticed_at_once() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![message_item("Before.")]),
        ModelReply::Items(vec![message_item("After.")]),
    ])
    .await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        let program = settings.workdir.with_file_name("codex");
        create_link(codex_binary(), &program);
        settings.bin = Some(program);
        settings.presence_ttl = Duration::from_mins(10);
    })
    .await;
    assert_eq!(render_outcome(&harness.ask("Before?").await), "answer: Before.");
    assert_eq!(unavailable_reason(harness.codex.availability()), "available");
    kill_children(&harness.codex_home());
    wait_until(|| harness.codex.counts().starts >= 2).await;
    wait_until(|| unavailable_reason(harness.codex.availability()) == "available").await;

    let program = harness.settings.bin.clone().unwrap();
    fs::remove_file(&program).unwrap();
    kill_children(&harness.codex_home());
    let gone = "the Codex command line is not found: CODEX_BIN does not name a program";
    wait_until(|| unavailable_reason(harness.codex.availability()) == gone).await;
    create_link(codex_binary(), &program);
    assert_eq!(render_outcome(&harness.ask("After?").await), "answer: After.");
}

/// Waits until `is_so`, far less long than knowledge of Codex would be kept.
async fn wait_until(is_so: impl Fn() -> bool) {
    let changed = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), changed).await.unwrap();
}

#[tokio::test]
async fn the_reason_of_an_exit_is_what_codex_printed() {
    let folder = create_folder();
    let mut settings = codex_settings(&folder);
    let program = folder.path().join("codex");
    settings.bin = Some(program.clone());
    for (script, ended) in [
        (
            "printf '\\033[31mError:\\033[0m model-name-5.1-max in config.toml, key sk-123, /root/x\\n' >&2\n\
             printf '\\033[2m2026-11-22T10:00:00Z\\033[0m \\033[33m WARN\\033[0m codex: slow\\n' >&2\n\
             echo 'WARNING: proceeding, even though we could not create PATH aliases' >&2\nexit 3",
            "with exit status 3, saying: Error: model-name-5.1-max in config.toml, key [key], [path]",
        ),
        ("echo 'WARNING: proceeding' >&2\nkill -9 $$", "with signal 9 (SIGKILL)"),
        ("echo 'out of luck' >&2\nkill -11 $$", "with signal 11 (SIGSEGV)"),
        (
            "echo \"error: unexpected argument, color off: $NO_COLOR\" >&2\n\
             echo 'For more information, try --help.' >&2\n\
             echo '2026-11-22T10:00:00Z ERROR codex: no bubblewrap. Codex will use its own in the meantime.' >&2\n\
             exit 2",
            "with exit status 2, saying: error: unexpected argument, color off: 1",
        ),
        ("exit 0", "with exit status 0"),
    ] {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        make_runnable(&program);
        let presence = build_codex(settings.clone()).check_availability().await;
        assert_eq!(unavailable_reason(presence), format!("the Codex process ended {ended}"));
    }
}

#[tokio::test]
async fn no_secret_that_codex_prints_is_logged() {
    let folder = create_folder();
    let program = folder.path().join("codex");
    let output_text = "Error: password=hunter2 at /root/x for \\033[31mme";
    fs::write(&program, format!("#!/bin/sh\nprintf '{output_text}\\n' >&2\nexit 3\n")).unwrap();
    make_runnable(&program);
    let environment = [("CODEX_BIN", program.to_str().unwrap()), ("LOG_LEVEL", "trace")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let data = folder.path().join("data");
    let (server, mut log) = RunningServer::serve_logged(&data, &environment.into()).await;
    let mut logged = String::new();
    while !logged.contains("Codex says") {
        logged.push_str(&log.next_line().await.unwrap().expect(&logged));
    }
    server.kill().await;
    while let Some(line) = log.next_line().await.unwrap() {
        logged.push_str(&line);
    }
    assert!(logged.contains("password=[key] at [path] for me"), "{logged}");
    for secret in ["hunter2", "/root/x", "[31m"] {
        assert!(!logged.contains(secret), "{logged}");
    }
}

#[tokio::test]
async fn stopping_ends_the_process_and_its_turns() {
    let harness = ChatHarness::with_settings(
        FakeModel::answer_with(|_| ModelReply::Silent(Vec::new())).await,
        "",
        |_| (),
    )
    .await;
    let turn = harness.begin_turn("What?", None).await.unwrap();
    harness.model.wait_for_requests(1).await;
    let collecting = codeinfo_chat::collect_outcome(turn);
    let (stopped, outcome) = tokio::join!(harness.tasks.stop(Duration::from_secs(20)), collecting);
    assert!(stopped);
    assert_eq!(outcome.failure.unwrap().code, ErrorCode::Cancelled);
    assert_eq!(list_children(&harness.codex_home()), Vec::<String>::new());
}

/// Returns the ids of Codex processes with the home `home`.
fn list_children(home: &Path) -> Vec<String> {
    let wanted = format!("CODEX_HOME={}", home.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        // Processes of others, and such that end meanwhile, cannot be read.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_codex = command.windows(10).any(|part| part == b"app-server");
        if is_codex && environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes()) {
            found.push(entry.file_name().into_string().unwrap());
        }
    }
    found
}

fn kill_children(home: &Path) {
    let found = list_children(home);
    assert!(!found.is_empty(), "no Codex process");
    let killed = std::process::Command::new("kill").arg("-9").args(found).status().unwrap();
    assert!(killed.success());
}

fn create_link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).unwrap();
}

fn make_runnable(program: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

//! The whole way: a client, port 5011, the real Codex, search, and back.

use std::{fs, path::Path, time::Duration};

use codeinfo_core::task::Tasks;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    codex,
    model::{FakeModel, ModelReply, OutputItem, message_item, search_item, thinking_item},
    process::{
        ProgramEnvironment, RunningServer, create_scratch_folder, http_client, run_command,
        send_signal, spawn_command,
    },
};

/// A model, a repository, a Codex home and a data folder.
pub(crate) struct CodexSetup {
    pub(crate) model: FakeModel,
    pub(crate) folder: TempDir,
}

impl CodexSetup {
    pub(crate) async fn replay(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        Self::with_model(FakeModel::replay(replies).await)
    }

    pub(crate) fn with_model(model: FakeModel) -> Self {
        let folder = create_scratch_folder();
        let source = folder.path().join("boiler/src");
        fs::create_dir_all(&source).unwrap();
        let valve = "/// Opens the valve when the pressure is too high.\n\
                     pub fn relieve_pressure(limit: f64) -> bool {\n    limit > 3.0\n}\n";
        let heater = "/// Heats the water.\npub fn heat() {}\n";
        fs::write(source.join("valve.rs"), valve).unwrap();
        fs::write(source.join("heater.rs"), heater).unwrap();
        codex::write_codex_home(folder.path(), &model.url, "");
        Self { model, folder }
    }

    pub(crate) fn environment(&self) -> ProgramEnvironment {
        let binary = codex::codex_binary().display().to_string();
        let home = self.folder.path().join("codex-home").display().to_string();
        let (off, presence) = ("off".to_owned(), "600".to_owned());
        let codex = [("CODEX_BIN", binary), ("CODEX_HOME", home)];
        let more = [("CODEX_PRESENCE_SECS", presence), ("CLAIM_CHECK", off)];
        codex.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    async fn serve(&self) -> RunningServer {
        self.serve_with(&[]).await
    }

    pub(crate) async fn serve_with(&self, more: &[(&str, &str)]) -> RunningServer {
        let mut environment = self.environment();
        environment.retain(|(name, _)| more.iter().all(|(other, _)| name != other));
        environment
            .extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let repository = self.folder.path().join("boiler");
        RunningServer::serve(&self.folder.path().join("data"), &[&repository], &environment).await
    }

    /// Replaces what differs from run to run.
    fn redact_text(&self, text: &str, conversation: &str) -> String {
        let folder = self.folder.path().canonicalize().unwrap();
        text.replace(folder.to_str().unwrap(), "[folder]").replace(conversation, "[conversation]")
    }
}

/// Returns the JSON in the one content item of a result.
pub(crate) fn read_result(reply: &Value) -> Value {
    let content = reply["result"]["content"].as_array().unwrap_or_else(|| panic!("{reply:#}"));
    assert_eq!(content.len(), 1, "{reply:#}");
    assert_eq!(content[0]["type"], "text");
    serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap()
}

pub(crate) fn read_conversation(reply: &Value) -> String {
    read_result(reply)["conversationId"].as_str().unwrap().to_owned()
}

fn search_then_answer(query: &str, answer: &str) -> [ModelReply; 2] {
    [
        ModelReply::Items(vec![
            thinking_item("I look for the place where it happens."),
            search_item(query),
        ]),
        ModelReply::Items(vec![thinking_item("Found."), message_item(answer)]),
    ]
}

#[tokio::test]
async fn a_question_yields_ordered_segments() {
    let setup = CodexSetup::replay(search_then_answer("relieve pressure", "In valve.rs.")).await;
    let server = setup.serve().await;
    let reply = server.ask_question(json!({ "question": "What opens the valve?" })).await;
    let id = read_conversation(&reply);
    let mut shown = read_result(&reply);
    // Scores belong to the ranking's own tests.
    for file in shown["segments"][1]["files"].as_array_mut().unwrap() {
        assert!(file["match"].as_f64().is_some_and(|score| (0.0..=1.0).contains(&score)));
        file["match"] = "[score]".into();
    }
    assert_snapshot!(setup.redact_text(&format!("{shown:#}"), &id), @r#"
    {
      "conversationId": "[conversation]",
      "modelId": "mock-model",
      "segments": [
        {
          "type": "thinking",
          "text": "I look for the place where it happens."
        },
        {
          "type": "vector_summary",
          "files": [
            {
              "path": "[folder]/boiler/src/valve.rs",
              "relPath": "src/valve.rs",
              "repo": "boiler",
              "match": "[score]",
              "chunks": 1,
              "lines": 4,
              "ranges": [
                "1-4"
              ]
            }
          ]
        },
        {
          "type": "thinking",
          "text": "Found."
        },
        {
          "type": "answer",
          "text": "In valve.rs.",
          "checked": {
            "citations": 0,
            "confirmed": 0,
            "unconfirmed": 0,
            "wrong": 0,
            "repaired": 0,
            "dropped": 0,
            "places": [],
            "repositories": []
          }
        }
      ]
    }
    "#);
    assert_eq!(reply["result"].as_object().unwrap().keys().collect::<Vec<_>>(), ["content"]);

    let sent = setup.model.latest_request_text();
    assert!(sent.contains("relieve_pressure(limit: f64)"), "the model sees the code: {sent}");
    assert!(!sent.contains("codeinfo/files"), "the summary is not for the model: {sent}");
    server.terminate().await;
}

#[tokio::test]
async fn a_follow_up_reaches_the_model_with_the_earlier_turns_even_after_a_restart() {
    let setup = CodexSetup::replay([
        ModelReply::Items(vec![message_item("The valve is in valve.rs.")]),
        ModelReply::Items(vec![message_item("At 3 bar.")]),
        ModelReply::Items(vec![message_item("Because of the boiler.")]),
    ])
    .await;
    let server = setup.serve().await;
    let first = server.ask_question(json!({ "question": "Where is the valve?" })).await;
    let id = read_conversation(&first);
    let second = server
        .ask_question(json!({ "question": "When does it open?", "conversationId": id }))
        .await;
    assert_eq!(read_conversation(&second), id);
    assert!(setup.model.latest_request_text().contains("Where is the valve?"));
    assert!(setup.model.latest_request_text().contains("The valve is in valve.rs."));
    assert!(server.terminate().await.success());

    let server = setup.serve().await;
    let third = server.ask_question(json!({ "question": "Why?", "conversationId": id })).await;
    assert_eq!(read_conversation(&third), id);
    for earlier in ["Where is the valve?", "When does it open?", "At 3 bar."] {
        assert!(
            setup.model.latest_request_text().contains(earlier),
            "{}",
            setup.model.latest_request_text()
        );
    }
    server.terminate().await;
}

#[tokio::test]
async fn two_conversations_at_once_stay_apart() {
    let script = |request: &Value| {
        let input = request["input"].to_string();
        let (pressure, heat) = (input.contains("about pressure"), input.contains("about heat"));
        assert!(pressure != heat, "one conversation sees the other: {input}");
        let name = if pressure { "pressure" } else { "heat" };
        if input.contains("function_call_output") {
            ModelReply::Items(vec![message_item(&format!("This is {name}."))])
        } else {
            ModelReply::Items(vec![search_item(name)])
        }
    };
    let setup = CodexSetup::with_model(FakeModel::answer_with(script).await);
    let server = setup.serve().await;
    let (pressure, heat) = tokio::join!(
        server.ask_question(json!({ "question": "Tell me about pressure" })),
        server.ask_question(json!({ "question": "Tell me about heat" })),
    );
    assert_ne!(read_conversation(&pressure), read_conversation(&heat));
    let last =
        |reply: &Value| read_result(reply)["segments"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last(&pressure)["text"], "This is pressure.");
    assert_eq!(last(&heat)["text"], "This is heat.");
    server.terminate().await;
}

#[tokio::test]
async fn ids_that_are_not_conversations_are_refused() {
    let setup = CodexSetup::replay([]).await;
    let server = setup.serve().await;
    let unknown = "01a1fb24-43df-7610-a7e7-61039a1359e8";
    for id in [unknown, "--last", "../../etc/passwd", "it's", "\"", "{01a1fb24}", "a\0b", "*"] {
        let reply = server.ask_question(json!({ "question": "Why?", "conversationId": id })).await;
        assert_eq!(reply["error"]["code"], -32602, "{id}: {reply}");
    }
    assert!(setup.model.requests().is_empty(), "nothing reaches the model");
    server.terminate().await;
}

#[tokio::test]
async fn without_codex_the_gate_answers_and_opens_when_codex_appears() {
    let setup = CodexSetup::replay([ModelReply::Items(vec![message_item("Here.")])]).await;
    let binary = setup.folder.path().join("codex");
    let server = setup.serve_with(&[("CODEX_BIN", binary.to_str().unwrap())]).await;
    for method in ["tools/list", "tools/call"] {
        // Not even valid arguments: the gate comes first.
        let reply = server.call_rpc(method, json!({})).await;
        assert_eq!(reply["error"]["code"], -32001, "{reply}");
        assert_eq!(reply["error"]["message"], "CODE_INFO_LLM_UNAVAILABLE");
        assert!(reply["error"]["data"]["hint"].as_str().unwrap().contains("CODEX_BIN"), "{reply}");
    }
    assert!(server.call_rpc("ping", json!({})).await["result"].is_object());
    let health = server.get_api("/health").await;
    assert_eq!(
        (&health["status"], &health["codex"]["available"]),
        (&json!("degraded"), &json!(false))
    );
    assert_eq!(server.get_api("/ready").await["error"], "CODE_INFO_LLM_UNAVAILABLE");

    std::os::unix::fs::symlink(codex::codex_binary(), &binary).unwrap();
    let listed = server.call_rpc("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1, "{listed}");
    let reply = server.ask_question(json!({ "question": "Where?" })).await;
    assert_eq!(read_result(&reply)["segments"][0]["text"], "Here.");
    server.terminate().await;
}

#[tokio::test]
async fn codex_is_unavailable_until_the_user_signs_in() {
    let setup = CodexSetup::replay([]).await;
    let home = setup.folder.path().join("codex-home");
    fs::write(home.join("config.toml"), "check_for_update_on_startup = false\n").unwrap();
    let server = setup.serve().await;
    let reply = server.call_rpc("tools/list", json!({})).await;
    assert_eq!(reply["error"]["code"], -32001, "{reply}");
    assert!(reply["error"]["data"]["hint"].as_str().unwrap().contains("codex login"), "{reply}");

    sign_in(&home).await;
    let listed = server.call_rpc("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "codebase_question", "{listed}");
    server.terminate().await;
}

async fn sign_in(home: &Path) {
    let mut login = tokio::process::Command::new(codex::codex_binary())
        .args(["login", "--with-api-key"])
        .env("CODEX_HOME", home)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut key = login.stdin.take().unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut key, b"sk-not-a-real-key\n").await.unwrap();
    drop(key);
    assert!(login.wait().await.unwrap().success());
}

#[tokio::test]
async fn codex_killed_in_mid_run_is_unavailable_and_the_next_question_works() {
    let setup = CodexSetup::replay([
        ModelReply::Silent(vec![thinking_item("Looking.")]),
        ModelReply::Items(vec![message_item("Back again.")]),
    ])
    .await;
    let server = setup.serve().await;
    let (reply, ()) = tokio::join!(server.ask_question(json!({ "question": "Where?" })), async {
        setup.model.wait_for_requests(1).await;
        for child in list_children(server.pid()).await {
            send_signal("KILL", child).await;
        }
    });
    assert_eq!(reply["error"]["code"], -32001, "{reply}");
    let id = reply["error"]["data"]["conversationId"].as_str().unwrap().to_owned();
    let again = server.ask_question(json!({ "question": "Where?", "conversationId": id })).await;
    assert_eq!(read_result(&again)["segments"][0]["text"], "Back again.");
    assert_eq!(read_conversation(&again), id);
    server.terminate().await;
}

#[tokio::test]
async fn codex_that_hangs_is_replaced() {
    let setup = CodexSetup::replay([
        ModelReply::Items(vec![message_item("First.")]),
        ModelReply::Items(vec![message_item("Back again.")]),
    ])
    .await;
    let server = setup.serve_with(&[("CODEX_REQUEST_TIMEOUT_SECS", "2")]).await;
    let first = server.ask_question(json!({ "question": "Where?" })).await;
    let hanging = list_children(server.pid()).await;
    for child in &hanging {
        send_signal("STOP", *child).await;
    }
    let reply = server.ask_question(json!({ "question": "Where?" })).await;
    assert_eq!(reply["error"]["code"], -32001, "{reply}");
    let follow_up = json!({ "question": "Where?", "conversationId": read_conversation(&first) });
    let again = server.ask_question(follow_up).await;
    assert_eq!(read_result(&again)["segments"][0]["text"], "Back again.", "{again}");
    let now = list_children(server.pid()).await;
    assert!(hanging.iter().all(|child| !now.contains(child)), "{hanging:?} {now:?}");
    server.terminate().await;
}

/// Returns the ids of a process's children.
async fn list_children(pid: u32) -> Vec<u32> {
    let listed = tokio::process::Command::new("ps")
        .args(["-o", "pid=", "--ppid", &pid.to_string()])
        .output()
        .await
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let children: Vec<u32> = listed.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(!children.is_empty(), "no child of {pid}");
    children
}

#[tokio::test]
async fn a_client_that_goes_away_interrupts_the_turn() {
    let setup = CodexSetup::replay([ModelReply::Silent(vec![thinking_item("Looking.")])]).await;
    let server = setup.serve().await;
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "codebase_question", "arguments": { "question": "Where?" } },
    });
    for accept in ["application/json", "application/json, text/event-stream"] {
        let before = setup.model.requests().len();
        let request = http_client().post(&server.mcp).header("accept", accept).json(&body);
        tokio::select! {
            reply = async { request.send().await.unwrap().bytes().await } => panic!("{reply:?}"),
            () = setup.model.wait_for_requests(before + 1) => {}
        }
        // The request is dropped here, and with it the connection.
        if before == 0 {
            setup.model.wait_for_abandoned_streams(1).await;
        }
    }
    server.terminate().await;
}

#[tokio::test]
async fn failures_that_are_not_unavailability_are_results_with_the_segments_so_far() {
    let too_long = json!({ "error": {
        "message": "Your input exceeds the context window of this model.",
        "type": "invalid_request_error", "code": "context_length_exceeded",
    } });
    let setup = CodexSetup::replay([
        ModelReply::Items(vec![thinking_item("Looking."), search_item("valve")]),
        ModelReply::Status(400, too_long),
        ModelReply::Silent(vec![thinking_item("Slow.")]),
    ])
    .await;
    let server = setup.serve_with(&[("CODEX_TURN_TIMEOUT_SECS", "4")]).await;
    let reply = server.ask_question(json!({ "question": "Where?" })).await;
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    let failed = read_result(&reply);
    let kinds: Vec<&str> = failed["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| segment["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["thinking", "vector_summary"], "{failed}");
    assert!(failed["error"]["message"].as_str().unwrap().len() > 10, "{failed}");

    let reply = server.ask_question(json!({ "question": "Where?" })).await;
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert_eq!(read_result(&reply)["error"]["code"], "TURN_TIMED_OUT");
    assert_eq!(read_result(&reply)["segments"], json!([{ "type": "thinking", "text": "Slow." }]));
    setup.model.wait_for_abandoned_streams(1).await;
    server.terminate().await;
}

#[tokio::test]
async fn a_model_service_that_refuses_is_unavailability() {
    let refusal = json!({ "error": { "message": "Incorrect API key provided: sk-secret" } });
    let setup = CodexSetup::with_model(
        FakeModel::answer_with(move |_| ModelReply::Status(401, refusal.clone())).await,
    );
    let server = setup.serve().await;
    let reply = server.ask_question(json!({ "question": "Where?" })).await;
    assert_eq!(reply["error"]["code"], -32001, "{reply}");
    assert!(reply["error"]["data"]["conversationId"].is_string(), "{reply}");
    assert!(!reply.to_string().contains("sk-secret"), "{reply}");
    server.terminate().await;
}

#[tokio::test]
async fn stopping_interrupts_turns_and_leaves_no_child() {
    let setup = CodexSetup::replay([ModelReply::Silent(vec![thinking_item("Looking.")])]).await;
    let server = setup.serve_with(&[("SHUTDOWN_GRACE_SECS", "4")]).await;
    let url = server.mcp.clone();
    let asking = Tasks::default().spawn_handle(async move {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "codebase_question", "arguments": { "question": "Where?" } },
        });
        let request = http_client().post(url).header("accept", "application/json").json(&body);
        request.send().await.unwrap().json::<Value>().await.unwrap()
    });
    setup.model.wait_for_requests(1).await;
    let codex = list_children(server.pid()).await;
    assert!(server.terminate().await.success());
    setup.model.wait_for_abandoned_streams(1).await;
    let reply = asking.await.unwrap();
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    for child in codex {
        assert!(!Path::new(&format!("/proc/{child}")).is_dir(), "codex {child} is left over");
    }
}

/// The outer Codex and the one inside the server share one home, whose configuration names port
/// 5011: the inner one must not call itself.
#[tokio::test]
async fn codex_as_the_client_lists_and_calls_the_tool() {
    let script = |request: &Value| {
        let input = request["input"].to_string();
        let (outer, called) =
            (input.contains("OUTER QUESTION"), input.contains("function_call_output"));
        match (outer, called) {
            (true, false) => ModelReply::Items(vec![OutputItem::Calls(
                "mcp__codeinfo".to_owned(),
                "codebase_question".to_owned(),
                json!({ "question": "What relieves pressure?" }),
            )]),
            (true, true) => ModelReply::Items(vec![message_item("The outer answer.")]),
            (false, false) => ModelReply::Items(vec![search_item("relieve pressure")]),
            (false, true) => ModelReply::Items(vec![message_item("relieve_pressure does.")]),
        }
    };
    let setup = CodexSetup::with_model(FakeModel::answer_with(script).await);
    let server = setup.serve().await;
    let home = codex::write_codex_home(
        setup.folder.path(),
        &setup.model.url,
        &format!("[mcp_servers.codeinfo]\nurl = \"{}\"\ntool_timeout_sec = 60\n", server.mcp),
    );
    let run = tokio::process::Command::new(codex::codex_binary())
        .args(["exec", "--json", "--skip-git-repo-check", "-s", "read-only"])
        .args(["-c", "features.plugins=false", "-c", "mcp_servers.codeinfo.required=true"])
        .arg("OUTER QUESTION")
        .env("CODEX_HOME", home)
        .current_dir(setup.folder.path())
        .stdin(std::process::Stdio::null())
        .output();
    let run = tokio::time::timeout(Duration::from_mins(2), run).await.unwrap().unwrap();
    let output_text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{output_text}");
    assert!(output_text.contains("The outer answer."), "{output_text}");
    assert!(output_text.contains("relieve_pressure does."), "{output_text}");
    assert_eq!(setup.model.requests().len(), 4, "each Codex asks its model twice");
    server.terminate().await;
}

#[tokio::test]
async fn what_the_users_shell_exports_does_not_reach_the_models_shell() {
    let run = |arguments| OutputItem::Calls(String::new(), "exec_command".to_owned(), arguments);
    let setup = CodexSetup::replay([
        ModelReply::Items(vec![run(json!({ "cmd": "env" }))]),
        ModelReply::Items(vec![run(json!({ "cmd": "env", "login": true }))]),
        ModelReply::Items(vec![message_item("Done.")]),
    ])
    .await;
    let home = setup.folder.path().join("home");
    fs::create_dir(&home).unwrap();
    for profile in [".profile", ".bashrc", ".bash_profile", ".zshrc"] {
        fs::write(home.join(profile), "export HARBOUR_KEY=blue-lantern\n").unwrap();
    }
    let server =
        setup.serve_with(&[("HOME", home.to_str().unwrap()), ("SHELL", "/bin/bash")]).await;
    let reply = server.ask_question(json!({ "question": "What is set?" })).await;
    assert_eq!(read_result(&reply)["segments"][0]["text"], "Done.", "{reply:#}");
    let reported = setup.model.latest_request_text();
    assert!(reported.contains("PATH="), "the command ran: {reported}");
    assert!(!reported.contains("blue-lantern"), "{reported}");
}

#[tokio::test]
async fn code_is_shown_once_in_a_conversation_and_only_named_when_it_is_found_again() {
    let again = || ModelReply::Items(vec![search_item("relieve pressure")]);
    let setup = CodexSetup::replay([
        again(),
        again(),
        ModelReply::Items(vec![message_item("Here.")]),
        again(),
        again(),
    ])
    .await;
    let server = setup.serve().await;
    let code = "relieve_pressure(limit: f64)";
    let reply = server.ask_question(json!({ "question": "What opens the valve?" })).await;
    let sent = setup.model.latest_request_text();
    assert_eq!(sent.matches(code).count(), 1, "{sent}");
    assert_eq!(sent.matches("(shown before)").count(), 1, "{sent}");
    let follow_up = json!({ "question": "Sure?", "conversationId": read_conversation(&reply) });
    drop(server.ask_question(follow_up).await);
    let sent = setup.model.latest_request_text();
    assert_eq!(sent.matches(code).count(), 1, "{sent}");
    assert_eq!(sent.matches("(shown before)").count(), 3, "{sent}");
    server.terminate().await;
}

#[tokio::test]
async fn a_question_on_the_command_line_can_be_confined_and_needs_an_index() {
    let verdict = r#"{"verdicts":[{"number":1,"verdict":"supported","excerpt":null,"line":null}]}"#;
    let setup = CodexSetup::replay([
        ModelReply::Items(vec![search_item("relieve pressure")]),
        ModelReply::Items(vec![message_item("In src/valve.rs:1-4 and src/lost.rs:3.")]),
        ModelReply::Items(vec![message_item("In src/valve.rs:1-4 and src/lost.rs:3.")]),
        ModelReply::Items(vec![message_item("The limit is three (src/valve.rs:1-4).")]),
        ModelReply::Items(vec![message_item(verdict)]),
    ])
    .await;
    let data = setup.folder.path().join("data");
    let ask = async |more: &[&str]| {
        let mut arguments = vec!["ask", "What opens the valve?"];
        arguments.extend(more);
        let output = run_command(&data, &setup.environment(), &arguments).await;
        let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (output.status.code(), utf8(&output.stdout), utf8(&output.stderr))
    };
    let (code, output_text, stderr) = ask(&[]).await;
    assert_eq!((code, output_text.as_str()), (Some(1), ""));
    assert!(stderr.contains("`codeinfo ingest PATH`"), "{stderr}");
    let doctor = run_command(&data, &setup.environment(), &["doctor"]).await;
    let output_text = String::from_utf8(doctor.stdout).unwrap();
    assert!(output_text.contains("ok    codex: 0.169.0"), "{output_text}");
    assert!(output_text.contains("note  nothing is indexed yet"), "{output_text}");

    let server = setup.serve().await;
    assert_eq!(server.get_api("/ready").await, json!({ "ready": true }));
    let (code, output_text, stderr) = ask(&["--repository", "kettle"]).await;
    assert_eq!((code, output_text.as_str()), (Some(1), ""));
    assert!(stderr.contains("no repository `kettle` is indexed; known are `boiler`"), "{stderr}");
    assert!(setup.model.requests().is_empty(), "nothing reaches the model");
    let path = setup.folder.path().join("boiler/.");
    let (code, output_text, stderr) = ask(&["--repository", path.to_str().unwrap()]).await;
    let answer = "In src/valve.rs:1-4 and ~~src/lost.rs:3~~ (not found).\n";
    assert_eq!((code, output_text.as_str()), (Some(0), answer), "{stderr}");
    for shown in [
        "searches \"relieve pressure\"\n",
        "valve.rs:1-",
        "; 1 wrong\n",
        "; continue with: codeinfo ask --conversation ",
    ] {
        assert!(stderr.contains(shown), "{shown}: {stderr}");
    }
    let sent = setup.model.latest_request_text();
    assert!(sent.contains("The next question is about the repository `boiler` (at "), "{sent}");
    // The page lists it as any other one.
    let listed = server.get_api("/conversations").await;
    assert_eq!(listed["conversations"][0]["title"], "What opens the valve?", "{listed}");
    let (_, _, stderr) = ask(&["--claim-check", "on"]).await;
    let counts = "sentences with citations: 1 supported, 0 contradicted, 0 open\n";
    assert!(stderr.contains(counts), "{stderr}");
    server.terminate().await;
}

#[tokio::test]
async fn each_tool_says_in_a_line_what_it_did_and_a_corrected_answer_is_printed_once() {
    let call = |name: &str, arguments: Value| {
        let server = "mcp__codeinfo_search".to_owned();
        ModelReply::Items(vec![OutputItem::Calls(server, name.to_owned(), arguments)])
    };
    let setup = CodexSetup::replay([
        ModelReply::Items(vec![search_item("relieve pressure")]),
        call("ReadLines", json!({ "path": "src/valve.rs", "first": 1, "last": 2 })),
        call("FindUses", json!({ "name": "relieve_pressure" })),
        call("FindUses", json!({ "name": "close_gate" })),
        call("Outline", json!({ "path": "src" })),
        call("ReadLines", json!({ "path": "src/lost.rs" })),
        call("ListIngestedRepositories", json!({})),
        ModelReply::Items(vec![message_item("In src/valve.rs:1-4 and src/lost.rs:3.")]),
        ModelReply::Items(vec![message_item("It is in src/valve.rs:1-4.")]),
    ])
    .await;
    let server = setup.serve().await;
    let data = setup.folder.path().join("data");
    let arguments = ["ask", "--repository", "boiler", "What opens the valve?"];
    let output = run_command(&data, &setup.environment(), &arguments).await;
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "It is in src/valve.rs:1-4.\n");
    let folder = setup.folder.path().canonicalize().unwrap().display().to_string();
    let output_text = String::from_utf8(output.stderr).unwrap().replace(&folder, "FOLDER");
    let (output_text, _) = output_text.split_once("; continue with").unwrap();
    assert_snapshot!(output_text, @r#"
    searches "relieve pressure"
      0.46  FOLDER/boiler/src/valve.rs:1-4

    reads src/valve.rs:1-2
    finds uses of `relieve_pressure`
      1 definition
      FOLDER/boiler/src/valve.rs:2

    finds uses of `close_gate`
      "close_gate" is nowhere in the index
    outlines src
    reads src/lost.rs
    ReadLines failed: no indexed file or folder is `src/lost.rs`
    lists the indexed repositories
    citations: 1 of 1 confirmed; 1 left out
    mock-model
    "#);
    server.terminate().await;
}

#[tokio::test]
async fn the_model_receives_what_the_symbol_graph_knows() {
    let call = |name: &str, arguments: Value| {
        let server = "mcp__codeinfo_search".to_owned();
        ModelReply::Items(vec![OutputItem::Calls(server, name.to_owned(), arguments)])
    };
    let setup = CodexSetup::replay([
        call("FindUses", json!({ "name": "relieve_pressure", "kind": "callers" })),
        call("Trace", json!({ "from": "relieve_pressure", "direction": "callers" })),
        call("Impact", json!({ "repository": "boiler" })),
        ModelReply::Items(vec![message_item("It is in src/valve.rs:1-4.")]),
    ])
    .await;
    let server = setup.serve().await;
    let data = setup.folder.path().join("data");
    let arguments =
        ["ask", "--repository", "boiler", "--claim-check", "off", "What opens the valve?"];
    let output = run_command(&data, &setup.environment(), &arguments).await;
    assert_eq!(output.status.code(), Some(0));
    let sent = setup.model.latest_request_text();
    for part in [
        "src/valve.rs:2-4 relieve_pressure found",
        "to 3 steps:",
        "`boiler` cannot be compared with a commit: it is no Git work tree",
    ] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
    server.terminate().await;
}

#[tokio::test]
async fn a_question_that_is_interrupted_on_the_command_line_is_stopped() {
    let setup = CodexSetup::replay([ModelReply::Silent(vec![])]).await;
    let server = setup.serve().await;
    let data = setup.folder.path().join("data");
    let mut asking = spawn_command(&data, &setup.environment(), &["ask", "What opens the valve?"]);
    while setup.model.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    send_signal("INT", asking.id().unwrap()).await;
    assert_eq!(asking.wait().await.unwrap().code(), Some(1));
    let listed = server.get_api("/conversations").await;
    let id = listed["conversations"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/conversations/{id}");
    while server.get_api(&path).await["turns"][0]["state"] == "running" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.get_api(&path).await["turns"][0]["state"], "stopped");
    server.terminate().await;
}

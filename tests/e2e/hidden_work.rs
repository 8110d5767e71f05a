//! No hidden work: no model has a tool that starts work of its own, and work
//! of another agent ends the turn.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use codeinfo_chat::{TurnRequest, collect_outcome};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{
    codex::{codex_binary, write_wrapper},
    harness::{ChatHarness, render_outcome},
    model::{FakeModel, ModelReply, OutputItem, message_item},
};

/// All that a model may have: searching, reading, and commands, which end with the turn at the latest.
const TOOLS: [&str; 15] = [
    "apply_patch",
    "clock__curr_time",
    "exec",
    "exec_command",
    "list_mcp_resource_templates",
    "list_mcp_resources",
    "mcp__codeinfo_search",
    "mcp__codeinfo_search__ListIngestedRepositories",
    "mcp__codeinfo_search__VectorSearch",
    "read_mcp_resource",
    "request_user_input",
    "request_user_input_async",
    "wait",
    "web_search",
    "write_stdin",
];

/// The models that this Codex knows.
fn list_bundled_models(home: &Path) -> Vec<String> {
    let listed = Command::new(codex_binary())
        .args(["debug", "models", "--bundled"])
        .env("CODEX_HOME", home)
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let models = listed["models"].as_array().unwrap().iter();
    models.map(|model| model["slug"].as_str().unwrap().to_owned()).collect()
}

/// The names of the tools that `request` gives, in any of its places.
fn list_given_tools(request: &Value) -> BTreeSet<String> {
    let input = request["input"].as_array().unwrap();
    let added = input.iter().filter(|item| item["type"] == "additional_tools");
    let lists = added.map(|item| &item["tools"]).chain([&request["tools"]]);
    let mut names = BTreeSet::new();
    for tool in lists.filter_map(Value::as_array).flatten() {
        let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap();
        let inner = tool["tools"].as_array().into_iter().flatten();
        let inner: Vec<String> =
            inner.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        match (name, tool["type"].as_str()) {
            ("functions", _) => names.extend(inner),
            (_, Some("namespace")) => {
                names.extend(inner.iter().map(|tool| format!("{name}__{tool}")));
            }
            _ => drop(names.insert(name.to_owned())),
        }
    }
    names
}

#[tokio::test]
async fn no_model_has_a_tool_that_starts_work_of_its_own() {
    let script = "text(JSON.stringify(ALL_TOOLS.map(tool => tool.name)))";
    let model = FakeModel::answer_with(move |request| {
        let last = request["input"].as_array().unwrap().last().unwrap();
        match last["type"].as_str() {
            Some("custom_tool_call_output") => ModelReply::Items(vec![message_item("Done.")]),
            _ => ModelReply::Items(vec![OutputItem::Scripts(script.to_owned())]),
        }
    })
    .await;
    let more = "[features]\nmulti_agent_v2 = true\nmemories = true\n[agents]\nenabled = true\n";
    let harness = ChatHarness::with_settings(model, more, |_| ()).await;
    let models = list_bundled_models(&harness.codex_home());
    assert!(models.len() > 5, "{models:?}");
    for name in models {
        let model = Some(name.clone());
        let question = "Which?".parse().unwrap();
        let ask = TurnRequest { model, ..TurnRequest::new(question, None) };
        let outcome = collect_outcome(harness.chat.ask(ask).await.unwrap()).await;
        assert_eq!(outcome.failure, None, "{name}");
        let requests = harness.model.requests();
        let [.., asked, last] = requests.as_slice() else { panic!("{name}: too few requests") };
        let mut tools = list_given_tools(asked);
        assert!(!tools.is_empty(), "{name} has no tools");
        let output = last["input"].as_array().unwrap().last().unwrap()["output"].clone();
        let listed = output.pointer("/1/text").and_then(Value::as_str).unwrap_or("[]");
        let listed: Vec<String> = serde_json::from_str(listed).unwrap();
        assert_eq!(tools.contains("exec"), !listed.is_empty(), "{name}: {output}");
        tools.extend(listed);
        let unknown: Vec<&String> =
            tools.iter().filter(|tool| !TOOLS.contains(&tool.as_str())).collect();
        assert_eq!(unknown, Vec::<&String>::new(), "{name}");
    }
}

#[tokio::test]
async fn work_of_another_agent_ends_the_turn() {
    for (namespace, tool, arguments) in [
        ("collaboration", "spawn_agent", json!({ "task_name": "x", "message": "work" })),
        ("clock", "sleep", json!({ "duration_ms": 60_000 })),
    ] {
        let model = FakeModel::answer_with(move |request| {
            let latest = request["input"].to_string();
            if latest.contains("Again?") {
                return ModelReply::Items(vec![message_item("Done.")]);
            }
            let call = OutputItem::Calls(namespace.to_owned(), tool.to_owned(), arguments.clone());
            ModelReply::Items(vec![call])
        })
        .await;
        let harness = ChatHarness::with_settings(model, "", |settings| {
            settings.model = Some("gpt-6.1-sol".to_owned());
            settings.bin = Some(write_wrapper(settings.data_dir.parent().unwrap(), UNLOCKED));
        })
        .await;
        let outcome = harness.ask("What?").await;
        assert_eq!(
            render_outcome(&outcome),
            "failure: TURN_FAILED: the model began work of its own that the answer would \
             not show, and was stopped",
            "{tool}"
        );
        let again = harness.follow_up(outcome.conversation, "Again?").await;
        assert_eq!(render_outcome(&again), "answer: Done.", "{tool}");
    }
}

/// Returns whether a process has `word` among its arguments.
fn is_running(word: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(word)
    })
}

async fn wait_until_gone(word: &str) {
    let gone = async {
        while is_running(word) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
}

#[tokio::test]
async fn no_command_outlives_its_turn() {
    // A separate command for each question, and an end of the turn only for those that are not `held`.
    let model = FakeModel::answer_with(|request| {
        let input = request["input"].as_array().unwrap();
        let last = input.last().unwrap();
        let Some(question) = last["content"][0]["text"].as_str() else {
            assert!(last["output"].to_string().contains("session ID"), "{last}");
            let is_held = input.iter().any(|item| item["content"][0]["text"] == "held");
            return if is_held {
                ModelReply::Silent(vec![])
            } else {
                ModelReply::Items(vec![message_item("Done.")])
            };
        };
        let (_, seconds) = question.split_once(' ').unwrap_or(("", HELD));
        let arguments = json!({ "cmd": format!("exec sleep {seconds}"), "yield_time_ms": 250 });
        ModelReply::Items(vec![OutputItem::Calls(
            String::new(),
            "exec_command".to_owned(),
            arguments,
        )])
    })
    .await;
    let harness = ChatHarness::with_settings(model, "", |_| ()).await;
    let seconds = format!("86399.{}", Uuid::new_v4().as_u128());
    let outcome = harness.ask(&format!("sleep {seconds}")).await;
    assert_eq!(render_outcome(&outcome), "answer: Done.");
    wait_until_gone(&seconds).await;
    let turn = harness.begin_turn("held", None).await.unwrap();
    harness.model.wait_for_requests(4).await;
    assert!(is_running(HELD));
    drop(turn);
    wait_until_gone(HELD).await;
    // The process and the conversation are still there.
    let again = harness.follow_up(outcome.conversation, &format!("sleep {seconds}")).await;
    assert_eq!(render_outcome(&again), "answer: Done.");
    assert_eq!(harness.codex.counts().starts, 1);
}

/// Duration of the command of the question `held`.
const HELD: &str = "86398.7316";

/// A Codex whose agents cannot be switched off.
const UNLOCKED: &str = "set -- \"${@/agents.enabled=false/agents.enabled=true}\"
set -- \"${@/sleep_tool=false/sleep_tool=true}\"
exec \"$REAL\" \"$@\"";

#[tokio::test]
async fn no_script_outlives_its_turn() {
    // It yields at once and continues after a second, which only a later turn permits.
    let mark = format!("86397.{}", Uuid::new_v4().as_u128());
    let script = format!(
        "// @exec: {{\"yield_time_ms\": 1}}\nawait new Promise(done => setTimeout(done, 1000));\n\
         await tools.exec_command({{ cmd: \"exec sleep {mark}\" }});\n"
    );
    let pause = "// @exec: {\"yield_time_ms\": 20000}\n\
                 await new Promise(done => setTimeout(done, 4000));\ntext(\"paused\");\n";
    let found = Arc::new(Mutex::new(Vec::new()));
    let (sought, seen) = (mark.clone(), Arc::clone(&found));
    let model = FakeModel::answer_with(move |request| {
        let last = request["input"].as_array().unwrap().last().unwrap();
        let scripts = |text: &str| ModelReply::Items(vec![OutputItem::Scripts(text.to_owned())]);
        match last["content"][0]["text"].as_str() {
            Some("Begin.") => scripts(&script),
            Some(_) => scripts(pause),
            None => {
                let output = last["output"].to_string();
                let is_paused = output.contains("paused");
                assert!(is_paused || output.contains("running with cell ID"), "{last}");
                seen.lock().unwrap().push((is_paused, is_running(&sought)));
                ModelReply::Items(vec![message_item("Done.")])
            }
        }
    })
    .await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        settings.model = Some("gpt-6.1-sol".to_owned());
    })
    .await;
    let outcome = harness.ask("Begin.").await;
    assert_eq!(render_outcome(&outcome), "answer: Done.");
    let again = harness.follow_up(outcome.conversation, "Go on.").await;
    assert_eq!(render_outcome(&again), "answer: Done.");
    assert_eq!(*found.lock().unwrap(), [(false, false), (true, false)]);
    assert!(!is_running(&mark));
}

//! No work that nobody sees: whichever model answers, it has no tool that starts work of its own, and work
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
    codex::{binary, wrapped},
    harness::{Harness, render_outcome},
    model::{Item, Model, Reply, says},
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
fn bundled(home: &Path) -> Vec<String> {
    let listed = Command::new(binary())
        .args(["debug", "models", "--bundled"])
        .env("CODEX_HOME", home)
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let models = listed["models"].as_array().unwrap().iter();
    models.map(|model| model["slug"].as_str().unwrap().to_owned()).collect()
}

/// The names of the tools that `request` gives, in any of its places.
fn given(request: &Value) -> BTreeSet<String> {
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
    let model = Model::answer(move |request| {
        let last = request["input"].as_array().unwrap().last().unwrap();
        match last["type"].as_str() {
            Some("custom_tool_call_output") => Reply::Items(vec![says("Done.")]),
            _ => Reply::Items(vec![Item::Scripts(script.to_owned())]),
        }
    })
    .await;
    let more = "[features]\nmulti_agent_v2 = true\nmemories = true\n[agents]\nenabled = true\n";
    let harness = Harness::with(model, more, |_| ()).await;
    let models = bundled(&harness.home());
    assert!(models.len() > 5, "{models:?}");
    for name in models {
        let model = Some(name.clone());
        let question = "Which?".parse().unwrap();
        let ask = TurnRequest { model, ..TurnRequest::new(question, None) };
        let outcome = collect_outcome(harness.chat.ask(ask).await.unwrap()).await;
        assert_eq!(outcome.failure, None, "{name}");
        let requests = harness.model.requests();
        let [.., asked, last] = requests.as_slice() else { panic!("{name}: too few requests") };
        let mut tools = given(asked);
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
        let model = Model::answer(move |request| {
            let latest = request["input"].to_string();
            if latest.contains("Again?") {
                return Reply::Items(vec![says("Done.")]);
            }
            let call = Item::Calls(namespace.to_owned(), tool.to_owned(), arguments.clone());
            Reply::Items(vec![call])
        })
        .await;
        let harness = Harness::with(model, "", |settings| {
            settings.model = Some("gpt-6.1-sol".to_owned());
            settings.bin = Some(wrapped(settings.data_dir.parent().unwrap(), UNLOCKED));
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

/// Whether a process has `word` among its arguments.
fn runs(word: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(word)
    })
}

async fn until_gone(word: &str) {
    let gone = async {
        while runs(word) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
}

#[tokio::test]
async fn no_command_outlives_its_turn() {
    // A command of its own for each question, and an end of the turn only for those that are not `held`.
    let model = Model::answer(|request| {
        let input = request["input"].as_array().unwrap();
        let last = input.last().unwrap();
        let Some(question) = last["content"][0]["text"].as_str() else {
            assert!(last["output"].to_string().contains("session ID"), "{last}");
            let is_held = input.iter().any(|item| item["content"][0]["text"] == "held");
            return if is_held { Reply::Silent(vec![]) } else { Reply::Items(vec![says("Done.")]) };
        };
        let (_, seconds) = question.split_once(' ').unwrap_or(("", HELD));
        let arguments = json!({ "cmd": format!("exec sleep {seconds}"), "yield_time_ms": 250 });
        Reply::Items(vec![Item::Calls(String::new(), "exec_command".to_owned(), arguments)])
    })
    .await;
    let harness = Harness::with(model, "", |_| ()).await;
    let seconds = format!("86399.{}", Uuid::new_v4().as_u128());
    let outcome = harness.ask(&format!("sleep {seconds}")).await;
    assert_eq!(render_outcome(&outcome), "answer: Done.");
    until_gone(&seconds).await;
    let turn = harness.begin("held", None).await.unwrap();
    harness.model.wait_for_requests(4).await;
    assert!(runs(HELD));
    drop(turn);
    until_gone(HELD).await;
    // The process and the conversation are still there.
    let again = harness.follow_up(outcome.conversation, &format!("sleep {seconds}")).await;
    assert_eq!(render_outcome(&again), "answer: Done.");
    assert_eq!(harness.codex.counts().starts, 1);
}

/// How long the command of the question `held` lasts.
const HELD: &str = "86398.7316";

/// A Codex whose agents cannot be switched off.
const UNLOCKED: &str = "set -- \"${@/agents.enabled=false/agents.enabled=true}\"
set -- \"${@/sleep_tool=false/sleep_tool=true}\"
exec \"$REAL\" \"$@\"";

#[tokio::test]
async fn no_script_outlives_its_turn() {
    // It yields at once and goes on after a second, which only a later turn lets it do.
    let mark = format!("86397.{}", Uuid::new_v4().as_u128());
    let script = format!(
        "// @exec: {{\"yield_time_ms\": 1}}\nawait new Promise(done => setTimeout(done, 1000));\n\
         await tools.exec_command({{ cmd: \"exec sleep {mark}\" }});\n"
    );
    let pause = "// @exec: {\"yield_time_ms\": 20000}\n\
                 await new Promise(done => setTimeout(done, 4000));\ntext(\"paused\");\n";
    let found = Arc::new(Mutex::new(Vec::new()));
    let (sought, seen) = (mark.clone(), Arc::clone(&found));
    let model = Model::answer(move |request| {
        let last = request["input"].as_array().unwrap().last().unwrap();
        let scripts = |text: &str| Reply::Items(vec![Item::Scripts(text.to_owned())]);
        match last["content"][0]["text"].as_str() {
            Some("Begin.") => scripts(&script),
            Some(_) => scripts(pause),
            None => {
                let output = last["output"].to_string();
                let is_paused = output.contains("paused");
                assert!(is_paused || output.contains("running with cell ID"), "{last}");
                seen.lock().unwrap().push((is_paused, runs(&sought)));
                Reply::Items(vec![says("Done.")])
            }
        }
    })
    .await;
    let harness = Harness::with(model, "", |settings| {
        settings.model = Some("gpt-6.1-sol".to_owned());
    })
    .await;
    let outcome = harness.ask("Begin.").await;
    assert_eq!(render_outcome(&outcome), "answer: Done.");
    let again = harness.follow_up(outcome.conversation, "Go on.").await;
    assert_eq!(render_outcome(&again), "answer: Done.");
    assert_eq!(*found.lock().unwrap(), [(false, false), (true, false)]);
    assert!(!runs(&mark));
}

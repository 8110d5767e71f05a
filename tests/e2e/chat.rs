//! The chat pipeline with the real Codex and a model that replays scripts.

use std::time::{Duration, Instant};

use codeinfo_chat::{ChatEvent, collect_outcome};
use codeinfo_core::{ConversationId, error::ErrorCode};
use futures_util::StreamExt;
use insta::assert_snapshot;
use serde_json::json;

use crate::support::{
    harness::{Harness, render_outcome, root},
    model::{Item, Model, Reply, says, searches, thinks},
};

#[tokio::test]
async fn segments_keep_the_order_of_events() {
    let harness = Harness::new([
        Reply::Items(vec![
            Item::Thinks(vec!["look for the parser".into(), "by meaning".into()]),
            searches("parser"),
        ]),
        Reply::Items(vec![thinks("and callers"), searches("callers")]),
        Reply::Items(vec![thinks("ok"), says("It is in src/parse.rs.")]),
    ])
    .await;
    let outcome = harness.ask("Where is the parser?").await;
    assert_snapshot!(render_outcome(&outcome), @r"
    thinking: look for the parser

    by meaning
    vector_summary: src/parse.rs
    thinking: and callers
    vector_summary: src/parse.rs
    thinking: ok
    answer: It is in src/parse.rs.
    ");
    assert_eq!(outcome.model_id, "mock-model");
    assert_eq!(outcome.usage.unwrap().total_tokens, 330);
    assert_eq!(harness.search.queries(), ["parser", "callers"]);
    assert_eq!(harness.codex.counts().malformed_lines, 0);
    assert_eq!(harness.codex.counts().unknown_notifications, 0);
}

#[tokio::test]
async fn the_stream_tells_tool_calls_too() {
    let harness = Harness::new([
        Reply::Items(vec![searches("parser"), searches("fail")]),
        Reply::Items(vec![says("Done.")]),
    ])
    .await;
    let turn = harness.begin("Where?", None).await.unwrap();
    let reported: Vec<String> = turn
        .map(|event| match event {
            ChatEvent::Thread { model_id, .. } => format!("thread {model_id}"),
            ChatEvent::Warning { text } => format!("warning {text}"),
            ChatEvent::Thinking { text } => format!("thinking {text}"),
            ChatEvent::ToolRequest { name, source, parameters, .. } => {
                format!("request {source:?} {name} {parameters}")
            }
            ChatEvent::ToolResult { stage, result, error, .. } => {
                let text = result.map(|result| result["content"][0]["text"].to_string());
                let stage = format!("{stage:?}").to_lowercase();
                format!("result {stage} {text:?} {error:?}")
            }
            ChatEvent::VectorSummary { files } => format!("summary {}", files.len()),
            ChatEvent::Answer { text } => format!("answer {text}"),
            ChatEvent::Ended(outcome) => format!("ended {:?}", outcome.failure),
        })
        .collect()
        .await;
    // Calls that run at the same time end in any order.
    let (mut calls, ends): (Vec<String>, Vec<String>) =
        reported.into_iter().partition(|line| line.starts_with('r') || line.starts_with('s'));
    calls.sort();
    assert_snapshot!(calls.join("\n"), @r#"
    request Local VectorSearch {"query":"fail"}
    request Local VectorSearch {"query":"parser"}
    result error None Some("nothing is indexed")
    result success Some("\"/r/src/parse.rs:1-3 fn parse() {}\"") None
    summary 1
    "#);
    assert_eq!(ends, ["thread mock-model", "answer Done.", "ended None"]);
}

#[tokio::test]
async fn a_cut_stream_is_retried_without_repeating_itself() {
    let response = || vec![thinks("same"), says("half"), searches("x")];
    let mut whole = response();
    whole.push(says("whole"));
    let harness = Harness::new([
        Reply::Cut(response()),
        Reply::Items(whole),
        Reply::Items(vec![thinks("same"), says("end")]),
    ])
    .await;
    assert_snapshot!(render_outcome(&harness.ask("What?").await), @r"
    thinking: same
    answer: half
    vector_summary: src/parse.rs
    answer: whole
    thinking: same
    answer: end
    ");
}

#[tokio::test]
async fn a_stream_cut_for_good_is_unavailability_and_keeps_what_was_said() {
    let unfinished = || Reply::Cut(vec![thinks("first"), Item::BeginsToThink("and th".into())]);
    let harness = Harness::new([unfinished(), unfinished()]).await;
    let outcome = harness.ask("What?").await;
    assert_snapshot!(render_outcome(&outcome), @r"
    thinking: first
    thinking: and th
    thinking: and th
    failure: CODE_INFO_LLM_UNAVAILABLE: the model service broke off its answer and did so again when retried
    ");
}

#[tokio::test]
async fn a_failing_service_is_told_from_a_refused_request() {
    let status =
        |status: u16, error: serde_json::Value| Reply::Status(status, json!({ "error": error }));
    let secret = "see https://u:p@host/x with sk-0123456789 in /home/me/x/y";
    let harness = Harness::with(
        Model::replay([
            status(401, json!({ "message": secret })),
            status(401, json!({ "message": secret })),
            status(404, json!({ "message": "the model `gpt-0` does not exist" })),
            status(404, json!({ "message": "the model `gpt-0` does not exist" })),
            status(429, json!({ "type": "usage_limit_reached", "message": "" })),
            status(400, json!({ "message": secret })),
            status(400, json!({ "code": "context_length_exceeded", "message": "too long" })),
            Reply::Items(vec![says("Back.")]),
        ])
        .await,
        "",
        |_| (),
    )
    .await;
    let mut reported = Vec::new();
    for _ in 0..6 {
        reported.push(render_outcome(&harness.ask("What?").await));
    }
    assert_snapshot!(reported.join("\n"), @r#"
    failure: CODE_INFO_LLM_UNAVAILABLE: the model service does not accept Codex's sign-in or key
    failure: CODE_INFO_LLM_UNAVAILABLE: the model service answered Codex with HTTP status 404: unexpected status 404 Not Found: the model `gpt-0` does not exist, url: [address]
    failure: CODE_INFO_LLM_UNAVAILABLE: the usage limit of the Codex account is reached
    failure: TURN_FAILED: Codex gave up: {"error":{"message":"see [address] with [key] in [path]"}}
    failure: CONTEXT_WINDOW_EXCEEDED: the conversation no longer fits the model's context window
    answer: Back.
    "#);
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_fails_in_bounded_time() {
    let nobody = Model::replay([]).await;
    let harness = Harness::with(nobody, "", |_| ()).await;
    let config = harness.home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace(&harness.model.url, "http://127.0.0.1:1/v1")).unwrap();
    assert_snapshot!(
        render_outcome(&harness.ask("What?").await),
        @"failure: CODE_INFO_LLM_UNAVAILABLE: Codex cannot reach its model service"
    );
}

#[tokio::test]
async fn a_turn_without_an_answer_is_a_failure() {
    let harness = Harness::new([Reply::Items(vec![thinks("hm")])]).await;
    assert_snapshot!(render_outcome(&harness.ask("What?").await), @r"
    thinking: hm
    failure: TURN_FAILED: the model gave no answer
    ");
}

#[tokio::test]
async fn a_model_that_does_not_stop_writing_is_stopped_and_what_it_wrote_is_cut() {
    let long = "\u{e9}".repeat(1_500_000);
    let model = Model::replay([
        Reply::Items((0..10).map(|_| says(&long)).collect()),
        Reply::Items(vec![thinks(&long), says("never")]),
        Reply::Silent((0..9).map(|_| says(long.get(..900_000).unwrap())).collect()),
        Reply::Items(vec![says("Back.")]),
    ])
    .await;
    let harness = Harness::with(model, "", |_| ()).await;
    let mark = "\n\n[cut: more than 1 MiB]";
    let cut = format!("{}{mark}", long.get(..1024 * 1024).unwrap());
    let turn = harness.begin("What?", None).await.unwrap();
    let reported: Vec<ChatEvent> = turn.collect().await;
    let [ChatEvent::Thread { .. }, ChatEvent::Answer { text }, ChatEvent::Ended(outcome)] =
        reported.as_slice()
    else {
        panic!("{} events", reported.len())
    };
    assert!(*text == cut, "{} bytes", text.len());
    let failure =
        "failure: TURN_FAILED: the model wrote more than 1 MiB in one piece, and was stopped";
    assert!(
        render_outcome(outcome) == format!("answer: {cut}\n{failure}"),
        "{:?}",
        outcome.failure
    );

    let outcome = harness.ask("What?").await;
    assert!(
        render_outcome(&outcome) == format!("thinking: {cut}\n{failure}"),
        "{:?}",
        outcome.failure
    );

    let outcome = harness.ask("What?").await;
    let said = render_outcome(&outcome);
    assert!(said.len() < 4 * 1024 * 1024 + 1000, "{} bytes", said.len());
    let end = "[cut: the turn has more than 4 MiB]\nfailure: TURN_FAILED: the model wrote more than 4 MiB in one turn, and was stopped";
    assert!(said.ends_with(end), "{}", said.get(said.len() - 200..).unwrap());
    harness.model.left(1).await;
    assert_eq!(render_outcome(&harness.ask("Still there?").await), "answer: Back.");
}

#[tokio::test]
async fn a_silent_model_ends_at_the_deadline_with_what_was_said() {
    let model = Model::replay([
        Reply::Silent(vec![thinks("first"), Item::BeginsToThink("and th".into())]),
        Reply::Items(vec![says("Here.")]),
    ])
    .await;
    let harness =
        Harness::with(model, "", |settings| settings.turn_timeout = Duration::from_secs(3)).await;
    let outcome = harness.ask("What?").await;
    assert_snapshot!(render_outcome(&outcome), @r"
    thinking: first
    thinking: and th
    failure: TURN_TIMED_OUT: the turn reached its time limit of 3 s
    ");
    harness.model.left(1).await;
    let next = harness.follow_up(outcome.conversation, "Still there?").await;
    assert_eq!(render_outcome(&next), "answer: Here.");
}

#[tokio::test]
async fn dropping_a_turn_interrupts_codex_and_frees_its_place() {
    let model =
        Model::replay([Reply::Silent(vec![thinks("hm")]), Reply::Items(vec![says("Next.")])]).await;
    let harness = Harness::with(model, "", |settings| {
        settings.max_turns = 1;
        settings.max_waiting = 1;
    })
    .await;
    let turn = harness.begin("What?", None).await.unwrap();
    let conversation = turn.conversation();
    harness.model.wait_for_requests(1).await;
    drop(turn);
    harness.model.left(1).await;
    assert_eq!(render_outcome(&harness.follow_up(conversation, "And now?").await), "answer: Next.");
}

#[tokio::test]
async fn dropping_the_question_itself_leaves_no_turn_behind() {
    let harness = Harness::new([Reply::Items(vec![says("Mine.")])]).await;
    let mut asking = Box::pin(harness.begin("Never mind", None));
    // Polled once, it is under way; then its caller goes away.
    assert!(futures_util::poll!(&mut asking).is_pending());
    drop(asking);
    assert_eq!(render_outcome(&harness.ask("What?").await), "answer: Mine.");
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn a_follow_up_reaches_the_model_with_earlier_turns() {
    let harness = Harness::new([
        Reply::Items(vec![thinks("hm"), says("The first answer.")]),
        Reply::Items(vec![says("The second answer.")]),
    ])
    .await;
    let first = harness.ask("The first question?").await;
    let second = harness.follow_up(first.conversation, "The second question?").await;
    assert_eq!(second.conversation, first.conversation);
    assert_eq!(render_outcome(&second), "answer: The second answer.");
    assert_eq!(second.usage.unwrap().total_tokens, 110);
    assert_eq!(harness.codex.counts().starts, 1);
    let latest = harness.model.latest();
    for text in ["The first question?", "The first answer.", "The second question?"] {
        assert!(latest.contains(text), "`{text}` is missing in {latest}");
    }
}

#[tokio::test]
async fn a_conversation_goes_on_after_a_restart() {
    let mut harness = Harness::new([
        Reply::Items(vec![says("The first answer.")]),
        Reply::Cut(vec![thinks("again")]),
        Reply::Items(vec![thinks("again"), searches("x")]),
        Reply::Items(vec![says("The second answer.")]),
    ])
    .await;
    let first = harness.ask("The first question?").await;
    harness.restart().await;
    let second = harness.follow_up(first.conversation, "The second question?").await;
    assert_eq!(second.conversation, first.conversation);
    assert_eq!(
        render_outcome(&second),
        "thinking: again\nvector_summary: src/parse.rs\nanswer: The second answer."
    );
    assert_eq!(second.usage.unwrap().total_tokens, 220);
    let latest = harness.model.latest();
    assert!(latest.contains("The first answer."));
    let metadata = harness.model.requests().pop().unwrap()["client_metadata"].to_string();
    assert!(metadata.contains("workspace-write"), "{metadata}");
}

#[tokio::test]
async fn a_loaded_thread_follows_what_the_next_question_is_opened_with() {
    let replies =
        (0..12).flat_map(|_| [Reply::Items(vec![searches("x")]), Reply::Items(vec![says("Ok.")])]);
    let mut harness = Harness::new(replies).await;
    let conversation = harness.ask("What?").await.conversation;
    let mut expected = vec!["/mcp".to_owned()];
    for round in 1..12 {
        let at = format!("/mcp?round={}", round / 3);
        harness.search_at(&at);
        expected.push(at);
        assert_eq!(
            render_outcome(&harness.follow_up(conversation, "And?").await).lines().count(),
            2
        );
    }
    assert_eq!(harness.search.targets(), expected);
    assert_eq!(harness.codex.counts().starts, 1);
}

#[tokio::test]
async fn a_repository_that_the_question_names_is_pointed_out_to_the_model() {
    let harness = Harness::new([
        Reply::Items(vec![says("One.")]),
        Reply::Items(vec![says("Two.")]),
        Reply::Items(vec![says("Three.")]),
    ])
    .await;
    let developer = |request: &serde_json::Value| -> String {
        let input = request["input"].as_array().unwrap();
        input.iter().filter(|item| item["role"] == "developer").map(ToString::to_string).collect()
    };
    harness.ask("What does repo do?").await;
    let alone = developer(&harness.model.requests()[0]);
    assert!(!alone.contains("The next question"), "the only one is meant anyway: {alone}");
    let other = harness.repo().with_file_name("flask");
    std::fs::create_dir(&other).unwrap();
    harness.store.put_root(root(&other)).await.unwrap();
    harness.ask("What does Flask do?").await;
    let named = developer(&harness.model.requests()[1]);
    let other = other.canonicalize().unwrap();
    let reported = format!(
        "The next question has the names of indexed repositories in it: `flask` (at {}).",
        other.display()
    );
    assert!(named.contains(&reported), "{named}");
    harness.ask("What else is there?").await;
    let unnamed = developer(&harness.model.requests()[2]);
    assert!(!unnamed.contains("The next question"), "{unnamed}");
}

#[tokio::test]
async fn the_models_shell_writes_in_its_folder_only_and_sees_core_variables_only() {
    // Codex reports nothing of a command that ends within a few milliseconds.
    let command =
        "env; touch here && echo wrote here; touch ../outside && echo wrote outside; sleep 0.5";
    let call = Item::Calls(String::new(), "exec_command".into(), json!({ "cmd": command }));
    let harness = Harness::new([Reply::Items(vec![call]), Reply::Items(vec![says("Done.")])]).await;
    let turn = harness.begin("What?", None).await.unwrap();
    let results: Vec<String> = turn
        .filter_map(async |event| match event {
            ChatEvent::ToolResult { name, result, .. } if name == "shell" => {
                Some(result.unwrap()["output"].as_str().unwrap().to_owned())
            }
            _ => None,
        })
        .collect()
        .await;
    let [output] = results.as_slice() else { panic!("one result, not {results:?}") };
    assert!(output.contains("PATH=") && output.contains("wrote here"), "{output}");
    // Beside its folder lies nothing that is there for anybody else.
    let processes = std::fs::read_dir(&harness.settings.workdir).unwrap().flatten();
    let outside: Vec<_> =
        processes.filter(|one| one.path().join("outside").try_exists().unwrap()).collect();
    assert!(outside.is_empty(), "{outside:?}");
    // Cargo sets this one for tests.
    assert!(!output.contains("CARGO_MANIFEST_DIR"), "{output}");
}

#[tokio::test]
async fn a_conversation_goes_on_in_a_new_process_while_the_old_one_still_works() {
    let model = Model::answer(|request| {
        let latest = request["input"].as_array().unwrap().last().unwrap().to_string();
        if latest.contains("Wait?") {
            Reply::Silent(Vec::new())
        } else {
            Reply::Items(vec![says("Done.")])
        }
    })
    .await;
    let harness = Harness::with(model, "", |_| ()).await;
    let first = harness.ask("The first question?").await;
    let waiting = harness.begin("Wait?", None).await.unwrap();
    harness.model.wait_for_requests(2).await;
    // Codex reads its configuration at its start only, so the next turn needs another process.
    let config = harness.home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("# changed\n{text}")).unwrap();
    let second = harness.follow_up(first.conversation, "The second question?").await;
    assert_eq!(render_outcome(&second), "answer: Done.");
    assert_eq!(harness.codex.counts().starts, 2);
    let waited = waiting.conversation();
    drop(waiting);
    let third = harness.follow_up(waited, "The third question?").await;
    assert_eq!(render_outcome(&third), "answer: Done.");
}

#[tokio::test]
async fn two_conversations_stay_apart() {
    let model = Model::answer(|request| {
        let input = request["input"].to_string();
        let mut seen: Vec<&str> =
            ["crimson", "azure"].into_iter().filter(|colour| input.contains(colour)).collect();
        seen.sort_unstable();
        Reply::Items(vec![says(&seen.join(" "))])
    })
    .await;
    let harness = Harness::with(model, "", |_| ()).await;
    let (red, blue) = tokio::join!(harness.ask("Is it crimson?"), harness.ask("Is it azure?"));
    assert_ne!(red.conversation, blue.conversation);
    let (red, blue) = tokio::join!(
        harness.follow_up(red.conversation, "Sure?"),
        harness.follow_up(blue.conversation, "Sure?")
    );
    assert_eq!([render_outcome(&red), render_outcome(&blue)], ["answer: crimson", "answer: azure"]);
}

#[tokio::test]
async fn two_questions_in_one_conversation_run_one_after_the_other() {
    let harness = Harness::new([
        Reply::Items(vec![says("One.")]),
        Reply::Items(vec![says("Two.")]),
        Reply::Items(vec![says("Three.")]),
    ])
    .await;
    let conversation = harness.ask("First?").await.conversation;
    let (second, third) = tokio::join!(
        harness.follow_up(conversation, "Second?"),
        harness.follow_up(conversation, "Third?")
    );
    let mut answers = [render_outcome(&second), render_outcome(&third)];
    answers.sort();
    assert_eq!(answers, ["answer: Three.", "answer: Two."]);
    assert!(harness.model.latest().contains("Two."), "the later question knows the earlier answer");
}

#[tokio::test]
async fn an_unknown_conversation_is_refused_and_starts_nothing() {
    let harness = Harness::new([]).await;
    let unknown: ConversationId = "0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17".parse().unwrap();
    let error = harness.begin("What?", Some(unknown)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConversationNotFound);
    assert_eq!(harness.model.requests().len(), 0);
}

#[tokio::test]
async fn a_session_of_the_users_own_is_not_a_conversation() {
    let harness = Harness::new([Reply::Items(vec![says("For the user.")])]).await;
    let ran = tokio::process::Command::new(harness.settings.bin.as_ref().unwrap())
        .args(["exec", "--json", "--skip-git-repo-check", "-c", "features.plugins=false", "Hi"])
        .env("CODEX_HOME", harness.home())
        .current_dir(harness.home())
        .stdin(std::process::Stdio::null())
        .output()
        .await
        .unwrap();
    let first = ran.stdout.split(|byte| *byte == b'\n').next().unwrap();
    let started: serde_json::Value = serde_json::from_slice(first).unwrap();
    let theirs: ConversationId = started["thread_id"].as_str().unwrap().parse().unwrap();
    let error = harness.begin("What did I say?", Some(theirs)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConversationNotFound);
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn questions_over_the_bound_are_refused() {
    let model = Model::answer(|_| Reply::Silent(Vec::new())).await;
    let harness = Harness::with(model, "", |settings| {
        settings.max_turns = 1;
        settings.max_waiting = 1;
    })
    .await;
    let running = harness.begin("One?", None).await.unwrap();
    // Of two, one waits, and so the other is refused.
    let [two, three] = ["Two?", "Three?"].map(|question| Box::pin(harness.begin(question, None)));
    let (refused, waiting) = futures_util::future::select(two, three).await.factor_first();
    assert_eq!(refused.unwrap_err().code(), ErrorCode::Busy);
    drop(running);
    let outcome = waiting.await.unwrap();
    drop(outcome);
}

#[tokio::test]
async fn the_model_gets_our_prompt_our_search_and_no_server_of_the_users() {
    let theirs = crate::support::search::Search::start().await;
    let more = format!(
        r#"
[mcp_servers.codeinfo]
url = "{url}"
bearer_token_env_var = "NO_SUCH_VARIABLE"
required = true
[mcp_servers."with.dot"]
url = "{url}"
[mcp_servers.codeinfo_search]
command = "no-such-program"
"#,
        url = theirs.url
    );
    let model = Model::replay([Reply::Items(vec![says("Done.")])]).await;
    let harness = Harness::with(model, &more, |_| ()).await;
    let config = || std::fs::read_to_string(harness.home().join("config.toml")).unwrap();
    let before = config();
    assert_eq!(render_outcome(&harness.ask("What?").await), "answer: Done.");
    assert_eq!(config(), before);
    assert_eq!(theirs.messages(), 0);
    let request = &harness.model.requests()[0];
    let names: Vec<&str> = request["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().or(tool["type"].as_str()).unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "exec_command",
            "write_stdin",
            "list_mcp_resources",
            "list_mcp_resource_templates",
            "read_mcp_resource",
            "mcp__codeinfo_vector_search",
            "web_search",
        ]
    );
    let prompt = request["input"][0]["content"][0]["text"].as_str().unwrap();
    assert!(prompt.starts_with("You answer questions about source code repositories"));
    assert_eq!(request["reasoning"], json!({ "effort": "high", "summary": "auto" }));
}

/// Prints what a turn costs beyond the model; the bound is loose, for machines under load.
#[tokio::test]
#[expect(clippy::print_stderr, reason = "`cargo test -- --nocapture` shows the measurement")]
async fn a_turn_costs_little_beyond_the_model() {
    let replies =
        (0..12).flat_map(|_| [Reply::Items(vec![searches("x")]), Reply::Items(vec![says("Ok.")])]);
    let harness = Harness::new(replies).await;
    let conversation = harness.ask("Warm up").await.conversation;
    let mut follow_ups = Vec::new();
    let mut fresh = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        drop(collect_outcome(harness.begin("What?", Some(conversation)).await.unwrap()).await);
        follow_ups.push(began.elapsed());
        let began = Instant::now();
        drop(harness.ask("What?").await);
        fresh.push(began.elapsed());
    }
    follow_ups.sort();
    fresh.sort();
    eprintln!("follow-up {:?}, new conversation {:?}", follow_ups[2], fresh[2]);
    assert!(fresh[2] < Duration::from_secs(10));
}

#[tokio::test]
async fn a_model_without_a_shell_has_no_tool_for_one_and_is_not_told_of_it() {
    let given = async |shell: bool| {
        let model = Model::replay([Reply::Items(vec![says("Done.")])]).await;
        let harness = Harness::with(model, "", |settings| settings.shell = shell).await;
        assert_eq!(render_outcome(&harness.ask("What?").await), "answer: Done.");
        let request = harness.model.requests().remove(0);
        let tools = request["tools"].as_array().unwrap().iter();
        let names: Vec<String> =
            tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
        let prompt = request["input"][0]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(!prompt.contains('{'), "{prompt}");
        (names.iter().any(|name| name == "exec_command"), prompt.contains("`git -C PATH`"))
    };
    assert_eq!(given(true).await, (true, true));
    assert_eq!(given(false).await, (false, false));
}

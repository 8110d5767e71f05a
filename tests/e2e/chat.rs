//! The chat pipeline with the real Codex and a model that replays scripts.

use std::time::{Duration, Instant};

use codeinfo_chat::{ChatEvent, collect_outcome};
use codeinfo_core::{ConversationId, error::ErrorCode};
use futures_util::StreamExt;
use insta::assert_snapshot;
use serde_json::json;

use crate::support::{
    harness::{ChatHarness, make_root, render_outcome},
    model::{FakeModel, ModelReply, OutputItem, message_item, search_item, thinking_item},
};

#[tokio::test]
async fn segments_keep_the_order_of_events() {
    let harness = ChatHarness::new([
        ModelReply::Items(vec![
            OutputItem::Thinks(vec!["look for the parser".into(), "by meaning".into()]),
            search_item("parser"),
        ]),
        ModelReply::Items(vec![thinking_item("and callers"), search_item("callers")]),
        ModelReply::Items(vec![thinking_item("ok"), message_item("It is in src/parse.rs.")]),
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
async fn the_stream_includes_tool_calls() {
    let harness = ChatHarness::new([
        ModelReply::Items(vec![search_item("parser"), search_item("fail")]),
        ModelReply::Items(vec![message_item("Done.")]),
    ])
    .await;
    let turn = harness.begin_turn("Where?", None).await.unwrap();
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
    let response = || vec![thinking_item("same"), message_item("half"), search_item("x")];
    let mut whole = response();
    whole.push(message_item("whole"));
    let harness = ChatHarness::new([
        ModelReply::Cut(response()),
        ModelReply::Items(whole),
        ModelReply::Items(vec![thinking_item("same"), message_item("end")]),
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
async fn a_stream_that_stays_cut_is_unavailability_and_keeps_its_text() {
    let unfinished = || {
        ModelReply::Cut(vec![thinking_item("first"), OutputItem::BeginsToThink("and th".into())])
    };
    let harness = ChatHarness::new([unfinished(), unfinished()]).await;
    let outcome = harness.ask("What?").await;
    assert_snapshot!(render_outcome(&outcome), @r"
    thinking: first
    thinking: and th
    thinking: and th
    failure: CODE_INFO_LLM_UNAVAILABLE: the model service broke off its answer and did so again when retried
    ");
}

#[tokio::test]
async fn a_failing_service_is_distinguished_from_a_refused_request() {
    let status = |status: u16, error: serde_json::Value| {
        ModelReply::Status(status, json!({ "error": error }))
    };
    let secret = "see https://u:p@host/x with sk-0123456789 in /home/me/x/y";
    let harness = ChatHarness::with_settings(
        FakeModel::replay([
            status(401, json!({ "message": secret })),
            status(401, json!({ "message": secret })),
            status(404, json!({ "message": "the model `gpt-0` does not exist" })),
            status(404, json!({ "message": "the model `gpt-0` does not exist" })),
            status(429, json!({ "type": "usage_limit_reached", "message": "" })),
            status(400, json!({ "message": secret })),
            status(400, json!({ "code": "context_length_exceeded", "message": "too long" })),
            ModelReply::Items(vec![message_item("Back.")]),
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
    let nobody = FakeModel::replay([]).await;
    let harness = ChatHarness::with_settings(nobody, "", |_| ()).await;
    let config = harness.codex_home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace(&harness.model.url, "http://127.0.0.1:1/v1")).unwrap();
    assert_snapshot!(
        render_outcome(&harness.ask("What?").await),
        @"failure: CODE_INFO_LLM_UNAVAILABLE: Codex cannot reach its model service"
    );
}

#[tokio::test]
async fn a_turn_without_an_answer_is_a_failure() {
    let harness = ChatHarness::new([ModelReply::Items(vec![thinking_item("hm")])]).await;
    assert_snapshot!(render_outcome(&harness.ask("What?").await), @r"
    thinking: hm
    failure: TURN_FAILED: the model gave no answer
    ");
}

#[tokio::test]
async fn a_model_that_does_not_stop_writing_is_stopped_and_what_it_wrote_is_cut() {
    let long = "\u{e9}".repeat(1_500_000);
    let model = FakeModel::replay([
        ModelReply::Items((0..10).map(|_| message_item(&long)).collect()),
        ModelReply::Items(vec![thinking_item(&long), message_item("never")]),
        ModelReply::Silent((0..9).map(|_| message_item(long.get(..900_000).unwrap())).collect()),
        ModelReply::Items(vec![message_item("Back.")]),
    ])
    .await;
    let harness = ChatHarness::with_settings(model, "", |_| ()).await;
    let mark = "\n\n[cut: more than 1 MiB]";
    let cut = format!("{}{mark}", long.get(..1024 * 1024).unwrap());
    let turn = harness.begin_turn("What?", None).await.unwrap();
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
    let output_text = render_outcome(&outcome);
    assert!(output_text.len() < 4 * 1024 * 1024 + 1000, "{} bytes", output_text.len());
    let end = "[cut: the turn has more than 4 MiB]\nfailure: TURN_FAILED: the model wrote more than 4 MiB in one turn, and was stopped";
    assert!(output_text.ends_with(end), "{}", output_text.get(output_text.len() - 200..).unwrap());
    harness.model.wait_for_abandoned_streams(1).await;
    assert_eq!(render_outcome(&harness.ask("Still there?").await), "answer: Back.");
}

#[tokio::test]
async fn a_silent_model_ends_at_the_deadline_with_the_text_so_far() {
    let model = FakeModel::replay([
        ModelReply::Silent(vec![
            thinking_item("first"),
            OutputItem::BeginsToThink("and th".into()),
        ]),
        ModelReply::Items(vec![message_item("Here.")]),
    ])
    .await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        settings.turn_timeout = Duration::from_secs(3);
    })
    .await;
    let outcome = harness.ask("What?").await;
    assert_snapshot!(render_outcome(&outcome), @r"
    thinking: first
    thinking: and th
    failure: TURN_TIMED_OUT: the turn reached its time limit of 3 s
    ");
    harness.model.wait_for_abandoned_streams(1).await;
    let next = harness.follow_up(outcome.conversation, "Still there?").await;
    assert_eq!(render_outcome(&next), "answer: Here.");
}

#[tokio::test]
async fn dropping_a_turn_interrupts_codex_and_frees_its_place() {
    let model = FakeModel::replay([
        ModelReply::Silent(vec![thinking_item("hm")]),
        ModelReply::Items(vec![message_item("Next.")]),
    ])
    .await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        settings.max_turns = 1;
        settings.max_waiting = 1;
    })
    .await;
    let turn = harness.begin_turn("What?", None).await.unwrap();
    let conversation = turn.conversation();
    harness.model.wait_for_requests(1).await;
    drop(turn);
    harness.model.wait_for_abandoned_streams(1).await;
    assert_eq!(render_outcome(&harness.follow_up(conversation, "And now?").await), "answer: Next.");
}

#[tokio::test]
async fn dropping_the_question_itself_leaves_no_turn_behind() {
    let harness = ChatHarness::new([ModelReply::Items(vec![message_item("Mine.")])]).await;
    let mut asking = Box::pin(harness.begin_turn("Never mind", None));
    // After one poll it is running; then its caller leaves.
    assert!(futures_util::poll!(&mut asking).is_pending());
    drop(asking);
    assert_eq!(render_outcome(&harness.ask("What?").await), "answer: Mine.");
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn a_follow_up_reaches_the_model_with_earlier_turns() {
    let harness = ChatHarness::new([
        ModelReply::Items(vec![thinking_item("hm"), message_item("The first answer.")]),
        ModelReply::Items(vec![message_item("The second answer.")]),
    ])
    .await;
    let first = harness.ask("The first question?").await;
    let second = harness.follow_up(first.conversation, "The second question?").await;
    assert_eq!(second.conversation, first.conversation);
    assert_eq!(render_outcome(&second), "answer: The second answer.");
    assert_eq!(second.usage.unwrap().total_tokens, 110);
    assert_eq!(harness.codex.counts().starts, 1);
    let latest = harness.model.latest_request_text();
    for text in ["The first question?", "The first answer.", "The second question?"] {
        assert!(latest.contains(text), "`{text}` is missing in {latest}");
    }
}

#[tokio::test]
async fn a_conversation_continues_after_a_restart() {
    let mut harness = ChatHarness::new([
        ModelReply::Items(vec![message_item("The first answer.")]),
        ModelReply::Cut(vec![thinking_item("again")]),
        ModelReply::Items(vec![thinking_item("again"), search_item("x")]),
        ModelReply::Items(vec![message_item("The second answer.")]),
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
    let latest = harness.model.latest_request_text();
    assert!(latest.contains("The first answer."));
    let metadata = harness.model.requests().pop().unwrap()["client_metadata"].to_string();
    assert!(metadata.contains("workspace-write"), "{metadata}");
}

#[tokio::test]
async fn a_loaded_thread_takes_the_parameters_of_the_next_question() {
    let replies = (0..12).flat_map(|_| {
        [ModelReply::Items(vec![search_item("x")]), ModelReply::Items(vec![message_item("Ok.")])]
    });
    let mut harness = ChatHarness::new(replies).await;
    let conversation = harness.ask("What?").await.conversation;
    let mut expected = vec!["/mcp".to_owned()];
    for round in 1..12 {
        let at = format!("/mcp?round={}", round / 3);
        harness.set_search_target(&at);
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
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item("One.")]),
        ModelReply::Items(vec![message_item("Two.")]),
        ModelReply::Items(vec![message_item("Three.")]),
    ])
    .await;
    let developer = |request: &serde_json::Value| -> String {
        let input = request["input"].as_array().unwrap();
        input.iter().filter(|item| item["role"] == "developer").map(ToString::to_string).collect()
    };
    harness.ask("What does repo do?").await;
    let alone = developer(&harness.model.requests()[0]);
    assert!(!alone.contains("The next question"), "the only repository needs no note: {alone}");
    let other = harness.repository_folder().with_file_name("flask");
    std::fs::create_dir(&other).unwrap();
    harness.store.put_root(make_root(&other)).await.unwrap();
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
    let call = OutputItem::Calls(String::new(), "exec_command".into(), json!({ "cmd": command }));
    let harness = ChatHarness::new([
        ModelReply::Items(vec![call]),
        ModelReply::Items(vec![message_item("Done.")]),
    ])
    .await;
    let turn = harness.begin_turn("What?", None).await.unwrap();
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
    // Nothing for another conversation is beside its folder.
    let processes = std::fs::read_dir(&harness.settings.workdir).unwrap().flatten();
    let outside: Vec<_> =
        processes.filter(|one| one.path().join("outside").try_exists().unwrap()).collect();
    assert!(outside.is_empty(), "{outside:?}");
    // Cargo sets this one for tests.
    assert!(!output.contains("CARGO_MANIFEST_DIR"), "{output}");
}

#[tokio::test]
async fn a_conversation_continues_in_a_new_process_while_the_old_one_still_works() {
    let model = FakeModel::answer_with(|request| {
        let latest = request["input"].as_array().unwrap().last().unwrap().to_string();
        if latest.contains("Wait?") {
            ModelReply::Silent(Vec::new())
        } else {
            ModelReply::Items(vec![message_item("Done.")])
        }
    })
    .await;
    let harness = ChatHarness::with_settings(model, "", |_| ()).await;
    let first = harness.ask("The first question?").await;
    let waiting = harness.begin_turn("Wait?", None).await.unwrap();
    harness.model.wait_for_requests(2).await;
    // Codex reads its configuration at its start only, so the next turn needs another process.
    let config = harness.codex_home().join("config.toml");
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
    let model = FakeModel::answer_with(|request| {
        let input = request["input"].to_string();
        let mut seen: Vec<&str> =
            ["crimson", "azure"].into_iter().filter(|colour| input.contains(colour)).collect();
        seen.sort_unstable();
        ModelReply::Items(vec![message_item(&seen.join(" "))])
    })
    .await;
    let harness = ChatHarness::with_settings(model, "", |_| ()).await;
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
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item("One.")]),
        ModelReply::Items(vec![message_item("Two.")]),
        ModelReply::Items(vec![message_item("Three.")]),
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
    assert!(
        harness.model.latest_request_text().contains("Two."),
        "the later question knows the earlier answer"
    );
}

#[tokio::test]
async fn an_unknown_conversation_is_refused_and_starts_nothing() {
    let harness = ChatHarness::new([]).await;
    let unknown: ConversationId = "0190a5d2-3f4b-7c11-9a6e-2b8d5c0e4f17".parse().unwrap();
    let error = harness.begin_turn("What?", Some(unknown)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConversationNotFound);
    assert_eq!(harness.model.requests().len(), 0);
}

#[tokio::test]
async fn a_session_of_the_users_own_is_not_a_conversation() {
    let harness = ChatHarness::new([ModelReply::Items(vec![message_item("For the user.")])]).await;
    let ran = tokio::process::Command::new(harness.settings.bin.as_ref().unwrap())
        .args(["exec", "--json", "--skip-git-repo-check", "-c", "features.plugins=false", "Hi"])
        .env("CODEX_HOME", harness.codex_home())
        .current_dir(harness.codex_home())
        .stdin(std::process::Stdio::null())
        .output()
        .await
        .unwrap();
    let first = ran.stdout.split(|byte| *byte == b'\n').next().unwrap();
    let started: serde_json::Value = serde_json::from_slice(first).unwrap();
    let theirs: ConversationId = started["thread_id"].as_str().unwrap().parse().unwrap();
    let error = harness.begin_turn("What did I say?", Some(theirs)).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConversationNotFound);
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn questions_over_the_bound_are_refused() {
    let model = FakeModel::answer_with(|_| ModelReply::Silent(Vec::new())).await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        settings.max_turns = 1;
        settings.max_waiting = 1;
    })
    .await;
    let running = harness.begin_turn("One?", None).await.unwrap();
    // One of two waits, and so the other is refused.
    let [two, three] =
        ["Two?", "Three?"].map(|question| Box::pin(harness.begin_turn(question, None)));
    let (refused, waiting) = futures_util::future::select(two, three).await.factor_first();
    assert_eq!(refused.unwrap_err().code(), ErrorCode::Busy);
    drop(running);
    let outcome = waiting.await.unwrap();
    drop(outcome);
}

#[tokio::test]
async fn the_model_gets_our_prompt_our_search_and_no_server_of_the_users() {
    let theirs = crate::support::search::FakeSearch::start().await;
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
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Done.")])]).await;
    let harness = ChatHarness::with_settings(model, &more, |_| ()).await;
    let config = || std::fs::read_to_string(harness.codex_home().join("config.toml")).unwrap();
    let before = config();
    assert_eq!(render_outcome(&harness.ask("What?").await), "answer: Done.");
    assert_eq!(config(), before);
    assert_eq!(theirs.count_messages(), 0);
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
    let replies = (0..12).flat_map(|_| {
        [ModelReply::Items(vec![search_item("x")]), ModelReply::Items(vec![message_item("Ok.")])]
    });
    let harness = ChatHarness::new(replies).await;
    let conversation = harness.ask("Warm up").await.conversation;
    let mut follow_ups = Vec::new();
    let mut fresh = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        drop(collect_outcome(harness.begin_turn("What?", Some(conversation)).await.unwrap()).await);
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
        let model = FakeModel::replay([ModelReply::Items(vec![message_item("Done.")])]).await;
        let harness =
            ChatHarness::with_settings(model, "", |settings| settings.shell = shell).await;
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

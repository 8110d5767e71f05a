//! Answers whose citations are wrong, with the real Codex: the model corrects them, once, or they are
//! struck out.

use std::{
    collections::VecDeque,
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use codeinfo_chat::{ChatEvent, TurnOutcome};
use codeinfo_citations::CitationState;
use codeinfo_core::{CitationCounts, FileRecord, Segment};
use futures_util::StreamExt;
use serde_json::json;

use crate::support::{
    harness::{ChatHarness, make_root, render_outcome},
    model::{FakeModel, ModelReply, OutputItem, message_item, search_item, thinking_item},
};

const WRONG: &str = "`parse` is at src/parse.rs:90-95, and `Fault` at src/parse.rs:8-10.";
const RIGHT: &str = "`parse` is at src/parse.rs:4-6, and `Fault` at src/parse.rs:8-10.";

fn citation_counts(outcome: &TurnOutcome) -> Option<CitationCounts> {
    let segments = outcome.segments.iter().rev();
    let checked = segments.into_iter().find_map(|segment| match segment {
        Segment::Answer { checked, .. } => Some(checked.clone()),
        _ => None,
    })??;
    Some(CitationCounts { places: Vec::new(), ..checked })
}

/// Returns what was counted, without the repositories.
fn counts_without_repositories(outcome: &TurnOutcome) -> Option<CitationCounts> {
    citation_counts(outcome).map(|counts| CitationCounts { repositories: Vec::new(), ..counts })
}

/// The messages of the model that a caller receives.
fn list_messages(events: &[ChatEvent]) -> Vec<String> {
    let text = |event: &ChatEvent| match event {
        ChatEvent::Answer { text } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

fn make_counts(
    citations: usize,
    confirmed: usize,
    repaired: usize,
    wrong: usize,
) -> CitationCounts {
    let unconfirmed = citations - confirmed - wrong;
    CitationCounts {
        citations,
        confirmed,
        unconfirmed,
        wrong,
        repaired,
        ..CitationCounts::default()
    }
}

#[tokio::test]
async fn faults_are_corrected_before_the_answer_is_shown() {
    let harness = ChatHarness::new([
        ModelReply::Items(vec![thinking_item("hm"), search_item("parse")]),
        ModelReply::Items(vec![message_item(WRONG)]),
        ModelReply::Items(vec![
            thinking_item("let me see"),
            message_item("I look again."),
            search_item("parse again"),
        ]),
        ModelReply::Items(vec![message_item(RIGHT)]),
        ModelReply::Items(vec![message_item("As I said.")]),
    ])
    .await;
    let turn = harness.begin_turn("Where is the parser?", None).await.unwrap();
    let events: Vec<ChatEvent> = turn.collect().await;
    assert_eq!(list_messages(&events), ["I look again.", RIGHT]);
    let Some(ChatEvent::Ended(outcome)) = events.last() else { panic!("{events:?}") };
    let expected = "thinking: hm\nvector_summary: src/parse.rs\nthinking: let me see\n\
                    vector_summary: src/parse.rs\nanswer: ";
    assert_eq!(render_outcome(outcome), format!("{expected}{RIGHT}"));
    assert_eq!(counts_without_repositories(outcome), Some(make_counts(2, 2, 1, 0)));
    assert_eq!(outcome.usage.unwrap().total_tokens, 440, "both turns are counted");
    let asked = harness.model.latest_request_text();
    assert!(asked.contains("- `src/parse.rs:90-95`: the file has "), "{asked}");
    assert!(
        !asked.contains("- `src/parse.rs:8-10`"),
        "what is right is not complained of: {asked}"
    );
    let next = harness.follow_up(outcome.conversation, "Sure?").await;
    assert_eq!(render_outcome(&next), "answer: As I said.");
}

#[tokio::test]
async fn faults_that_remain_are_struck_out_after_one_retry() {
    let second =
        "`parse` is at src/parse.rs:70-75, `Fault` at src/parse.rs:8-10, both in src/lost.rs:3.";
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item(second)]),
        ModelReply::Items(vec![message_item(second)]),
    ])
    .await;
    let outcome = harness.ask("Where is the parser?").await;
    assert_eq!(
        render_outcome(&outcome),
        "answer: `parse` is at ~~src/parse.rs:70-75~~ (not found), `Fault` at \
         src/parse.rs:8-10, both in ~~src/lost.rs:3~~ (not found)."
    );
    assert_eq!(counts_without_repositories(&outcome), Some(make_counts(3, 1, 0, 2)));
    let states: Vec<CitationState> = outcome.citations.iter().map(|one| one.state).collect();
    assert_eq!(states, [CitationState::Wrong, CitationState::Confirmed, CitationState::Wrong]);
    assert_eq!(harness.model.requests().len(), 2);
}

#[tokio::test]
async fn a_link_that_is_wrong_in_text_and_target_is_struck_out_once() {
    let link = "It is [`src/parse.rs:70`](src/parse.rs#L70), and `Fault` at src/parse.rs:8-10.";
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item(link)]),
        ModelReply::Items(vec![message_item(link)]),
    ])
    .await;
    let outcome = harness.ask("Where is the parser?").await;
    assert_eq!(
        render_outcome(&outcome),
        "answer: It is ~~[`src/parse.rs:70`](src/parse.rs#L70)~~ (not found), and `Fault` at \
         src/parse.rs:8-10."
    );
}

#[tokio::test]
async fn a_message_before_the_turn_is_stopped_is_reported() {
    let begins = OutputItem::BeginsToThink("hm".to_owned());
    let model =
        FakeModel::replay([ModelReply::Silent(vec![message_item("Let me see."), begins])]).await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        settings.turn_timeout = Duration::from_secs(4);
    })
    .await;
    let turn = harness.begin_turn("Where is the parser?", None).await.unwrap();
    let events: Vec<ChatEvent> = turn.collect().await;
    let rendered =
        |event: &ChatEvent| matches!(event, ChatEvent::Answer { text } if text == "Let me see.");
    assert_eq!(events.iter().filter(|event| rendered(event)).count(), 1, "{events:?}");
    let Some(ChatEvent::Ended(outcome)) = events.last() else { panic!("{events:?}") };
    assert!(render_outcome(outcome).starts_with("answer: Let me see.\nthinking: hm\nfailure: "));
    harness.model.wait_for_abandoned_streams(1).await;
}

#[tokio::test]
async fn an_answer_without_faults_costs_nothing_more() {
    let harness = ChatHarness::new([ModelReply::Items(vec![message_item(RIGHT)])]).await;
    let outcome = harness.ask("Where is the parser?").await;
    assert_eq!(render_outcome(&outcome), format!("answer: {RIGHT}"));
    assert_eq!(counts_without_repositories(&outcome), Some(make_counts(2, 2, 0, 0)));
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn a_failed_incomplete_or_no_better_correction_is_discarded() {
    let refused = || ModelReply::Status(400, json!({ "error": { "message": "no" } }));
    let half = "What is left of it is `Fault`, at src/parse.rs:8-10.";
    // Long, without the place that was right.
    let other = "It is somewhere in the parser, which is not easy to find, nor to understand.";
    let as_wrong = "`parse` is at src/parse.rs:80-85, and `Fault` at src/parse.rs:8-10.";
    let says = |text: &str| ModelReply::Items(vec![message_item(text)]);
    let several =
        ["Sorry.", "I put src/parse.rs:90 right."].map(|text| OutputItem::Says(text.into()));
    for (then, requests) in [
        (vec![says("It is fixed.")], 2),
        (vec![ModelReply::Items(several.to_vec())], 2),
        (vec![says(other)], 2),
        (vec![says(as_wrong)], 2),
        (vec![refused()], 2),
        (vec![ModelReply::Cut(vec![OutputItem::Says(half.into())]), refused()], 3),
    ] {
        let replies = std::iter::once(says(WRONG)).chain(then);
        let harness = ChatHarness::new(replies).await;
        let outcome = harness.ask("Where is the parser?").await;
        assert_eq!(
            render_outcome(&outcome),
            "answer: `parse` is at ~~src/parse.rs:90-95~~ (not found), and `Fault` at \
             src/parse.rs:8-10."
        );
        assert_eq!(counts_without_repositories(&outcome), Some(make_counts(2, 1, 0, 1)));
        assert_eq!(harness.model.requests().len(), requests);
    }
}

#[tokio::test]
async fn a_much_shorter_correction_is_discarded() {
    let long = format!("It is at src/parse.rs:90-95. {}", "And so on. ".repeat(20));
    let replies = [&*long, "It is at src/parse.rs:4-6."]
        .map(|text| ModelReply::Items(vec![message_item(text)]));
    let harness = ChatHarness::new(replies).await;
    let outcome = harness.ask("Where is the parser?").await;
    assert!(
        render_outcome(&outcome).starts_with("answer: It is at ~~src/parse.rs:90-95~~"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn files_that_are_not_indexed_are_counted_and_not_called_wrong() {
    let text = "It is at src/parse.rs:4-6 and in notes/plan.md:1.";
    let harness = ChatHarness::new([ModelReply::Items(vec![message_item(text)])]).await;
    fs::create_dir(harness.repository_folder().join("notes")).unwrap();
    fs::write(harness.repository_folder().join("notes/plan.md"), "Later.\n").unwrap();
    let outcome = harness.ask("Where is the parser?").await;
    assert_eq!(render_outcome(&outcome), format!("answer: {text}"));
    assert_eq!(counts_without_repositories(&outcome), Some(make_counts(2, 1, 0, 0)));
}

#[tokio::test]
async fn a_correction_that_takes_too_long_leaves_the_first_answer() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![message_item(WRONG)]),
        ModelReply::Silent(vec![thinking_item("hm")]),
    ])
    .await;
    let harness = ChatHarness::with_settings(model, "", |settings| {
        settings.turn_timeout = Duration::from_secs(4);
    })
    .await;
    let outcome = harness.ask("Where is the parser?").await;
    assert_eq!(outcome.failure, None);
    assert!(
        render_outcome(&outcome).contains("answer: `parse` is at ~~src/parse.rs:90-95~~"),
        "{outcome:?}"
    );
    harness.model.wait_for_abandoned_streams(1).await;
}

#[tokio::test]
async fn a_caller_that_leaves_during_the_correction_interrupts_it() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![message_item(WRONG)]),
        ModelReply::Silent(vec![thinking_item("hm")]),
        ModelReply::Items(vec![message_item("Next.")]),
    ])
    .await;
    let harness = ChatHarness::with_settings(model, "", |settings| settings.max_turns = 1).await;
    let turn = harness.begin_turn("Where is the parser?", None).await.unwrap();
    let conversation = turn.conversation();
    harness.model.wait_for_requests(2).await;
    drop(turn);
    harness.model.wait_for_abandoned_streams(1).await;
    assert_eq!(render_outcome(&harness.follow_up(conversation, "And now?").await), "answer: Next.");
}

#[tokio::test]
async fn lines_that_changed_since_they_were_indexed_are_not_called_wrong() {
    let text = "`parse` is at src/parse.rs:5-7.";
    let harness = ChatHarness::new([ModelReply::Items(vec![message_item(text)])]).await;
    let file = harness.repository_folder().join("src/parse.rs");
    let code = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("// More.\n{code}")).unwrap();
    let outcome = harness.ask("Where is the parser?").await;
    assert_eq!(render_outcome(&outcome), format!("answer: {text}"));
    assert_eq!(counts_without_repositories(&outcome), Some(make_counts(1, 0, 0, 0)));
    assert_ne!(outcome.citations[0].state, CitationState::Confirmed);
    assert_eq!(harness.model.requests().len(), 1);
}

#[tokio::test]
async fn descriptions_of_faults_are_bounded_and_stay_in_their_lines() {
    let wrong: Vec<String> = (0..300).map(|at| format!("src/parse.rs:{}", 1000 + at)).collect();
    let text = wrong.join(" and ");
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item(&text)]),
        ModelReply::Items(vec![message_item(&text)]),
    ])
    .await;
    drop(harness.ask("Where is the parser?").await);
    let requests = harness.model.requests();
    let asked = requests[1]["input"].as_array().unwrap().last().unwrap();
    let asked = asked["content"][0]["text"].as_str().unwrap();
    assert!(asked.len() < 9000 && asked.len() > 7000, "{} bytes", asked.len());
    assert!(asked.lines().filter(|line| line.starts_with("- `src/parse.rs:1")).count() > 100);
}

#[tokio::test]
async fn each_message_is_reported_once_and_in_its_place() {
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item("First I search."), search_item("parse")]),
        ModelReply::Items(vec![message_item(RIGHT), thinking_item("that is all")]),
    ])
    .await;
    let turn = harness.begin_turn("Where is the parser?", None).await.unwrap();
    let events: Vec<ChatEvent> = turn.collect().await;
    assert_eq!(list_messages(&events), ["First I search.", RIGHT]);
    let first = |is: fn(&ChatEvent) -> bool| events.iter().position(is).unwrap();
    let search = first(|event| matches!(event, ChatEvent::ToolRequest { .. }));
    assert!(first(|event| matches!(event, ChatEvent::Answer { .. })) < search, "{events:?}");
}

#[tokio::test]
async fn striking_out_begins_no_block_of_code() {
    let text = "~/parser/src/lost.rs:3-4\n\n~~src/gone.rs:3~~\n\nsrc/none.rs:9 is not there.";
    let harness = ChatHarness::new([
        ModelReply::Items(vec![message_item(text)]),
        ModelReply::Items(vec![message_item(text)]),
    ])
    .await;
    let rendered = render_outcome(&harness.ask("Where is the parser?").await);
    assert!(rendered.contains("<del>~/parser/src/lost.rs:3-4</del> (not found)"), "{rendered}");
    assert!(rendered.contains("~~src/none.rs:9~~ (not found) is not there."), "{rendered}");
    assert!(!rendered.contains("~~~"), "{rendered}");
}

#[tokio::test]
async fn an_answer_says_which_repositories_it_cites_and_when_they_were_indexed() {
    let harness = ChatHarness::new(
        [RIGHT, "Nothing."].map(|text| ModelReply::Items(vec![message_item(text)])),
    )
    .await;
    let cited = citation_counts(&harness.ask("Where is it?").await).unwrap().repositories;
    let root = harness.store.roots().await.unwrap().remove(0);
    let [repository] = &cited[..] else { panic!("{cited:?}") };
    assert_eq!((&*repository.name, &*repository.commit), ("repo", "working tree"));
    assert_eq!(repository.indexed_at, root.last_ingest_at.map(|time| time.to_string()));
    let none = citation_counts(&harness.ask("Is there more?").await).unwrap().repositories;
    assert_eq!(none, []);
}

#[tokio::test]
async fn a_path_in_two_trees_refers_to_the_one_that_the_turn_was_shown() {
    let replies = Arc::new(Mutex::new(VecDeque::new()));
    let next = Arc::clone(&replies);
    let model = FakeModel::answer_with(move |_| next.lock().unwrap().pop_front().unwrap()).await;
    let harness = ChatHarness::with_settings(model, "", |_| ()).await;
    let other = harness.repository_folder().with_file_name("other");
    fs::create_dir_all(other.join("src")).unwrap();
    fs::copy(harness.repository_folder().join("src/parse.rs"), other.join("src/parse.rs")).unwrap();
    let mut roots = harness.store.roots().await.unwrap();
    let files = harness.store.files(roots.remove(0).id).await.unwrap();
    let root = make_root(&other);
    let of_other = |file: FileRecord| FileRecord { root: root.id, ..file };
    harness.store.put_files(files.into_iter().map(of_other).collect()).await.unwrap();
    harness.store.put_root(root).await.unwrap();
    let shown = other.canonicalize().unwrap().join("src/parse.rs").display().to_string();
    replies.lock().unwrap().extend([
        ModelReply::Items(vec![message_item(RIGHT)]),
        ModelReply::Items(vec![search_item(&shown)]),
        ModelReply::Items(vec![message_item(RIGHT)]),
    ]);
    let repositories = async || {
        let checked = citation_counts(&harness.ask("Where is it?").await).unwrap();
        let names = checked.repositories.into_iter().map(|one| one.name).collect::<Vec<String>>();
        (checked.confirmed, checked.wrong, names)
    };
    assert_eq!(repositories().await, (0, 0, Vec::new()));
    assert_eq!(repositories().await, (2, 0, vec!["other".to_owned()]));
}

#[tokio::test]
async fn citations_beyond_those_that_are_checked_are_counted() {
    let right = "src/parse.rs:4-6 ".repeat(1100);
    let harness = ChatHarness::new([ModelReply::Items(vec![message_item(&right)])]).await;
    let outcome = harness.ask("Where is the parser?").await;
    assert_eq!(counts_without_repositories(&outcome), Some(make_counts(1100, 1000, 0, 0)));
}

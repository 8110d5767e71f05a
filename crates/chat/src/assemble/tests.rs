//! Reported events for short scripts of Codex events.

use codeinfo_codex::CodexTurnEnd;
use codeinfo_toolkits::spec::ToolkitName;
use serde_json::json;

use super::*;
use crate::{ThreadServer, ToolOwner};

/// Plays events and returns the reported ones, one line each.
fn play(events: impl IntoIterator<Item = CodexEvent>) -> Vec<String> {
    play_on(SegmentAssembler::new(ThreadServers::new(), Some(0)), events)
}

fn play_on(
    mut assembly: SegmentAssembler,
    events: impl IntoIterator<Item = CodexEvent>,
) -> Vec<String> {
    let reported =
        events.into_iter().flat_map(|event| assembly.apply_event(event, AT)).collect::<Vec<_>>();
    let lines = reported.into_iter().map(|event| match event {
        ChatEvent::Thread { .. } | ChatEvent::Warning { .. } | ChatEvent::Ended(_) => {
            "?".to_owned()
        }
        ChatEvent::Thinking { text } => format!("thinking {text}"),
        ChatEvent::ToolRequest { call_id, name, .. } => format!("request {call_id} {name}"),
        ChatEvent::ToolResult { call_id, stage, error, .. } => {
            let stage = format!("{stage:?}").to_lowercase();
            format!("result {call_id} {stage}{}", error.unwrap_or_default())
        }
        ChatEvent::VectorSummary { files } => format!("summary {}", files.len()),
        ChatEvent::Answer { text } => format!("answer {text}"),
    });
    lines.collect()
}

fn thinking(item: &str, text: &str) -> CodexEvent {
    CodexEvent::Thinking { item: item.to_owned(), text: text.to_owned() }
}

fn answer(item: &str, text: &str) -> CodexEvent {
    CodexEvent::Answer { item: item.to_owned(), text: text.to_owned() }
}

fn delta(item: &str, part: u64, text: &str) -> CodexEvent {
    CodexEvent::ThinkingDelta { item: item.to_owned(), part, text: text.to_owned() }
}

fn answer_delta(item: &str, text: &str) -> CodexEvent {
    CodexEvent::AnswerDelta { item: item.to_owned(), text: text.to_owned() }
}

fn counted(thread_total: u64) -> CodexEvent {
    CodexEvent::Counted {
        thread_total,
        last: TokenUsage { total_tokens: 10, ..TokenUsage::default() },
    }
}

fn search(call_id: &str, query: &str, outcome: Option<Result<Value, String>>) -> CodexToolCall {
    CodexToolCall {
        call_id: call_id.to_owned(),
        source: "codeinfo_search".to_owned(),
        name: "VectorSearch".to_owned(),
        parameters: json!({ "query": query }),
        outcome,
    }
}

fn searching(call_id: &str, query: &str) -> CodexEvent {
    CodexEvent::ToolStarted(search(call_id, query, None))
}

fn build_search_result(call_id: &str, query: &str) -> CodexEvent {
    let file = json!({
        "path": "/r/a.rs", "relPath": "a.rs", "repo": "r",
        "match": 0.5, "chunks": 1, "lines": 3, "ranges": ["1-3"],
    });
    let result = json!({ "content": [], "_meta": { "codeinfo/files": [file] } });
    CodexEvent::ToolEnded(search(call_id, query, Some(Ok(result))))
}

const AT: Timestamp = Timestamp::EPOCH;
const END: CodexEvent = CodexEvent::Ended(CodexTurnEnd::Completed);

#[test]
fn items_are_told_whole_and_in_order() {
    let reported = play([
        delta("r1", 0, "lo"),
        delta("r1", 0, "ng"),
        thinking("r1", "long thought"),
        searching("c1", "x"),
        searching("c2", "y"),
        build_search_result("c2", "y"),
        build_search_result("c1", "x"),
        counted(10),
        thinking("r2", "short"),
        answer("m1", "on my way"),
        answer("m2", "done"),
        counted(20),
        END,
    ]);
    assert_eq!(
        reported,
        [
            "thinking long thought",
            "request c1 VectorSearch",
            "request c2 VectorSearch",
            "result c2 success",
            "summary 1",
            "result c1 success",
            "summary 1",
            "thinking short",
            "answer on my way",
            "answer done",
        ]
    );
}

#[test]
fn equal_thoughts_stay_two_unless_a_retry_repeats_them() {
    assert_eq!(play([thinking("r1", "a"), thinking("r2", "a"), END]), ["thinking a", "thinking a"]);
    assert_eq!(
        play([thinking("r1", "a"), counted(10), CodexEvent::Retrying, thinking("r2", "a"), END]),
        ["thinking a", "thinking a"]
    );
}

#[test]
fn a_retried_response_repeats_nothing_however_often_it_is_retried() {
    let response = |n: u32| {
        [
            thinking(&format!("r{n}"), "a"),
            thinking(&format!("s{n}"), "a"),
            searching(&format!("c{n}"), "x"),
            build_search_result(&format!("c{n}"), "x"),
            answer(&format!("m{n}"), "half"),
        ]
    };
    let mut events = Vec::from(response(1));
    for n in 2..4 {
        // Codex counts the tokens of the failed response again.
        events.extend([counted(0), CodexEvent::Retrying]);
        events.extend(response(n));
    }
    events.extend([answer("m9", "whole"), counted(10), END]);
    assert_eq!(
        play(events),
        [
            "thinking a",
            "thinking a",
            "request c1 VectorSearch",
            "result c1 success",
            "summary 1",
            "answer half",
            "answer whole",
        ]
    );
}

#[test]
fn a_search_that_fails_has_no_summary() {
    let failed = CodexEvent::ToolEnded(search("c1", "x", Some(Err(": no store".to_owned()))));
    assert_eq!(
        play([searching("c1", "x"), failed, END]),
        ["request c1 VectorSearch", "result c1 error: no store"]
    );
    let speechless = search("c1", "x", Some(Ok(json!({ "content": [] }))));
    let reported = play([searching("c1", "x"), CodexEvent::ToolEnded(speechless), END]);
    assert_eq!(
        reported.last().unwrap(),
        "result c1 errorthe search does not say which files it found"
    );
}

#[test]
fn a_search_of_commits_succeeds_without_files_and_has_no_summary() {
    let mut tool = search("c1", "x", None);
    tool.parameters = json!({ "query": "x", "in": "history" });
    let started = CodexEvent::ToolStarted(tool.clone());
    tool.outcome = Some(Ok(json!({ "content": [] })));
    assert_eq!(
        play([started, CodexEvent::ToolEnded(tool), END]),
        ["request c1 VectorSearch", "result c1 success"]
    );
}

#[test]
fn files_that_another_tool_of_ours_shows_are_a_summary_and_those_of_a_toolkit_are_none() {
    let called = |source: &str, name: &str, files: Option<Value>| {
        let meta = files.map(|files| json!({ "codeinfo/files": files }));
        let mut tool = search("c1", "", Some(Ok(json!({ "content": [], "_meta": meta }))));
        (tool.source, tool.name) = (source.to_owned(), name.to_owned());
        play([CodexEvent::ToolEnded(tool), END]).pop().unwrap()
    };
    let file = json!({
        "path": "/r/a.rs", "relPath": "a.rs", "repo": "r",
        "match": 1.0, "chunks": 1, "lines": 3, "ranges": ["1-3"],
    });
    let files = || Some(json!([file]));
    assert_eq!(called("codeinfo_search", "ReadLines", files()), "summary 1");
    assert_eq!(called("codeinfo_search", "VectorSearch", Some(json!([]))), "summary 0");
    for (source, files) in
        [("tk_git", files()), ("codeinfo_search", Some(json!([]))), ("codeinfo_search", None)]
    {
        assert_eq!(called(source, "FindUses", files), "result c1 success");
    }
}

#[test]
fn a_call_told_only_at_its_end_has_its_request() {
    let reported = play([build_search_result("c1", "x"), END]);
    assert_eq!(reported, ["request c1 VectorSearch", "result c1 success", "summary 1"]);
}

#[test]
fn a_call_of_a_toolkit_names_it_and_says_when_it_began_and_ended() {
    let git: ToolkitName = "git".parse().unwrap();
    let servers = ThreadServers::from([
        ("tk_git".to_owned(), ThreadServer::Toolkit(git.clone())),
        ("tools".to_owned(), ThreadServer::Meta(vec![git.clone()])),
    ]);
    let inner = json!({ "tool": "mcp:git:log", "arguments": { "n": 1 } });
    for (server, name, parameters) in
        [("tk_git", "log", json!({ "n": 1 })), ("tools", "execute_tool", inner)]
    {
        let mut assembly = SegmentAssembler::new(servers.clone(), Some(0));
        let mut tool = search("c1", "", None);
        (tool.source, tool.name, tool.parameters) =
            (server.to_owned(), name.to_owned(), parameters);
        let began = assembly.apply_event(CodexEvent::ToolStarted(tool.clone()), AT);
        let [ChatEvent::ToolRequest { name, source, timestamp, parameters, .. }] = &began[..]
        else {
            panic!("{began:?}")
        };
        assert_eq!((name.as_str(), source), ("log", &ToolOwner::Mcp(git.clone())));
        assert_eq!((*timestamp, parameters), (AT, &json!({ "n": 1 })));
        tool.outcome = Some(Ok(json!({ "content": [] })));
        let later = Timestamp::now();
        let ended = assembly.apply_event(CodexEvent::ToolEnded(tool), later);
        let [ChatEvent::ToolResult { name, source, timestamp, stage, .. }] = &ended[..] else {
            panic!("{ended:?}")
        };
        assert_eq!((name.as_str(), source), ("log", &ToolOwner::Mcp(git.clone())));
        assert_eq!((*timestamp, *stage), (later, ToolCallStage::Success));
    }
}

#[test]
fn unfinished_items_are_kept_at_the_end() {
    let reported = play([
        delta("r1", 0, "one"),
        delta("r1", 1, "two"),
        answer_delta("m1", "half an ans"),
        END,
    ]);
    assert_eq!(reported, ["thinking one\n\ntwo", "answer half an ans"]);
}

#[test]
fn an_unfinished_item_gives_way_to_its_repetition_and_else_stays_before_it() {
    assert_eq!(
        play([delta("r1", 0, "I sha"), CodexEvent::Retrying, thinking("r2", "I shall"), END]),
        ["thinking I shall"]
    );
    assert_eq!(
        play([delta("r1", 0, "I sha"), CodexEvent::Retrying, thinking("r2", "Let me"), END]),
        ["thinking I sha", "thinking Let me"]
    );
    assert_eq!(play([answer_delta("m1", "It "), CodexEvent::Retrying, END]), ["answer It "]);
}

#[test]
fn an_item_completed_without_text_has_the_text_of_its_pieces() {
    assert_eq!(play([delta("r1", 0, "a"), thinking("r1", ""), END]), ["thinking a"]);
    assert_eq!(play([thinking("r1", " "), END]), Vec::<String>::new());
}

#[test]
fn tokens_are_those_of_this_turn() {
    let mut assembly = SegmentAssembler::new(ThreadServers::new(), Some(100));
    for event in [counted(100), counted(110), counted(110), counted(120)] {
        drop(assembly.apply_event(event, AT));
    }
    let (_, usage, _) = assembly.into_parts();
    assert_eq!(usage.map(|usage| usage.total_tokens), Some(20));
}

/// Plays events. Returns the sizes and ends of the texts, and the exceeded limit.
fn bounded(
    events: impl IntoIterator<Item = CodexEvent>,
) -> (Vec<(usize, String)>, Option<TurnTextLimit>) {
    let mut assembly = SegmentAssembler::new(ThreadServers::new(), Some(0));
    let mut reported = Vec::new();
    for event in events {
        reported.extend(assembly.apply_event(event, AT));
    }
    let bound = assembly.exceeded_limit();
    let (segments, ..) = assembly.into_parts();
    assert_eq!(reported.len(), segments.len(), "what is reported is what is kept");
    let said = segments.into_iter().map(|segment| match segment {
        Segment::Thinking { text } | Segment::Answer { text, .. } => {
            let end = text.char_indices().rev().nth(21).map_or(0, |(at, _)| at);
            (text.len(), text.get(end..).unwrap().to_owned())
        }
        Segment::VectorSummary { .. } => panic!("no search"),
    });
    (said.collect(), bound)
}

const MIB: usize = 1024 * 1024;
const MARK: &str = "[cut: more than 1 MiB]";

#[test]
fn a_piece_that_is_too_long_is_cut_between_characters_and_ends_the_turn() {
    // Three bytes per character, so that no whole number is 1 MiB.
    let long = "\u{20ac}".repeat(MIB);
    let cut = MIB / 3 * 3 + 2 + MARK.len();
    let whole = bounded([answer("m1", "short"), answer("m2", &long), answer("m3", "more"), END]);
    let short = (5, "short".to_owned());
    assert_eq!(whole, (vec![short, (cut, MARK.to_owned())], Some(TurnTextLimit::Segment)));
    let text = &"\u{20ac}".repeat(1000);
    let deltas = (0..1000).map(|_| answer_delta("m1", text)).chain([answer("m1", &long)]);
    assert_eq!(bounded(deltas), (vec![(cut, MARK.to_owned())], Some(TurnTextLimit::Segment)));
    let parts = (0..1000).map(|part| delta("r1", part, text));
    let (said, bound) = bounded(parts);
    assert_eq!((said.len(), bound), (1, Some(TurnTextLimit::Segment)));
    assert!(said[0].0 < MIB + 3000, "{said:?}");
}

#[test]
fn a_turn_that_is_too_long_is_cut_and_ended() {
    let text = "x".repeat(MIB - 1000);
    let whole = (0..9).map(|item| answer(&item.to_string(), &text));
    let (said, bound) = bounded(whole);
    assert_eq!((said.len(), bound), (5, Some(TurnTextLimit::Turn)));
    assert!(said[4].1.ends_with("more than 4 MiB]"), "{said:?}");
    assert!(said[4].0 < 5000, "{said:?}");
    let unfinished = (0..9).map(|item| answer_delta(&item.to_string(), &text));
    assert_eq!(bounded(unfinished).1, Some(TurnTextLimit::Turn));
    let tiny = (0..70_000).map(|item| answer(&item.to_string(), "x"));
    assert_eq!(bounded(tiny).1, Some(TurnTextLimit::Turn), "not even empty pieces are without end");
}

#[test]
fn what_a_finished_item_repeats_of_its_pieces_counts_once() {
    let text = "x".repeat(MIB - 1000);
    let both = (0..3).flat_map(|item| {
        let item = item.to_string();
        [answer_delta(&item, &text), answer(&item, &text)]
    });
    let (said, bound) = bounded(both);
    assert_eq!((said.len(), bound), (3, None));
    // A response that breaks off and is repeated counts once as well.
    let again = (0..6).flat_map(|_| [answer_delta("m", &text), CodexEvent::Retrying]);
    let (said, bound) = bounded(again.chain([answer("m", &text), END]));
    assert_eq!((said.len(), bound), (5, Some(TurnTextLimit::Turn)), "each unfinished one is kept");
}

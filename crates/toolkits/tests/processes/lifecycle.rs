//! Starts, ends and restarts of toolkit servers.

use std::time::Duration;

use codeinfo_core::task::BackoffSchedule;
use codeinfo_test_support::toolkit::{
    TestToolkits, fast_timing, http_spec, is_running, make_arguments, make_toolkit_name,
    read_result_text, scripted_spec, stdio_spec, wait_until,
};
use codeinfo_toolkits::{
    connection::{ConnectionTiming, ToolkitError, ToolkitState},
    spec::ToolkitTransport,
};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::Instant;

#[tokio::test]
async fn a_kill_in_mid_call_is_an_error_and_the_next_call_works() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&[]));
    let before = client.load_catalogue().await.unwrap();
    let process = client.status().pid.unwrap();
    let (called, ()) =
        tokio::join!(client.call_tool("sleep", make_arguments(json!({ "seconds": 60 }))), async {
            client.call_tool("echo", make_arguments(json!({}))).await.unwrap();
            kill_process(process);
        });
    let error = called.unwrap_err().to_string();
    assert_eq!(
        error,
        "toolkit kit ended during the call: it was ended by signal 9; it may have done it, or not"
    );
    client.call_tool("echo", make_arguments(json!({}))).await.unwrap();
    let status = client.status();
    assert_eq!((status.state, status.restarts, status.starts), (ToolkitState::Ready, 1, 2));
    let generation = client.known_catalogue().unwrap().generation;
    assert!(generation > before.generation, "{generation}");
    toolkits.stop().await;
}

#[tokio::test]
async fn a_call_is_repeated_once_only_for_a_tool_that_only_reads() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&[]));
    let folder = tempfile::tempdir().unwrap();
    let asked = json!({ "marker": folder.path().join("died") });
    let called = client.call_tool("die_once", make_arguments(asked)).await.unwrap();
    assert_eq!(read_result_text(&called), "alive");
    let died = client.call_tool("die", make_arguments(json!({}))).await.unwrap_err();
    assert!(matches!(died, ToolkitError::Ended { .. }), "{died}");
    client.load_catalogue().await.unwrap();
    assert_eq!(client.status().starts, 3);
    toolkits.stop().await;
}

#[tokio::test]
async fn callers_at_the_same_time_share_one_start_and_equal_specs_one_client() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = |owner, called: &str| {
        toolkits.pool.get_or_create_client(owner, &make_toolkit_name(called), &scripted_spec(&[]))
    };
    let found =
        join_all((0..20).map(|_| async { client(None, "kit").load_catalogue().await })).await;
    assert!(found.iter().all(|found| found.as_ref().unwrap().generation == 1));
    assert_eq!(client(None, "other").status().starts, 1);
    // Toolkits of a request are not shared.
    assert_eq!(client(Some("ada"), "kit").status().state, ToolkitState::Stopped);
    client(Some("ada"), "kit").load_catalogue().await.unwrap();
    assert_ne!(client(Some("ada"), "kit").status().pid, client(None, "kit").status().pid);
    assert_eq!(client(Some("bob"), "kit").status().state, ToolkitState::Stopped);
    toolkits.stop().await;
}

#[tokio::test]
async fn five_exits_make_a_toolkit_failing_until_it_is_started_by_hand() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&[]));
    let mut ends = 0;
    let error = loop {
        match client.call_tool("die", make_arguments(json!({}))).await.unwrap_err() {
            ToolkitError::Ended { .. } => ends += 1,
            other => break other,
        }
    };
    assert_eq!(ends, 5);
    assert_eq!(
        error.to_string(),
        "toolkit kit ended too often: it ended with exit status 7 (`codeinfo mcp \
         start kit` starts it again)"
    );
    wait_until(|| client.status().state == ToolkitState::Failing).await;
    assert_eq!(client.load_catalogue().await.unwrap_err(), error);
    assert_eq!(client.status().last_error.is_some(), client.known_catalogue().is_some());
    client.start().await.unwrap();
    assert_eq!(client.status().state, ToolkitState::Ready);
    toolkits.stop().await;
}

#[tokio::test]
async fn exits_of_long_ago_do_not_count() {
    let toolkits = TestToolkits::with_timing(ConnectionTiming {
        window: Duration::from_millis(1),
        ..fast_timing()
    });
    let client = toolkits.client(&scripted_spec(&[]));
    for _ in 0..7 {
        let died = client.call_tool("die", make_arguments(json!({}))).await.unwrap_err();
        assert!(matches!(died, ToolkitError::Ended { .. }), "{died}");
    }
    toolkits.stop().await;
}

#[tokio::test]
async fn the_waits_before_starts_double() {
    let restart =
        BackoffSchedule { first: Duration::from_millis(200), longest: Duration::from_mins(1) };
    let toolkits = TestToolkits::with_timing(ConnectionTiming { restart, ..fast_timing() });
    let client = toolkits.client(&scripted_spec(&[]));
    for wait in [200, 400, 800].map(Duration::from_millis) {
        client.call_tool("die", make_arguments(json!({}))).await.unwrap_err();
        let began = Instant::now();
        client.load_catalogue().await.unwrap();
        // Starting takes some time as well.
        assert!(began.elapsed() >= wait.mul_f64(0.9), "{:?} after {wait:?}", began.elapsed());
    }
    toolkits.stop().await;
}

#[tokio::test]
async fn a_server_that_does_not_start_says_why_without_secrets() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let missing = toolkits.client(&stdio_spec("no-such-program", Vec::new()));
    let error = missing.load_catalogue().await.unwrap_err().to_string();
    assert!(error.starts_with("toolkit kit is not running: `no-such-program` cannot be started"));
    let exits = toolkits.client(&scripted_spec(&["exit"]));
    let error = exits.load_catalogue().await.unwrap_err().to_string();
    let output_text =
        "toolkit kit is not running: it ended with exit status 1, saying: no, [key] is wrong";
    assert_eq!(error, output_text);
    assert_eq!(exits.status().last_error.as_deref(), Some(output_text));
    let away = toolkits.client(&http_spec(1));
    let error = away.load_catalogue().await.unwrap_err().to_string();
    assert!(
        error.contains("onnection refused") && error.ends_with(" (http://127.0.0.1:1)"),
        "{error}"
    );
    toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_that_is_not_used_is_stopped_and_starts_when_it_is_needed() {
    let toolkits = TestToolkits::with_timing(ConnectionTiming {
        idle: Duration::from_millis(300),
        ..fast_timing()
    });
    let client = toolkits.client(&scripted_spec(&[]));
    // A call that takes longer is use.
    client.call_tool("sleep", make_arguments(json!({ "seconds": 0.8 }))).await.unwrap();
    assert_eq!(client.status().starts, 1);
    let process = client.status().pid.unwrap();
    wait_until(|| client.status().state == ToolkitState::Stopped).await;
    client.stop().await;
    assert!(!is_running(process));
    assert!(client.known_catalogue().is_some());
    client.call_tool("echo", make_arguments(json!({}))).await.unwrap();
    assert_eq!((client.status().starts, client.status().restarts), (2, 0));
    toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_that_no_longer_answers_is_started_again() {
    let silence = Duration::from_millis(200);
    let toolkits =
        TestToolkits::with_timing(ConnectionTiming { silence, pong: silence, ..fast_timing() });
    let answers = toolkits.client(&scripted_spec(&[]));
    let mute = toolkits.client(&scripted_spec(&["mute"]));
    answers.load_catalogue().await.unwrap();
    mute.load_catalogue().await.unwrap();
    wait_until(|| mute.status().restarts > 0).await;
    let error = mute.status().last_error.unwrap();
    assert!(error.contains("it did not answer a ping within 0.2 s"), "{error}");
    assert_eq!(answers.status().restarts, 0);
    toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_that_uses_too_much_memory_is_started_again() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let mut spec = scripted_spec(&[]);
    spec.memory_mb = Some(100);
    let client = toolkits.client(&spec);
    client.call_tool("echo", make_arguments(json!({}))).await.unwrap();
    client.call_tool("grow", make_arguments(json!({ "mib": 200 }))).await.ok();
    wait_until(|| client.status().restarts > 0).await;
    let error = client.status().last_error.unwrap();
    assert!(error.contains("it used more than 100 MiB of memory"), "{error}");
    toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_is_stopped_and_started_by_hand_unless_it_is_off() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&[]));
    client.start().await.unwrap();
    let process = client.status().pid.unwrap();
    client.stop().await;
    assert!(!is_running(process));
    assert_eq!(client.status().state, ToolkitState::Stopped);
    client.restart().await.unwrap();
    assert_ne!(client.status().pid, Some(process));
    let off = codeinfo_toolkits::spec::ToolkitSpec { enabled: false, ..scripted_spec(&[]) };
    let off = toolkits.client(&off);
    assert_eq!(off.status().state, ToolkitState::Disabled);
    assert_eq!(off.start().await.unwrap_err().to_string(), "toolkit kit is switched off");
    toolkits.stop().await;
    let error = client.load_catalogue().await.unwrap_err();
    assert_eq!(error.to_string(), "toolkit kit is not running: the server is stopping");
}

#[tokio::test]
async fn there_are_at_most_thirty_two_processes() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    // Each is another spec.
    let numbered = |number: usize| {
        let mut spec = stdio_spec("sh", Vec::new());
        let ToolkitTransport::Stdio { args, .. } = &mut spec.transport else { unreachable!() };
        let answers = "while read line; do case \"$line\" in \
            *initialize\\\"*) echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}}';; \
            *tools/list*) echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}';; esac; done";
        args.extend(["-c".to_owned(), answers.to_owned(), number.to_string()]);
        toolkits.client(&spec)
    };
    let started = join_all((0..32).map(|number| {
        let client = numbered(number);
        async move { client.load_catalogue().await }
    }));
    for started in started.await {
        assert_eq!(started.unwrap().tools, []);
    }
    let error = numbered(32).load_catalogue().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "toolkit kit is not running: 32 processes of toolkits are; stop one of them first"
    );
    numbered(0).stop().await;
    numbered(32).load_catalogue().await.unwrap();
    toolkits.stop().await;
}

fn kill_process(process: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    kill_process(Pid::from_raw(process.cast_signed()).unwrap(), Signal::KILL).unwrap();
}

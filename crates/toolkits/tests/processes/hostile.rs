//! Servers of toolkits that misbehave.

use std::{sync::Arc, time::Duration};

use codeinfo_test_support::toolkit::{
    TestToolkits, fast_timing, make_arguments, make_toolkit_name, read_result_text, scripted_spec,
};
use codeinfo_toolkits::{
    connection::{ConnectionTiming, ToolkitClient, ToolkitError, ToolkitState},
    spec::ToolkitSpec,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped_and_counted() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&["garbage"]));
    let echoed = client.call_tool("echo", make_arguments(json!({ "a": 1 }))).await.unwrap();
    assert_eq!(read_result_text(&echoed), "{\"a\": 1}");
    assert_eq!(echoed.ttl, Some(Duration::from_secs(5)));
    // Four for each of initialize, initialized, tools/list and tools/call.
    assert_eq!(client.status().malformed_lines, 16);
    toolkits.stop().await;
}

#[tokio::test]
async fn a_server_that_never_answers_or_prints_noise_does_not_start_in_time() {
    let toolkits = TestToolkits::with_timing(ConnectionTiming {
        start: Duration::from_secs(1),
        ..fast_timing()
    });
    let silent = toolkits.client(&scripted_spec(&["silent"]));
    let began = Instant::now();
    let error = silent.load_catalogue().await.unwrap_err().to_string();
    assert_eq!(error, "toolkit kit is not running: it did not start within 1 s");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let noise = toolkits.client(&scripted_spec(&["noise"]));
    let error = noise.load_catalogue().await.unwrap_err().to_string();
    assert!(error.contains("lines that are not messages"), "{error}");
    toolkits.stop().await;
}

#[tokio::test]
async fn a_result_that_is_too_large_is_an_error_at_once_and_the_server_continues() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&[]));
    let fits =
        client.call_tool("huge", make_arguments(json!({ "bytes": 4_000_000 }))).await.unwrap();
    assert_eq!(read_result_text(&fits).len(), 4_000_000);
    let began = Instant::now();
    let huge = client.call_tool("huge", make_arguments(json!({ "bytes": 100_000_000 }))).await;
    let error = huge.unwrap_err();
    assert!(matches!(error, ToolkitError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("its answer has more than 4194304 bytes"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    client.call_tool("echo", make_arguments(json!({}))).await.unwrap();
    assert_eq!(client.status().starts, 1);
    toolkits.stop().await;
}

#[tokio::test]
async fn nothing_that_a_server_started_outlives_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&["forks", file.to_str().unwrap()]));
    client.call_tool("echo", make_arguments(json!({}))).await.unwrap();
    let forked: i32 = wait_for(|| std::fs::read_to_string(&file).ok()?.parse().ok()).await;
    client.stop().await;
    assert!(is_gone(forked));

    // A server that ignores every request, when CodeInfo stops.
    let client = toolkits.client(&scripted_spec(&["stubborn", "forks", file.to_str().unwrap()]));
    std::fs::remove_file(&file).unwrap();
    client.call_tool("echo", make_arguments(json!({}))).await.unwrap();
    let process = client.status().pid.unwrap().cast_signed();
    let forked: i32 = wait_for(|| std::fs::read_to_string(&file).ok()?.parse().ok()).await;
    let began = Instant::now();
    toolkits.stop().await;
    assert!(is_gone(process) && is_gone(forked));
    // It had time to end by itself, twice.
    assert!(began.elapsed() >= 2 * fast_timing().grace, "{:?}", began.elapsed());
}

/// Ends a stubborn toolkit of a revoked owner, which `meanwhile` may have begun to end otherwise.
async fn revoke_stubborn_owner(
    case: &str,
    meanwhile: impl AsyncFn(&TestToolkits, &ToolkitSpec, Arc<ToolkitClient>),
) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    // With the waits of earnest, of three seconds each.
    let toolkits = TestToolkits::new();
    let spec = scripted_spec(&["stubborn", "forks", file.to_str().unwrap()]);
    let client = toolkits.pool.get_or_create_client(Some("ann"), &make_toolkit_name("kit"), &spec);
    client.call_tool("echo", make_arguments(json!({}))).await.unwrap();
    let process = client.status().pid.unwrap().cast_signed();
    let forked: i32 = wait_for(|| std::fs::read_to_string(&file).ok()?.parse().ok()).await;
    meanwhile(&toolkits, &spec, client).await;
    assert!(!is_gone(process), "{case}");
    let revoked = Instant::now();
    toolkits.pool.stop_owned("ann").await;
    assert!(is_gone(process) && is_gone(forked), "{case}");
    let elapsed = revoked.elapsed();
    print_time(case, elapsed);
    assert!(elapsed < Duration::from_secs(1), "{case}: {elapsed:?}");
    toolkits.stop().await;
}

#[expect(clippy::print_stderr, reason = "`cargo test -- --nocapture` shows the measurement")]
fn print_time(case: &str, elapsed: Duration) {
    eprintln!("a stubborn toolkit ended {elapsed:?} after its owner was revoked: {case}");
}

#[tokio::test]
async fn a_stubborn_toolkit_of_a_revoked_owner_is_gone_within_a_second() {
    revoke_stubborn_owner("it ran", async |_, _, _| ()).await;
    revoke_stubborn_owner("it was being stopped", async |toolkits, _, client| {
        let stopping = Arc::clone(&client);
        toolkits.tasks.spawn(async move { stopping.stop().await });
        wait_for(|| (client.status().state == ToolkitState::Stopped).then_some(())).await;
    })
    .await;
    revoke_stubborn_owner(
        "other settings were stored, and a call held it",
        async |toolkits, spec, client| {
            toolkits.pool.retire_clients("ann", std::slice::from_ref(spec));
            toolkits.tasks.spawn(async move {
                drop(client.call_tool("sleep", make_arguments(json!({ "seconds": 60 }))).await);
            });
        },
    )
    .await;
}

#[tokio::test]
async fn tools_that_change_are_published_whole() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&[]));
    let before = client.load_catalogue().await.unwrap();
    assert_eq!((before.generation, before.find_tool("added")), (1, None));
    client.call_tool("change", make_arguments(json!({}))).await.unwrap();
    let after = wait_for(|| client.known_catalogue().filter(|known| known.generation == 2)).await;
    assert!(after.find_tool("added").is_some());
    assert_eq!(after.tools.len(), before.tools.len() + 1);
    let added = client.call_tool("added", make_arguments(json!({}))).await.unwrap();
    assert_eq!(read_result_text(&added), "added");
    toolkits.stop().await;
}

#[tokio::test]
async fn tools_that_are_too_large_are_left_out_and_named() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let large = toolkits.client(&scripted_spec(&["large"])).load_catalogue().await.unwrap();
    let names: Vec<&str> = large.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["fits"]);
    assert_eq!(large.tools[0].description.len(), 16 * 1024 + "…".len());
    let left_out = [
        (format!("{}…", "n".repeat(128)), "its name has more than 128 bytes".to_owned()),
        ("wide".to_owned(), "its schema has more than 65536 bytes".to_owned()),
        ("fits".to_owned(), "another tool has its name".to_owned()),
    ];
    assert_eq!(large.omitted_tools, left_out);
    let many = toolkits.client(&scripted_spec(&["many"])).load_catalogue().await.unwrap();
    assert_eq!(many.tools.len(), 512);
    assert_eq!(many.tools[511].name, "t511");
    assert_eq!(many.omitted_tools[0].0, "t512");
    assert_eq!(many.omitted_tools.len(), 88);
    toolkits.stop().await;
}

#[tokio::test]
async fn endless_standard_error_blocks_nothing() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&["errs"]));
    for number in 0..20 {
        client.call_tool("echo", make_arguments(json!({ "number": number }))).await.unwrap();
    }
    assert_eq!(client.status().starts, 1);
    toolkits.stop().await;
}

#[tokio::test]
async fn requests_of_a_server_are_declined() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&[]));
    let asked = client.call_tool("asks", make_arguments(json!({}))).await.unwrap();
    let answers: Value = serde_json::from_str(read_result_text(&asked)).unwrap();
    assert_eq!(answers[0]["error"]["code"], -32601);
    assert_eq!(answers[1]["error"]["code"], -32601);
    assert_eq!(answers[2]["result"]["action"], "decline");
    toolkits.stop().await;
}

#[tokio::test]
async fn an_abandoned_or_slow_call_is_cancelled() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let mut spec = scripted_spec(&[]);
    spec.timeout = Duration::from_millis(500);
    let client = toolkits.client(&spec);
    client.load_catalogue().await.unwrap();
    let long = || client.call_tool("sleep", make_arguments(json!({ "seconds": 60 })));
    let error = long().await.unwrap_err().to_string();
    assert!(error.contains("tool sleep of toolkit kit did not answer within 0.5 s"), "{error}");
    tokio::select! {
        _ = long() => unreachable!(),
        () = sleep(Duration::from_millis(100)) => {}
    }
    let cancelled = client.call_tool("cancelled", make_arguments(json!({}))).await.unwrap();
    let cancelled: Vec<u64> = serde_json::from_str(read_result_text(&cancelled)).unwrap();
    assert_eq!(cancelled.len(), 2);
    assert_eq!(client.status().state, ToolkitState::Ready);
    toolkits.stop().await;
}

#[tokio::test]
async fn eight_calls_run_at_a_time_and_others_wait() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let client = toolkits.client(&scripted_spec(&[]));
    client.load_catalogue().await.unwrap();
    let began = Instant::now();
    let calls =
        (0..9).map(|_| client.call_tool("sleep", make_arguments(json!({ "seconds": 0.5 }))));
    for called in futures_util::future::join_all(calls).await {
        assert_eq!(read_result_text(&called.unwrap()), "slept");
    }
    let took = began.elapsed();
    assert!((1000..1900).contains(&took.as_millis()), "{took:?}");
    toolkits.stop().await;
}

/// Waits for what others do.
async fn wait_for<T>(found: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it takes too long");
        sleep(Duration::from_millis(10)).await;
    }
}

fn is_gone(process: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    // An ended process that its parent has not waited for is gone as well.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.contains(") Z ") || test_kill_process(Pid::from_raw(process).unwrap()).is_err()
}

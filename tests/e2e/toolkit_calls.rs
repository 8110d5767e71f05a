//! Calls of real servers, over standard streams and over Streamable HTTP.

use std::{process::Stdio, time::Instant};

use codeinfo_test_support::toolkit::{
    TestToolkits, fast_timing, http_spec, make_arguments, make_toolkit_name, read_result_text,
    script_path, scripted_spec,
};
use codeinfo_toolkits::{
    connection::{ConnectionTiming, ToolkitError, ToolkitState},
    spec::ToolkitTransport,
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    process::{Child, Command},
    task::JoinSet,
    time::Duration,
};

use crate::support::{harness, install, toolkit::npm_toolkit_spec};

#[tokio::test]
async fn tools_of_a_published_server_are_listed_and_called() {
    let folder = harness::create_folder();
    std::fs::write(folder.path().join("valve.txt"), "open\n").unwrap();
    let toolkits = TestToolkits::new();
    let files =
        toolkits.client(&npm_toolkit_spec("server-filesystem", &[folder.path().to_str().unwrap()]));
    assert_eq!((files.known_catalogue(), files.status().state), (None, ToolkitState::Stopped));
    let catalogue = files.load_catalogue().await.unwrap();
    let read = catalogue.find_tool("read_text_file").unwrap();
    assert!(read.read_only && !read.destructive, "{read:?}");
    assert!(read.input_schema["properties"].get("path").is_some(), "{read:?}");
    let write = catalogue.find_tool("write_file").unwrap();
    assert!(!write.read_only && write.destructive, "{write:?}");
    let path = folder.path().join("valve.txt");
    let found =
        files.call_tool("read_text_file", make_arguments(json!({ "path": path }))).await.unwrap();
    assert_eq!((read_result_text(&found), found.is_error), ("open\n", false));
    let outside = json!({ "path": "/etc/hostname" });
    assert!(files.call_tool("read_text_file", make_arguments(outside)).await.unwrap().is_error);
    let status = files.status();
    assert_eq!((status.state, status.transport), (ToolkitState::Ready, "stdio"));
    assert_eq!(status.tools, catalogue.tools.len());
    toolkits.stop().await;
    assert_eq!(files.status().state, ToolkitState::Stopped);
}

#[tokio::test]
async fn calls_of_one_server_run_at_the_same_time() {
    let toolkits = TestToolkits::new();
    let everything = toolkits.client(&npm_toolkit_spec("server-everything", &[]));
    everything.load_catalogue().await.unwrap();
    let long = || {
        let asked = json!({ "duration": 2, "steps": 2 });
        everything.call_tool("trigger-long-running-operation", make_arguments(asked))
    };
    let began = Instant::now();
    let (one, other) = tokio::join!(long(), long());
    assert!(read_result_text(&one.unwrap()).contains("completed"));
    assert!(read_result_text(&other.unwrap()).contains("completed"));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    toolkits.stop().await;
}

#[tokio::test]
async fn a_hundred_uses_leave_one_process() {
    let toolkits = TestToolkits::new();
    let client = toolkits.client(&scripted_spec(&[]));
    let uses = (0..100).map(|number| {
        let client = toolkits.client(&scripted_spec(&[]));
        async move {
            client.load_catalogue().await.unwrap();
            let echoed = client
                .call_tool("echo", make_arguments(json!({ "number": number })))
                .await
                .unwrap();
            assert_eq!(read_result_text(&echoed), format!("{{\"number\": {number}}}"));
            client.call_tool("pid", make_arguments(json!({}))).await.unwrap()
        }
    });
    let pids = futures_util::future::join_all(uses).await;
    let process = client.status().pid.unwrap().to_string();
    assert!(pids.iter().all(|pid| read_result_text(pid) == process), "{pids:?}");
    assert_eq!((client.status().starts, toolkits.pool.list_clients().len()), (1, 1));
    toolkits.stop().await;
}

#[tokio::test]
async fn a_server_over_http_is_listed_called_and_given_its_headers() {
    let toolkits = TestToolkits::new();
    let (_server, port) = start_greeter(0).await;
    let greeter = toolkits.client(&http_spec(port));
    let catalogue = greeter.load_catalogue().await.unwrap();
    assert!(catalogue.find_tool("greet").unwrap().read_only);
    assert!(!catalogue.find_tool("wait").unwrap().read_only);
    let output_text =
        greeter.call_tool("greet", make_arguments(json!({ "name": "Ada" }))).await.unwrap();
    assert_eq!(read_result_text(&output_text), "hello Ada");
    assert_eq!(output_text.structured, Some(json!({ "result": "hello Ada" })));
    let key = greeter.call_tool("key", make_arguments(json!({}))).await.unwrap();
    assert_eq!(read_result_text(&key), "k3y-of-tests");
    let wait = || greeter.call_tool("wait", make_arguments(json!({ "seconds": 2 })));
    let began = Instant::now();
    let (one, other) = tokio::join!(wait(), wait());
    assert_eq!(
        (read_result_text(&one.unwrap()), read_result_text(&other.unwrap())),
        ("waited", "waited")
    );
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let huge = greeter.call_tool("huge", make_arguments(json!({ "size": 100_000_000 }))).await;
    assert!(matches!(huge, Err(ToolkitError::Ended { .. } | ToolkitError::Refused { .. })));
    let output_text =
        greeter.call_tool("greet", make_arguments(json!({ "name": "Ada" }))).await.unwrap();
    assert_eq!(read_result_text(&output_text), "hello Ada");
    toolkits.stop().await;
}

#[tokio::test]
async fn a_server_over_http_that_dies_is_used_again_when_it_is_back() {
    let toolkits = TestToolkits::with_timing(fast_timing());
    let (server, port) = start_greeter(0).await;
    let greeter = toolkits.client(&http_spec(port));
    greeter.load_catalogue().await.unwrap();
    let died = greeter.call_tool("die", make_arguments(json!({}))).await;
    assert!(matches!(died, Err(ToolkitError::Ended { .. })), "{died:?}");
    drop(server);
    let away =
        greeter.call_tool("greet", make_arguments(json!({ "name": "Ada" }))).await.unwrap_err();
    assert!(away.to_string().contains("onnection refused"), "{away}");
    let (_server, _) = start_greeter(port).await;
    let output_text = loop {
        match greeter.call_tool("greet", make_arguments(json!({ "name": "Ada" }))).await {
            Ok(said) => break said,
            // It is not tried again at once.
            Err(error) => assert!(error.to_string().contains("onnection refused"), "{error}"),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(read_result_text(&output_text), "hello Ada");
    toolkits.stop().await;
}

#[tokio::test]
async fn replies_of_services_that_are_no_toolkits_are_not_passed_on() {
    for (status, kind, body) in [
        ("404 Not Found", "text/plain", "hydrangea"),
        ("401 Unauthorized", "text/plain", "hydrangea"),
        ("500 Internal Server Error", "application/json", r#"{"error":"hydrangea"}"#),
        ("400 Bad Request", "application/json", r#"{"error":{"hydrangea":1}}"#),
        ("200 OK", "application/json", r#"{"password":"hydrangea"}"#),
        ("200 OK", "application/json", r#"["hydrangea"]"#),
        ("200 OK", "text/hydrangea", "hydrangea"),
        ("200 OK", "text/event-stream", "data: hydrangea\n\n"),
        ("302 Found\r\nlocation: /hydrangea", "text/plain", "hydrangea"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let reply = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut service = JoinSet::new();
        service.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = [0; 16 << 10];
                drop(stream.read(&mut asked).await);
                drop(stream.write_all(reply.as_bytes()).await);
            }
        });
        let toolkits = TestToolkits::with_timing(ConnectionTiming {
            start: Duration::from_secs(1),
            ..fast_timing()
        });
        let error =
            toolkits.client(&http_spec(port)).load_catalogue().await.unwrap_err().to_string();
        assert!(!error.contains("hydrangea"), "{status} {kind}: {error}");
        toolkits.stop().await;
    }
}

#[tokio::test]
async fn a_token_has_no_toolkit_at_an_address_of_this_machine() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let toolkits = TestToolkits::with_timing(fast_timing());
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let mut spec = http_spec(port);
        let ToolkitTransport::Http { url, .. } = &mut spec.transport else { unreachable!() };
        *url = format!("http://{host}:{port}/mcp");
        let client =
            toolkits.pool.get_or_create_client(Some("ada"), &make_toolkit_name("kit"), &spec);
        let error = client.load_catalogue().await.unwrap_err().to_string();
        assert!(error.contains("only the owner of the server may have a toolkit there"), "{error}");
    }
    let nobody = tokio::time::timeout(Duration::from_millis(1), listener.accept()).await;
    assert!(nobody.is_err(), "a connection was made");
    toolkits.stop().await;
}

/// Starts the server in `tests/toolkits/greeter.py` at `port`, or at a free one.
async fn start_greeter(port: u16) -> (Child, u16) {
    let python = install::install_python_package("mcp-1.30.0", "mcp==1.30.0");
    let mut server = Command::new(python)
        .arg(script_path("greeter.py"))
        .arg(port.to_string())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let port = lines.next_line().await.unwrap().unwrap().parse().unwrap();
    (server, port)
}

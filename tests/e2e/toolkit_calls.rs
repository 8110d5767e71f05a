//! Calls of real servers, over standard streams and over Streamable HTTP.

use std::{process::Stdio, time::Instant};

use codeinfo_test_support::toolkit::{
    Toolkits, arguments, http, name, quick, script, scripted, text,
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

use crate::support::{harness, install, toolkit::published};

#[tokio::test]
async fn tools_of_a_published_server_are_listed_and_called() {
    let folder = harness::folder();
    std::fs::write(folder.path().join("valve.txt"), "open\n").unwrap();
    let toolkits = Toolkits::new();
    let files =
        toolkits.client(&published("server-filesystem", &[folder.path().to_str().unwrap()]));
    assert_eq!((files.known_catalogue(), files.status().state), (None, ToolkitState::Stopped));
    let catalogue = files.load_catalogue().await.unwrap();
    let read = catalogue.find_tool("read_text_file").unwrap();
    assert!(read.read_only && !read.destructive, "{read:?}");
    assert!(read.input_schema["properties"].get("path").is_some(), "{read:?}");
    let write = catalogue.find_tool("write_file").unwrap();
    assert!(!write.read_only && write.destructive, "{write:?}");
    let path = folder.path().join("valve.txt");
    let found =
        files.call_tool("read_text_file", arguments(json!({ "path": path }))).await.unwrap();
    assert_eq!((text(&found), found.is_error), ("open\n", false));
    let outside = json!({ "path": "/etc/hostname" });
    assert!(files.call_tool("read_text_file", arguments(outside)).await.unwrap().is_error);
    let status = files.status();
    assert_eq!((status.state, status.transport), (ToolkitState::Ready, "stdio"));
    assert_eq!(status.tools, catalogue.tools.len());
    toolkits.stop().await;
    assert_eq!(files.status().state, ToolkitState::Stopped);
}

#[tokio::test]
async fn calls_of_one_server_run_at_the_same_time() {
    let toolkits = Toolkits::new();
    let everything = toolkits.client(&published("server-everything", &[]));
    everything.load_catalogue().await.unwrap();
    let long = || {
        let asked = json!({ "duration": 2, "steps": 2 });
        everything.call_tool("trigger-long-running-operation", arguments(asked))
    };
    let began = Instant::now();
    let (one, other) = tokio::join!(long(), long());
    assert!(text(&one.unwrap()).contains("completed"));
    assert!(text(&other.unwrap()).contains("completed"));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    toolkits.stop().await;
}

#[tokio::test]
async fn a_hundred_uses_leave_one_process() {
    let toolkits = Toolkits::new();
    let client = toolkits.client(&scripted(&[]));
    let uses = (0..100).map(|number| {
        let client = toolkits.client(&scripted(&[]));
        async move {
            client.load_catalogue().await.unwrap();
            let echoed =
                client.call_tool("echo", arguments(json!({ "number": number }))).await.unwrap();
            assert_eq!(text(&echoed), format!("{{\"number\": {number}}}"));
            client.call_tool("pid", arguments(json!({}))).await.unwrap()
        }
    });
    let pids = futures_util::future::join_all(uses).await;
    let process = client.status().pid.unwrap().to_string();
    assert!(pids.iter().all(|pid| text(pid) == process), "{pids:?}");
    assert_eq!((client.status().starts, toolkits.pool.list_clients().len()), (1, 1));
    toolkits.stop().await;
}

#[tokio::test]
async fn a_server_over_http_is_listed_called_and_given_its_headers() {
    let toolkits = Toolkits::new();
    let (_server, port) = serve(0).await;
    let greeter = toolkits.client(&http(port));
    let catalogue = greeter.load_catalogue().await.unwrap();
    assert!(catalogue.find_tool("greet").unwrap().read_only);
    assert!(!catalogue.find_tool("wait").unwrap().read_only);
    let said = greeter.call_tool("greet", arguments(json!({ "name": "Ada" }))).await.unwrap();
    assert_eq!(text(&said), "hello Ada");
    assert_eq!(said.structured, Some(json!({ "result": "hello Ada" })));
    let key = greeter.call_tool("key", arguments(json!({}))).await.unwrap();
    assert_eq!(text(&key), "k3y-of-tests");
    let wait = || greeter.call_tool("wait", arguments(json!({ "seconds": 2 })));
    let began = Instant::now();
    let (one, other) = tokio::join!(wait(), wait());
    assert_eq!((text(&one.unwrap()), text(&other.unwrap())), ("waited", "waited"));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let huge = greeter.call_tool("huge", arguments(json!({ "size": 100_000_000 }))).await;
    assert!(matches!(huge, Err(ToolkitError::Ended { .. } | ToolkitError::Refused { .. })));
    let said = greeter.call_tool("greet", arguments(json!({ "name": "Ada" }))).await.unwrap();
    assert_eq!(text(&said), "hello Ada");
    toolkits.stop().await;
}

#[tokio::test]
async fn a_server_over_http_that_dies_is_used_again_when_it_is_back() {
    let toolkits = Toolkits::with(quick());
    let (server, port) = serve(0).await;
    let greeter = toolkits.client(&http(port));
    greeter.load_catalogue().await.unwrap();
    let died = greeter.call_tool("die", arguments(json!({}))).await;
    assert!(matches!(died, Err(ToolkitError::Ended { .. })), "{died:?}");
    drop(server);
    let away = greeter.call_tool("greet", arguments(json!({ "name": "Ada" }))).await.unwrap_err();
    assert!(away.to_string().contains("onnection refused"), "{away}");
    let (_server, _) = serve(port).await;
    let said = loop {
        match greeter.call_tool("greet", arguments(json!({ "name": "Ada" }))).await {
            Ok(said) => break said,
            // It is not tried again at once.
            Err(error) => assert!(error.to_string().contains("onnection refused"), "{error}"),
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(text(&said), "hello Ada");
    toolkits.stop().await;
}

#[tokio::test]
async fn what_a_service_that_is_no_toolkit_answers_is_not_passed_on() {
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
        let toolkits =
            Toolkits::with(ConnectionTiming { start: Duration::from_secs(1), ..quick() });
        let error = toolkits.client(&http(port)).load_catalogue().await.unwrap_err().to_string();
        assert!(!error.contains("hydrangea"), "{status} {kind}: {error}");
        toolkits.stop().await;
    }
}

#[tokio::test]
async fn a_token_has_no_toolkit_at_an_address_of_this_machine() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let toolkits = Toolkits::with(quick());
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let mut spec = http(port);
        let ToolkitTransport::Http { url, .. } = &mut spec.transport else { unreachable!() };
        *url = format!("http://{host}:{port}/mcp");
        let client = toolkits.pool.get_or_create_client(Some("ada"), &name("kit"), &spec);
        let error = client.load_catalogue().await.unwrap_err().to_string();
        assert!(error.contains("only the owner of the server may have a toolkit there"), "{error}");
    }
    let nobody = tokio::time::timeout(Duration::from_millis(1), listener.accept()).await;
    assert!(nobody.is_err(), "a connection was made");
    toolkits.stop().await;
}

/// Starts the server in `tests/toolkits/greeter.py` at `port`, or at a free one.
async fn serve(port: u16) -> (Child, u16) {
    let python = install::python("mcp-1.30.0", "mcp==1.30.0");
    let mut server = Command::new(python)
        .arg(script("greeter.py"))
        .arg(port.to_string())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let port = lines.next_line().await.unwrap().unwrap().parse().unwrap();
    (server, port)
}

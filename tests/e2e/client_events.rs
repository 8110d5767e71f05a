//! Events after real clients have connected: cancelled questions, and notices that the tool is available.

use crate::clients::serve_repository;
use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use rmcp::{
    ClientServiceExt,
    model::{ProtocolVersion, ServerNotification, SubscriptionFilter},
    service::{ClientLifecycleMode, SubscriptionEnd},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::support::{
    codex,
    install::{self, PackageParts},
    model::{FakeModel, ModelReply, thinking_item},
    process::{create_scratch_folder, http_client},
};

const TIMEOUT: Duration = Duration::from_mins(1);

/// A script of the TypeScript SDK in `tests/clients/`.
struct SdkScript {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl SdkScript {
    fn start(name: &str, url: &str) -> Self {
        let sdk = install::install_npm_package(
            "sdk-1.32.2",
            "@modelcontextprotocol/sdk@1.32.2",
            PackageParts::Needed,
        );
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name);
        let mut child = Command::new(install::find_node())
            .arg(script)
            .args([sdk.to_str().unwrap(), url])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next line that it writes.
    async fn read_line(&mut self) -> Value {
        let line = timeout(TIMEOUT, self.lines.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line.expect("the script ended early")).unwrap()
    }
}

#[tokio::test]
async fn cancelling_with_the_typescript_sdk_ends_the_turn_within_a_second() {
    let model = FakeModel::replay([ModelReply::Silent(vec![thinking_item("Looking.")])]).await;
    let folder = create_scratch_folder();
    let environment = codex::codex_environment(folder.path(), &model.url);
    let server = serve_repository(folder.path(), &environment).await;
    let mut client = SdkScript::start("cancel.mjs", &server.mcp);
    model.wait_for_requests(1).await;
    let began = Instant::now();
    client.child.stdin.as_mut().unwrap().write_all(b"now\n").await.unwrap();
    model.wait_for_abandoned_streams(1).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(client.read_line().await, "given up");
    // The client stays connected, and its streams are no reason for the server to stay.
    let began = Instant::now();
    server.terminate().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_client_that_connected_without_codex_gets_the_tool_when_codex_is_back_in_both_eras() {
    let model = FakeModel::replay([]).await;
    let folder = create_scratch_folder();
    let binary = folder.path().join("codex");
    let mut environment = codex::codex_environment(folder.path(), &model.url);
    environment.push(("CODEX_BIN".to_owned(), binary.display().to_string()));
    environment.push(("CODEX_PRESENCE_SECS".to_owned(), "1".to_owned()));
    let server = serve_repository(folder.path(), &environment).await;

    let mut legacy = SdkScript::start("changes.mjs", &server.mcp);
    let instructions = legacy.read_line().await;
    let instructions = instructions.as_str().unwrap();
    let (first, _) = instructions.split_once('\n').unwrap();
    assert!(first.ends_with(" with path:lines. Indexed: boiler."), "{first}");
    let last = instructions.lines().last().unwrap();
    for output_text in
        ["is not found: CODEX_BIN", "npm install -g @openai/codex", "`codeinfo doctor`"]
    {
        assert!(last.contains(output_text), "{last}");
    }
    assert_eq!(legacy.read_line().await, -32001);

    let config = StreamableHttpClientTransportConfig::with_uri(server.mcp.clone());
    let transport = StreamableHttpClientTransport::with_client(http_client(), config);
    let discover =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let modern = ().serve_with_lifecycle(transport, discover).await.unwrap();
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let mut subscription = modern.listen(filter.clone()).await.unwrap();
    assert_eq!(subscription.acknowledged(), &filter);
    assert!(modern.list_all_tools().await.is_err());

    std::os::unix::fs::symlink(codex::codex_binary(), &binary).unwrap();
    assert_eq!(legacy.read_line().await, json!(["codebase_question"]));
    let heard = timeout(TIMEOUT, subscription.next()).await.unwrap().unwrap();
    assert!(matches!(heard, Some(ServerNotification::ToolListChangedNotification(_))), "{heard:?}");
    assert_eq!(modern.list_all_tools().await.unwrap()[0].name, "codebase_question");

    // Unavailable again, by itself.
    std::fs::remove_file(&binary).unwrap();
    let pid = server.pid().to_string();
    let killed = Command::new("pkill").args(["-KILL", "-P", &pid]).status().await.unwrap();
    assert!(killed.success());
    let heard = async {
        while legacy.read_line().await != -32001 {}
        subscription.next().await
    };
    drop(timeout(TIMEOUT, heard).await.unwrap().unwrap());
    server.terminate().await;
    while let Ok(Some(_)) = subscription.next().await {}
    assert!(matches!(subscription.end(), Some(SubscriptionEnd::Graceful(_))), "{subscription:?}");
}

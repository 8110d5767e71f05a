//! Real clients of the MCP server (port 5011), of both eras, while Codex is available, while it is not,
//! and when it appears. Codex as the client is in `end_to_end.rs`.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use futures_util::future::join_all;
use insta::assert_snapshot;
use rmcp::{
    ClientServiceExt, RoleClient, ServiceError, ServiceExt,
    model::{CallToolRequestParams, ProtocolVersion},
    service::{ClientLifecycleMode, RunningService},
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
    model::{FakeModel, ModelReply, message_item},
    process::{ProgramEnvironment, RunningServer, create_scratch_folder, http_client},
};

const TIMEOUT: Duration = Duration::from_mins(3);
const QUESTION: &str = "Where is the valve?";

#[tokio::test]
async fn every_client_lists_and_calls_the_tool() {
    let model =
        FakeModel::answer_with(|_| ModelReply::Items(vec![message_item("In valve.rs.")])).await;
    let folder = create_scratch_folder();
    let environment = codex::codex_environment(folder.path(), &model.url);
    let server = serve_repository(folder.path(), &environment).await;
    let mut clients = start_clients(&server.mcp).await;
    assert_snapshot!(describe_all(&mut clients).await, @r"
    Inspector, legacy: codebase_question | In valve.rs.
    Inspector, modern: codebase_question | In valve.rs.
    Python 1: codebase_question | In valve.rs.
    Python 2, legacy: codebase_question | In valve.rs.
    Python 2, auto: codebase_question | In valve.rs.
    TypeScript: codebase_question | In valve.rs.
    rmcp, legacy: codebase_question | In valve.rs.
    rmcp, modern: codebase_question | In valve.rs.
    ");
    server.terminate().await;
}

#[tokio::test]
async fn every_client_hears_that_codex_is_away_and_reaches_it_when_it_appears() {
    let model =
        FakeModel::answer_with(|_| ModelReply::Items(vec![message_item("In valve.rs.")])).await;
    let folder = create_scratch_folder();
    let binary = folder.path().join("codex");
    let mut environment = codex::codex_environment(folder.path(), &model.url);
    environment.push(("CODEX_BIN".to_owned(), binary.display().to_string()));
    let server = serve_repository(folder.path(), &environment).await;
    let mut clients = start_clients(&server.mcp).await;
    assert_snapshot!(describe_all(&mut clients).await, @r#"
    Inspector, legacy: "error" CODE_INFO_LLM_UNAVAILABLE | "error" CODE_INFO_LLM_UNAVAILABLE
    Inspector, modern: "error" CODE_INFO_LLM_UNAVAILABLE | "error" CODE_INFO_LLM_UNAVAILABLE
    Python 1: -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint | -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint
    Python 2, legacy: -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint | -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint
    Python 2, auto: -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint | -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint
    TypeScript: -32001 MCP error -32001: CODE_INFO_LLM_UNAVAILABLE, with the hint | -32001 MCP error -32001: CODE_INFO_LLM_UNAVAILABLE, with the hint
    rmcp, legacy: -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint | -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint
    rmcp, modern: -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint | -32001 CODE_INFO_LLM_UNAVAILABLE, with the hint
    "#);

    std::os::unix::fs::symlink(codex::codex_binary(), &binary).unwrap();
    let found = describe_all(&mut clients).await;
    let answers = |line: &str| line.ends_with(": codebase_question | In valve.rs.");
    assert!(found.lines().all(answers), "{found}");
    server.terminate().await;
}

/// Serves one small repository.
pub(crate) async fn serve_repository(
    folder: &Path,
    environment: &ProgramEnvironment,
) -> RunningServer {
    let repository = folder.join("boiler");
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("valve.rs"), "fn open() {}\n").unwrap();
    RunningServer::serve(&folder.join("data"), &[&repository], environment).await
}

/// A client that is connected as long as it can be.
enum ConnectedClient {
    /// A script in `tests/clients/`, which lists and calls once for each line that it is sent.
    Script {
        child: Child,
        lines: Lines<BufReader<ChildStdout>>,
    },
    /// The Inspector, which does one thing and ends; with its arguments of each call.
    Inspector {
        program: PathBuf,
        arguments: Vec<&'static str>,
        url: String,
    },
    Rmcp(RunningService<RoleClient, ()>),
}

/// Starts one client of each kind, with a name.
async fn start_clients(url: &str) -> Vec<(&'static str, ConnectedClient)> {
    // Installing blocks this thread, so nothing may be connected yet.
    let npm = |folder, package| install::install_npm_package(folder, package, PackageParts::Needed);
    let sdk = npm("sdk-1.32.2", "@modelcontextprotocol/sdk@1.32.2");
    let inspector = npm("inspector-2.12.0", "@modelcontextprotocol/inspector@2.12.0");
    let python_1 = install::install_python_package("mcp-1.30.0", "mcp==1.30.0");
    let python_2 = install::install_python_package("mcp-2.3.0", "mcp==2.3.0");
    let node = install::find_node();

    let inspector = |arguments: &[&'static str]| ConnectedClient::Inspector {
        program: inspector.join("node_modules/.bin/mcp-inspector"),
        arguments: arguments.to_vec(),
        url: url.to_owned(),
    };
    let rmcp = || {
        let config = StreamableHttpClientTransportConfig::with_uri(url);
        StreamableHttpClientTransport::with_client(http_client(), config)
    };
    let discover =
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let rmcp_modern = ().serve_with_lifecycle(rmcp(), discover).await.unwrap();
    vec![
        ("Inspector, legacy", inspector(&[])),
        ("Inspector, modern", inspector(&["--protocol-era", "modern"])),
        ("Python 1", start_script(&python_1, "mcp1.py", &[url])),
        ("Python 2, legacy", start_script(&python_2, "mcp2.py", &[url, "legacy"])),
        ("Python 2, auto", start_script(&python_2, "mcp2.py", &[url, "auto"])),
        ("TypeScript", start_script(node, "sdk.mjs", &[sdk.to_str().unwrap(), url])),
        ("rmcp, legacy", ConnectedClient::Rmcp(().serve(rmcp()).await.unwrap())),
        ("rmcp, modern", ConnectedClient::Rmcp(rmcp_modern)),
    ]
}

fn start_script(interpreter: &Path, name: &str, arguments: &[&str]) -> ConnectedClient {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name);
    let mut child = client_command(interpreter)
        .arg(script)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    ConnectedClient::Script { child, lines }
}

/// Returns a command without the machine's proxies and settings.
fn client_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin").kill_on_drop(true);
    command
}

/// Lets all clients list and call at the same time; returns a line for each.
async fn describe_all(clients: &mut [(&'static str, ConnectedClient)]) -> String {
    let lines = clients.iter_mut().map(|(name, client)| async move {
        let sight = timeout(TIMEOUT, client.list_and_call()).await;
        let [listed, called] = sight.unwrap_or_else(|_| panic!("{name} exceeds its time limit"));
        format!("{name}: {} | {}", render_tool_answer(&listed), render_tool_answer(&called))
    });
    join_all(lines).await.join("\n")
}

impl ConnectedClient {
    /// Returns the results of listing and calling: names, the text of the result, or an error.
    async fn list_and_call(&mut self) -> [Value; 2] {
        match self {
            Self::Script { child, lines } => {
                child.stdin.as_mut().unwrap().write_all(b"again\n").await.unwrap();
                let line = lines.next_line().await.unwrap().expect("the script ended early");
                let mut sight: Value = serde_json::from_str(&line).unwrap();
                [sight["listed"].take(), sight["called"].take()]
            }
            Self::Inspector { program, arguments, url } => {
                let run = |method: &[&str]| {
                    let mut inspector = client_command(install::find_node());
                    inspector.arg(&*program).args(["--cli", url.as_str()]).args(&*arguments);
                    inspector.args(["--format", "json", "--method"]).args(method);
                    run_inspector(inspector)
                };
                let argument = format!("question={QUESTION}");
                let call = ["tools/call", "--tool-name", "codebase_question", "--tool-arg"];
                let listed = run(&["tools/list"]).await;
                let called = run(&[&call[..], &[&argument]].concat()).await;
                [listed, called]
            }
            Self::Rmcp(service) => {
                let listed = service.list_all_tools().await;
                let listed = listed.map(|tools| tools.into_iter().map(|tool| tool.name).collect());
                let arguments = json!({ "question": QUESTION }).as_object().cloned().unwrap();
                let call = CallToolRequestParams::new("codebase_question");
                let called = service.call_tool(call.with_arguments(arguments)).await;
                let called = called.map(|result| json!(result.content[0].as_text().unwrap().text));
                [listed.unwrap_or_else(describe_error), called.unwrap_or_else(describe_error)]
            }
        }
    }
}

/// Runs the Inspector once and reads what it printed.
async fn run_inspector(mut inspector: Command) -> Value {
    let home = create_scratch_folder();
    let ran = inspector.env("HOME", home.path()).stdin(Stdio::null()).output().await.unwrap();
    let [output_text, complained] =
        [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
    let text = if output_text.trim().is_empty() { complained } else { output_text };
    let reply: Value =
        serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    assert_eq!(ran.status.success(), reply.get("error").is_none(), "{text}");
    let result = &reply["result"];
    match (result["tools"].as_array(), &result["content"][0]["text"]) {
        (Some(tools), _) => tools.iter().map(|tool| tool["name"].clone()).collect(),
        (None, Value::String(text)) => json!(text),
        (None, _) => reply["error"].clone(),
    }
}

fn describe_error(error: ServiceError) -> Value {
    match error {
        ServiceError::McpError(error) => {
            let hint = error.data.as_ref().map(|data| &data["hint"]);
            json!({ "code": error.code, "message": error.message, "hint": hint })
        }
        other => json!({ "code": null, "message": other.to_string() }),
    }
}

/// Renders names, the answer in a result, or an error and whether it gives advice.
fn render_tool_answer(seen: &Value) -> String {
    match seen {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::String(text) => {
            let result: Value = serde_json::from_str(text).unwrap();
            let last = result["segments"].as_array().unwrap().last().unwrap();
            last["text"].as_str().unwrap().to_owned()
        }
        error => {
            let hint = error["hint"].as_str().unwrap_or_default();
            let advice = if hint.contains("CODEX_BIN") { ", with the hint" } else { "" };
            format!("{} {}{advice}", error["code"], error["message"].as_str().unwrap())
        }
    }
}

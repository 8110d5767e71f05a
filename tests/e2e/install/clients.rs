//! Real clients read what was installed for them.

use std::{
    fmt::Write,
    fs,
    io::{BufRead, BufReader, Lines},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use insta::assert_snapshot;
use serde_json::Value;

use super::{BINARY, TestHome};
use crate::support::{
    codex,
    install::{self, PackageParts, find_node},
    model::{FakeModel, ModelReply, message_item},
};

/// The line in which a client lists the server.
fn find_listed_line(client: &str, output_text: &str) -> String {
    let line = output_text.lines().find(|line| line.contains("codeinfo"));
    line.unwrap_or_else(|| panic!("{client} does not list it: {output_text}")).to_owned()
}

fn run_list(client: &str, mut command: Command) -> String {
    let output = command.output().unwrap();
    let output_text = [output.stdout, output.stderr].concat();
    let output_text = String::from_utf8(output_text).unwrap();
    assert!(output.status.success(), "{client}: {output_text}");
    output_text
}

#[test]
fn codex_lists_what_was_installed_for_it() {
    let home = TestHome::with_program();
    home.write(".codex/config.toml", "# mine\n[mcp_servers.other]\ncommand = \"other\"\n");
    let before = home.read_file(".codex/config.toml");
    home.run_successfully(&["install", "codex", "--yes"]);
    let mut command = home.command(codex::codex_binary().to_str().unwrap());
    command.args(["mcp", "list"]);
    let output_text = run_list("codex", command);
    find_listed_line("codex", &output_text);
    assert!(output_text.contains("other"), "{output_text}");
    let mut command = home.command(codex::codex_binary().to_str().unwrap());
    command.args(["mcp", "get", "codeinfo", "--json"]);
    // It warns on standard error where its home is below the system's temporary folder.
    let got: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(got["transport"]["command"], "codeinfo", "{got}");
    assert_eq!(got["transport"]["args"], serde_json::json!(["stdio", "--auto-index"]), "{got}");
    assert_eq!(got["tool_timeout_sec"], 1800.0, "{got}");
    home.run_successfully(&["uninstall", "codex", "--yes"]);
    assert_eq!(home.read_file(".codex/config.toml"), before);
    let mut command = home.command(codex::codex_binary().to_str().unwrap());
    command.args(["mcp", "list"]);
    assert!(!run_list("codex", command).contains("codeinfo"));
}

/// A client from npm, and how its model is set: by variables of the environment and files, in which `MODEL` is
/// replaced by the address of the model service.
struct NpmClient {
    id: &'static str,
    package: &'static str,
    version: &'static str,
    /// Its program below `node_modules`.
    entry: &'static str,
    /// Arguments that ask a question without a person.
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    settings: &'static [(&'static str, &'static str)],
}

/// Clients whose `mcp list` reports whether a server is reached.
const LISTING_CLIENTS: usize = 4;
/// Continue, which is set up by hand: its settings have the entry of docs/clients.md.
const SET_UP_BY_HAND: &str = "continue";

const NPM_CLIENTS: [NpmClient; 7] = [
    NpmClient {
        id: "claude-code",
        package: "@anthropic-ai/claude-code",
        version: "2.1.331",
        entry: "@anthropic-ai/claude-code-linux-x64/claude",
        arguments: &["-p"],
        variables: &[
            ("ANTHROPIC_BASE_URL", "MODEL"),
            ("ANTHROPIC_API_KEY", "x"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ],
        settings: &[],
    },
    NpmClient {
        id: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        entry: "@google/gemini-cli/bundle/gemini.js",
        arguments: &["-m", "gemini-2.5-pro", "-p"],
        variables: &[
            ("GEMINI_API_KEY", "x"),
            ("GOOGLE_GEMINI_BASE_URL", "MODEL"),
            ("GEMINI_TELEMETRY_ENABLED", "false"),
        ],
        settings: &[(
            ".gemini/settings.json",
            r#"{"privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false},
                "security": {"auth": {"selectedType": "gemini-api-key"}}}"#,
        )],
    },
    NpmClient {
        id: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        entry: "opencode-linux-x64/bin/opencode",
        arguments: &["run"],
        variables: &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
        settings: &[(
            ".config/opencode/opencode.json",
            r#"{"provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "models": {"m": {}},
                "options": {"baseURL": "MODEL/v1", "apiKey": "x"}}},
                "model": "mock/m", "small_model": "mock/m", "share": "disabled", "autoupdate": false}"#,
        )],
    },
    NpmClient {
        id: "qwen",
        package: "@qwen-code/qwen-code",
        version: "0.24.4",
        entry: "@qwen-code/qwen-code/cli.js",
        arguments: &["-p"],
        variables: &[
            ("OPENAI_API_KEY", "x"),
            ("OPENAI_BASE_URL", "MODEL/v1"),
            ("OPENAI_MODEL", "m"),
        ],
        settings: &[(
            ".qwen/settings.json",
            r#"{"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
                "general": {"enableAutoUpdate": false}, "security": {"auth": {"selectedType": "openai"}}}"#,
        )],
    },
    NpmClient {
        id: "copilot",
        package: "@github/copilot",
        version: "1.0.102",
        entry: "@github/copilot-linux-x64/copilot",
        arguments: &["-p"],
        variables: &[
            ("COPILOT_PROVIDER_BASE_URL", "MODEL/v1"),
            ("COPILOT_MODEL", "m"),
            ("COPILOT_OFFLINE", "true"),
        ],
        settings: &[],
    },
    NpmClient {
        id: "cline",
        package: "cline",
        version: "3.0.65",
        entry: "@cline/cli-linux-x64/bin/cline",
        arguments: &[],
        // Else it leaves a process behind.
        variables: &[("CLINE_SESSION_BACKEND_MODE", "local"), ("CLINE_NO_AUTO_UPDATE", "1")],
        settings: &[
            (
                ".cline/data/settings/providers.json",
                r#"{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers":
                    {"openai-compatible": {"settings": {"provider": "openai-compatible", "apiKey": "x",
                    "model": "m", "baseUrl": "MODEL/v1"}, "updatedAt": "2026-11-25T00:00:00.000Z",
                    "tokenSource": "manual"}}}"#,
            ),
            (
                ".cline/data/settings/global-settings.json",
                r#"{"telemetryOptOut": true, "autoUpdateEnabled": false}"#,
            ),
        ],
    },
    NpmClient {
        id: SET_UP_BY_HAND,
        package: "@continuedev/cli",
        version: "1.5.47",
        entry: "@continuedev/cli/dist/cn.js",
        arguments: &["--auto", "-p"],
        variables: &[
            ("CONTINUE_CLI_ENABLE_TELEMETRY", "0"),
            ("CONTINUE_METRICS_ENABLED", "0"),
            ("CONTINUE_API_BASE", "http://127.0.0.1:9/"),
        ],
        settings: &[(
            ".continue/config.yaml",
            "name: mine\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: m\n    provider: openai\n    model: m\n    \
             apiBase: MODEL/v1\n    apiKey: x\n    roles: [chat]\nmcpServers:\n  - name: codeinfo\n    \
             command: codeinfo\n    args: [stdio]\n",
        )],
    },
];

/// Returns whether `CLIENTS=all` requests the clients from npm, 1.6 GB.
fn has_npm_clients() -> bool {
    std::env::var_os("CLIENTS").is_some_and(|clients| clients == "all")
}

impl NpmClient {
    /// Returns a command that runs it in a home; `model_url` is that of the model of Codex.
    fn command(&self, home: &TestHome, model_url: &str) -> Command {
        let Self { id, package, version, entry, .. } = self;
        let folder = install::install_npm_package(
            &format!("{id}-{version}"),
            &format!("{package}@{version}"),
            PackageParts::Whole,
        );
        let entry = folder.join("node_modules").join(entry);
        let mut command = if entry.extension().is_some() {
            let mut command = home.command(find_node().to_str().unwrap());
            command.arg(&entry);
            command
        } else {
            home.command(entry.to_str().unwrap())
        };
        // They start programs of the system beside ours.
        command.env("PATH", format!("{}:/usr/bin:/bin", home.path("bin").display()));
        // The server that they start through a relay ends soon.
        command.env("IDLE_EXIT_SECS", "1").env("PORT", "0").env("MCP_PORT", "0");
        // Gemini CLI starts no server in a folder that the user has not trusted yet.
        command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        // Without Codex there is no tool, and OpenCode calls that a failure.
        command.envs(codex::codex_environment(home.0.path(), model_url));
        command
    }

    /// Installs CodeInfo with `choices`: none, or all refusals that there are.
    fn install(&self, home: &TestHome, choices: &[&str]) {
        if self.id != SET_UP_BY_HAND {
            home.run_successfully(&[&["install", self.id, "--yes"], choices].concat());
        } else if choices.is_empty() {
            fs::create_dir(home.path("boiler/.git")).unwrap();
            let mut command = home.command(BINARY);
            command.args(["install", "--instructions", "--yes"]).current_dir(home.path("boiler"));
            run_list(self.id, command);
        }
    }

    /// Installs CodeInfo with `choices`, asks a question, and returns what the requests showed the model. Codex is
    /// there from the start, or else when the tool was called once.
    fn ask(&self, choices: &[&str], model_url: &str, is_codex_there: bool) -> Vec<Value> {
        let home = TestHome::with_program();
        home.write("boiler/valve.rs", "fn open() {}\n");
        let link = home.path("codex-link");
        let service = ModelService::start(&[codex::codex_binary(), &link]);
        for (path, text) in self.settings {
            home.write(path, text.replace("MODEL", &service.url));
        }
        self.install(&home, choices);
        let mut ingest = home.command(BINARY);
        run_list("ingest", {
            ingest.arg("ingest").arg(home.path("boiler"));
            ingest
        });
        let mut command = self.command(&home, model_url);
        for (name, value) in self.variables {
            command.env(name, value.replace("MODEL", &service.url));
        }
        if !is_codex_there {
            command.env("CODEX_BIN", &link);
        }
        command.args(self.arguments).arg("Where is the valve?").current_dir(home.path("boiler"));
        // Some end with a failure after a tool was refused.
        let output = command.output().unwrap();
        let requests = service.stop();
        assert!(!requests.is_empty(), "{}: {output:?}", self.id);
        requests
    }
}

/// The process of `tests/clients/models.py`.
struct ModelService {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl ModelService {
    fn start(arguments: &[&Path]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/models.py");
        let mut child = Command::new("python3")
            .arg(script)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = format!("http://127.0.0.1:{}", lines.next().unwrap().unwrap());
        Self { child, lines, url }
    }

    /// Ends it, and returns what its requests showed.
    fn stop(mut self) -> Vec<Value> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let lines = self.lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        // Requests without tools ask for titles and the like.
        lines.filter(|request: &Value| request["tools"] != 0).collect()
    }
}

/// Describes the first request, and the result of calling the tool.
fn describe_requests(requests: &[Value]) -> String {
    let first = requests.first().expect("the model was asked");
    let tool = match first["description"].as_str() {
        None => "no tool",
        Some(description) if description.ends_with("pass the conversationId back.") => {
            "tool with its whole description"
        }
        Some(_) => "tool with a part of its description",
    };
    let has = |name: &str| first[name] == true;
    let instructions = if has("instructions") { "instructions" } else { "no instructions" };
    let lines = match (has("lines"), has("agent")) {
        (true, true) => "lines and sub-agent",
        (true, false) => "lines alone",
        (false, true) => "sub-agent alone",
        (false, false) => "neither lines nor sub-agent",
    };
    let results: Vec<&str> = requests
        .iter()
        .flat_map(|one| one["results"].as_array().unwrap())
        .filter_map(Value::as_str)
        .collect();
    let result = match results.first() {
        None => "not called",
        Some(result) if result.contains("In valve.rs.") => "answered",
        Some(_) => "refused",
    };
    format!("{tool}; {instructions}; {lines}; {result}")
}

#[tokio::test(flavor = "multi_thread")]
async fn models_of_clients_from_npm_are_shown_the_tool_and_may_call_it() {
    if !has_npm_clients() {
        return;
    }
    let model =
        FakeModel::answer_with(|_| ModelReply::Items(vec![message_item("In valve.rs.")])).await;
    let mut seen = String::new();
    for client in &NPM_CLIENTS {
        for (name, choices) in
            [("all", &[][..]), ("nothing more", &["--no-permissions", "--no-instructions"])]
        {
            let shown = describe_requests(&client.ask(choices, &model.url, true));
            writeln!(seen, "{} {}, {name}: {shown}", client.id, client.version).unwrap();
        }
    }
    assert_snapshot!(seen, @r"
    claude-code 2.1.331, all: tool with its whole description; instructions; lines and sub-agent; answered
    claude-code 2.1.331, nothing more: tool with its whole description; instructions; neither lines nor sub-agent; refused
    gemini 0.61.0, all: tool with its whole description; instructions; lines and sub-agent; answered
    gemini 0.61.0, nothing more: no tool; instructions; neither lines nor sub-agent; not called
    opencode 1.18.33, all: tool with its whole description; instructions; lines and sub-agent; answered
    opencode 1.18.33, nothing more: tool with its whole description; instructions; neither lines nor sub-agent; answered
    qwen 0.24.4, all: tool with its whole description; instructions; lines and sub-agent; answered
    qwen 0.24.4, nothing more: tool with its whole description; instructions; neither lines nor sub-agent; refused
    copilot 1.0.102, all: tool with its whole description; no instructions; lines alone; answered
    copilot 1.0.102, nothing more: tool with its whole description; no instructions; neither lines nor sub-agent; answered
    cline 3.0.65, all: tool with its whole description; no instructions; lines alone; answered
    cline 3.0.65, nothing more: tool with its whole description; no instructions; neither lines nor sub-agent; answered
    continue 1.5.47, all: tool with its whole description; no instructions; lines alone; answered
    continue 1.5.47, nothing more: tool with its whole description; no instructions; neither lines nor sub-agent; answered
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_from_npm_reach_codex_in_the_session_in_which_it_was_away() {
    if !has_npm_clients() {
        return;
    }
    let model =
        FakeModel::answer_with(|_| ModelReply::Items(vec![message_item("In valve.rs.")])).await;
    for client in &NPM_CLIENTS {
        let requests = client.ask(&[], &model.url, false);
        let last = requests.last().unwrap()["results"].as_array().unwrap();
        let is = |at: usize, text: &str| last[at].as_str().unwrap().contains(text);
        assert!(
            is(0, "CODE_INFO_LLM_UNAVAILABLE") && is(0, "CODEX_BIN"),
            "{}: {last:?}",
            client.id
        );
        assert!(is(last.len() - 1, "In valve.rs."), "{}: {last:?}", client.id);
    }
}

#[test]
fn clients_from_npm_list_what_was_installed_for_them() {
    if !has_npm_clients() {
        return;
    }
    for client in &NPM_CLIENTS[..LISTING_CLIENTS] {
        let (id, home) = (client.id, TestHome::with_program());
        let listed = || {
            let mut command = client.command(&home, "http://127.0.0.1:9/v1");
            command.args(["mcp", "list"]).current_dir(home.0.path());
            run_list(id, command)
        };
        home.run_successfully(&["install", id, "--yes"]);
        let line = find_listed_line(id, &listed()).to_lowercase();
        assert!(line.contains("connected") && !line.contains("disconnected"), "{id}: {line}");
        home.run_successfully(&["uninstall", id, "--yes"]);
        let output_text = listed();
        assert!(!output_text.contains("codeinfo"), "{id}: {output_text}");
    }
}

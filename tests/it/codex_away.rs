//! The tool while Codex is away: where it is listed, what a call comes to, and that one session outlasts it.

use std::{fs, os::unix::fs::symlink, process::Stdio, time::Duration};

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::{process::Command, time::timeout};

use crate::{
    codex_client::run_codex,
    listeners::Listeners,
    support::{
        codex,
        install::{self, Parts},
        model::{Item, Model, Reply, says},
        process::{Environment, fresh, run},
    },
    wire::rpc,
};

const TIMEOUT: Duration = Duration::from_mins(2);

/// Why the first call fails, as the message of the error says it.
const EXPLAINED: &str = "CODE_INFO_LLM_UNAVAILABLE: the Codex command line is not found: CODEX_BIN does not name a \
                         program; install it with `npm install -g @openai/codex`";

/// An index whose server is started by the client, a model for both, and no Codex until the client's model makes the
/// last of its calls.
struct AwayWorld {
    folder: TempDir,
    model: Model,
    /// What the client gives the relay.
    environment: Environment,
}

impl AwayWorld {
    /// Has the client's model make these calls, one after each answer.
    async fn with_calls(calls: Vec<Item>) -> Self {
        let folder = fresh();
        let binary = folder.path().join("codex");
        let link = binary.clone();
        let script = move |request: &Value| {
            let count = count_results(request);
            let has_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
            let item = match calls.get(count) {
                _ if request["model"] == "mock-model" => says("In valve.rs."),
                Some(call) if has_tools => {
                    if count + 1 == calls.len() {
                        symlink(codex::binary(), &link).unwrap();
                    }
                    call.clone()
                }
                Some(_) | None => says("Done."),
            };
            Reply::Items(vec![item])
        };
        let model = Model::answer(script).await;
        let (data, repository) = (folder.path().join("data"), folder.path().join("boiler"));
        fs::create_dir(&repository).unwrap();
        fs::write(repository.join("valve.rs"), "fn open() {}\n").unwrap();
        let mut environment = codex::environment(&folder.path().join("inner"), &model.url);
        environment.retain(|(name, _)| name != "CODEX_BIN");
        let (binary, data_dir) = (binary.display().to_string(), data.display().to_string());
        let settings = [("CODEX_BIN", binary.as_str()), ("DATA_DIR", &data_dir), ("PORT", "0")];
        environment.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let hasty = [("MCP_PORT", "0"), ("IDLE_EXIT_SECS", "1")];
        environment.extend(hasty.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let ingest = ["ingest", repository.to_str().unwrap()];
        assert!(run(&data, &environment, &ingest).await.status.success());
        Self { folder, model, environment }
    }

    /// Runs a client to its end, and asserts that its model was shown the error of the first call, and the answer.
    async fn assert_recovers(&self, client: &mut Command) {
        let home = self.folder.path().join("home");
        let run = client
            .env_clear()
            .envs([("PATH", "/usr/bin:/bin"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")])
            .env("HOME", home)
            .current_dir(self.folder.path().join("boiler"))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let run = timeout(TIMEOUT, run).await.unwrap().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        self.assert_recovered();
    }

    fn assert_recovered(&self) {
        let requests = self.model.requests().into_iter();
        let outer = requests.filter(|request| request["model"] != "mock-model");
        let last = outer.max_by_key(count_results).unwrap().to_string();
        for told in [EXPLAINED, "In valve.rs."] {
            assert!(last.contains(told), "{told}: {last}");
        }
    }

    /// Returns an entry for the relay that has its environment, and nothing else yet.
    fn begin_entry(&self, environment: &str) -> Map<String, Value> {
        let pairs = self.environment.iter();
        let variables: Map<String, Value> =
            pairs.map(|(name, value)| (name.clone(), json!(value))).collect();
        Map::from_iter([(environment.to_owned(), json!(variables))])
    }
}

/// Returns how many results of calls a request of either API has.
fn count_results(request: &Value) -> usize {
    let messages = request["messages"].as_array().into_iter().flatten();
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    let items = request["input"].as_array().into_iter().flatten();
    let kinds = items.chain(blocks).filter_map(|item| item["type"].as_str());
    kinds.filter(|kind| kind.ends_with("_output") || *kind == "tool_result").count()
}

/// Whether the clients from npm are to run, 0.6 GB.
fn has_all_clients() -> bool {
    std::env::var_os("CLIENTS").is_some_and(|clients| clients == "all")
}

fn calls_tool(namespace: &str, name: &str) -> Item {
    let arguments = json!({ "question": "Where is the valve?" });
    Item::Calls(namespace.to_owned(), name.to_owned(), arguments)
}

#[tokio::test]
async fn a_session_of_codex_over_stdio_has_the_tool_when_codex_is_back() {
    let call = calls_tool("mcp__codeinfo", "codebase_question");
    let finds = Item::FindsTools("find implementation".to_owned());
    let world = AwayWorld::with_calls(vec![finds, call.clone(), call]).await;
    let pairs = world.environment.iter().map(|(name, value)| format!("{name} = {value:?}"));
    let pairs: Vec<String> = pairs.collect();
    let program = env!("CARGO_BIN_EXE_codeinfo");
    let entry =
        format!("command = {program:?}\nargs = [\"stdio\"]\nenv = {{ {} }}", pairs.join(", "));
    run_codex(world.folder.path(), &world.model, &entry, "gpt-5.5").await;
    world.assert_recovered();
}

#[tokio::test]
async fn a_session_of_opencode_over_stdio_has_the_tool_when_codex_is_back() {
    if !has_all_clients() {
        return;
    }
    let package = install::npm("opencode-1.18.33", "opencode-ai@1.18.33", Parts::Whole);
    let call = calls_tool("", "codeinfo_codebase_question");
    let world = AwayWorld::with_calls(vec![call.clone(), call]).await;
    let mut entry = world.begin_entry("environment");
    entry.insert("type".to_owned(), json!("local"));
    entry.insert("command".to_owned(), json!([env!("CARGO_BIN_EXE_codeinfo"), "stdio"]));
    let settings = json!({
        "model": "openai/outer", "autoupdate": false, "mcp": { "codeinfo": entry },
        "provider": { "openai": {
            "options": { "baseURL": world.model.url, "apiKey": "none" },
            "models": { "outer": { "name": "outer", "tool_call": true } },
        } },
    });
    let config = world.folder.path().join("home/.config/opencode");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("opencode.json"), settings.to_string()).unwrap();
    let program = package.join("node_modules/opencode-linux-x64/bin/opencode");
    world.assert_recovers(Command::new(program).args(["run", "hello"])).await;
}

#[tokio::test]
async fn a_session_of_claude_over_stdio_has_the_tool_when_codex_is_back() {
    if !has_all_clients() {
        return;
    }
    let name = "@anthropic-ai/claude-code";
    let package = install::npm("claude-code-2.1.197", &format!("{name}@2.1.197"), Parts::Whole);
    let tool = "mcp__codeinfo__codebase_question";
    let world = AwayWorld::with_calls(vec![calls_tool("", tool), calls_tool("", tool)]).await;
    let mut entry = world.begin_entry("env");
    entry.insert("command".to_owned(), json!(env!("CARGO_BIN_EXE_codeinfo")));
    entry.insert("args".to_owned(), json!(["stdio"]));
    let service = world.model.url.trim_end_matches("/v1");
    let variables = json!({
        "ANTHROPIC_BASE_URL": service, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    });
    let servers = json!({ "mcpServers": { "codeinfo": entry } }).to_string();
    let mut client = Command::new(package.join(format!("node_modules/{name}-linux-x64/claude")));
    client.args(["-p", "hello", "--strict-mcp-config", "--allowedTools", tool]);
    client.args(["--mcp-config", &servers]);
    client.args(["--settings", &json!({ "env": variables }).to_string()]);
    world.assert_recovers(&mut client).await;
}

#[tokio::test]
async fn port_5011_lists_the_tool_without_codex_where_that_is_set() {
    let server = Listeners::start_with(&[("MCP_LIST_AWAY", "true")]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let listed = rpc(server.mcp, list).await.json();
    assert_eq!(listed["result"]["tools"][0]["name"], "codebase_question", "{listed:#}");
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"codebase_question","arguments":{"question":"Where?"}}}"#;
    let refused = rpc(server.mcp, call).await.json();
    assert_eq!(refused["error"]["code"], -32001, "{refused:#}");
    assert_eq!(refused["error"]["message"], "CODE_INFO_LLM_UNAVAILABLE", "{refused:#}");
}

//! The tool while Codex is unavailable: where it is listed, results of calls, and one session that outlasts it.

use std::os::unix::fs::symlink;

use codeinfo_test_support::wire::send_rpc;
use serde_json::{Value, json};

use crate::{
    codex_client::run_codex,
    listeners::InProcessServer,
    support::{
        codex,
        model::{FakeModel, ModelReply, OutputItem, message_item},
        process::{create_scratch_folder, run_command},
    },
};

#[tokio::test]
async fn a_session_of_codex_over_stdio_has_the_tool_when_codex_is_back() {
    let folder = create_scratch_folder();
    let binary = folder.path().join("codex");
    let link = binary.clone();
    let calls = || {
        let arguments = json!({ "question": "Where is the valve?" });
        OutputItem::Calls("mcp__codeinfo".to_owned(), "codebase_question".to_owned(), arguments)
    };
    let script = move |request: &Value| {
        let input = request["input"].as_array().unwrap();
        let is_output = |item: &&Value| item["type"].as_str().unwrap().ends_with("_output");
        let outputs: Vec<&Value> = input.iter().filter(is_output).collect();
        let item = match (request["model"] == "mock-model", outputs.len()) {
            (true, _) => message_item("In valve.rs."),
            (false, 0) => OutputItem::FindsTools("find implementation".to_owned()),
            (false, 1) => calls(),
            (false, 2) => {
                symlink(codex::codex_binary(), &link).unwrap();
                calls()
            }
            (false, _) => message_item("Done."),
        };
        ModelReply::Items(vec![item])
    };
    let model = FakeModel::answer_with(script).await;
    let (data, repository) = (folder.path().join("data"), folder.path().join("boiler"));
    std::fs::create_dir(&repository).unwrap();
    std::fs::write(repository.join("valve.rs"), "fn open() {}\n").unwrap();
    let inner = folder.path().join("inner");
    let mut environment = codex::codex_environment(&inner, &model.url);
    environment.retain(|(name, _)| name != "CODEX_BIN");
    environment.push(("CODEX_BIN".to_owned(), binary.display().to_string()));
    let ingest = ["ingest", repository.to_str().unwrap()];
    assert!(run_command(&data, &environment, &ingest).await.status.success());

    let settings = [("DATA_DIR", data.to_str().unwrap()), ("PORT", "0"), ("MCP_PORT", "0")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let hasty = ("IDLE_EXIT_SECS".to_owned(), "1".to_owned());
    let all = environment.into_iter().chain(settings).chain([hasty]);
    let pairs: Vec<String> = all.map(|(name, value)| format!("{name} = {value:?}")).collect();
    let program = env!("CARGO_BIN_EXE_codeinfo");
    let entry =
        format!("command = {program:?}\nargs = [\"stdio\"]\nenv = {{ {} }}", pairs.join(", "));
    let requests = run_codex(folder.path(), &model, &entry, "gpt-5.5").await;
    let last = requests.last().unwrap()["input"].to_string();
    let explained = "CODE_INFO_LLM_UNAVAILABLE: the Codex command line is not found: CODEX_BIN does not name a \
                     program; install it with `npm install -g @openai/codex`";
    for told in [explained, "In valve.rs."] {
        assert!(last.contains(told), "{told}: {last}");
    }
}

#[tokio::test]
async fn port_5011_lists_the_tool_without_codex_where_that_is_set() {
    let server = InProcessServer::start_with(&[("MCP_LIST_AWAY", "true")]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let listed = send_rpc(server.mcp, list).await.json();
    assert_eq!(listed["result"]["tools"][0]["name"], "codebase_question", "{listed:#}");
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"codebase_question","arguments":{"question":"Where?"}}}"#;
    let refused = send_rpc(server.mcp, call).await.json();
    assert_eq!(refused["error"]["code"], -32001, "{refused:#}");
    assert_eq!(refused["error"]["message"], "CODE_INFO_LLM_UNAVAILABLE", "{refused:#}");
}

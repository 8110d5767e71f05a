//! A real client asks, with what was installed for it.

use std::time::Duration;

use codeinfo_store::find_lock_holder;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::support::{
    codex,
    model::{FakeModel, ModelReply, OutputItem, message_item, search_item},
};

/// Plays both models: the one of the client, which asks CodeInfo, and the one that answers for CodeInfo.
fn reply_as_both_models(request: &Value) -> ModelReply {
    let (tools, input) = (request["tools"].to_string(), request["input"].to_string());
    let answered = |with| input.contains("function_call_output") && input.contains(with);
    let (asks, searches_code) =
        (tools.contains("codebase_question"), tools.contains("VectorSearch"));
    let item = match (asks, searches_code) {
        (true, false) if answered("It is `relieve_pressure`.") => {
            message_item("CodeInfo has it: relieve_pressure.")
        }
        (true, false) => OutputItem::Calls(
            "mcp__codeinfo".to_owned(),
            "codebase_question".to_owned(),
            json!({ "question": "What opens the valve?" }),
        ),
        (false, true) if answered("pub fn relieve_pressure") => {
            message_item("It is `relieve_pressure`.")
        }
        (false, true) => search_item("relieve pressure"),
        // Nobody has both: the Codex of CodeInfo does not ask CodeInfo.
        (asks, _) => message_item(&format!("neither one nor the other: {asks}")),
    };
    ModelReply::Items(vec![item])
}

#[tokio::test]
async fn codex_asks_a_question_over_what_was_installed_for_it() {
    let model = FakeModel::answer_with(reply_as_both_models).await;
    let home = TestHome::with_program();
    symlink(codex::codex_binary(), home.path("bin/codex")).unwrap();
    let written =
        codex::write_codex_home(home.0.path(), &model.url, "[features]\nplugins = false\n");
    fs::rename(written, home.path(".codex")).unwrap();
    let code = "/// Opens the valve.\npub fn relieve_pressure() {}\n";
    home.write("boiler/valve.rs", code);
    home.run_successfully(&["ingest", home.path("boiler").to_str().unwrap()]);
    home.run(&["install", "codex", "--yes"]);

    let mut command =
        tokio::process::Command::from(home.command(codex::codex_binary().to_str().unwrap()));
    let data = home.path("data");
    let environment = format!(
        "mcp_servers.codeinfo.env={{ DATA_DIR = {data:?}, PORT = \"0\", MCP_PORT = \"0\", IDLE_EXIT_SECS = \"1\" }}"
    );
    // A busy machine may take longer to start a server than Codex waits for one that it can do without.
    for setting in [environment.as_str(), "mcp_servers.codeinfo.required=true"] {
        command.args(["-c", setting]);
    }
    command.args(["exec", "--skip-git-repo-check", "What opens the valve?"]);
    let ended = command.current_dir(home.path("boiler")).output().await.unwrap();
    let output_text = String::from_utf8(ended.stdout).unwrap();
    let failed = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(output_text, "CodeInfo has it: relieve_pressure.\n", "{failed}");
    assert!(ended.status.success(), "{failed}");
    // The server that it had started ends.
    let began = Instant::now();
    while find_lock_holder(&data).unwrap().is_some() {
        assert!(began.elapsed() < Duration::from_mins(1));
        sleep(Duration::from_millis(20)).await;
    }
}

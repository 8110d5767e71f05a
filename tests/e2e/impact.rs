//! `codeinfo impact` and the tool `Impact`: what a change of a repository reaches.

use codeinfo_test_support::{
    git::commit_all,
    wire::{send_request, send_rpc},
};
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    support::process::{create_scratch_folder, run_command},
};

const PUMP: &str = "def pump():\n    return 1\n";
const BOILER: &str = "from pump import pump\n\ndef boil():\n    return pump()\n";
const TEST: &str = "from boiler import boil\n\ndef test_boil():\n    assert boil()\n";

#[tokio::test]
async fn a_command_prints_what_a_change_reaches() {
    let (data, repository) = (create_scratch_folder(), create_scratch_folder());
    let write = |path: &str, text: &str| {
        let file = repository.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write("pump.py", PUMP);
    write("boiler.py", BOILER);
    write("tests/test_boiler.py", TEST);
    commit_all(repository.path(), "First");
    write("pump.py", &PUMP.replace('1', "2"));
    let environment = vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())];
    let path = repository.path().to_str().unwrap();
    assert!(run_command(data.path(), &environment, &["ingest", path]).await.status.success());
    let printed =
        run_command(data.path(), &environment, &["impact", "-r", path, "--since", "main"]).await;
    let printed = String::from_utf8(printed.stdout).unwrap();
    for line in [
        "pump.py:1-2 pump",
        "boiler.py:3-4 boil (uses pump in line 4)",
        "tests/test_boiler.py:3-4 test_boil (uses boil in line 4)",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    let arguments = ["impact", "-r", path, "--depth", "1", "--json"];
    let found = run_command(data.path(), &environment, &arguments).await.stdout;
    let found: Value = serde_json::from_slice(&found).unwrap();
    assert_eq!((&found["callers"][0]["name"], &found["tests"]), (&json!("boil"), &json!([])));
    let failed =
        run_command(data.path(), &environment, &["impact", "-r", path, "--since", "gone"]).await;
    let output_text = String::from_utf8(failed.stderr).unwrap();
    assert!(
        !failed.status.success() && output_text.contains("no branch, tag or commit"),
        "{output_text}"
    );
}

#[tokio::test]
async fn a_model_is_shown_what_a_change_reaches() {
    let server = InProcessServer::start().await;
    server.write("plant/pump.py", PUMP);
    server.write("plant/boiler.py", BOILER);
    commit_all(&server.folder.path().join("plant"), "First");
    server.write("plant/pump.py", &PUMP.replace('1', "2"));
    server.ingest("plant", "a plant").await;
    let call = async |arguments: Value| {
        let params = json!({ "name": "Impact", "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        send_rpc(server.main, &body.to_string()).await.json()["result"].clone()
    };
    let found = call(json!({ "repository": "plant" })).await;
    let text = found["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("boiler.py:3-4 boil (uses pump in line 4)"), "{text}");
    assert_eq!(found["_meta"]["codeinfo/files"][0]["relPath"], "pump.py", "{found:#}");
    let failed = call(json!({ "since": "gone" })).await;
    assert_eq!(failed["isError"], true, "{failed:#}");
    for (query, status) in
        [("since=main&format=text", 200), ("depth=0", 400), ("since=gone", 400), ("since=", 400)]
    {
        let target = format!("/symbols/impact?{query}");
        assert_eq!(
            send_request(server.main, "GET", &target, &[], "").await.status,
            status,
            "{query}"
        );
    }
}

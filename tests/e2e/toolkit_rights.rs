//! Toolkits for people and for programs with a token: on the command line, and what each may do.

use codeinfo_test_support::git::run_git;
use codeinfo_test_support::sources::list_files;
use std::{fs, path::Path};

use codeinfo_test_support::toolkit::{
    is_running, script_path, scripted_spec, stdio_spec, wait_until,
};
use codeinfo_toolkits::spec::{ToolkitSandbox, ToolkitSpec};
use serde_json::{Value, json};
use tokio::time::Duration;

use crate::{
    end_to_end::CodexSetup,
    support::{
        model::{ModelReply, message_item},
        process::{self, http_client, run_command},
    },
    toolkit_turns::render_document,
};

#[tokio::test]
async fn a_call_keeps_to_the_indexed_folders_and_a_repeated_one_is_not_made_twice() {
    let setup = CodexSetup::replay([]).await;
    let kit = scripted_spec(&["repeatable"]);
    let kit =
        ToolkitSpec { sandbox: ToolkitSandbox::ReadOnly, cache: Duration::from_mins(5), ..kit };
    let server = setup.serve_toolkits(&[("kit", &kit)], &[]).await;
    let (data, environment) = (setup.folder.path().join("data"), setup.environment());
    let call = async |tool: &str, arguments: &Value| {
        let arguments = arguments.to_string();
        let ended = run_command(&data, &environment, &["mcp", "call", tool, &arguments]).await;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (ended.status.success(), text(ended.stdout) + &text(ended.stderr))
    };
    let secret = setup.folder.path().join("codex-home/config.toml");
    let (ok, output_text) = call("kit:read", &json!({ "path": secret })).await;
    assert!(!ok && output_text.contains("outside the indexed repositories"), "{output_text}");
    let (ok, output_text) = call("kit:read", &json!({ "path": "../../etc/passwd" })).await;
    assert!(!ok && output_text.contains("leads out of the folder"), "{output_text}");
    let valve = setup.folder.path().join("boiler/src/valve.rs");
    let (ok, output_text) = call("kit:read", &json!({ "path": valve })).await;
    assert!(ok && output_text.contains("relieve_pressure"), "{output_text}");

    let marked = setup.folder.path().join("boiler/src/marked.txt");
    fs::write(&marked, "left \u{202e}right\u{2069}\n").unwrap();
    let (_, output_text) = call("kit:read", &json!({ "path": marked })).await;
    assert_eq!(output_text, "left right\n", "no mark of direction reaches a terminal");

    let (_, first) = call("kit:count", &json!({})).await;
    let (_, again) = call("mcp:kit:count", &json!({})).await;
    assert_eq!((first.as_str(), again.as_str()), ("1\n", "1\n"), "the second is the first");
    assert!(run_command(&data, &environment, &["mcp", "restart", "kit"]).await.status.success());
    assert_eq!(call("kit:sleep", &json!({ "seconds": 0 })).await.1, "slept\n");
    assert_eq!(call("kit:count", &json!({})).await.1, "1\n", "a new process counts from one");
    let metrics = http_client().get(format!("{}/metrics", server.main)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.contains("codeinfo_tool_cache_total{outcome=\"hit\"} 1\n"), "{metrics}");
    let refused =
        "codeinfo_tool_calls_total{source=\"mcp\",toolkit=\"kit\",outcome=\"refused\"} 2\n";
    assert!(metrics.contains(refused), "{metrics}");
    server.terminate().await;
}

#[tokio::test]
async fn toolkits_are_stored_listed_and_removed_on_the_command_line() {
    let setup = CodexSetup::replay([]).await;
    let off = ToolkitSpec { enabled: false, ..scripted_spec(&["off"]) };
    let server = setup.serve_toolkits(&[("kit", &scripted_spec(&[])), ("off", &off)], &[]).await;
    let (data, environment) = (setup.folder.path().join("data"), setup.environment());
    let command = async |arguments: &[&str]| {
        let ended = run_command(&data, &environment, arguments).await;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (ended.status.success(), text(ended.stdout), text(ended.stderr))
    };
    let server_py = script_path("server.py").display().to_string();
    let add =
        ["mcp", "add", "mine", "--env", "KEY=s3cret", "--no-sandbox", "--", "python3", &server_py];
    let (ok, output_text, _) = command(&add).await;
    assert!(ok && output_text == "stored mine (version 1)\n", "{output_text}");
    let (_, listed, _) = command(&["mcp", "list"]).await;
    assert_eq!(
        listed,
        "mine  stopped   stdio  tools unknown  stored in DATA_DIR\n\
         kit   stopped   stdio  tools unknown  in TOOLKITS_FILE\n\
         off   disabled  stdio  tools unknown  in TOOLKITS_FILE\n"
    );
    let (ok, tools, _) = command(&["mcp", "tools", "repeats what it is given"]).await;
    assert!(ok && tools.contains("mcp:mine:echo\n") && tools.contains("mcp:kit:echo\n"), "{tools}");
    let (_, tools, _) = command(&["mcp", "tools", "--json"]).await;
    let tools: Value = serde_json::from_str(&tools).unwrap();
    let all = tools["tools"].as_array().unwrap();
    let of = |id: &str| all.iter().find(|tool| tool["id"] == id).unwrap();
    assert_eq!(
        (&of("VectorSearch")["source"], &of("VectorSearch")["state"]),
        (&json!("local"), &json!("ready"))
    );
    assert_eq!(of("mcp:kit:die")["state"], "ready", "`allow` of the kit is \"all\"");
    assert_eq!(of("mcp:mine:die")["state"], "refused");
    let url = format!("{}/tools?source=mcp&toolkit=mine", server.main);
    let some: Value = http_client().get(url).send().await.unwrap().json().await.unwrap();
    let some = some["tools"].as_array().unwrap();
    assert!(some.iter().all(|tool| tool["toolkit"] == "mine"), "{some:#?}");

    let file = setup.folder.path().join("clients.json");
    let more = json!({ "type": "stdio", "command": "python3", "network": "open" });
    let shared = json!({ "mcpServers": { "more": more } });
    fs::write(&file, shared.to_string()).unwrap();
    let (ok, output_text, warned) = command(&["mcp", "import", file.to_str().unwrap()]).await;
    assert!(ok && output_text == "stored more (version 2)\n", "{output_text}");
    assert!(warned.contains("it reaches every service of this machine"), "{warned}");
    fs::write(&file, shared.to_string().replace("python3", "${PYTHON}")).unwrap();
    let (ok, _, output_text) = command(&["mcp", "import", file.to_str().unwrap()]).await;
    assert!(!ok && output_text.contains("are read in files only"), "{output_text}");
    let (ok, output_text, _) = command(&["mcp", "remove", "mine"]).await;
    assert!(ok && output_text == "removed mine (version 3)\n", "{output_text}");
    let (ok, _, output_text) = command(&["mcp", "remove", "mine"]).await;
    assert!(!ok && output_text.contains("no toolkit `mine` is stored"), "{output_text}");
    for stored in list_files(&data.join("vault")) {
        assert!(!String::from_utf8_lossy(&fs::read(stored).unwrap()).contains("s3cret"));
    }

    let repository = setup.folder.path().join("boiler");
    run_git(&repository, &["init", "--quiet"]);
    let below = repository.join("src");
    let (ok, output_text, _) = command(&["mcp", "init", below.to_str().unwrap()]).await;
    assert!(ok && output_text.contains("boiler/.codeinfo/toolkits.json"), "{output_text}");
    let (ok, _, output_text) = command(&["mcp", "init", below.to_str().unwrap()]).await;
    assert!(!ok && output_text.contains("is there already"), "{output_text}");
    server.terminate().await;
}

#[tokio::test]
async fn only_stored_toolkits_that_change_are_stopped_and_only_after_their_calls() {
    let setup = CodexSetup::replay([]).await;
    let server = setup.serve_toolkits(&[], &[]).await;
    let (data, environment) = (setup.folder.path().join("data"), setup.environment());
    let command = async |arguments: &[&str]| {
        let ended = run_command(&data, &environment, arguments).await;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert!(ended.status.success(), "{arguments:?}: {}", text(ended.stderr));
        text(ended.stdout)
    };
    let call = async |tool: &str| command(&["mcp", "call", tool]).await;
    let server_py = script_path("server.py").display().to_string();
    let add = async |name: &str, value: &str| {
        let words = ["mcp", "add", name, "--env", value, "--no-sandbox", "--allow-all"];
        let words: Vec<&str> = words.into_iter().chain(["--", "python3", &server_py]).collect();
        command(&words).await
    };
    add("counts", "KEY=counts").await;
    add("waits", "KEY=waits").await;
    let process = call("counts:pid").await;
    assert_eq!(call("counts:count").await, "1\n");
    let waiting: u32 = call("waits:pid").await.trim().parse().unwrap();

    let (began, end) = (setup.folder.path().join("began"), setup.folder.path().join("end"));
    let arguments = json!({ "began": began, "end": end }).to_string();
    let running = async { command(&["mcp", "call", "waits:wait", &arguments]).await };
    let changing = async {
        wait_until(|| began.try_exists().unwrap()).await;
        add("waits", "KEY=changed").await;
        add("more", "KEY=more").await;
        let new: u32 = call("waits:pid").await.trim().parse().unwrap();
        assert!(new != waiting && is_running(waiting), "the call still runs where it began");
        fs::write(&end, "").unwrap();
    };
    let (result, ()) = tokio::join!(running, changing);
    assert_eq!(result, "waited\n");
    wait_until(|| !is_running(waiting)).await;

    assert_eq!((call("counts:count").await, call("counts:pid").await), ("2\n".to_owned(), process));
    let counting: u32 = call("counts:pid").await.trim().parse().unwrap();
    command(&["mcp", "remove", "counts"]).await;
    wait_until(|| !is_running(counting)).await;
    server.terminate().await;
}

#[tokio::test]
async fn the_repository_of_the_current_folder_is_used_where_several_are_indexed() {
    let answer = || ModelReply::Items(vec![message_item("Yes.")]);
    let setup = CodexSetup::replay([answer(), answer()]).await;
    let (repository, other) =
        (setup.folder.path().join("boiler"), setup.folder.path().join("pump"));
    run_git(&repository, &["init", "--quiet"]);
    fs::create_dir(repository.join(".codeinfo")).unwrap();
    let missing = stdio_spec("no-such-program", Vec::new());
    let file = render_document(&[("build", &missing)]).to_string();
    fs::write(repository.join(".codeinfo/toolkits.json"), file).unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(other.join("pump.rs"), "fn pump() {}").unwrap();
    let server = setup.serve_toolkits(&[("kit", &scripted_spec(&[]))], &[]).await;
    server.ingest(&other).await;
    let (data, environment) = (setup.folder.path().join("data"), setup.environment());
    let command = async |folder: &Path, arguments: &[&str]| {
        let mut command = process::program_command(&data, &environment);
        let ended = command.args(arguments).current_dir(folder).output().await.unwrap();
        String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap()
    };
    command(&repository, &["mcp", "allow", "--yes"]).await;
    let own = "build  stopped  stdio  tools unknown  in .codeinfo/toolkits.json\n";
    let users = "kit  stopped  stdio  tools unknown  in TOOLKITS_FILE\n";
    let below = repository.join("src");
    assert_eq!(command(&below, &["mcp", "list"]).await, own);
    assert_eq!(command(&other, &["mcp", "list"]).await, users);
    assert_eq!(command(setup.folder.path(), &["mcp", "list"]).await, users);
    assert_eq!(command(&other, &["mcp", "list", "--repository", "boiler"]).await, own);
    assert_eq!(command(&below, &["mcp", "list", "--repository", "../../pump"]).await, users);
    let output_text = command(&other, &["mcp", "list", "--repository", "gone"]).await;
    assert!(output_text.contains("gone") && output_text.contains("boiler"), "{output_text}");
    for arguments in [&["mcp", "start", "build"][..], &["mcp", "status"], &["mcp", "tools"]] {
        let output_text = command(&below, arguments).await;
        assert!(output_text.contains("build is not running: `no-such-program`"), "{output_text}");
        assert!(!output_text.contains("go on without it"), "{output_text}");
    }
    let output_text = command(&below, &["mcp", "call", "build:x"]).await;
    assert!(output_text.contains("go on without it"), "a model reads what to do: {output_text}");

    let (here, embeddings) = (command(&below, &["ask", "?"]), command(&other, &["ask", "?"]));
    let (here, embeddings) = tokio::join!(here, embeddings);
    assert!(here.contains("build is not running"), "{here}");
    assert!(!embeddings.contains("build"), "{embeddings}");
    server.terminate().await;
}

#[tokio::test]
async fn what_cannot_be_stored_or_read_is_named() {
    let setup = CodexSetup::replay([]).await;
    let server = setup.serve_toolkits(&[], &[]).await;
    let (data, environment) = (setup.folder.path().join("data"), setup.environment());
    let command = async |arguments: &[&str]| {
        let ended = run_command(&data, &environment, arguments).await;
        String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap()
    };
    let output_text = command(&["mcp", "import", "/nonexistent.json"]).await;
    assert!(output_text.contains("`/nonexistent.json`: No such file"), "{output_text}");
    assert!(command(&["mcp", "allow", "/nonexistent"]).await.contains("`/nonexistent`: No such"));
    let output_text = command(&["mcp", "add", "gone", "--", "no-such-program"]).await;
    assert!(output_text.contains("stored gone (version 1)\n"), "{output_text}");
    assert!(
        output_text.contains("`no-such-program` is not a program on this machine's PATH"),
        "{output_text}"
    );
    assert_eq!(command(&["mcp", "add", "there", "--", "sh"]).await, "stored there (version 2)\n");
    command(&[
        "mcp",
        "add",
        "kit",
        "--no-sandbox",
        "--",
        "python3",
        &script_path("server.py").display().to_string(),
    ])
    .await;
    let output_text = command(&["mcp", "call", "kit:frobnicate"]).await;
    assert!(
        output_text.contains("no tool `frobnicate`, nor one of a similar name"),
        "{output_text}"
    );
    server.terminate().await;
}

#[tokio::test]
async fn a_token_is_not_the_owner() {
    let setup = CodexSetup::replay([]).await;
    let server = setup.serve_toolkits(&[("kit", &scripted_spec(&[]))], &[]).await;
    let (data, environment) = (setup.folder.path().join("data"), setup.environment());
    let made = run_command(&data, &environment, &["token", "create", "bob"]).await;
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let post = async |path: &str, body: &Value| {
        let url = format!("{}{path}", server.main);
        let reply = http_client().post(url).bearer_auth(&token).json(body).send().await.unwrap();
        (reply.status().as_u16(), reply.text().await.unwrap())
    };
    for (member, value) in [("sandbox", json!("off")), ("workingDir", json!("/etc"))] {
        let mut spec = json!({ "command": "python3" });
        spec[member] = value;
        let config = json!({ "mcpServers": { "mine": spec } });
        let (status, output_text) = post("/mcp/config", &config).await;
        assert!(status == 400 && output_text.contains(member), "{status} {output_text}");
    }
    for action in ["start", "stop", "restart", "trust"] {
        let (status, output_text) = post(&format!("/toolkits/kit/{action}"), &json!({})).await;
        assert!(
            status == 403 && output_text.contains("FORBIDDEN"),
            "{action}: {status} {output_text}"
        );
    }
    let path = setup.folder.path().join("boiler");
    assert_eq!(post("/toolkits/allow", &json!({ "path": path })).await.0, 403);
    let nobody = http_client().post(format!("{}/toolkits/kit/start", server.main)).json(&json!({}));
    assert_eq!(nobody.send().await.unwrap().status(), 401);
    server.terminate().await;
}

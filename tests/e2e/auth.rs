//! Authentication: `AUTH=required` on both listeners, tokens on the command line, and a real turn between them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use codeinfo_test_support::wire::{self, render_head, send_get, send_request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    support::{
        codex,
        model::{FakeModel, ModelReply, message_item, search_item},
        process::{
            ProgramEnvironment, RunningServer, create_scratch_folder, http_client, read_output,
            run_command, without_codex,
        },
    },
};

const JSON: (&str, &str) = ("content-type", "application/json");

fn read_owner_key(data: &Path) -> String {
    fs::read_to_string(data.join("owner.key")).unwrap().trim().to_owned()
}

/// A server without Codex that demands tokens, and its owner's key as a header.
async fn start_with_required_tokens() -> (InProcessServer, String) {
    let server = InProcessServer::start_with(&[("AUTH", "required")]).await;
    let bearer = format!("Bearer {}", read_owner_key(&server.folder.path().join("data")));
    (server, bearer)
}

#[tokio::test]
async fn with_auth_required_neither_listener_answers_without_a_token() {
    let (server, bearer) = start_with_required_tokens().await;
    let bearer = ("authorization", bearer.as_str());
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (to, method, path, body) in [
        (server.main, "GET", "/metrics", ""),
        (server.main, "GET", "/ingest/roots", ""),
        (server.main, "POST", "/ingest/start", "{}"),
        (server.main, "POST", "/tools/vector-search", r#"{"query":"x"}"#),
        (server.main, "POST", "/chat", r#"{"question":"x"}"#),
        (server.main, "POST", "/mcp", list),
        (server.main, "POST", "/mcp/", list),
        (server.main, "GET", "/nowhere", ""),
        (server.main, "GET", "/health/", ""),
        (server.main, "GET", "/%68ealth", ""),
        (server.mcp, "POST", "/", list),
        (server.mcp, "POST", "/mcp", list),
        (server.mcp, "GET", "/health", ""),
    ] {
        let refused = send_request(to, method, path, &[JSON], body).await;
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
        assert!(refused.body.contains("codeinfo token create NAME"), "{refused:?}");
        let wrong =
            send_request(to, method, path, &[JSON, ("authorization", "Bearer x")], body).await;
        assert_eq!(wrong.status, 401, "{method} {path}");
        let answered = send_request(to, method, path, &[JSON, bearer], body).await;
        assert_ne!(answered.status, 401, "{method} {path}: {answered:?}");
    }
    let pong = send_request(server.mcp, "POST", "/mcp", &[JSON, bearer], list).await;
    assert_eq!((pong.status, &pong.json()["result"]), (200, &json!({})));
}

#[tokio::test]
async fn monitors_without_a_token_learn_only_the_health() {
    let (server, bearer) = start_with_required_tokens().await;
    assert_snapshot!(send_get(server.main, "/health").await.render_reply(), @r#"
    200 content-type: application/json
    {
      "status": "degraded"
    }
    "#);
    assert_snapshot!(send_get(server.main, "/ready").await.render_reply(), @r#"
    503 content-type: application/json
    {
      "ready": false
    }
    "#);
    assert_snapshot!(send_get(server.main, "/version").await.render_reply(), @r#"
    200 content-type: application/json
    {
      "app": "codeinfo"
    }
    "#);
    for path in ["/health", "/version"] {
        let whole = send_request(server.main, "GET", path, &[("authorization", &bearer)], "").await;
        assert!(whole.json()["version"].is_string(), "{whole:?}");
        let wrong =
            send_request(server.main, "GET", path, &[("authorization", "Bearer x")], "").await;
        assert_eq!(wrong.status, 401, "{path}");
    }
}

#[tokio::test]
async fn a_bearer_is_judged_after_host_and_origin_and_before_the_body() {
    let (server, bearer) = start_with_required_tokens().await;
    let foreign = [JSON, ("host", "evil.example")];
    assert_eq!(send_request(server.main, "POST", "/chat", &foreign, "{}").await.status, 403);
    let page = [JSON, ("origin", "http://evil.example"), ("authorization", bearer.as_str())];
    assert_eq!(send_request(server.main, "POST", "/chat", &page, "{}").await.status, 403);
    for to in [server.main, server.mcp] {
        // The body is never sent.
        let refused =
            wire::send_bytes(to, render_head("POST", "/mcp", &[JSON], 1000).as_bytes()).await;
        assert_eq!(refused.status, 401);
    }
}

/// A repository, and the environment of programs that demand tokens and log much.
fn prepare_setup(folder: &Path, more: ProgramEnvironment) -> (PathBuf, ProgramEnvironment) {
    let repository = folder.join("boiler");
    fs::create_dir_all(repository.join("src")).unwrap();
    let valve = "/// Opens the valve when the pressure is too high.\n\
                 pub fn relieve_pressure(limit: f64) -> bool {\n    limit > 3.0\n}\n";
    fs::write(repository.join("src/valve.rs"), valve).unwrap();
    let mut environment = more;
    environment.push(("AUTH".to_owned(), "required".to_owned()));
    environment.push(("LOG_LEVEL".to_owned(), "debug".to_owned()));
    (repository, environment)
}

/// Every file below a folder that has `secret` in it.
fn find_files_with(folder: &Path, secret: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(find_files_with(&path, secret));
        } else if kind.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            if memchr::memmem::find(&bytes, secret.as_bytes()).is_some() {
                found.push(path);
            }
        }
    }
    found
}

/// The programs that `pid` started, and theirs: how each was called, and with which variables.
fn describe_children(pid: u32) -> Vec<String> {
    let mut called = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            let read = |what: &str| fs::read(format!("/proc/{child}/{what}")).unwrap_or_default();
            let all = [read("cmdline"), read("environ")].concat();
            called.push(String::from_utf8_lossy(&all).into_owned());
            called.extend(describe_children(child.parse().unwrap()));
        }
    }
    called
}

#[tokio::test]
async fn a_turn_searches_although_tokens_are_required_and_no_secret_is_left_anywhere() {
    let folder = create_scratch_folder();
    let model = FakeModel::answer_with(|request| {
        if request["input"].to_string().contains("function_call_output") {
            ModelReply::Items(vec![message_item("In valve.rs.")])
        } else {
            ModelReply::Items(vec![search_item("relieve pressure")])
        }
    })
    .await;
    let environment = codex::codex_environment(folder.path(), &model.url);
    let (repository, environment) = prepare_setup(folder.path(), environment);
    let (data, log) = (folder.path().join("data"), folder.path().join("server.log"));
    let server = RunningServer::serve_logging_to(&log, &data, &environment).await;
    // The command line shows the owner's key by itself.
    let ingested = read_output(
        &run_command(&data, &environment, &["ingest", &repository.to_string_lossy()]).await,
    );
    assert_eq!(ingested.0, Some(0), "{}", ingested.2);
    let (code, token, advice) =
        read_output(&run_command(&data, &environment, &["token", "create", "ci"]).await);
    assert_eq!((code, token.lines().count()), (Some(0), 1), "{advice}");
    let token = token.trim().to_owned();
    let config = json!({ "mcpServers": { "git": {
        "command": "git-mcp", "env": { "PAT": "hunter2-hunter2" } } } });
    let stored = http_client().post(format!("{}/mcp/config", server.main)).bearer_auth(&token);
    assert_eq!(stored.json(&config).send().await.unwrap().status(), 200);

    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "codebase_question", "arguments": { "question": "What opens the valve?" } } });
    let request =
        || http_client().post(&server.mcp).header("accept", "application/json").json(&asked);
    assert_eq!(request().send().await.unwrap().status(), 401);
    let reply: Value = request().bearer_auth(&token).send().await.unwrap().json().await.unwrap();
    let shown = reply["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(shown.contains("vector_summary") && shown.contains("src/valve.rs"), "{reply:#}");
    assert!(
        model.latest_request_text().contains("relieve_pressure(limit: f64)"),
        "{}",
        model.latest_request_text()
    );

    let codex = describe_children(server.pid());
    assert!(codex.iter().any(|codex| codex.contains("app-server")), "{codex:?}");
    assert!(!codex.iter().any(|codex| codex.contains("codeinfo_key_")), "{codex:?}");
    let owner = read_owner_key(&data);
    assert!(server.terminate().await.success());
    assert!(fs::read_to_string(&log).unwrap().contains("DEBUG"));
    assert_eq!(find_files_with(folder.path(), "codeinfo_key_"), [data.join("owner.key")]);
    for secret in [token.as_str(), "hunter2"] {
        assert_eq!(find_files_with(folder.path(), secret), Vec::<PathBuf>::new(), "{secret}");
    }
    for output_text in [&ingested.1, &ingested.2, &advice] {
        assert!(!output_text.contains(&owner) && !output_text.contains(&token), "{output_text}");
    }
}

#[tokio::test]
async fn the_key_of_codex_is_good_for_the_search_of_the_main_listener_only() {
    let folder = create_scratch_folder();
    let model = FakeModel::replay([ModelReply::Items(vec![message_item("Done.")])]).await;
    let written = folder.path().join("written.jsonl");
    let script = format!("tee -a '{}' | \"$REAL\" \"$@\"", written.display());
    let mut environment = codex::codex_environment(folder.path(), &model.url);
    let program = codex::write_wrapper(folder.path(), &script).display().to_string();
    environment.push(("CODEX_BIN".to_owned(), program));
    let (repository, environment) = prepare_setup(folder.path(), environment);
    let data = folder.path().join("data");
    let server = RunningServer::serve(&data, &[&repository], &environment).await;
    let asked =
        http_client().post(format!("{}/chat", server.main)).bearer_auth(read_owner_key(&data));
    let frames = asked.json(&json!({ "question": "What?" })).send().await.unwrap();
    let frames = frames.text().await.unwrap();
    assert!(frames.contains("Done."), "{frames}");
    let written = fs::read_to_string(&written).unwrap();
    let rest = written.split("Bearer codeinfo_key_").nth(1).unwrap();
    let key = &format!("codeinfo_key_{}", rest.split('"').next().unwrap());
    let status = async |url: String| {
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        http_client().post(url).bearer_auth(key).json(&ping).send().await.unwrap().status().as_u16()
    };
    let main = &server.main;
    assert_eq!(status(format!("{main}/mcp")).await, 200);
    assert_eq!(status(format!("{main}/mcp?repository=boiler")).await, 200);
    for path in ["/mcp/", "/mcp/config", "/chat", "/auth/mcp-tokens", "/health", "/"] {
        assert_eq!(status(format!("{main}{path}")).await, 401, "{path}");
    }
    assert_eq!(status(server.mcp.clone()).await, 401);
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn tokens_are_made_listed_and_revoked_with_and_without_a_server() {
    let folder = create_scratch_folder();
    let data = folder.path().join("data");
    let (_, environment) = prepare_setup(folder.path(), without_codex());
    let codeinfo =
        async |arguments: &[&str]| read_output(&run_command(&data, &environment, arguments).await);
    let (code, alone, advice) = codeinfo(&["token", "create", "ann"]).await;
    assert_eq!(code, Some(0), "{advice}");
    assert!(alone.starts_with("codeinfo_pat_") && alone.lines().count() == 1, "{alone}");
    assert!(advice.contains("codeinfo token revoke ann") && !advice.contains(alone.trim()));
    let (code, output_text, exists) = codeinfo(&["token", "create", "ann"]).await;
    assert_eq!((code, output_text.as_str()), (Some(1), ""));
    assert!(exists.contains("there is a token `ann`"), "{exists}");
    let (code, _, wrong) = codeinfo(&["token", "create", "a b"]).await;
    assert!(code == Some(1) && wrong.contains("cannot be the name of a token"), "{wrong}");

    let server = RunningServer::serve(&data, &[], &environment).await;
    let knows = async |token: &str| {
        let request =
            http_client().get(format!("{}/ingest/roots", server.main)).bearer_auth(token.trim());
        request.send().await.unwrap().status() == 200
    };
    assert!(knows(&alone).await, "made without the server, known to it");
    let (code, again, _) = codeinfo(&["token", "create", "ann", "--overwrite"]).await;
    assert_eq!(code, Some(0));
    assert!(!knows(&alone).await && knows(&again).await);
    let (_, listed, _) = codeinfo(&["token", "list"]).await;
    assert!(listed.starts_with("ann  made 2") && listed.contains("  used 2"), "{listed}");
    let (_, listed, _) = codeinfo(&["token", "list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["tokens"][0]["name"], "ann");
    let (_, made, _) = codeinfo(&["token", "create", "bob", "--json"]).await;
    let made: Value = serde_json::from_str(&made).unwrap();
    assert!(knows(made["token"].as_str().unwrap()).await);
    let (code, revoked, _) = codeinfo(&["token", "revoke", "ann"]).await;
    assert_eq!((code, revoked.as_str()), (Some(0), "revoked ann\n"));
    assert!(!knows(&again).await);
    let (code, _, gone) = codeinfo(&["token", "revoke", "ann"]).await;
    assert!(code == Some(1) && gone.contains("there is no token `ann`"), "{gone}");
    assert!(server.terminate().await.success());
    let (_, revoked, _) = codeinfo(&["token", "revoke", "bob", "--json"]).await;
    let revoked: Value = serde_json::from_str(&revoked).unwrap();
    assert_eq!(revoked, json!({ "revoked": ["bob"] }));
    let (_, listed, hint) = codeinfo(&["token", "list"]).await;
    assert!(listed.is_empty() && hint.contains("codeinfo token create NAME"), "{hint}");
}

#[tokio::test]
async fn a_key_of_the_owner_that_others_may_read_or_that_is_cut_is_not_used() {
    let folder = create_scratch_folder();
    let data = folder.path().join("data");
    let (_, environment) = prepare_setup(folder.path(), without_codex());
    let server = RunningServer::serve(&data, &[], &environment).await;
    let key = data.join("owner.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, _, output_text) = read_output(&run_command(&data, &environment, &["repos"]).await);
    assert_eq!(code, Some(1), "{output_text}");
    assert!(
        output_text.contains("owner.key") && output_text.contains("chmod 600"),
        "{output_text}"
    );
    assert!(output_text.contains("a token is needed"), "{output_text}");
    assert!(server.terminate().await.success());
    let (code, _, output_text) = read_output(&run_command(&data, &environment, &["repos"]).await);
    assert_eq!(code, Some(1), "{output_text}");
    assert!(
        output_text.contains("owner.key") && output_text.contains("chmod 600"),
        "{output_text}"
    );
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(run_command(&data, &environment, &["repos"]).await.status.code(), Some(0));
    let whole = fs::read_to_string(&key).unwrap();
    fs::write(&key, whole.trim().strip_suffix(|_: char| true).unwrap()).unwrap();
    let (code, _, output_text) = read_output(&run_command(&data, &environment, &["repos"]).await);
    assert_eq!(code, Some(1), "{output_text}");
    assert!(
        output_text.contains("owner.key") && output_text.contains("no whole key"),
        "{output_text}"
    );
}

//! Omissions are counted and named in every reply.

use codeinfo_ingest::explain_folder;
use codeinfo_test_support::wire::send_post;
use codeinfo_worktree::private_places::PrivatePlaces;
use serde_json::{Value, json};

use crate::listeners::{InProcessServer, get_json};

/// Writes a repository in which each rule about paths and contents leaves something out.
async fn start_with_shop() -> InProcessServer {
    let server = InProcessServer::start_with(&[("MAX_FILE_BYTES", "20000")]).await;
    for (path, text) in [
        ("src/cart.rs", "pub fn fill_cart() {}\n"),
        ("src/made.rs", "// @generated\npub fn made_by_tool() {}\n"),
        ("src/large.rs", &"// large\n".repeat(4000)),
        ("app.min.js", "let a;\n"),
        ("logo.png", "PNG"),
        ("notes.log", "ignored_word\n"),
        (".gitignore", "*.log\n"),
        (".editorconfig", "root = true\n"),
        (".github/ci.yml", "on: push\n"),
        (".env", "KEY=1\n"),
        ("Cargo.lock", "[[package]]\n"),
        ("go.mod", "module shop\n"),
        ("vendor/modules.txt", "# other\n"),
        ("vendor/other/pay.go", "package other\n\nfunc SettleVendorPayout() {}\n"),
    ] {
        server.write(&format!("shop/{path}"), text);
    }
    server.ingest("shop", "a shop").await;
    server
}

fn render_counts(repository: &Value) -> Vec<String> {
    let rules = repository["leftOut"].as_array().unwrap().iter();
    let line = |rule: &Value| {
        let examples: Vec<&str> = rule["examples"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| path.as_str().unwrap())
            .collect();
        let name = rule["rule"].as_str().unwrap();
        format!("{name} {} {}: {}", rule["folders"], rule["files"], examples.join(" "))
    };
    rules.map(line).collect()
}

#[tokio::test]
async fn each_rule_is_counted_in_the_message_and_in_the_reply() {
    let server = start_with_shop().await;
    let shop = get_json(&server, "/repositories/shop").await;
    insta::assert_snapshot!(render_counts(&shop).join("\n"), @r"
    vendored 1 0: vendor/
    ignored 0 1: notes.log
    hidden 1 1: .github/ .editorconfig
    generated 0 2: app.min.js src/made.rs
    lockFile 0 1: Cargo.lock
    binary 0 1: logo.png
    secret 0 1: .env
    tooLarge 0 1: src/large.rs
    ");
    insta::assert_snapshot!(shop["lastRun"]["message"].as_str().unwrap(), @r"
    skipped 1 file: src/large.rs (too large)
    left out 1 folder (other people's code): vendor/
    left out 1 file (ignored): notes.log
    left out 1 folder and 1 file (hidden): .github/, .editorconfig
    left out 2 files (generated): app.min.js, src/made.rs
    left out 1 file (lock file): Cargo.lock
    left out 1 file (no text): logo.png
    left out 1 file (secret by its name): .env
    (`!vendor/` in `.codeinfoignore` brings `vendor/` in)
    ");
    // A run without changes reports the same.
    server.ingest("shop", "a shop").await;
    let again = get_json(&server, "/repositories/shop").await;
    assert_eq!(again["leftOut"], shop["leftOut"]);
    assert_eq!(again["lastRun"]["state"], json!("skipped"));
}

#[tokio::test]
async fn files_that_codeinfoignore_includes_are_indexed() {
    let server = start_with_shop().await;
    let asked = "!vendor/\n!src/made.rs\n!Cargo.lock\n!notes.log\n!.github/\n!.env\n";
    server.write("shop/.codeinfoignore", asked);
    server.ingest("shop", "a shop").await;
    let shop = get_json(&server, "/repositories/shop").await;
    insta::assert_snapshot!(render_counts(&shop).join("\n"), @r"
    hidden 0 1: .editorconfig
    generated 0 1: app.min.js
    binary 0 1: logo.png
    secret 0 1: .env
    tooLarge 0 1: src/large.rs
    ");
    server.write("shop/.codeinfoignore", "");
    server.ingest("shop", "a shop").await;
    let shop = get_json(&server, "/repositories/shop").await;
    assert!(render_counts(&shop).contains(&"vendored 1 0: vendor/".to_owned()), "{shop}");
}

async fn call_tool(server: &InProcessServer, tool: &str, arguments: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let reply = send_post(server.main, "/mcp", &body.to_string()).await.json();
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    text.replace(&server.folder.path().canonicalize().unwrap().display().to_string(), "FOLDER")
}

#[tokio::test]
async fn tools_name_what_was_left_out_and_how_to_include_it() {
    let server = start_with_shop().await;
    let mut output_text = Vec::new();
    for (tool, arguments) in [
        ("FindUses", json!({ "name": "SettleVendorPayout" })),
        ("FindUses", json!({ "name": "made" })),
        ("VectorSearch", json!({ "query": "SettleVendorPayout" })),
        ("Outline", json!({ "path": "shop" })),
        ("Outline", json!({ "path": "shop/vendor" })),
        ("ReadLines", json!({ "path": "shop/vendor/other/pay.go" })),
        ("ReadLines", json!({ "path": "made.rs" })),
        ("ReadLines", json!({ "path": "shop/src/large.rs" })),
        ("ReadLines", json!({ "path": "notes.log" })),
        ("ReadLines", json!({ "path": "shop/.env" })),
        ("ReadLines", json!({ "path": "shop/other.png" })),
        ("ReadLines", json!({ "path": "shop/nothing.rs" })),
    ] {
        let text = call_tool(&server, tool, arguments).await;
        let text: Vec<&str> = text.lines().filter(|line| !line.contains("minute")).collect();
        output_text.push(format!("{tool}: {}", text.join("\n")));
    }
    insta::assert_snapshot!(output_text.join("\n"), @r#"
    FindUses: "SettleVendorPayout" is nowhere in the index
    (not searched, as left out: 2 folders and 5 files: vendor/ (other people's code), notes.log (ignored), .github/ and 1 more (hidden), app.min.js and 1 more (generated), src/large.rs (too large))
    FindUses: "made" is nowhere in the index
    (not searched, as left out: 2 folders and 5 files: vendor/ (other people's code), notes.log (ignored), .github/ and 1 more (hidden), src/made.rs and 1 more (generated), src/large.rs (too large))
    VectorSearch: not in the index: SettleVendorPayout
    nothing fits well; the nearest:
    [shop] FOLDER/shop/go.mod:1-1 `shop`
    1|module shop

    (not searched, as left out: 2 folders and 5 files: vendor/ (other people's code), notes.log (ignored), .github/ and 1 more (hidden), app.min.js and 1 more (generated), src/large.rs (too large))
    Outline: FOLDER/shop: 2 files, all shown with what they define
    go.mod (1): shop
    1|module shop
    src/cart.rs (1): fill_cart
    (left out of the index: vendor/ (other people's code), notes.log (ignored), .github/ and 1 more (hidden), app.min.js and 1 more (generated), Cargo.lock (lock file), logo.png (no text), .env (secret by its name), src/large.rs (too large))
    Outline: no indexed file or folder is `shop/vendor`: `vendor/` was left out of the index (other people's code); `!vendor/` in `.codeinfoignore` brings it in. It is not searched, either.
    ReadLines: no indexed file or folder is `shop/vendor/other/pay.go`: `vendor/` was left out of the index (other people's code); `!vendor/` in `.codeinfoignore` brings it in. It is not searched, either.
    ReadLines: no indexed file or folder is `made.rs`: `src/made.rs` was left out of the index (generated); `!src/made.rs` in `.codeinfoignore` brings it in. It is not searched, either.
    ReadLines: no indexed file or folder is `shop/src/large.rs`: `src/large.rs` was left out of the index (too large). It is not searched, either.
    ReadLines: no indexed file or folder is `notes.log`: `notes.log` was left out of the index (ignored); `!notes.log` in `.codeinfoignore` brings it in. It is not searched, either.
    ReadLines: no indexed file or folder is `shop/.env`: `.env` was left out of the index (secret by its name). It is not searched, either.
    ReadLines: no indexed file or folder is `shop/other.png`: `other.png` was left out of the index (no text). It is not searched, either.
    ReadLines: no indexed file or folder is `shop/nothing.rs`. Call Outline with the name of a repository to see its files, or VectorSearch to find one.
    "#);
}

#[cfg(unix)]
#[tokio::test]
async fn the_data_of_the_server_is_not_indexed_wherever_it_lies() {
    let server = InProcessServer::start().await;
    let folder = server.folder.path().canonicalize().unwrap();
    server.write("all/src/a.rs", "pub fn a() {}\n");
    std::os::unix::fs::symlink(&folder, folder.join("all/above")).unwrap();
    let body = json!({ "path": folder, "name": "whole" });
    let started = send_post(server.main, "/ingest/start", &body.to_string()).await;
    server.wait_for_run(started.json()["runId"].as_str().unwrap()).await;
    let whole = get_json(&server, "/ingest/roots").await["roots"][0].clone();
    let own = whole["leftOut"].as_array().unwrap().iter().find(|one| one["rule"] == "ownData");
    assert!(own.is_some_and(|own| own["folders"] == 1), "{whole}");
    let found =
        call_tool(&server, "ReadLines", json!({ "path": folder.join("data/roots.json") })).await;
    assert!(found.contains("data of CodeInfo itself"), "{found}");
}

#[tokio::test]
async fn explain_lists_what_git_tracks_and_is_not_indexed_by_rule() {
    let server = start_with_shop().await;
    let root = server.folder.path().join("shop").canonicalize().unwrap();
    let git = |arguments: &[&str]| {
        let mut run = std::process::Command::new("git");
        assert!(run.arg("-C").arg(&root).args(arguments).status().unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "-f", "."]);
    let explained = explain_folder(&root, 20_000, &PrivatePlaces::default()).unwrap();
    assert!(explained.is_tracked);
    let rules = explained.omitted.iter();
    let lines = rules.map(|(rule, paths)| format!("{}: {paths:?}", rule.as_str()));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    other people's code: {"vendor/": 2}
    hidden: {".editorconfig": 1, ".github/": 1, ".gitignore": 1}
    generated: {"app.min.js": 1, "src/made.rs": 1}
    lock file: {"Cargo.lock": 1}
    no text: {"logo.png": 1}
    secret by its name: {".env": 1}
    too large: {"src/large.rs": 1}
    "#);
}

//! What rules leave out is counted and named, wherever somebody asks.

use serde_json::{Value, json};

use crate::{listeners::Listeners, wire::get};

/// Writes a repository in which each rule about paths and contents leaves something out.
async fn shop() -> Listeners {
    let server = Listeners::start_with(&[("MAX_FILE_BYTES", "20000")]).await;
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

async fn read(server: &Listeners, path: &str) -> Value {
    let reply = get(server.main, path).await;
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    reply.json()
}

fn counts(repository: &Value) -> Vec<String> {
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
    let server = shop().await;
    let shop = read(&server, "/repositories/shop").await;
    insta::assert_snapshot!(counts(&shop).join("\n"), @r"
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
    // A run that changes nothing says the same.
    server.ingest("shop", "a shop").await;
    let again = read(&server, "/repositories/shop").await;
    assert_eq!(again["leftOut"], shop["leftOut"]);
    assert_eq!(again["lastRun"]["state"], json!("skipped"));
}

#[tokio::test]
async fn what_codeinfoignore_asks_for_is_indexed() {
    let server = shop().await;
    let asked = "!vendor/\n!src/made.rs\n!Cargo.lock\n!notes.log\n!.github/\n!.env\n";
    server.write("shop/.codeinfoignore", asked);
    server.ingest("shop", "a shop").await;
    let shop = read(&server, "/repositories/shop").await;
    insta::assert_snapshot!(counts(&shop).join("\n"), @r"
    hidden 0 1: .editorconfig
    generated 0 1: app.min.js
    binary 0 1: logo.png
    secret 0 1: .env
    tooLarge 0 1: src/large.rs
    ");
    server.write("shop/.codeinfoignore", "");
    server.ingest("shop", "a shop").await;
    let shop = read(&server, "/repositories/shop").await;
    assert!(counts(&shop).contains(&"vendored 1 0: vendor/".to_owned()), "{shop}");
}

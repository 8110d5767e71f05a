//! SCIP indexes that lie anywhere, given on the command line or over HTTP.

use std::{fs, os::unix::fs::symlink, path::Path};

use codeinfo_test_support::wire::{send_post, send_request};
use serde_json::json;

use crate::{
    listeners::InProcessServer,
    support::process::{create_scratch_folder, read_output, run_command, without_codex},
};

const DOOR: &str = "class Door:\n    def open(self):\n        return self\n";
const APP: &str = "import door as doors\ndef run(door):\n    door.open()\n";

/// Encodes a field of a message with a length below 128.
fn encode_field(number: u8, content: &str) -> String {
    let head = [number << 3 | 2, u8::try_from(content.len()).unwrap()].map(char::from);
    assert!(content.len() < 128);
    String::from_iter(head) + content
}

/// Encodes a document in which `open` has a place (line, first and last column) and roles.
fn encode_document(path: &str, place: &str, roles: &str) -> String {
    let open = encode_field(2, "scip-python python shop 0.1 door/Door#open().");
    let occurrence = encode_field(1, place) + &open + "\u{18}" + roles;
    encode_field(2, &(encode_field(1, path) + &encode_field(2, &occurrence) + "\u{30}\u{1}"))
}

/// Encodes an index of [`DOOR`] and [`APP`].
fn encode_index() -> String {
    encode_document("door.py", "\u{1}\u{8}\u{c}", "\u{1}")
        + &encode_document("app.py", "\u{2}\u{9}\u{d}", "\0")
}

/// Runs a command, and returns its exit code and all that it prints.
async fn run_codeinfo(data: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run_command(data, &without_codex(), arguments).await;
    let (code, printed, errors) = read_output(&output);
    (code, printed + &errors)
}

#[tokio::test]
async fn an_index_beside_the_repository_counts_until_it_or_the_repository_is_removed() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let shop = folder.path().join("shop");
    fs::create_dir(&shop).unwrap();
    fs::write(shop.join("door.py"), DOOR).unwrap();
    fs::write(shop.join("app.py"), APP).unwrap();
    let beside = folder.path().join("beside.scip");
    fs::write(&beside, encode_index()).unwrap();
    symlink(&beside, folder.path().join("link.scip")).unwrap();
    let path = shop.to_str().unwrap();
    let file = beside.to_str().unwrap();
    let callers = async || run_codeinfo(data.path(), &["callers", "Door.open", "-r", path]).await.1;
    for wrong in ["link.scip", "none.scip", "shop"] {
        let wrong = folder.path().join(wrong).display().to_string();
        let (code, said) = run_codeinfo(data.path(), &["ingest", path, "--scip", &wrong]).await;
        assert!(code == Some(1) && said.contains("cannot use the path"), "{said}");
        assert!(!said.contains("indexed "), "{said}");
    }
    let (code, said) = run_codeinfo(data.path(), &["ingest", path, "--scip", file]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("{file} has 2 files of shop")), "{said}");
    fs::remove_file(&beside).unwrap();
    let found = callers().await;
    assert!(found.contains("(the SCIP index describes 2 files"), "{found}");
    assert!(!found.contains("possible"), "{found}");
    // It is no index: the former one stays.
    fs::write(&beside, "class Door").unwrap();
    let (code, said) = run_codeinfo(data.path(), &["ingest", path, "--scip", file]).await;
    assert!(code == Some(1) && said.contains("no SCIP index"), "{said}");
    assert!(callers().await.contains("describes 2 files"));
    let (code, said) = run_codeinfo(data.path(), &["ingest", path, "--scip", ""]).await;
    assert!(code == Some(0) && said.contains("shop has no given SCIP index now"), "{said}");
    assert!(callers().await.contains("possible"));
    fs::write(&beside, encode_index()).unwrap();
    run_codeinfo(data.path(), &["ingest", path, "--scip", file]).await;
    let kept = || fs::read_dir(data.path().join("scip")).unwrap().count();
    assert_eq!(kept(), 1);
    run_codeinfo(data.path(), &["remove", "shop"]).await;
    assert_eq!(kept(), 0);
}

#[tokio::test]
async fn an_index_may_be_larger_than_other_bodies() {
    let server = InProcessServer::start_with(&[("MAX_BODY_BYTES", "1000")]).await;
    server.write("shop/door.py", DOOR);
    server.write("shop/app.py", APP);
    server.ingest("shop", "doors").await;
    // Fields that are skipped.
    let large = encode_index() + &encode_field(1, &" ".repeat(100)).repeat(100);
    let put =
        async |path: &str, body: &str| send_request(server.main, "PUT", path, &[], body).await;
    let stored = put("/ingest/scip/shop", &large).await;
    assert_eq!((stored.status, stored.json()), (200, json!({ "files": 2 })), "{stored:?}");
    assert_eq!(send_post(server.main, "/ingest/start", &large).await.status, 413);
    for (path, body, status, code) in [
        ("/ingest/scip/shop", large.replace("app.py", "app\u{7f}py").as_str(), 200, "files"),
        ("/ingest/scip/shop", "no index", 400, "VALIDATION_FAILED"),
        (
            "/ingest/scip/shop",
            &encode_index().replace(".py", ".js"),
            400,
            "run the indexer in its folder",
        ),
        ("/ingest/scip/none", "", 404, "REPO_NOT_FOUND"),
        ("/ingest/scip", "", 404, "ROUTE_NOT_FOUND"),
    ] {
        let reply = put(path, body).await;
        assert!(reply.status == status && reply.body.contains(code), "{path}: {reply:?}");
    }
    let bare = send_request(server.main, "DELETE", "/ingest/scip/shop", &[], "").await;
    assert_eq!(bare.status, 415);
    let headers = [("content-type", "application/json")];
    let removed = send_request(server.main, "DELETE", "/ingest/scip/shop", &headers, "").await;
    assert_eq!((removed.status, removed.json()), (200, json!({ "files": 0 })));
    // A browser asks first whether another site may use the method, and is not allowed to.
    let page = [("origin", "https://evil.example")];
    let asked = send_request(server.main, "OPTIONS", "/ingest/scip/shop", &page, "").await;
    assert!(asked.status == 403 && asked.header("access-control-allow-origin").is_none());
    let sent = send_request(server.main, "PUT", "/ingest/scip/shop", &page, &encode_index()).await;
    assert_eq!(sent.status, 403);
}

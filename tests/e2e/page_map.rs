//! `GET /map`: folders and files as pictures show them.

use codeinfo_test_support::wire::{send_get, send_post};
use serde_json::{Value, json};

use crate::{
    listeners::InProcessServer,
    support::model::{FakeModel, ModelReply, message_item, search_item},
};

#[tokio::test]
async fn folders_are_drawn_with_their_sizes_and_citations_and_an_answer_with_its_files() {
    let model = FakeModel::replay([
        ModelReply::Items(vec![search_item("open the store")]),
        ModelReply::Items(vec![message_item(
            "See src/app.rs:1-4 and `src/store/open.rs:2`, not src/gone.rs:1.",
        )]),
        ModelReply::Items(vec![message_item("See src/app.rs:1-4 and `src/store/open.rs:2`.")]),
    ])
    .await;
    let server = InProcessServer::start_with_codex(&model, &[]).await;
    let app = "use store::open_store;\nfn main() {\n    open_store(1);\n}\n";
    let open = "/// Opens the store.\npub fn open_store(path: u8) {\n    helper();\n}\n";
    let other = "use super::open::open_store;\npub fn helper() {\n    // open_store in words\n}\npub fn open() {}\n";
    let files = [("src/app.rs", app), ("src/store/open.rs", open), ("src/store/help.rs", other)];
    for (path, text) in files {
        server.write(&format!("demo/{path}"), text);
    }
    server.ingest("demo", "a small store").await;
    let begun =
        send_post(server.main, "/turns", r#"{"question":"How is it opened?"}"#).await.json();
    let turn = begun["turnId"].as_str().unwrap();
    let stream = send_get(server.main, &format!("/turns/{turn}")).await.body;
    assert!(stream.contains("event: final"), "{stream}");
    let drawn = send_get(server.main, "/map?repository=demo").await.json();
    let folder = |path: &str, files: usize, bytes: usize, cited: usize| json!({ "path": path, "files": files, "bytes": bytes, "cited": cited });
    assert_eq!(
        drawn,
        json!({ "repo": "demo", "truncated": false, "folders": [
            folder("src", 1, app.len(), 1),
            folder("src/store", 2, open.len() + other.len(), 1),
        ] })
    );
    let drawn = send_get(server.main, &format!("/map?turn={turn}")).await.json();
    assert_eq!(drawn["turnId"], turn);
    let files: Vec<(&str, bool, &Value)> = drawn["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (file["relPath"].as_str().unwrap(), file["cited"].as_bool().unwrap(), &file["ranges"])
        })
        .collect();
    assert_eq!(
        files[..2],
        [("src/app.rs", true, &json!(["1-4"])), ("src/store/open.rs", true, &json!(["2-2"])),]
    );
    assert_eq!((files[2].0, files[2].1), ("src/store/help.rs", false));
    assert_eq!(
        drawn["links"],
        json!([
            { "from": 0, "to": 1, "kind": "calls", "names": ["open_store"] },
            { "from": 1, "to": 2, "kind": "calls", "names": ["helper"] },
            { "from": 2, "to": 1, "kind": "imports", "names": ["open_store"] },
        ])
    );
    for (query, fault) in [
        ("", "name a `repository` or a `turn`"),
        ("?repository=demo&turn=x", "is not an id"),
        ("?folder=src", "`folder` is no parameter"),
    ] {
        let refused = send_get(server.main, &format!("/map{query}")).await;
        assert_eq!((refused.status, refused.body.contains(fault)), (400, true), "{refused:?}");
    }
    let unknown = send_get(server.main, "/map?repository=other").await;
    assert_eq!(unknown.json()["error"], "REPO_NOT_FOUND");
    let unknown = send_get(server.main, "/map?turn=00000000-0000-4000-8000-000000000000").await;
    assert_eq!(unknown.json()["error"], "TURN_NOT_FOUND");
}

//! `GET /repositories/{repo}`.

use std::{fs, path::Path, time::Duration};

use codeinfo_test_support::wire::{send_get, send_post};
use serde_json::{Value, json};

use super::{assert_refused, get_json};
use crate::{
    listeners::InProcessServer,
    support::process::{ProgramEnvironment, RunningServer, create_scratch_folder},
};

const TIMEOUT: Duration = Duration::from_mins(1);

fn list_skipped(repository: &Value) -> Vec<(String, String)> {
    let skipped = repository["lastRun"]["skipped"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    skipped.map(|one| (text(&one["path"]), text(&one["reason"]))).collect()
}

fn to_pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(path, reason)| ((*path).to_owned(), (*reason).to_owned())).collect()
}

#[tokio::test]
async fn a_repository_says_what_it_holds_and_how_its_last_run_went() {
    let server = InProcessServer::start_with(&[("MAX_FILE_BYTES", "2000")]).await;
    server.write("demo/src/a.rs", "pub fn a() {}\n");
    server.write("demo/src/b.rs", "pub fn b() {}\n");
    server.write("demo/tool.py", "def tool():\n    pass\n");
    server.write("demo/run", "#!/bin/sh\necho run\n");
    server.write("demo/empty.go", "");
    server.write("demo/<b>large</b>.rs", &"// large\n".repeat(1000));
    let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n";
    server.write("demo/key.txt", key);
    server.ingest("demo", "a demo").await;
    let path = server.folder.path().join("demo").canonicalize().unwrap();
    let mut demo = get_json(&server, "/repositories/demo").await;
    let listed = get_json(&server, "/ingest/roots").await["roots"][0].clone();
    for (name, member) in listed.as_object().unwrap() {
        assert_eq!(demo[name], *member, "{name}");
    }
    assert_eq!(demo["path"], json!(path));
    let languages = demo["languages"].as_array().unwrap();
    assert_eq!(languages[0], json!({ "language": "rust", "files": 2, "chunks": 2 }), "{demo}");
    let names: Vec<&Value> = languages.iter().map(|one| &one["language"]).collect();
    assert_eq!(names, [&json!("rust"), &Value::Null, &json!("python")]);
    let sum = |name: &str| languages.iter().map(|one| one[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!(demo["counts"]["files"], sum("files"), "a file without chunks is none");
    assert_eq!(demo["counts"]["chunks"], sum("chunks"));
    let expected = [("<b>large</b>.rs", "too large"), ("key.txt", "holds secrets")];
    assert_eq!(list_skipped(&demo), to_pairs(&expected));
    assert_eq!(demo["watch"], json!({ "state": "off" }));
    assert!(demo["bytes"].as_u64().unwrap() > 100, "{demo}");
    let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let mut expected = members(&listed);
    expected.extend(["bytes", "languages", "lastRun", "watch"].map(str::to_owned));
    let mut shown = members(&demo);
    expected.sort();
    shown.sort();
    assert_eq!(shown, expected);
    let run = demo["lastRun"].take();
    let mut shown = members(&run);
    shown.sort();
    let expected =
        ["counts", "endedAt", "message", "skipped", "skippedTotal", "startedAt", "state"];
    assert_eq!(shown, expected);
    assert_eq!((&run["state"], &run["skippedTotal"]), (&json!("completed"), &json!(2)));
    assert_eq!(run["counts"]["skipped"], 2);
    assert!(run["message"].as_str().unwrap().starts_with("skipped 2 files: "), "{run}");
    assert!(run["startedAt"].as_str().unwrap() <= run["endedAt"].as_str().unwrap());
    // The same by id and by path, and nothing by another name.
    let id = demo["id"].as_str().unwrap();
    let path = path.display().to_string().replace('/', "%2F");
    for reference in [id, &path] {
        let same = get_json(&server, &format!("/repositories/{reference}")).await;
        assert_eq!(same["id"], id);
    }
    let unknown = send_get(server.main, "/repositories/nothing").await;
    assert_refused(&unknown, (404, "REPO_NOT_FOUND"), "`nothing`");
    // Changed files are counted again.
    server.write("demo/src/c.rs", "pub fn c() {}\n");
    fs::remove_file(server.folder.path().join("demo/key.txt")).unwrap();
    server.ingest("demo", "a demo").await;
    let demo = get_json(&server, "/repositories/demo").await;
    assert_eq!(demo["languages"][0]["files"], 3, "{demo}");
    assert_eq!(list_skipped(&demo).len(), 1);
    assert_eq!(send_post(server.main, "/ingest/remove/demo", "").await.status, 200);
    let removed = send_get(server.main, "/repositories/demo").await;
    assert_refused(&removed, (404, "REPO_NOT_FOUND"), "`demo`");
}

#[tokio::test]
async fn many_skipped_files_are_counted_and_the_first_are_named() {
    let server = InProcessServer::start_with(&[("MAX_FILE_BYTES", "10")]).await;
    for number in 0..205 {
        server.write(&format!("demo/{number:03}.txt"), "more than ten bytes");
    }
    server.write("demo/a.rs", "fn a() {}");
    server.ingest("demo", "").await;
    let demo = get_json(&server, "/repositories/demo").await;
    let skipped = list_skipped(&demo);
    assert_eq!((skipped.len(), &demo["lastRun"]["skippedTotal"]), (200, &json!(205)));
    assert_eq!((skipped[0].0.as_str(), skipped[199].0.as_str()), ("000.txt", "199.txt"));
    let message = demo["lastRun"]["message"].as_str().unwrap();
    assert!(message.ends_with("009.txt (too large) and 195 more"), "{message}");
}

/// Waits until a repository is as it should be.
async fn wait_for_repository(
    program: &RunningServer,
    path: &str,
    is: impl Fn(&Value) -> bool,
) -> Value {
    let waiting = async {
        loop {
            let repository = program.get_api(path).await;
            if is(&repository) {
                return repository;
            }
            tokio::task::yield_now().await;
        }
    };
    match tokio::time::timeout(TIMEOUT, waiting).await {
        Ok(repository) => repository,
        Err(elapsed) => panic!("{elapsed}: {}", program.get_api(path).await),
    }
}

#[tokio::test]
async fn a_watched_repository_says_so_and_keeps_what_is_known_of_files_that_did_not_change() {
    let (data, place) = (create_scratch_folder(), create_scratch_folder());
    let repository = place.path().canonicalize().unwrap().join("demo");
    let write = |path: &str, text: &str| {
        let file = repository.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("src/a.rs", "fn a() {}\n");
    write("src/large.rs", &"// large\n".repeat(100));
    write("large.rs", &"// large\n".repeat(100));
    let environment = |watch: &str| -> ProgramEnvironment {
        let pairs =
            [("CODEX_BIN", "/nonexistent/codex"), ("MAX_FILE_BYTES", "500"), ("WATCH", watch)];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    };
    let serve = async |paths: &[&Path], watch| {
        RunningServer::serve(data.path(), paths, &environment(watch)).await
    };
    let program = serve(&[&repository], "true").await;
    let path = "/repositories/demo";
    let demo =
        wait_for_repository(&program, path, |demo| demo["watch"]["state"] == "watching").await;
    assert_eq!(demo["lastRun"]["skippedTotal"], 2, "{demo}");
    // A watcher that is ready sees a change.
    let mut number = 0;
    let seen = async {
        while program.get_api(path).await["lastRun"]["counts"]["files"] != 2 {
            number += 1;
            write("src/b.rs", &format!("fn b{number}() {{}}\n"));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, seen).await.unwrap();
    // A run of one file changes nothing for the others.
    write("src/large.rs", "fn small() {}\n");
    let small = |demo: &Value| demo["lastRun"]["counts"]["files"] == 3;
    let demo = wait_for_repository(&program, path, small).await;
    assert_eq!(list_skipped(&demo), to_pairs(&[("large.rs", "too large")]));
    assert_eq!(demo["lastRun"]["skippedTotal"], 1);
    // A folder that is gone is not watched, until it is back.
    let away = repository.with_extension("away");
    fs::rename(&repository, &away).unwrap();
    let failed = |demo: &Value| demo["watch"]["state"] == "failed";
    let gone = wait_for_repository(&program, path, failed).await;
    assert_eq!(gone["watch"]["reason"], "its folder is gone");
    fs::rename(&away, &repository).unwrap();
    wait_for_repository(&program, path, |demo| demo["watch"] == json!({ "state": "watching" }))
        .await;
    let before = wait_for_repository(&program, path, |demo| demo["runId"].is_null()).await;
    assert!(program.terminate().await.success());
    // Only the end of a run of a former process is known.
    let program = serve(&[], "false").await;
    let demo = program.get_api(path).await;
    assert_eq!((&demo["lastRun"], &demo["watch"]), (&Value::Null, &json!({ "state": "off" })));
    assert!(demo["lastIngestAt"].is_string() && before["lastIngestAt"].is_string());
    assert_eq!(demo["languages"], before["languages"]);
}

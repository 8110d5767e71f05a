//! Automatic updates: the real program watches, files change, and searches find the present content.

use std::{fs, path::Path, time::Duration};

use codeinfo_test_support::embeddings::{EmbeddingAnswer, FakeEmbeddingServer};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::support::process::{RunningServer, create_scratch_folder, send_signal};

/// Far more than any change needs, so that a busy machine does not fail a test.
const TIMEOUT: Duration = Duration::from_mins(1);

struct WatchedFolder {
    program: RunningServer,
    repository: TempDir,
    _data: TempDir,
}

impl WatchedFolder {
    /// A watching server with one indexed repository, which it has compared once.
    async fn new() -> Self {
        let (data, repository) = (create_scratch_folder(), create_scratch_folder());
        write_file(repository.path(), "src/first.rs", "first_harbour");
        write_file(repository.path(), ".gitignore", "*.log\n");
        let environment = [("CODEX_BIN", "/nonexistent/codex"), ("WATCH", "true")];
        let environment =
            environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let program = RunningServer::serve(data.path(), &[repository.path()], &environment).await;
        let scene = Self { program, repository, _data: data };
        // Its watches are active once a change is noticed.
        scene.write("src/ready.rs", "ready_harbour");
        scene.wait_until_found("ready_harbour", "src/ready.rs").await;
        scene
    }

    fn path(&self) -> &Path {
        self.repository.path()
    }

    fn write(&self, path: &str, name: &str) {
        write_file(self.path(), path, name);
    }

    /// The files in which chunks hold a name, in order.
    async fn find_files(&self, name: &str) -> Vec<String> {
        let reply = self.program.post_api("/tools/vector-search", &json!({ "query": name })).await;
        let results = reply["results"].as_array().unwrap_or_else(|| panic!("{reply}"));
        let holds = |hit: &&Value| hit["chunk"].as_str().is_some_and(|text| text.contains(name));
        let path = |hit: &Value| hit["relPath"].as_str().unwrap().to_owned();
        let mut files: Vec<String> = results.iter().filter(holds).map(path).collect();
        files.sort();
        files.dedup();
        files
    }

    async fn wait_for_files(&self, name: &str, files: &[&str]) {
        let mut seen = Vec::new();
        let wait = async {
            loop {
                seen = self.find_files(name).await;
                if seen == files {
                    return;
                }
            }
        };
        let ended = tokio::time::timeout(TIMEOUT, wait).await;
        assert!(ended.is_ok(), "`{name}` is in {seen:?}, not in {files:?}");
    }

    async fn wait_until_found(&self, name: &str, file: &str) {
        self.wait_for_files(name, &[file]).await;
    }

    async fn get_root(&self) -> Value {
        self.program.get_api("/ingest/roots").await["roots"][0].clone()
    }
}

fn write_file(folder: &Path, path: &str, name: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let is_code = path.extension().is_some_and(|extension| extension == "rs");
    let text = if is_code { format!("fn {name}() {{}}\n") } else { name.to_owned() };
    fs::write(path, text).unwrap();
}

#[tokio::test]
async fn a_saved_file_is_found_and_its_former_content_is_not() {
    let scene = WatchedFolder::new().await;
    scene.write("src/first.rs", "second_harbour");
    scene.wait_until_found("second_harbour", "src/first.rs").await;
    assert_eq!(scene.find_files("first_harbour").await, [""; 0]);

    // As editors save: another file takes the place of the former one.
    scene.write("src/.first.rs.swp", "third_harbour");
    fs::rename(scene.path().join("src/.first.rs.swp"), scene.path().join("src/first.rs")).unwrap();
    scene.wait_until_found("third_harbour", "src/first.rs").await;

    scene.write("deep/er/new.rs", "fourth_harbour");
    scene.wait_until_found("fourth_harbour", "deep/er/new.rs").await;
    scene.write("deep/er/new.rs", "fifth_harbour");
    scene.wait_until_found("fifth_harbour", "deep/er/new.rs").await;

    let mut root = scene.get_root().await;
    while !root["runId"].is_null() {
        root = scene.get_root().await;
    }
    assert_eq!(root["counts"]["files"], 3, "{root}");
    assert_eq!(root["lastError"], Value::Null, "{root}");
}

#[tokio::test]
async fn deleted_and_moved_files_and_folders_are_followed() {
    let scene = WatchedFolder::new().await;
    fs::remove_file(scene.path().join("src/ready.rs")).unwrap();
    scene.wait_for_files("ready_harbour", &[]).await;

    scene.write("old/one.rs", "moving_harbour");
    scene.wait_until_found("moving_harbour", "old/one.rs").await;
    fs::rename(scene.path().join("old"), scene.path().join("new")).unwrap();
    scene.wait_until_found("moving_harbour", "new/one.rs").await;
    scene.write("new/one.rs", "moved_harbour");
    scene.wait_until_found("moved_harbour", "new/one.rs").await;

    // A file takes the place of a folder.
    scene.write("lib/new", "plain_harbour");
    fs::remove_dir_all(scene.path().join("new")).unwrap();
    fs::rename(scene.path().join("lib/new"), scene.path().join("new")).unwrap();
    scene.wait_for_files("moved_harbour", &[]).await;
}

#[tokio::test]
async fn ignored_files_are_left_out_until_the_ignore_file_changes() {
    let scene = WatchedFolder::new().await;
    scene.write("notes.log", "quiet_harbour");
    scene.write("src/after.rs", "after_harbour");
    scene.wait_until_found("after_harbour", "src/after.rs").await;
    assert_eq!(scene.find_files("quiet_harbour").await, [""; 0]);

    scene.write(".gitignore", "*.rs\n");
    scene.wait_until_found("quiet_harbour", "notes.log").await;
    scene.wait_for_files("after_harbour", &[]).await;
}

#[tokio::test]
async fn a_burst_of_files_and_a_folder_that_comes_back_are_indexed() {
    let scene = WatchedFolder::new().await;
    for number in 0..2000 {
        scene.write(&format!("many/{}/f{number}.rs", number % 40), &format!("harbour_{number}"));
    }
    let all = async {
        while scene.get_root().await["counts"]["files"] != 2002 {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(TIMEOUT, all).await;
    assert!(ended.is_ok(), "{}", scene.get_root().await);

    let away = scene.path().with_extension("away");
    fs::rename(scene.path(), &away).unwrap();
    fs::create_dir(scene.path()).unwrap();
    scene.write("src/other.rs", "other_harbour");
    scene.wait_until_found("other_harbour", "src/other.rs").await;
    scene.wait_for_files("first_harbour", &[]).await;
    fs::remove_dir_all(away).unwrap();
}

#[tokio::test]
async fn a_requested_run_is_served_while_files_change() {
    let scene = WatchedFolder::new().await;
    for number in 0..300 {
        scene.write(&format!("many/f{number}.rs"), &format!("harbour_{number}"));
    }
    let status = scene.program.ingest(scene.path()).await;
    assert!(matches!(status["state"].as_str(), Some("completed" | "skipped")), "{status}");
    assert_eq!(status["counts"]["files"], 302, "{status}");
    let run = status["runId"].as_str().unwrap();
    for number in 0..20 {
        scene.write("src/first.rs", &format!("pier_{number}"));
        scene.wait_until_found(&format!("pier_{number}"), "src/first.rs").await;
    }
    let later = scene.program.get_api(&format!("/ingest/status/{run}")).await;
    assert_eq!(later, status);
}

#[tokio::test]
async fn a_save_does_not_wait_for_the_run_of_another_repository() {
    let slow = |asked: &Value| {
        let is_slow = asked["input"].to_string().contains("endless_harbour");
        if is_slow { EmbeddingAnswer::Silent } else { EmbeddingAnswer::Vectors }
    };
    let embeddings = FakeEmbeddingServer::start_with_script(slow).await;
    let (data, saved, endless) =
        (create_scratch_folder(), create_scratch_folder(), create_scratch_folder());
    write_file(saved.path(), "src/first.rs", "first_harbour");
    write_file(endless.path(), "src/first.rs", "endless_harbour");
    let environment = [
        ("CODEX_BIN", "/nonexistent/codex"),
        ("WATCH", "true"),
        ("EMBEDDING_URL", &embeddings.url),
        ("EMBEDDING_MODEL", "stand-in"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let program = RunningServer::serve(data.path(), &[saved.path()], &environment).await;
    let scene = WatchedFolder { program, repository: saved, _data: data };
    let path = endless.path().to_str().unwrap();
    let run =
        scene.program.post_api("/ingest/start", &json!({ "path": path })).await["runId"].clone();
    scene.write("src/first.rs", "second_harbour");
    scene.wait_until_found("second_harbour", "src/first.rs").await;
    let path = format!("/ingest/status/{}", run.as_str().unwrap());
    assert_eq!(scene.program.get_api(&path).await["state"], "embedding");
}

#[tokio::test]
async fn stopping_does_not_wait_for_a_run_of_the_watcher() {
    let scene = WatchedFolder::new().await;
    for number in 0..3000 {
        scene.write(&format!("many/f{number}.rs"), &format!("harbour_{number}"));
    }
    let begun = async { while scene.get_root().await["runId"].is_null() {} };
    // The run may also have ended between two looks.
    drop(tokio::time::timeout(Duration::from_secs(5), begun).await);
    let stopped = tokio::time::timeout(TIMEOUT, scene.program.terminate()).await;
    assert!(stopped.unwrap().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn without_enough_watches_roots_are_compared_and_the_log_says_what_to_raise() {
    let namespace = Command::new("unshare").args(["--user", "--map-root-user", "true"]).status();
    let is_allowed = namespace.await.is_ok_and(|status| status.success());
    assert!(is_allowed, "the limit of watches is set in a user namespace; allow making one");
    let (data, repository) = (create_scratch_folder(), create_scratch_folder());
    for folder in 0..5 {
        write_file(repository.path(), &format!("part{folder}/code.rs"), "early_harbour");
    }
    let environment =
        [("CODEX_BIN", "/nonexistent/codex"), ("WATCH", "true"), ("LOG_LEVEL", "warn")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let folders = [repository.path()];
    let (program, mut log) =
        RunningServer::serve_with_watches(3, data.path(), &folders, &environment).await;
    let reported = async {
        while let Some(line) = log.next_line().await.unwrap() {
            if line.contains("fs.inotify.max_user_watches") {
                return;
            }
        }
        panic!("the log ended without a line about watches");
    };
    tokio::time::timeout(TIMEOUT, reported).await.unwrap();

    // More folders than watches: some of these changes are not reported.
    for folder in 0..5 {
        let text = format!("late_harbour {folder}");
        write_file(repository.path(), &format!("part{folder}/late.rs"), &text);
    }
    let scene = WatchedFolder { program, repository, _data: data };
    let late: Vec<String> = (0..5).map(|folder| format!("part{folder}/late.rs")).collect();
    scene
        .wait_for_files("late_harbour", &late.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn files_whose_events_the_system_dropped_are_indexed() {
    use std::os::unix::fs::PermissionsExt;
    let scene = WatchedFolder::new().await;
    let pid = scene.program.pid();
    let room = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let room: u32 = room.trim().parse().unwrap();
    send_signal("STOP", pid).await;
    let files = ["src/first.rs", "src/ready.rs"].map(|path| scene.path().join(path));
    for change in 0..room {
        // Equal events in a row count once.
        for file in &files {
            let mode = if change % 2 == 0 { 0o600 } else { 0o644 };
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
    // Nothing reports this any more.
    scene.write("src/late.rs", "late_harbour");
    send_signal("CONT", pid).await;
    scene.wait_until_found("late_harbour", "src/late.rs").await;
}

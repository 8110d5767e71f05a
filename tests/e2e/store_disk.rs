//! A disk that is full, that may only be read, or that goes away: nothing is lost, nothing is called damage,
//! and faults are reported.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{sys::stat::Mode, unistd::mkfifo};
use tokio::{process::Command, time::timeout};

use crate::support::process::{
    RunningServer, create_scratch_folder, run_command, run_on_small_disk, spawn_command,
    without_codex,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_that_others_may_read_is_closed_to_them() {
    let root = create_scratch_folder();
    let data = root.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
    let repository = root.path().join("demo");
    fs::create_dir(&repository).unwrap();
    fs::write(repository.join("a.rs"), "fn first() {}\n").unwrap();
    let path = repository.to_str().unwrap();
    let output = run_command(&data, &without_codex(), &["ingest", path]).await;
    assert!(output.status.success(), "{output:?}");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    let mut folders = vec![data];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
}

/// Returns whether a disk can be mounted here; reports it where not.
async fn can_mount() -> bool {
    let mut command = Command::new("unshare");
    let mounted = command.args(["--user", "--map-root-user", "--mount", "true"]).status().await;
    let may = mounted.is_ok_and(|status| status.success());
    if !may {
        writeln!(
            io::stdout(),
            "skipped: namespaces are forbidden here, so that no small disk can be mounted"
        )
        .unwrap();
    }
    may
}

fn create_repository(count: usize) -> tempfile::TempDir {
    let folder = create_scratch_folder();
    write_files(folder.path(), "valve", count);
    folder
}

fn write_files(folder: &Path, word: &str, count: usize) {
    for number in 0..count {
        let code = format!("/// Opens the {word} {number}.\nfn relieve_{word}_{number}() {{}}\n");
        fs::write(folder.join(format!("{word}{number}.rs")), code).unwrap();
    }
}

/// Fills the disk.
fn fill_disk(path: &Path) {
    let mut filler = File::create(path).unwrap();
    for size in [1 << 20, 1] {
        while filler.write_all(&vec![7; size]).is_ok() {}
    }
}

#[tokio::test]
async fn a_server_whose_disk_is_full_says_so_and_continues_when_there_is_room() {
    if !can_mount().await {
        return;
    }
    let (repository, data) = (create_repository(40), create_scratch_folder());
    let paths = [repository.path()];
    let server =
        RunningServer::serve_on_small_disk("120m", data.path(), &paths, &without_codex()).await;
    let root = PathBuf::from(format!("/proc/{}/root", server.pid()));
    let mounted = root.join(data.path().strip_prefix("/").unwrap());
    fill_disk(&mounted.join("filler"));
    write_files(repository.path(), "pump", 40);
    let ended = server.ingest(repository.path()).await;
    assert_eq!(ended["state"], "error", "{ended}");
    let error = ended["lastError"].as_str().unwrap();
    let is_named = ["make room and ingest again", "No space left on device"];
    assert!(is_named.iter().any(|name| error.contains(name)), "{ended}");
    let health = server.get_api("/health").await;
    assert_eq!(health["store"]["ok"], false, "{health}");
    let reason = health["store"]["reason"].as_str().unwrap();
    assert!(reason.contains("make room and ingest again"), "{health}");
    // The former content is found at any time.
    let query = serde_json::json!({ "query": "relieve valve", "limit": 20 });
    let found = server.post_api("/tools/vector-search", &query).await;
    assert_eq!(found["results"].as_array().map(Vec::len), Some(20), "{found}");

    fs::remove_file(mounted.join("filler")).unwrap();
    let ended = server.ingest(repository.path()).await;
    assert_eq!(ended["state"], "completed", "{ended}");
    let health = server.get_api("/health").await;
    assert_eq!(health["store"]["ok"], true, "{health}");
    assert_eq!(health["store"]["chunks"], 80, "{health}");
    server.terminate().await;
}

/// Indexes a repository, and fills the disk before and in the middle of another run.
const FULL: &str = r#"
set -e
"$0" ingest "$REPOSITORY" --name boiler
fill() { while head -c "$1" /dev/zero >> "$DATA_DIR/filler"; do :; done 2>/dev/null; }
mkdir "$REPOSITORY/more"
for round in before amid; do
    for i in $(seq 500); do echo "fn relieve_${round}_$i() {}" > "$REPOSITORY/more/$round$i.rs"; done
    "$0" ingest "$REPOSITORY" > "$REPOSITORY/../said" 2>&1 & run=$!
    [ $round = amid ] || kill -STOP $run || true
    until grep -q "\"pid\":$run," "$DATA_DIR/lock.json" || [ $round = before ]; do sleep 0.05; done
    fill 1048576; fill 1
    kill -CONT $run 2>/dev/null || true
    if wait $run; then echo "$round: completed"; else echo "$round: failed"; fi
    cat "$REPOSITORY/../said"
    if "$0" search relieve > /dev/null; then echo "$round: searched"; fi
    rm "$DATA_DIR/filler"
    "$0" repos
done
"$0" ingest "$REPOSITORY"
"$0" search relieve --limit 20
ls "$DATA_DIR"
"#;

#[tokio::test]
async fn a_command_whose_disk_is_full_loses_nothing() {
    if !can_mount().await {
        return;
    }
    let (repository, data) = (create_repository(20), create_scratch_folder());
    let mut environment = without_codex();
    environment.push(("REPOSITORY".to_owned(), repository.path().to_str().unwrap().to_owned()));
    let output = run_on_small_disk("120m", FULL, data.path(), &environment).await;
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{output_text}{complaints}");
    assert!(output_text.contains("before: failed"), "{output_text}");
    assert!(output_text.contains("make room and ingest again"), "{output_text}");
    assert!(
        output_text.contains("before: searched") && output_text.contains("amid: searched"),
        "{output_text}"
    );
    assert!(
        !complaints.contains("is damaged") && !output_text.contains("damaged"),
        "{output_text}{complaints}"
    );
    assert!(
        output_text.contains("relieve_valve_") && output_text.contains("1020 files"),
        "{output_text}"
    );
}

/// Indexes a repository, fills the disk, and starts the server.
const START_ON_FULL_DISK: &str = r#"
set -e
"$0" ingest "$REPOSITORY" --name boiler
fill() { while head -c "$1" /dev/zero >> "$DATA_DIR/filler"; do :; done 2>/dev/null; }
fill 1048576; fill 1
"$0" serve > "$REPOSITORY/../log" 2>&1 & server=$!
until grep -q "HTTP API" "$REPOSITORY/../log"; do kill -0 $server; sleep 0.05; done
"$0" search relieve --limit 1
"$0" serve 2>&1 || true
kill -TERM $server
wait $server
"#;

#[tokio::test]
async fn a_server_starts_on_a_full_disk_and_is_found_by_commands() {
    if !can_mount().await {
        return;
    }
    let (folder, data) = (create_scratch_folder(), create_scratch_folder());
    let repository = folder.path().join("demo");
    fs::create_dir(&repository).unwrap();
    write_files(&repository, "valve", 20);
    let mut environment = without_codex();
    environment.push(("REPOSITORY".to_owned(), repository.to_str().unwrap().to_owned()));
    environment.push(("PORT".to_owned(), "0".to_owned()));
    environment.push(("MCP_PORT".to_owned(), "0".to_owned()));
    environment.push(("LOG_LEVEL".to_owned(), "info".to_owned()));
    let output = run_on_small_disk("120m", START_ON_FULL_DISK, data.path(), &environment).await;
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(output.status.success(), "{output_text}{log}{output:?}");
    assert!(output_text.contains("relieve_valve_"), "{output_text}");
    assert!(log.contains("/tools/vector-search"), "the search was answered by the server: {log}");
    assert!(output_text.contains("in use by process"), "{output_text}");
}

#[tokio::test]
async fn a_disk_that_may_only_be_read_is_named() {
    if !can_mount().await {
        return;
    }
    let (repository, data) = (create_repository(3), create_scratch_folder());
    let mut environment = without_codex();
    environment.push(("REPOSITORY".to_owned(), repository.path().to_str().unwrap().to_owned()));
    let script = r#"
        "$0" ingest "$REPOSITORY" && mount -o remount,ro "$DATA_DIR" || exit
        for command in serve "ingest $REPOSITORY"; do "$0" $command && exit 7; done
        "$0" repos && "$0" search valve || exit
        mount -o remount,rw "$DATA_DIR" && "$0" search valve && ls "$DATA_DIR""#;
    let output = run_on_small_disk("80m", script, data.path(), &environment).await;
    let output_text = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{output_text}{complaints}");
    assert_eq!(complaints.matches("Read-only file system").count(), 2, "{complaints}");
    assert!(complaints.contains(data.path().to_str().unwrap()), "{complaints}");
    assert!(
        output_text.contains("relieve_valve_2") && !output_text.contains("damaged"),
        "{output_text}"
    );
}

#[tokio::test]
async fn a_deleted_store_is_left_alone_and_created_by_the_next_server() {
    let (repository, data) = (create_repository(20), create_scratch_folder());
    let server = RunningServer::serve(data.path(), &[repository.path()], &without_codex()).await;
    let store = data.path().join("store");
    fs::remove_dir_all(&store).unwrap();
    let is_unwell = async |server: &RunningServer| {
        let health = server.get_api("/health").await;
        assert_eq!(health["store"]["ok"], false, "{health}");
        let reason = health["store"]["reason"].as_str().unwrap();
        assert!(reason.contains("was removed or replaced"), "{health}");
    };
    is_unwell(&server).await;
    // Another folder is there now, which does not belong to this server.
    fs::create_dir(&store).unwrap();
    fs::write(store.join("lock"), "").unwrap();
    write_files(repository.path(), "pump", 5);
    let ended = server.ingest(repository.path()).await;
    assert!(ended["lastError"].as_str().unwrap().contains("was removed or replaced"), "{ended}");
    is_unwell(&server).await;
    server.terminate().await;
    let left: Vec<_> = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [store.join("lock")]);

    let server = RunningServer::serve(data.path(), &[repository.path()], &without_codex()).await;
    let health = server.get_api("/health").await;
    assert_eq!(health["store"]["chunks"], 25, "{health}");
    assert_eq!(health["store"]["ok"], true, "{health}");
    let refused = run_command(data.path(), &without_codex(), &["serve"]).await;
    let output_text = String::from_utf8_lossy(&refused.stderr).into_owned();
    let holder = format!("is in use by process {} at {}", server.pid(), server.main);
    assert!(!refused.status.success() && output_text.contains(&holder), "{output_text}");
    server.terminate().await;
}

#[tokio::test]
async fn two_servers_that_start_together_leave_one() {
    let data = create_scratch_folder();
    let environment = without_codex();
    let mut servers = [(); 2].map(|()| spawn_command(data.path(), &environment, &["serve"]));
    let [first, second] = &mut servers;
    let ended = tokio::select! {
        ended = first.wait() => ended,
        ended = second.wait() => ended,
    };
    assert!(!ended.unwrap().success());
    let running = servers.iter_mut().filter_map(|server| server.try_wait().unwrap());
    assert_eq!(running.count(), 1);
}

/// Time limit of a command.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Creates a special file at a path.
type CreateObstacle = fn(&Path);

#[tokio::test]
async fn a_lock_that_is_no_file_is_refused_with_its_name() {
    let kinds: [(&str, CreateObstacle); 4] = [
        ("pipe", |path| mkfifo(path, Mode::S_IRWXU).unwrap()),
        ("folder", |path| fs::create_dir(path).unwrap()),
        ("endless", |path| symlink("/dev/zero", path).unwrap()),
        ("large", |path| File::create(path).unwrap().set_len(64 << 30).unwrap()),
    ];
    for name in ["lock", "lock.alive"] {
        for (kind, create) in kinds {
            let data = create_scratch_folder();
            let path = data.path().join(name);
            create(&path);
            let environment = without_codex();
            let running = run_command(data.path(), &environment, &["repos"]);
            let output = timeout(TIMEOUT, running).await.expect("the command hangs");
            // A large file can be locked like any other.
            assert_eq!(output.status.success(), kind == "large", "{kind} {name}");
            let output_text = String::from_utf8_lossy(&output.stderr);
            let is_named = output_text.contains(path.to_str().unwrap())
                && output_text.contains("is not a regular file; move it away");
            assert!(output.status.success() || is_named, "{output_text}");
        }
    }
}

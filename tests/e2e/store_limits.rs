//! Refusals of the system are no damage; damage is repaired by the real program, which reports it.

use codeinfo_test_support::sources::list_files;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use codeinfo_test_support::embedded::list_damaged_stores;
use serde_json::Value;
use tokio::{process::Command, time::timeout};

use crate::support::process::{
    RunningServer, create_scratch_folder, program_command, run_command, run_unprivileged,
    run_with_limits, without_codex,
};

/// Time limit of one command.
const TIMEOUT: Duration = Duration::from_mins(1);

fn create_repository(count: usize) -> tempfile::TempDir {
    let folder = create_scratch_folder();
    for number in 0..count {
        let code = format!("/// Opens the valve {number}.\nfn relieve_pressure_{number}() {{}}\n");
        fs::write(folder.path().join(format!("valve{number}.rs")), code).unwrap();
    }
    folder
}

fn read_report(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A data folder with an index of `repository`, named and described.
async fn create_index(repository: &Path) -> tempfile::TempDir {
    let data = create_scratch_folder();
    let path = repository.to_str().unwrap();
    let arguments = ["ingest", path, "--name", "boiler", "--description", "heats"];
    let output = run_command(data.path(), &without_codex(), &arguments).await;
    assert!(output.status.success(), "{}", read_report(&output));
    data
}

/// Finds a segment of the index.
fn find_segment(data: &Path) -> PathBuf {
    let all = list_files(&data.join("store"));
    all.into_iter().find(|path| path.extension().is_some_and(|it| it == "segment")).unwrap()
}

async fn assert_finds_all(data: &Path) {
    let output =
        run_command(data, &without_codex(), &["search", "relieve pressure", "--limit", "3"]).await;
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && output_text.contains("relieve_pressure"),
        "{}",
        read_report(&output)
    );
    assert_eq!(list_damaged_stores(data), [""; 0]);
}

#[tokio::test]
async fn too_few_open_files_are_no_damage() {
    let repository = create_repository(20);
    let data = create_index(repository.path()).await;
    let path = repository.path().to_str().unwrap();
    let mut refusals = Vec::new();
    // One of them leaves no file for the connection that the command makes to its own server.
    for limit in 14..40 {
        let (limit, environment) = (format!("-n {limit}"), without_codex());
        let arguments = ["ingest", path];
        let running = run_with_limits(&limit, data.path(), &environment, &arguments);
        let output = timeout(TIMEOUT, running).await.expect(&limit);
        let output_text = read_report(&output);
        assert!(!output_text.contains("repairs it"), "{limit}: {output_text}");
        assert!(!output_text.contains("no longer a folder"), "{limit}: {output_text}");
        refusals.extend((!output.status.success()).then_some(output_text));
        assert_eq!(list_damaged_stores(data.path()), [""; 0], "{limit}");
    }
    assert!(
        refusals.iter().any(|output_text| output_text.contains("nothing is damaged")),
        "{refusals:?}"
    );
    assert_finds_all(data.path()).await;
}

#[tokio::test]
async fn too_little_memory_is_no_damage() {
    let repository = create_repository(20);
    let data = create_index(repository.path()).await;
    let path = repository.path().to_str().unwrap();
    // By how much is mapped, in KiB.
    for limit in (300_000..900_000).step_by(100_000) {
        let limit = format!("-v {limit}");
        let (environment, arguments) = (without_codex(), ["ingest", path]);
        let running = run_with_limits(&limit, data.path(), &environment, &arguments);
        // Where memory ends while a stack is recorded, the standard library waits for itself.
        let Ok(output) = timeout(Duration::from_secs(10), running).await else { continue };
        let output_text = read_report(&output);
        assert!(!output_text.contains("repairs it"), "{limit}: {output_text}");
        assert_eq!(list_damaged_stores(data.path()), [""; 0], "{limit}");
    }
    assert_finds_all(data.path()).await;
}

#[tokio::test]
async fn a_start_that_fails_forgets_no_root_of_a_store_that_is_gone() {
    let repository = create_repository(3);
    let data = create_index(repository.path()).await;
    let (store, other) = (data.path().join("store"), create_scratch_folder());
    let arguments = ["ingest", other.path().to_str().unwrap()];
    // Until one fails that had made a new store.
    for limit in 12..64 {
        fs::remove_dir_all(&store).unwrap();
        let (limit, environment) = (format!("-n {limit}"), without_codex());
        let running = run_with_limits(&limit, data.path(), &environment, &arguments);
        let output = timeout(TIMEOUT, running).await.expect(&limit);
        assert!(!output.status.success(), "no limit was met by the engine");
        if store.join("manifest.json").try_exists().unwrap() {
            break;
        }
        fs::create_dir_all(&store).unwrap();
    }
    let server = RunningServer::serve(data.path(), &[], &without_codex()).await;
    let ended = server.ingest(repository.path()).await;
    assert_eq!((&ended["state"], &ended["counts"]["chunks"]), (&"completed".into(), &3.into()));
    let roots = server.get_api("/ingest/roots").await;
    let mut roots = roots["roots"].as_array().unwrap().iter();
    let boiler = roots.find(|root| root["name"] == "boiler").unwrap();
    assert_eq!(boiler["description"], "heats");
    server.terminate().await;
}

#[tokio::test]
async fn a_command_says_that_the_index_it_read_is_not_whole() {
    let repository = create_repository(3);
    let data = create_index(repository.path()).await;
    let note = "the index is damaged, results may be missing; \"codeinfo serve\" repairs it";
    let output_text = async |arguments: &[&str]| {
        let mut command = program_command(data.path(), &without_codex());
        // No repository is around it which a search could name.
        let output = command.args(arguments).current_dir("/").output().await.unwrap();
        assert!(output.status.success(), "{}", read_report(&output));
        (String::from_utf8_lossy(&output.stdout).into_owned(), read_report(&output))
    };
    fs::remove_dir_all(data.path().join("store")).unwrap();
    // Nothing can be repaired of a repository whose folder is missing.
    let away = repository.path().with_extension("away");
    fs::rename(repository.path(), &away).unwrap();
    RunningServer::serve(data.path(), &[], &without_codex()).await.terminate().await;
    for arguments in [&["repos"][..], &["search", "relieve pressure"]] {
        let (_, complaint) = output_text(arguments).await;
        assert!(complaint.contains(note), "{arguments:?}: {complaint}");
    }
    let other = create_repository(2);
    let (_, complaint) = output_text(&["ingest", other.path().to_str().unwrap()]).await;
    assert!(complaint.contains(note), "{complaint}");
    fs::rename(&away, repository.path()).unwrap();
    output_text(&["ingest", repository.path().to_str().unwrap()]).await;
    let (found, complaint) = output_text(&["search", "relieve pressure"]).await;
    assert!(found.contains("relieve_pressure"), "{found}");
    assert_eq!(complaint, "");
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_no_damage() {
    let repository = create_repository(3);
    let data = create_index(repository.path()).await;
    let path = repository.path().to_str().unwrap();
    for file in [find_segment(data.path()), data.path().join("store/manifest.json")] {
        let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        mode(0);
        let output = run_unprivileged(data.path(), &without_codex(), &["ingest", path]).await;
        mode(0o644);
        let output_text = read_report(&output);
        assert!(!output.status.success(), "{output_text}");
        assert!(
            output_text.contains("Permission denied")
                && output_text.contains("read and write access"),
            "{output_text}"
        );
        assert_eq!(list_damaged_stores(data.path()), [""; 0]);
    }
    assert_finds_all(data.path()).await;
}

#[tokio::test]
async fn a_limit_of_file_sizes_fails_writes_and_says_so_until_it_is_raised() {
    let repository = create_repository(3);
    let data = create_index(repository.path()).await;
    // The log is a file as well, which takes no more.
    let log = data.path().join("log");
    let server = RunningServer::serve_logging_to(&log, data.path(), &without_codex()).await;
    let limit = async |bytes: &str| {
        let arguments = [format!("--pid={}", server.pid()), format!("--fsize={bytes}:unlimited")];
        let set = Command::new("prlimit").args(arguments).status().await;
        assert!(set.unwrap().success());
    };
    limit("100").await;
    fs::write(repository.path().join("pump.rs"), "fn pump_water() {}\n").unwrap();
    let ended = server.ingest(repository.path()).await;
    assert_eq!(ended["state"], "error", "{ended}");
    assert!(ended["lastError"].as_str().unwrap().contains("File too large"), "{ended}");
    let health = server.get_api("/health").await;
    assert_eq!(health["store"]["ok"], false, "{health}");
    assert!(health["store"]["reason"].as_str().unwrap().contains("File too large"), "{health}");
    assert_eq!(fs::metadata(&log).unwrap().len(), 100);
    limit("unlimited").await;
    let ended = server.ingest(repository.path()).await;
    assert_eq!(ended["state"], "completed", "{ended}");
    assert_eq!(server.get_api("/health").await["store"]["ok"], true);
    server.terminate().await;
    assert_finds_all(data.path()).await;
}

#[tokio::test]
async fn idle_connections_give_way_where_open_files_are_few() {
    let data = tempfile::tempdir().unwrap();
    let server = RunningServer::serve_with_files(64, data.path(), &without_codex()).await;
    let address = server.main.strip_prefix("http://").unwrap().to_owned();
    let mut idle = Vec::new();
    for _ in 0..80 {
        idle.push(tokio::net::TcpStream::connect(&address).await.unwrap());
    }
    let began = std::time::Instant::now();
    assert!(server.get_api("/health").await.is_object());
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(idle);
    server.terminate().await;
}

#[tokio::test]
async fn a_damaged_index_is_repaired_by_the_server_which_says_so() {
    let repository = create_repository(40);
    let data = create_index(repository.path()).await;
    let server = RunningServer::serve(data.path(), &[], &without_codex()).await;
    let before = describe_server(&server).await;
    server.terminate().await;
    let damages: [(&str, &str); 3] = [
        ("segment", "is not what was written"),
        ("manifest.json", "`manifest.json`"),
        ("", "folder is missing"),
    ];
    for (file, reason) in damages {
        match file {
            "" => fs::remove_dir_all(data.path().join("store")).unwrap(),
            "manifest.json" => fs::write(data.path().join("store").join(file), "{").unwrap(),
            _ => {
                let path = find_segment(data.path());
                let mut bytes = fs::read(&path).unwrap();
                bytes[8..16].fill(0xee);
                fs::write(&path, bytes).unwrap();
            }
        }
        let refused = run_command(data.path(), &without_codex(), &["serve", "--no-repair"]).await;
        assert!(!refused.status.success());
        assert!(
            read_report(&refused).contains("is damaged") && read_report(&refused).contains(reason)
        );
        // While the folder is missing nothing can be repaired, so that there is time to read the report.
        let away = repository.path().with_extension("away");
        fs::rename(repository.path(), &away).unwrap();
        let server = RunningServer::serve(data.path(), &[], &without_codex()).await;
        let health = server.get_api("/health").await;
        assert_eq!(health["store"]["ok"], false, "{health}");
        let output_text = health["store"]["reason"].as_str().unwrap();
        assert!(
            output_text.contains(reason) && output_text.contains("repairing: boiler"),
            "{output_text}"
        );
        fs::rename(&away, repository.path()).unwrap();
        // The first may join a repair that still finds no folder.
        let completed =
            async { while server.ingest(repository.path()).await["state"] == "error" {} };
        timeout(TIMEOUT, completed).await.unwrap();
        assert_eq!(server.get_api("/health").await["store"]["ok"], true);
        assert_eq!(describe_server(&server).await, before, "{file}");
        server.terminate().await;
    }
    assert!(list_damaged_stores(data.path()).len() <= 2, "{:?}", list_damaged_stores(data.path()));
}

/// Names, descriptions, counts and answers.
async fn describe_server(server: &RunningServer) -> Vec<Value> {
    let roots = server.get_api("/ingest/roots").await;
    let root = &roots["roots"][0];
    let query = serde_json::json!({ "query": "valve seven pressure", "limit": 20 });
    let found = server.post_api("/tools/vector-search", &query).await;
    let hits = found["results"].as_array().unwrap_or_else(|| panic!("{found}"));
    let mut seen = vec![
        root["name"].clone(),
        root["description"].clone(),
        root["counts"]["chunks"].clone(),
        root["lastError"].clone(),
    ];
    seen.extend(hits.iter().map(|hit| hit["relPath"].clone()));
    seen
}

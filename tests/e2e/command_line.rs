//! The program as a person runs it: usage, exit codes, commands with and without a server.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;

use crate::support::{
    codex,
    process::{
        RunningServer, apply_environment, create_scratch_folder, read_output, run_command,
        send_signal, spawn_command, without_codex,
    },
};

fn create_repository() -> tempfile::TempDir {
    let folder = create_scratch_folder();
    fs::create_dir(folder.path().join("src")).unwrap();
    let code = "/// Opens the valve when the pressure is too high.\nfn relieve_pressure() {}\n";
    fs::write(folder.path().join("src/valve.rs"), code).unwrap();
    fs::write(folder.path().join("README.md"), "# Boiler\n\nHeats water.\n").unwrap();
    folder
}

/// Returns a manifest in which one text is another, with its checksum.
fn edit_manifest(manifest: &str, from: &str, to: &str) -> String {
    let sum = |text: &str| text.split('"').nth(3).unwrap().to_owned();
    let text = manifest.replace(from, to).replacen(&sum(manifest), "00000000", 1);
    text.replacen("00000000", &format!("{:08x}", crc32fast::hash(text.as_bytes())), 1)
}

async fn run_codeinfo(data: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    read_output(&run_command(data, &without_codex(), arguments).await)
}

#[tokio::test]
async fn completions_of_every_shell_name_every_command() {
    let data = create_scratch_folder();
    let (_, help, _) = run_codeinfo(data.path(), &["help"]).await;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> = commands
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(commands.contains(&"serve") && commands.contains(&"completions"), "{help}");
    // With a setting that no other command would start with.
    let bad = vec![("MAX_BATCH".to_owned(), "many".to_owned())];
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run_command(data.path(), &bad, &["completions", shell]).await;
        let (code, script, output_text) = read_output(&script);
        assert_eq!((code, output_text.as_str()), (Some(0), ""), "{shell}");
        for command in &commands {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(run_codeinfo(data.path(), &["completions", "tcsh"]).await.0, Some(2));
}

#[tokio::test]
async fn wrong_usage_and_bad_settings_exit_with_2() {
    let data = create_scratch_folder();
    let (code, _, output_text) = run_codeinfo(data.path(), &["serv"]).await;
    assert_eq!(code, Some(2));
    assert!(output_text.contains("serve"), "{output_text}");

    let bad = vec![("MAX_BATCH".to_owned(), "many".to_owned())];
    let (code, _, output_text) = read_output(&run_command(data.path(), &bad, &["repos"]).await);
    assert_eq!(code, Some(2));
    assert_eq!(output_text.lines().count(), 1, "{output_text}");
    assert!(output_text.contains("MAX_BATCH"), "{output_text}");
}

#[tokio::test]
async fn numbers_are_numbers_in_a_log_of_json() {
    let data = create_scratch_folder();
    let mut set = without_codex();
    set.extend(
        [("LOG_FORMAT", "json"), ("LOG_LEVEL", "info")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let (_, _, log) = read_output(&run_command(data.path(), &set, &["repos"]).await);
    let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answered = lines.find(|line| line["fields"]["message"] == "answered").unwrap();
    assert!(answered["fields"]["elapsed_ms"].is_u64(), "{answered}");
}

#[tokio::test]
async fn help_and_version_succeed() {
    let data = create_scratch_folder();
    let (code, help, _) = run_codeinfo(data.path(), &["--help"]).await;
    assert_eq!(code, Some(0));
    for command in ["serve", "ingest", "search", "ask", "repos", "remove", "doctor"] {
        assert!(help.contains(command), "{help}");
    }
    let (code, version, _) = run_codeinfo(data.path(), &["--version"]).await;
    assert_eq!((code, version.trim()), (Some(0), concat!("codeinfo ", env!("CARGO_PKG_VERSION"))));
}

#[tokio::test]
async fn commands_work_without_a_server() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let path = repository.path().to_str().unwrap();
    let (code, output_text, stderr) =
        run_codeinfo(data.path(), &["ingest", path, "--name", "boiler"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(output_text.contains("2 files"), "{output_text}");

    let (code, output_text, _) = run_codeinfo(data.path(), &["ingest", path]).await;
    assert_eq!(code, Some(0));
    assert!(output_text.contains("nothing changed"), "{output_text}");

    let (code, output_text, stderr) =
        run_codeinfo(data.path(), &["search", "relieve pressure"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(output_text.lines().next().unwrap().contains("src/valve.rs:1-2"), "{output_text}");

    let (code, output_text, _) = run_codeinfo(data.path(), &["repos", "--json"]).await;
    assert_eq!(code, Some(0));
    let repos: Value = serde_json::from_str(&output_text).unwrap();
    assert_eq!(repos["repos"][0]["name"], "boiler");

    let (code, output_text, _) = run_codeinfo(data.path(), &["remove", "boiler"]).await;
    assert_eq!((code, output_text.trim()), (Some(0), "removed boiler from the index"));
    let (code, _, output_text) = run_codeinfo(data.path(), &["search", "valve"]).await;
    assert_eq!(code, Some(1));
    assert!(output_text.contains("ingest"), "{output_text}");
}

#[tokio::test]
async fn commands_use_the_server_that_runs() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let server = RunningServer::serve(data.path(), &[repository.path()], &without_codex()).await;
    let (code, output_text, stderr) =
        run_codeinfo(data.path(), &["search", "valve", "--limit", "1"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(output_text.contains("relieve_pressure"), "{output_text}");

    let (code, output_text, _) = run_codeinfo(data.path(), &["ask", "what opens the valve?"]).await;
    assert_eq!((code, output_text.as_str()), (Some(1), ""));
    assert!(server.terminate().await.success());
}

#[tokio::test]
async fn a_second_server_names_the_first() {
    let data = create_scratch_folder();
    let server = RunningServer::serve(data.path(), &[], &without_codex()).await;
    let (code, _, output_text) = run_codeinfo(data.path(), &["serve"]).await;
    assert_eq!(code, Some(1));
    assert!(
        output_text.contains(&server.pid().to_string()) && output_text.contains(&server.main),
        "{output_text}"
    );
    server.terminate().await;
}

#[tokio::test]
async fn one_command_indexes_several_folders_and_a_failure_delays_none() {
    let (data, first, second) = (create_scratch_folder(), create_repository(), create_repository());
    let [first, second] = [&first, &second].map(|folder| folder.path().to_str().unwrap());
    let arguments = ["ingest", first, "/nonexistent/folder", second];
    let (code, output_text, stderr) = run_codeinfo(data.path(), &arguments).await;
    assert_eq!(code, Some(1));
    assert!(output_text.contains(first) && output_text.contains(second), "{output_text}");
    assert!(stderr.contains("/nonexistent/folder"), "{stderr}");

    let (code, _, stderr) =
        run_codeinfo(data.path(), &["ingest", first, second, "--name", "both"]).await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("--name"), "{stderr}");
}

#[tokio::test]
async fn a_stopping_server_says_what_it_waits_for() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    let (server, mut log) = RunningServer::serve_logged(data.path(), &without_codex()).await;
    server.terminate().await;
    assert_eq!(log.next_line().await.unwrap().as_deref(), Some("stopping"));

    for number in 0..2000 {
        fs::write(folder.path().join(format!("f{number}.rs")), "fn boil() {}\n").unwrap();
    }
    let (server, mut log) = RunningServer::serve_logged(data.path(), &without_codex()).await;
    server.post_api("/ingest/start", &serde_json::json!({ "path": folder.path() })).await;
    server.terminate().await;
    let output_text = log.next_line().await.unwrap();
    assert_eq!(output_text.as_deref(), Some("stopping: waiting for 1 run, at most 10 s"));
}

#[tokio::test]
async fn a_second_signal_ends_a_server_at_once() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let data = create_scratch_folder();
    // A request that does not end may take half of this grace period.
    let mut environment = without_codex();
    environment.push(("SHUTDOWN_GRACE_SECS".to_owned(), "3000".to_owned()));
    let (server, mut log) = RunningServer::serve_logged(data.path(), &environment).await;
    let address = server.main.strip_prefix("http://").unwrap();
    let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
    let unfinished = "POST /tools/vector-search HTTP/1.1\r\nhost: localhost\r\n\
                      content-type: application/json\r\ncontent-length: 100\r\n\
                      expect: 100-continue\r\n\r\n";
    client.write_all(unfinished.as_bytes()).await.unwrap();
    // The request is under way once the server asks for its body.
    let mut asked = [0; 12];
    client.read_exact(&mut asked).await.unwrap();
    assert_eq!(&asked, b"HTTP/1.1 100");
    send_signal("TERM", server.pid()).await;
    assert_eq!(log.next_line().await.unwrap().as_deref(), Some("stopping"));
    let status = server.terminate().await;
    assert_eq!(status.code(), Some(1));
    let output_text = log.next_line().await.unwrap().unwrap();
    assert!(output_text.starts_with("codeinfo: ended at once by a second signal"), "{output_text}");
}

/// Files below a folder, by their paths in it.
fn list_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            found
                .extend(list_files(&entry.path()).into_iter().map(|path| format!("{name}/{path}")));
        } else {
            found.push(name);
        }
    }
    found
}

/// Returns the commands of processes that have a text in their environment.
fn list_commands_with(text: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let read =
        |file: PathBuf| String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned();
    processes
        .filter(|process| read(process.path().join("environ")).contains(text))
        .map(|process| read(process.path().join("cmdline")))
        .collect()
}

#[tokio::test]
async fn a_server_is_stopped_cleanly_at_any_moment_of_its_start() {
    let repository = create_repository();
    let stopped_at = async |moment: Duration| {
        let (data, codex) = (create_scratch_folder(), create_scratch_folder());
        // The model gets no request.
        let environment = codex::codex_environment(codex.path(), "http://127.0.0.1:9/v1");
        let path = repository.path().to_str().unwrap();
        let child = spawn_command(data.path(), &environment, &["serve", path]);
        let pid = child.id().unwrap();
        tokio::time::sleep(moment).await;
        send_signal("TERM", pid).await;
        let output = child.wait_with_output().await.unwrap();
        let output_text = read_output(&output);
        let left: Vec<String> =
            list_files(data.path()).into_iter().filter(|file| file.contains("tmp")).collect();
        assert_eq!(left, [""; 0], "{moment:?}: {output_text:?}");
        // Nobody can handle a signal before `main` begins.
        let is_early = output.status.signal() == Some(15) && list_files(data.path()).is_empty();
        let is_clean = output_text.0 == Some(0)
            && output_text.2.starts_with("stopping")
            && output_text.2.lines().count() == 1;
        assert!(is_clean || is_early, "{moment:?}: {:?} {output_text:?}", output.status);
        let home = codex.path().to_str().unwrap();
        let none_left = async {
            while !list_commands_with(home).is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        // The last killed process may take a moment to end.
        let ended = tokio::time::timeout(Duration::from_secs(10), none_left).await;
        assert!(ended.is_ok(), "{moment:?}: {:?}", list_commands_with(home));
        is_clean
    };
    let mut clean = 0;
    for group in 0..5 {
        let moments = (0..4).map(|number| Duration::from_millis(100 * (4 * group + number)));
        let ended = futures_util::future::join_all(moments.map(stopped_at)).await;
        clean += ended.into_iter().filter(|is_clean| *is_clean).count();
    }
    assert!(clean >= 10, "{clean}");
}

#[tokio::test]
async fn serve_says_where_it_listens_and_what_codex_lacks() {
    let data = create_scratch_folder();
    let server = RunningServer::serve(data.path(), &[], &without_codex()).await;
    let output_text = server.said.join("\n");
    assert!(output_text.contains("/mcp"), "{output_text}");
    assert!(output_text.contains(&format!("Page        {}/  (", server.main)), "{output_text}");
    assert!(
        output_text.contains("cannot be used") && output_text.contains("CODEX_BIN"),
        "{output_text}"
    );
    server.terminate().await;
}

#[tokio::test]
async fn doctor_fails_and_says_what_to_do_when_codex_is_missing() {
    let data = create_scratch_folder();
    let (code, output_text, stderr) = run_codeinfo(data.path(), &["doctor"]).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        output_text.contains("ok    store") && output_text.contains("ok    embedder"),
        "{output_text}"
    );
    assert!(output_text.contains("FAIL  codex"), "{output_text}");
}

#[tokio::test]
async fn doctor_says_which_program_has_the_ports() {
    let data = create_scratch_folder();
    let server = RunningServer::serve(data.path(), &[], &without_codex()).await;
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = |url: &str| {
        url.trim_start_matches("http://").trim_end_matches("/mcp").trim_end_matches('/').to_owned()
    };
    let (ours, theirs) = (address(&server.main), other.local_addr().unwrap().to_string());
    let port = |address: &str| address.rsplit(':').next().unwrap().to_owned();
    let mut environment = without_codex();
    environment.push(("PORT".to_owned(), port(&ours)));
    environment.push(("MCP_PORT".to_owned(), port(&theirs)));
    let (_, output_text, _) =
        read_output(&run_command(data.path(), &environment, &["doctor"]).await);
    let first = format!("ok    PORT {ours}: this server, process {}", server.pid());
    let second =
        format!("FAIL  MCP_PORT {theirs}: in use by another program; set `MCP_PORT` to another");
    assert!(output_text.contains(&first) && output_text.contains(&second), "{output_text}");
    server.terminate().await;
}

#[tokio::test]
async fn doctor_checks_the_rest_when_the_store_cannot_be_opened() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let path = repository.path().to_str().unwrap();
    let (code, _, stderr) = run_codeinfo(data.path(), &["ingest", path]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let manifest = data.path().join("store/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let former = edit_manifest(&text, "code-static-1@", "former-model@");
    for (written, reason, advice) in [
        (former.as_str(), "holds vectors of `former-model@", "start with `--reembed`"),
        ("{", "is damaged: ", "`codeinfo serve` repairs it"),
    ] {
        fs::write(&manifest, written).unwrap();
        let (code, output_text, stderr) = run_codeinfo(data.path(), &["doctor"]).await;
        assert_eq!(
            (code, stderr.as_str()),
            (Some(1), "codeinfo: some checks failed\n"),
            "{output_text}"
        );
        let line =
            |start| output_text.lines().find(|line| line.starts_with(start)).unwrap_or_default();
        let store = line("FAIL  store: the store ");
        assert!(store.contains(reason) && store.contains(advice), "{output_text}");
        assert!(line("ok    embedder: code-static-1").contains("dimensions"), "{output_text}");
        assert!(line("FAIL  codex: ").contains("CODEX_BIN"), "{output_text}");
        assert!(
            !output_text.contains("nothing is indexed"),
            "whether folders are indexed is unknown: {output_text}"
        );
    }
    // Nothing was changed by looking.
    fs::write(&manifest, text).unwrap();
    let (code, output_text, _) = run_codeinfo(data.path(), &["search", "relieve pressure"]).await;
    assert_eq!(code, Some(0));
    assert!(output_text.contains("src/valve.rs"), "{output_text}");
}

#[tokio::test]
async fn repos_and_doctor_name_a_repository_whose_folder_is_gone() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let path = repository.path().to_str().unwrap();
    let (code, _, stderr) = run_codeinfo(data.path(), &["ingest", path]).await;
    assert_eq!(code, Some(0), "{stderr}");
    fs::remove_dir_all(repository.path()).unwrap();
    for command in ["repos", "doctor"] {
        let (_, output_text, stderr) = run_codeinfo(data.path(), &[command]).await;
        assert!(output_text.contains("the folder is gone"), "{command}: {output_text}{stderr}");
        assert!(output_text.contains("`codeinfo remove "), "{command}: {output_text}{stderr}");
    }
}

#[tokio::test]
async fn indexing_what_is_not_a_folder_fails_clearly() {
    let data = create_scratch_folder();
    let (code, _, output_text) =
        run_codeinfo(data.path(), &["ingest", "/nonexistent/folder"]).await;
    assert_eq!(code, Some(1));
    assert!(output_text.contains("/nonexistent/folder"), "{output_text}");
    for (path, advice) in [
        ("https://example.com/o/r", "`git clone https://example.com/o/r`"),
        ("file:///nonexistent/a%20b", "`/nonexistent/a b`"),
        ("~/nonexistent", "shells replace"),
    ] {
        let (code, _, output_text) = run_codeinfo(data.path(), &["ingest", path]).await;
        assert_eq!(code, Some(1), "{path}");
        assert!(
            output_text.contains(&format!("`{path}` ")) && output_text.contains(advice),
            "{output_text}"
        );
    }
}

#[tokio::test]
async fn reembed_embeds_every_repository_again() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let path = repository.path().to_str().unwrap();
    let (code, _, stderr) = run_codeinfo(data.path(), &["ingest", path]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let gone = create_scratch_folder();
    fs::write(gone.path().join("pump.rs"), "fn pump() {}\n").unwrap();
    let path = gone.path().to_str().unwrap();
    let (code, _, stderr) = run_codeinfo(data.path(), &["ingest", "--name", "a", path]).await;
    assert_eq!(code, Some(0), "{stderr}");
    let manifest = data.path().join("store/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("code-static-1@"), "{text}");
    fs::write(&manifest, edit_manifest(&text, "code-static-1@", "former-model@")).unwrap();

    let (code, _, output_text) = run_codeinfo(data.path(), &["search", "valve"]).await;
    assert_eq!(code, Some(1));
    for part in ["former-model@", "code-static-1@", "--reembed"] {
        assert!(output_text.contains(part), "{output_text}");
    }
    // The folder of another one, first by name, was removed meanwhile.
    drop(gone);
    let server = RunningServer::serve_reembedding(data.path(), &without_codex()).await;
    let (code, output_text, stderr) =
        run_codeinfo(data.path(), &["search", "relieve pressure"]).await;
    assert_eq!(code, Some(0), "{stderr}");
    assert!(output_text.contains("src/valve.rs"), "{output_text}");
    server.terminate().await;
}

#[tokio::test]
async fn code_cannot_control_the_terminal() {
    let (data, folder) = (create_scratch_folder(), create_scratch_folder());
    fs::write(folder.path().join("trap.rs"), "// zebra \u{1b}]0;owned\u{7}\nfn zebra() {}\n")
        .unwrap();
    run_codeinfo(data.path(), &["ingest", folder.path().to_str().unwrap()]).await;
    let (code, output_text, _) = run_codeinfo(data.path(), &["search", "zebra"]).await;
    assert_eq!(code, Some(0));
    assert!(output_text.contains("zebra") && !output_text.contains('\u{1b}'), "{output_text:?}");
    let folder = folder.path().to_str().unwrap();
    let (code, _, stderr) = run_codeinfo(data.path(), &["remove", &format!("{folder}/.")]).await;
    assert_eq!(code, Some(0), "a path names a repository as well: {stderr}");
}

#[tokio::test]
async fn simultaneous_commands_wait_for_each_other() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let path = repository.path().to_str().unwrap();
    let ingest = ["ingest", path];
    let ((first, ..), (second, _, stderr)) =
        tokio::join!(run_codeinfo(data.path(), &ingest), run_codeinfo(data.path(), &ingest));
    assert_eq!((first, second), (Some(0), Some(0)), "{stderr}");
}

#[tokio::test]
async fn a_repository_at_a_path_that_another_one_shows_is_refused_until_that_is_removed() {
    let (data, repository, moved) =
        (create_scratch_folder(), create_repository(), create_repository());
    let path = repository.path().canonicalize().unwrap();
    let path = path.to_str().unwrap();
    let name = path.rsplit('/').next().unwrap();
    let inside = moved.path().canonicalize().unwrap();
    let mut mapped = without_codex();
    mapped.push(("HOST_INGEST_DIR".to_owned(), path.to_owned()));
    mapped.push(("INGEST_DIR".to_owned(), inside.display().to_string()));
    let (code, _, output_text) = run_codeinfo(data.path(), &["ingest", path]).await;
    assert_eq!(code, Some(0), "{output_text}");

    let ingest = async || read_output(&run_command(data.path(), &mapped, &["ingest", path]).await);
    let (code, _, output_text) = ingest().await;
    let advice = format!("from before `INGEST_DIR` changed; run `codeinfo remove {name}` first");
    assert!(code == Some(1) && output_text.contains(&advice), "{output_text}");
    let removed = run_command(data.path(), &mapped, &["remove", name]).await;
    assert!(removed.status.success(), "{removed:?}");
    for _ in 0..2 {
        let (code, _, output_text) = ingest().await;
        assert_eq!(code, Some(0), "{output_text}");
    }
    let removed = run_command(data.path(), &mapped, &["remove", path]).await;
    assert!(removed.status.success(), "{removed:?}");
}

#[tokio::test]
async fn the_log_names_the_address_that_is_bound_and_the_banner_one_that_can_be_opened() {
    let mut everywhere = without_codex();
    everywhere.push(("HOST".to_owned(), "0.0.0.0".to_owned()));
    everywhere.push(("AUTH".to_owned(), "optional".to_owned()));
    everywhere.push(("LOG_LEVEL".to_owned(), "info".to_owned()));
    let data = create_scratch_folder();
    let (server, mut log) = RunningServer::serve_logged(data.path(), &everywhere).await;
    let port = server.main.rsplit(':').next().unwrap();
    assert_eq!(server.main, format!("http://127.0.0.1:{port}"));
    let line = loop {
        let line = log.next_line().await.unwrap().unwrap();
        if line.contains("listening") {
            break line;
        }
    };
    assert!(line.contains(&format!("main.address=0.0.0.0:{port}")), "{line}");
}

#[tokio::test]
async fn documents_are_printed_by_name() {
    let data = create_scratch_folder();
    let (code, listed, _) = run_codeinfo(data.path(), &["docs"]).await;
    assert!(code == Some(0) && listed.contains("\nsettings    "), "{listed}");
    for name in ["settings", "settings.md", "docs/settings.md"] {
        let (code, page, _) = run_codeinfo(data.path(), &["docs", name]).await;
        assert!(code == Some(0) && page.contains("`DATA_DIR`"), "{page}");
    }
    let (code, _, output_text) = run_codeinfo(data.path(), &["docs", "nothing"]).await;
    let advice = "codeinfo: there is no page `nothing`; `codeinfo docs` lists the pages\n";
    assert_eq!((code, output_text.as_str()), (Some(2), advice));
    // Topics that help texts name exist.
    let (_, help, _) = run_codeinfo(data.path(), &["help"]).await;
    assert!(!help.contains(".md"), "{help}");
}

/// Runs a command line where the data folder cannot be written, as on a read-only file system.
#[cfg(target_os = "linux")]
async fn run_read_only(data: &Path, line: &str) -> (Option<i32>, String, String) {
    let temporary = create_scratch_folder();
    let mut command =
        apply_environment(tokio::process::Command::new("unshare"), data, &without_codex());
    command.env("TMPDIR", temporary.path());
    let script = format!(
        "mount --bind $DATA_DIR $DATA_DIR && mount -o remount,bind,ro $DATA_DIR && exec {} {line}",
        env!("CARGO_BIN_EXE_codeinfo")
    );
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    let output = command.output().await.unwrap();
    let left: Vec<_> = fs::read_dir(temporary.path()).unwrap().collect();
    assert!(left.is_empty(), "copies are removed: {left:?}");
    read_output(&output)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_index_that_cannot_be_written_is_searched_and_listed() {
    let (data, repository) = (create_scratch_folder(), create_repository());
    let path = repository.path().to_str().unwrap();
    run_codeinfo(data.path(), &["ingest", path]).await;
    let (code, found, output_text) = run_read_only(data.path(), "search relieve pressure").await;
    assert!(code == Some(0) && found.contains("src/valve.rs"), "{found}{output_text}");
    assert_eq!(output_text, "");
    let (code, listed, output_text) = run_read_only(data.path(), "repos").await;
    assert!(code == Some(0) && listed.contains("2 files, 2 chunks"), "{listed}{output_text}");
    let (code, _, output_text) = run_read_only(data.path(), &format!("ingest {path}")).await;
    assert!(code == Some(1) && output_text.contains("set `DATA_DIR` to a folder"), "{output_text}");
    // A running server is used as before.
    let server = RunningServer::serve(data.path(), &[], &without_codex()).await;
    let (code, found, output_text) = run_read_only(data.path(), "search relieve pressure").await;
    assert!(code == Some(0) && found.contains("src/valve.rs"), "{found}{output_text}");
    server.terminate().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn doctor_continues_after_a_failed_part_and_knows_the_machine_and_the_age_of_indexes() {
    let (data, repository, home) =
        (create_scratch_folder(), create_repository(), create_scratch_folder());
    let path = repository.path().to_str().unwrap();
    run_codeinfo(data.path(), &["ingest", path, "--name", "boiler"]).await;
    fs::create_dir(home.path().join(".codex")).unwrap();
    let mut environment = without_codex();
    environment.push(("HOME".to_owned(), home.path().display().to_string()));
    let doctor = async || read_output(&run_command(data.path(), &environment, &["doctor"]).await).1;
    let output_text = doctor().await;
    for line in ["ok    git: 2.", "ok    index boiler: 2 files, indexed 2"] {
        assert!(output_text.contains(line), "{line}: {output_text}");
    }
    let advice = "note  clients: Codex found without CodeInfo; `codeinfo install` sets it up";
    assert!(output_text.contains(advice), "{output_text}");
    run_command(data.path(), &environment, &["install", "codex", "--yes"]).await;
    assert!(doctor().await.contains("ok    clients: set up for Codex\n"));
    let (code, output_text, stderr) = run_read_only(data.path(), "doctor").await;
    assert_eq!(
        (code, stderr.as_str()),
        (Some(1), "codeinfo: some checks failed\n"),
        "{output_text}"
    );
    for line in ["ok    PORT", "ok    git: ", "FAIL  server: cannot use the data folder"] {
        assert!(output_text.contains(line), "{line}: {output_text}");
    }
}

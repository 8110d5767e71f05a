//! Rights of a toolkit's process within the sandbox of the real Codex.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration};

use codeinfo_codex::{Codex, NetworkAccess, OtherVariables};
use codeinfo_core::{Secret, task::Tasks};
use codeinfo_store::Store;
use codeinfo_test_support::{
    private_places::{BESIDE, PLACES, write_home},
    toolkit::{
        TestToolkits, make_arguments, make_toolkit_name, read_result_text, scripted_spec,
        wait_until,
    },
};
use codeinfo_toolkits::{
    connection::{ToolkitClient, ToolkitState},
    launch::SandboxLauncher,
    spec::{ToolkitSandbox, ToolkitSpec, ToolkitTransport},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    harness,
    toolkit::{npm_toolkit_spec, python_toolkit_spec},
};

/// A folder with an indexed repository, `repo`, a folder to work in, `work`, and the user's own folder,
/// `user`, with a key.
struct SandboxFixture {
    folder: TempDir,
    toolkits: TestToolkits,
    store: Store,
}

impl SandboxFixture {
    async fn new() -> Self {
        Self::with_settings(|_| ()).await
    }

    async fn with_settings(change: impl FnOnce(&mut codeinfo_codex::CodexSettings)) -> Self {
        let folder = harness::create_folder();
        let at = |name: &str| folder.path().join(name);
        for made in ["work", "user/.ssh", "user/.codex", "data"] {
            fs::create_dir_all(at(made)).unwrap();
        }
        fs::write(at("user/.ssh/id_rsa"), "k3y").unwrap();
        fs::write(at("user/.codex/auth.json"), "k3y").unwrap();
        fs::write(at("data/secret.key"), "k3y").unwrap();
        fs::write(at("work/notes.txt"), "a note").unwrap();
        let mut settings = harness::codex_settings(&folder);
        let user = ("HOME".to_owned(), at("user").display().to_string());
        settings.environment =
            OtherVariables::new([user, ("OTHER_KEY".to_owned(), "k3y".to_owned())]);
        change(&mut settings);
        let tasks = Tasks::default();
        let codex = Codex::new(settings.clone(), tasks.clone());
        let store = harness::create_store(&folder).await;
        let launcher = SandboxLauncher::new(codex, settings, store.clone(), tasks.clone());
        Self { toolkits: TestToolkits::with_launcher(launcher, tasks), folder, store }
    }

    fn join(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// The scripted server in a sandbox, with `work` as its working folder.
    fn build_spec(&self, sandbox: ToolkitSandbox) -> ToolkitSpec {
        let mut spec = ToolkitSpec { sandbox, network: NetworkAccess::None, ..scripted_spec(&[]) };
        let ToolkitTransport::Stdio { working_dir, .. } = &mut spec.transport else {
            unreachable!()
        };
        *working_dir = Some(self.join("work"));
        spec
    }

    fn client(&self, spec: &ToolkitSpec) -> Arc<ToolkitClient> {
        self.toolkits.client(spec)
    }
}

async fn call_tool(client: &ToolkitClient, tool: &str, asked: Value) -> Result<String, String> {
    let called = client.call_tool(tool, make_arguments(asked)).await.unwrap();
    let text = read_result_text(&called).to_owned();
    if called.is_error { Err(text) } else { Ok(text) }
}

async fn read_by_toolkit(client: &ToolkitClient, path: &Path) -> Result<String, String> {
    call_tool(client, "read", json!({ "path": path })).await
}

async fn can_write(client: &ToolkitClient, path: &Path) -> bool {
    call_tool(client, "write", json!({ "path": path })).await.is_ok()
}

#[tokio::test]
async fn a_toolkit_reads_what_is_indexed_and_its_own_and_nothing_else() {
    let fixture = SandboxFixture::new().await;
    let client = fixture.client(&fixture.build_spec(ToolkitSandbox::ReadOnly));
    assert!(read_by_toolkit(&client, &fixture.join("repo/src/parse.rs")).await.is_ok());
    assert_eq!(read_by_toolkit(&client, Path::new("notes.txt")).await.as_deref(), Ok("a note"));
    for secret in ["user/.ssh/id_rsa", "user/.codex/auth.json", "data/secret.key", "data/store"] {
        let read = read_by_toolkit(&client, &fixture.join(secret)).await.unwrap_err();
        assert!(read.starts_with("FileNotFoundError"), "{secret}: {read}");
    }
    let passwords = read_by_toolkit(&client, Path::new("/etc/shadow")).await.unwrap_err();
    assert!(!passwords.starts_with("FileNotFound"), "{passwords}");
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_writes_its_own_folder_and_its_working_folder_only_if_it_may() {
    let fixture = SandboxFixture::new().await;
    let reader = fixture.client(&fixture.build_spec(ToolkitSandbox::ReadOnly));
    let worker = fixture.client(&fixture.build_spec(ToolkitSandbox::WorkspaceWrite));
    for client in [&reader, &worker] {
        assert!(!can_write(client, &fixture.join("repo/new.rs")).await);
        // A folder that does not exist for it can be created by it.
        can_write(client, &fixture.join("user/new")).await;
        can_write(client, &fixture.join("data/secret.key")).await;
        assert!(!fixture.join("user/new").try_exists().unwrap());
        assert_eq!(fs::read_to_string(fixture.join("data/secret.key")).unwrap(), "k3y");
        let env: Value =
            serde_json::from_str(&call_tool(client, "env", json!({})).await.unwrap()).unwrap();
        for own in ["HOME", "TMPDIR"] {
            let folder = Path::new(env[own].as_str().unwrap());
            let toolkits = fixture.join("data/toolkits").canonicalize().unwrap();
            let own = folder.strip_prefix(toolkits).unwrap();
            assert!(own.to_str().unwrap().starts_with("kit-"), "{own:?}");
            assert!(can_write(client, &folder.join("new")).await);
        }
    }
    assert!(!can_write(&reader, &fixture.join("work/new")).await);
    assert!(can_write(&worker, &fixture.join("work/new")).await);
    assert_eq!(fs::read_to_string(fixture.join("work/new")).unwrap(), "written");
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_reads_no_private_place_of_a_home_folder_that_is_indexed() {
    let fixture = SandboxFixture::new().await;
    let home = fixture.join("user").canonicalize().unwrap();
    write_home(&home);
    let mut indexed = harness::make_root(&home);
    indexed.private_files = Some(Vec::new());
    fixture.store.put_root(indexed).await.unwrap();
    let client = fixture.client(&fixture.build_spec(ToolkitSandbox::ReadOnly));
    let mut read = Vec::new();
    for path in PLACES {
        read.extend(read_by_toolkit(&client, &home.join(path)).await.is_ok().then_some(path));
    }
    assert_eq!(read, [""; 0]);
    for path in BESIDE {
        assert!(read_by_toolkit(&client, &home.join(path)).await.is_ok(), "{path}");
    }
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_starts_from_where_programs_are_installed_and_not_from_a_private_place() {
    let fixture = SandboxFixture::new().await;
    let home = fixture.join("user").canonicalize().unwrap();
    write_home(&home);
    let script = codeinfo_test_support::toolkit::script_path("server.py");
    for folder in [".cargo/bin", ".local/bin", ".local/share/kit", ".npm/_npx/1", ".claude/plugins"]
    {
        let program = home.join(folder).join("kit");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let run =
            format!("#!{} -u\n{}", find_system_python(), fs::read_to_string(&script).unwrap());
        fs::write(&program, run).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut spec = fixture.build_spec(ToolkitSandbox::ReadOnly);
        let ToolkitTransport::Stdio { command, args, .. } = &mut spec.transport else {
            unreachable!()
        };
        (*command, *args) = (program.display().to_string(), Vec::new());
        let client = fixture.client(&spec);
        let started = client.load_catalogue().await.map(drop).map_err(|error| error.to_string());
        if folder.starts_with(".claude") {
            let refused = started.unwrap_err();
            assert!(refused.contains("lies in, `~/.claude`, which holds"), "{refused}");
        } else {
            assert_eq!(started, Ok(()), "{folder}");
            let secret = read_by_toolkit(&client, &home.join(".cargo/credentials.toml")).await;
            assert!(secret.is_err(), "{folder}: {secret:?}");
        }
        client.stop().await;
    }
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_without_network_reaches_not_even_this_machine() {
    let fixture = SandboxFixture::new().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = json!({ "port": listener.local_addr().unwrap().port() });
    let off = fixture.client(&fixture.build_spec(ToolkitSandbox::ReadOnly));
    assert!(call_tool(&off, "connect", port.clone()).await.is_err());
    let with = |network| {
        fixture.client(&ToolkitSpec { network, ..fixture.build_spec(ToolkitSandbox::ReadOnly) })
    };
    let proxied = with(NetworkAccess::Proxied);
    assert!(call_tool(&proxied, "connect", port.clone()).await.is_err());
    let open = with(NetworkAccess::Open);
    assert_eq!(call_tool(&open, "connect", port).await.as_deref(), Ok("connected"));
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_has_few_variables_and_none_shows_on_a_command_line() {
    let fixture = SandboxFixture::new().await;
    let mut spec = fixture.build_spec(ToolkitSandbox::ReadOnly);
    let ToolkitTransport::Stdio { env, .. } = &mut spec.transport else { unreachable!() };
    // Settings that would run a program of the toolkit's choice outside the sandbox.
    let path = format!("{}:/usr/bin:/bin", fixture.join("work").display());
    env.insert("PATH".to_owned(), Secret::new(path.clone()));
    env.insert("CODEX_HOME".to_owned(), Secret::new("/nowhere".to_owned()));
    plant_program(&fixture.join("work/bwrap"), &fixture.join("work/ran"));
    let ToolkitTransport::Stdio { command, .. } = &mut spec.transport else { unreachable!() };
    *command = find_system_python();
    let client = fixture.client(&spec);
    let env: Value =
        serde_json::from_str(&call_tool(&client, "env", json!({})).await.unwrap()).unwrap();
    let mut names: Vec<&String> = env.as_object().unwrap().keys().collect();
    names.sort_unstable();
    names.retain(|name| {
        // The address of its proxy.
        !name.to_lowercase().contains("proxy")
            && !["PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE", "LANG"].contains(&name.as_str())
    });
    assert_eq!(names, ["CODEX_HOME", "HOME", "KEY", "PATH", "TMPDIR"]);
    assert_eq!((&env["KEY"], &env["PATH"]), (&json!("k3y-of-tests"), &json!(path)));
    assert!(!fixture.join("work/ran").try_exists().unwrap());
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains("k3y-of-tests"), "{process:?}");
    }
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_beyond_a_bound_ends_and_says_which_and_what_to_set() {
    let fixture = SandboxFixture::new().await;
    let mut spec = fixture.build_spec(ToolkitSandbox::ReadOnly);
    (spec.memory_mb, spec.home_mb, spec.max_processes) = (Some(400), Some(100), Some(200));
    let home = fixture.toolkits.client(&spec);
    let env: Value =
        serde_json::from_str(&call_tool(&home, "env", json!({})).await.unwrap()).unwrap();
    let at = |name: &str| format!("{}/{name}", env["HOME"].as_str().unwrap());
    let beyond = [
        ("fill", json!({ "path": "/tmp/x", "mib": 500 }), "memoryMb"),
        ("fill", json!({ "path": "/dev/shm/x", "mib": 500 }), "memoryMb"),
        ("fill_unseen", json!({ "mib": 500 }), "memoryMb"),
        ("grow", json!({ "mib": 500 }), "memoryMb"),
        ("fork", json!({ "processes": 300 }), "maxProcesses"),
        ("thread", json!({ "threads": 300 }), "maxProcesses"),
        ("fill", json!({ "path": at("a/deep/x"), "mib": 200 }), "homeMb"),
    ];
    for (count, (tool, asked, setting)) in beyond.into_iter().enumerate() {
        // Another one each time: one that ends so often is not started again.
        spec.timeout = Duration::from_secs(60 + count as u64);
        let client = fixture.client(&spec);
        client.load_catalogue().await.unwrap();
        let process = client.status().pid.unwrap();
        client.call_tool(tool, make_arguments(asked)).await.ok();
        wait_until(|| client.status().last_error.is_some()).await;
        let error = client.status().last_error.unwrap();
        assert!(error.contains(&format!("set `{setting}`")), "{tool}: {error}");
        wait_until(|| !Path::new(&format!("/proc/{process}")).try_exists().unwrap()).await;
        client.stop().await;
    }
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn file_systems_in_memory_are_bounded_in_the_sandbox() {
    let fixture = SandboxFixture::new().await;
    let mut spec = fixture.build_spec(ToolkitSandbox::ReadOnly);
    // Only what the sandbox itself bounds.
    spec.memory_mb = Some(1 << 20);
    let client = fixture.client(&spec);
    for path in ["/tmp/x", "/dev/shm/x", "/x"] {
        let filled = call_tool(&client, "fill", json!({ "path": path, "mib": 1100 })).await;
        assert!(filled.is_err_and(|text| text.contains("No space left")), "{path}");
        call_tool(&client, "remove", json!({ "path": path })).await.unwrap();
    }
    let beside = call_tool(&client, "fill", json!({ "path": "/dev/x", "mib": 1 })).await;
    assert!(beside.is_err_and(|text| text.contains("Read-only")));
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn published_servers_run_in_the_sandbox_from_where_they_are_installed() {
    let fixture = SandboxFixture::new().await;
    let repository = fixture.join("repo").canonicalize().unwrap();
    let mut spec = npm_toolkit_spec("server-filesystem", &[repository.to_str().unwrap()]);
    spec.sandbox = ToolkitSandbox::ReadOnly;
    let client = fixture.client(&spec);
    let file = repository.join("src/parse.rs");
    let found =
        client.call_tool("read_text_file", make_arguments(json!({ "path": file }))).await.unwrap();
    assert!(read_result_text(&found).contains("pub fn parse"));
    let written = json!({ "path": repository.join("new.rs"), "content": "x" });
    assert!(client.call_tool("write_file", make_arguments(written)).await.unwrap().is_error);
    let process = client.status().pid.unwrap();
    client.stop().await;
    assert!(!Path::new(&format!("/proc/{process}")).try_exists().unwrap());
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn git_works_in_the_sandbox_whatever_the_settings_of_the_repository_hold() {
    let fixture = SandboxFixture::new().await;
    let repository = fixture.join("repo").canonicalize().unwrap();
    for words in [
        "init --quiet",
        "add .",
        "-c user.name=Ada -c user.email=ada@example.org commit --quiet -m Begin",
    ] {
        let mut git = std::process::Command::new("git");
        assert!(git.arg("-C").arg(&repository).args(words.split(' ')).status().unwrap().success());
    }
    let plain = fs::read_to_string(repository.join(".git/config")).unwrap();
    // Also without a network, where Python's own event loops once did not start.
    let mut spec = python_toolkit_spec("mcp-server-git", "2026.10.19");
    (spec.sandbox, spec.network) = (ToolkitSandbox::ReadOnly, NetworkAccess::None);
    for settings in [
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[commit]\n\tgpgsign = false\n",
        "[filter \"lfs\"]\n\trequired = true\n[diff]\n\ttool = vimdiff\n[alias]\n\tst = status\n",
        "[credential]\n\thelper = store\n[remote \"a\"]\n\turl = ssh://git@example.org/a.git\n",
        "[remote \"a\"]\n\turl = https://me@example.org/a.git\n",
        "[remote \"a\"]\n\turl = https://me:hunter2@example.org/a.git\n",
        "[http \"https://example.org\"]\n\textraheader = AUTHORIZATION: basic aHVudGVyMg==\n",
    ] {
        fs::write(repository.join(".git/config"), format!("{plain}{settings}")).unwrap();
        let client = fixture.client(&spec);
        for (tool, expected) in [("git_log", "Begin"), ("git_status", "On branch")] {
            let text = call_tool(&client, tool, json!({ "repo_path": repository })).await;
            assert!(text.as_ref().is_ok_and(|text| text.contains(expected)), "{settings}{text:?}");
        }
        client.stop().await;
        let reader = fixture.client(&fixture.build_spec(ToolkitSandbox::ReadOnly));
        let read = read_by_toolkit(&reader, &repository.join(".git/config")).await.unwrap();
        assert!(read.starts_with(&plain), "{read}");
        assert!(!read.contains("hunter2") && !read.contains("aHVu"), "{read}");
        reader.stop().await;
    }
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn a_toolkit_without_a_sandbox_is_started_as_it_is() {
    // Also without Codex.
    let fixture =
        SandboxFixture::with_settings(|settings| settings.bin = Some("/nowhere/codex".into()))
            .await;
    let off = fixture.client(&fixture.build_spec(ToolkitSandbox::Off));
    assert!(read_by_toolkit(&off, &fixture.join("user/.ssh/id_rsa")).await.is_ok());
    let env: Value =
        serde_json::from_str(&call_tool(&off, "env", json!({})).await.unwrap()).unwrap();
    assert_eq!(env["HOME"], json!(fixture.join("user")));
    assert_eq!(env.get("OTHER_KEY"), None);

    let fenced = fixture.client(&fixture.build_spec(ToolkitSandbox::ReadOnly));
    let error = fenced.load_catalogue().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "toolkit kit is not running: its sandbox is that of Codex, and no Codex binary: CODEX_BIN does \
         not name a program; install Codex, or set `sandbox` to `off` if it may read and write all \
         that you may"
    );
    assert_eq!(fenced.status().state, ToolkitState::Stopped);
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn toolkits_of_a_request_do_not_share_the_folder_of_configured_ones() {
    let fixture = SandboxFixture::new().await;
    let mut spec = fixture.build_spec(ToolkitSandbox::ReadOnly);
    // A token has a script read only where it may read anyway.
    let elsewhere =
        fixture.toolkits.pool.get_or_create_client(Some("ada"), &make_toolkit_name("kit"), &spec);
    assert!(elsewhere.load_catalogue().await.is_err());
    let script = fixture.join("repo/server.py");
    fs::copy(codeinfo_test_support::toolkit::script_path("server.py"), &script).unwrap();
    let ToolkitTransport::Stdio { args, .. } = &mut spec.transport else { unreachable!() };
    args[0] = script.canonicalize().unwrap().display().to_string();
    let mut homes = Vec::new();
    for owner in [None, Some("ada"), Some("bob")] {
        let client =
            fixture.toolkits.pool.get_or_create_client(owner, &make_toolkit_name("kit"), &spec);
        let env: Value =
            serde_json::from_str(&call_tool(&client, "env", json!({})).await.unwrap()).unwrap();
        homes.push(env["HOME"].as_str().unwrap().to_owned());
        let kept = Path::new(homes.last().unwrap()).join("token");
        assert!(can_write(&client, &kept).await);
    }
    for (one, other) in [(0, 1), (1, 2), (2, 0)] {
        assert_ne!(homes[one], homes[other]);
    }
    let bob =
        fixture.toolkits.pool.get_or_create_client(Some("bob"), &make_toolkit_name("kit"), &spec);
    let theirs = read_by_toolkit(&bob, &Path::new(&homes[1]).join("token")).await.unwrap_err();
    assert!(theirs.starts_with("FileNotFoundError"), "{theirs}");
    fixture.toolkits.stop().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let fixture = SandboxFixture::new().await;
    let mut spec = fixture.build_spec(ToolkitSandbox::ReadOnly);
    let ToolkitTransport::Stdio { command, .. } = &mut spec.transport else { unreachable!() };
    *command = "no-such-program".to_owned();
    let error = fixture.client(&spec).load_catalogue().await.unwrap_err().to_string();
    assert_eq!(
        error,
        "toolkit kit is not running: `no-such-program` not found: install it, or put its folder on \
         PATH"
    );
    let mut spec = fixture.build_spec(ToolkitSandbox::ReadOnly);
    let ToolkitTransport::Stdio { working_dir, .. } = &mut spec.transport else { unreachable!() };
    *working_dir = Some(fixture.join("nowhere"));
    let error = fixture.client(&spec).load_catalogue().await.unwrap_err().to_string();
    assert!(error.contains("its `workingDir` is no folder"), "{error}");
    fixture.toolkits.stop().await;
}

/// Writes a program that notes that it ran.
fn plant_program(program: &Path, mark: &Path) {
    fs::write(program, format!("#!/bin/sh\ntouch {}\nexit 1\n", mark.display())).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns a Python that needs nothing from outside the system's folders.
fn find_system_python() -> String {
    let candidates = ["/usr/bin/python3", "/usr/local/bin/python3"];
    let found = candidates.into_iter().find(|python| Path::new(python).is_file());
    found.expect("no Python in the system's folders").to_owned()
}

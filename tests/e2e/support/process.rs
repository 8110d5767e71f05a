//! Runs the real `codeinfo` program, as a server or for one command.

use std::{
    path::{Path, PathBuf},
    process::{ExitStatus, Output, Stdio},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, Command},
};

/// Environment of a server under test, beside what every test needs.
pub(crate) type ProgramEnvironment = Vec<(String, String)>;

/// A running `codeinfo serve`. Dropping it kills it.
pub(crate) struct RunningServer {
    child: Child,
    /// The lines that it printed until it reported that it was up.
    pub(crate) said: Vec<String>,
    /// Base URL of the main HTTP API.
    pub(crate) main: String,
    /// URL of the MCP endpoint.
    pub(crate) mcp: String,
    http: reqwest::Client,
}

impl RunningServer {
    /// Starts `codeinfo serve PATHS…` on free ports and waits until it is up.
    pub(crate) async fn serve(
        data_dir: &Path,
        paths: &[&Path],
        environment: &ProgramEnvironment,
    ) -> Self {
        let mut command = program_command(data_dir, environment);
        command.arg("serve").args(paths);
        Self::start(command).await
    }

    /// Starts `codeinfo serve PATHS…` where the system lets a process watch this number of folders; returns
    /// its log as well. The limit is that of a separate user namespace.
    #[cfg(target_os = "linux")]
    pub(crate) async fn serve_with_watches(
        watches: usize,
        data_dir: &Path,
        paths: &[&Path],
        environment: &ProgramEnvironment,
    ) -> (Self, Lines<BufReader<ChildStderr>>) {
        let mut command = apply_environment(Command::new("unshare"), data_dir, environment);
        let limited = "echo $0 > /proc/sys/user/max_inotify_watches && exec \"$@\"";
        command
            .args(["--user", "--map-root-user", "sh", "-c", limited, &watches.to_string()])
            .args([env!("CARGO_BIN_EXE_codeinfo"), "serve"])
            .args(paths);
        Self::start_logged(command).await
    }

    /// Starts `codeinfo serve PATHS…` on free ports, with its data on a separate small disk.
    #[cfg(target_os = "linux")]
    pub(crate) async fn serve_on_small_disk(
        size: &str,
        data_dir: &Path,
        paths: &[&Path],
        environment: &ProgramEnvironment,
    ) -> Self {
        let mut command = small_disk_command(size, "exec \"$0\" \"$@\"", data_dir, environment);
        command.arg("serve").args(paths);
        Self::start(command).await
    }

    /// Starts `codeinfo serve` on free ports; returns its standard error as well.
    pub(crate) async fn serve_logged(
        data_dir: &Path,
        environment: &ProgramEnvironment,
    ) -> (Self, Lines<BufReader<ChildStderr>>) {
        let mut command = program_command(data_dir, environment);
        command.arg("serve");
        Self::start_logged(command).await
    }

    /// Starts `codeinfo serve` on free ports, with its log in a file.
    pub(crate) async fn serve_logging_to(
        log: &Path,
        data_dir: &Path,
        environment: &ProgramEnvironment,
    ) -> Self {
        let mut command = program_command(data_dir, environment);
        command.arg("serve").stderr(std::fs::File::create(log).unwrap());
        Self::start(command).await
    }

    /// Starts `codeinfo serve` on free ports, with this maximum of open files.
    #[cfg(target_os = "linux")]
    pub(crate) async fn serve_with_files(
        max_files: u64,
        data_dir: &Path,
        environment: &ProgramEnvironment,
    ) -> Self {
        let mut command = apply_environment(Command::new("prlimit"), data_dir, environment);
        command.arg(format!("--nofile={max_files}"));
        command.args([env!("CARGO_BIN_EXE_codeinfo"), "serve"]);
        Self::start(command).await
    }

    async fn start_logged(mut command: Command) -> (Self, Lines<BufReader<ChildStderr>>) {
        command.stderr(Stdio::piped());
        let mut program = Self::start(command).await;
        let log = BufReader::new(program.child.stderr.take().unwrap()).lines();
        (program, log)
    }

    /// Starts `codeinfo serve --reembed` on free ports and waits until it is up.
    pub(crate) async fn serve_reembedding(
        data_dir: &Path,
        environment: &ProgramEnvironment,
    ) -> Self {
        let mut command = program_command(data_dir, environment);
        command.args(["serve", "--reembed"]);
        Self::start(command).await
    }

    async fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut output_text = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            let last = line.starts_with("Ctrl-C");
            output_text.push(line);
            if last {
                break;
            }
        }
        let url = |label: &str| {
            let line = output_text.iter().find_map(|line| line.strip_prefix(label));
            let line = line.unwrap_or_else(|| panic!("no `{label}` in {output_text:#?}"));
            line.split_whitespace().next().unwrap().to_owned()
        };
        let (main, mcp) = (url("HTTP API"), url("MCP server"));
        Self { child, said: output_text, main, mcp, http: http_client() }
    }

    /// Calls a JSON-RPC method of the MCP server and returns the whole reply.
    pub(crate) async fn call_rpc(&self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.post_json(&self.mcp, &body).await
    }

    /// Asks a question over the MCP server and returns the whole reply.
    pub(crate) async fn ask_question(&self, arguments: Value) -> Value {
        let params = json!({ "name": "codebase_question", "arguments": arguments });
        self.call_rpc("tools/call", params).await
    }

    /// Posts to a route of the main HTTP API.
    pub(crate) async fn post_api(&self, path: &str, body: &Value) -> Value {
        self.post_json(&format!("{}{path}", self.main), body).await
    }

    /// Reads a route of the main HTTP API.
    pub(crate) async fn get_api(&self, path: &str) -> Value {
        self.http.get(format!("{}{path}", self.main)).send().await.unwrap().json().await.unwrap()
    }

    async fn post_json(&self, url: &str, body: &Value) -> Value {
        let request = self.http.post(url).header("accept", "application/json").json(body);
        request.send().await.unwrap().json().await.unwrap()
    }

    /// Starts an ingest run and returns its last status.
    pub(crate) async fn ingest(&self, path: &Path) -> Value {
        let started = self.post_api("/ingest/start", &json!({ "path": path })).await;
        let run = started["runId"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
        loop {
            let status = self.get_api(&format!("/ingest/status/{run}")).await;
            match status["state"].as_str().unwrap() {
                "queued" | "scanning" | "embedding" => tokio::task::yield_now().await,
                _ => return status,
            }
        }
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) async fn terminate(mut self) -> ExitStatus {
        send_signal("TERM", self.pid()).await;
        self.child.wait().await.unwrap()
    }

    /// Sends SIGKILL and waits for the end.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// The process's id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }
}

/// Runs one command to its end within limits of the system, as `ulimit` takes them.
pub(crate) async fn run_with_limits(
    limits: &str,
    data_dir: &Path,
    environment: &ProgramEnvironment,
    arguments: &[&str],
) -> Output {
    let mut command = apply_environment(Command::new("sh"), data_dir, environment);
    let limited = format!("ulimit {limits} && exec \"$@\"");
    command.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_codeinfo")]).args(arguments);
    command.output().await.unwrap()
}

/// Runs one command to its end as a user who has no rights but those that files give.
pub(crate) async fn run_unprivileged(
    data_dir: &Path,
    environment: &ProgramEnvironment,
    arguments: &[&str],
) -> Output {
    let mut command = apply_environment(Command::new("unshare"), data_dir, environment);
    command.args(["--user", env!("CARGO_BIN_EXE_codeinfo")]).args(arguments);
    command.output().await.unwrap()
}

/// Runs a script, whose `$0` is the program, with the data on a separate small disk.
pub(crate) async fn run_on_small_disk(
    size: &str,
    script: &str,
    data_dir: &Path,
    environment: &ProgramEnvironment,
) -> Output {
    small_disk_command(size, script, data_dir, environment).output().await.unwrap()
}

fn small_disk_command(
    size: &str,
    script: &str,
    data_dir: &Path,
    environment: &ProgramEnvironment,
) -> Command {
    let mut command = apply_environment(Command::new("unshare"), data_dir, environment);
    let script = format!("mount -t tmpfs -o size={size} tmpfs \"$DATA_DIR\" || exit 9\n{script}");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .arg(env!("CARGO_BIN_EXE_codeinfo"));
    command
}

/// Sends a signal by name to a process.
pub(crate) async fn send_signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(sent.await.unwrap().success());
}

/// Starts one command with piped output; dropping it kills it.
pub(crate) fn spawn_command(
    data_dir: &Path,
    environment: &ProgramEnvironment,
    arguments: &[&str],
) -> Child {
    let mut command = program_command(data_dir, environment);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs one command to its end.
pub(crate) async fn run_command(
    data_dir: &Path,
    environment: &ProgramEnvironment,
    arguments: &[&str],
) -> Output {
    program_command(data_dir, environment).args(arguments).output().await.unwrap()
}

/// Runs one command to its end where namespaces are forbidden: in a namespace without any rights.
pub(crate) async fn run_without_namespaces(
    data_dir: &Path,
    environment: &ProgramEnvironment,
    arguments: &[&str],
) -> Output {
    let bare = "echo 0 > /proc/sys/user/max_user_namespaces && \
                exec setpriv --bounding-set=-all --no-new-privs \"$@\"";
    apply_environment(Command::new("unshare"), data_dir, environment)
        .args(["--user", "--map-root-user", "sh", "-c", bare, "sh"])
        .arg(env!("CARGO_BIN_EXE_codeinfo"))
        .args(arguments)
        .output()
        .await
        .unwrap()
}

/// A client that speaks to this machine only.
pub(crate) fn http_client() -> reqwest::Client {
    codeinfo_core::install_crypto_provider();
    reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

pub(crate) fn program_command(data_dir: &Path, environment: &ProgramEnvironment) -> Command {
    apply_environment(Command::new(env!("CARGO_BIN_EXE_codeinfo")), data_dir, environment)
}

/// Gives a command the environment of a program under test.
pub(crate) fn apply_environment(
    mut command: Command,
    data_dir: &Path,
    environment: &ProgramEnvironment,
) -> Command {
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("PORT", "0")
        .env("MCP_PORT", "0")
        .env("DATA_DIR", data_dir)
        .env("TMPDIR", scratch_folder())
        .env("LOG_LEVEL", "error")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// A folder below `target` for what tests write; Codex refuses the system's temporary folder.
pub(crate) fn scratch_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scratch");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A fresh folder below [`scratch_folder`], removed when dropped.
pub(crate) fn create_scratch_folder() -> tempfile::TempDir {
    tempfile::tempdir_in(scratch_folder()).unwrap()
}

/// Returns the environment of a program with the store in `fixture`.
pub(crate) fn qdrant_environment(
    fixture: &codeinfo_test_support::qdrant::fixture::QdrantFixture,
) -> ProgramEnvironment {
    let settings = &fixture.settings;
    let mut environment = vec![
        ("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned()),
        ("QDRANT_URL".to_owned(), settings.urls.join(",")),
        ("QDRANT_COLLECTION".to_owned(), settings.collection.clone()),
        ("QDRANT_SHARDS".to_owned(), "1".to_owned()),
        ("QDRANT_SHARED_PATHS".to_owned(), settings.shared_paths.to_string()),
        ("QDRANT_RETRY_SECS".to_owned(), "2".to_owned()),
    ];
    if let Some(key) = &settings.api_key {
        environment.push(("QDRANT_API_KEY".to_owned(), key.expose().to_owned()));
    }
    environment
}

/// Returns an environment without Codex, so that nothing of the user of this machine is touched.
pub(crate) fn without_codex() -> ProgramEnvironment {
    vec![("CODEX_BIN".to_owned(), "/nonexistent/codex".to_owned())]
}

/// Returns the exit code, standard output and standard error of a command.
pub(crate) fn read_output(output: &Output) -> (Option<i32>, String, String) {
    let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), utf8(&output.stdout), utf8(&output.stderr))
}

/// Returns the folder of this repository.
pub(crate) fn repository_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

//! Toolkits for tests: real servers, and one that misbehaves.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use codeinfo_codex::NetworkAccess;
use codeinfo_core::{
    Secret,
    task::{BackoffSchedule, Tasks},
};
use codeinfo_toolkits::{
    connection::{
        CallResult, ConnectionPool, ConnectionTiming, LaunchRequest, ToolkitClient, ToolkitCommand,
        ToolkitLauncher,
    },
    spec::{AllowedTools, ToolkitName, ToolkitSandbox, ToolkitSpec, ToolkitTransport},
};
use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value};

/// Starts commands as they are, with the `PATH` of the tests.
pub struct PlainLauncher;

impl ToolkitLauncher for PlainLauncher {
    fn build_command<'a>(
        &'a self,
        start: LaunchRequest<'a>,
    ) -> BoxFuture<'a, Result<ToolkitCommand, String>> {
        let ToolkitTransport::Stdio { command, args, env, working_dir } = &start.spec.transport
        else {
            panic!("nothing to be started");
        };
        let path = std::env::var_os("PATH").unwrap().into_string().unwrap();
        let mut variables = BTreeMap::from([("PATH".to_owned(), path)]);
        variables.extend(env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())));
        Box::pin(ready(Ok(ToolkitCommand {
            program: command.into(),
            args: args.iter().map(Into::into).collect(),
            env: variables,
            dir: working_dir.clone().unwrap_or_else(std::env::temp_dir),
            own: None,
        })))
    }
}

/// Clients of one pool, which ends with this.
pub struct TestToolkits {
    pub pool: ConnectionPool,
    pub tasks: Tasks,
}

impl TestToolkits {
    pub fn new() -> Self {
        Self::with_timing(ConnectionTiming::default())
    }

    pub fn with_timing(timing: ConnectionTiming) -> Self {
        let tasks = Tasks::default();
        Self {
            pool: ConnectionPool::with_timing(Arc::new(PlainLauncher), tasks.clone(), timing),
            tasks,
        }
    }

    /// Returns clients whose processes `launcher` starts.
    pub fn with_launcher(launcher: impl ToolkitLauncher + 'static, tasks: Tasks) -> Self {
        let pool = ConnectionPool::with_timing(Arc::new(launcher), tasks.clone(), fast_timing());
        Self { pool, tasks }
    }

    pub fn client(&self, spec: &ToolkitSpec) -> Arc<ToolkitClient> {
        self.pool.get_or_create_client(None, &make_toolkit_name("kit"), spec)
    }

    /// Stops everything, which must not take long.
    pub async fn stop(self) {
        assert!(self.tasks.stop(Duration::from_secs(20)).await, "stopping takes too long");
    }
}

/// Returns the usual timing, only faster.
pub fn fast_timing() -> ConnectionTiming {
    ConnectionTiming {
        start: Duration::from_secs(10),
        grace: Duration::from_millis(300),
        tick: Duration::from_millis(50),
        restart: BackoffSchedule {
            first: Duration::from_millis(20),
            longest: Duration::from_millis(100),
        },
        ..ConnectionTiming::default()
    }
}

/// Waits for what other tasks do.
pub async fn wait_until(holds: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "it takes too long");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub fn make_toolkit_name(text: &str) -> ToolkitName {
    text.parse().unwrap()
}

/// The server in `tests/toolkits/server.py`, whose arguments make it misbehave.
pub fn scripted_spec(words: &[&str]) -> ToolkitSpec {
    let script = script_path("server.py").display().to_string();
    let words = words.iter().map(|word| (*word).to_owned());
    stdio_spec("python3", [script].into_iter().chain(words).collect())
}

pub fn script_path(name: &str) -> PathBuf {
    // A path without `..`, because a sandbox has only its own paths.
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    tests.join("toolkits").join(name)
}

pub fn stdio_spec(command: &str, args: Vec<String>) -> ToolkitSpec {
    let env = BTreeMap::from([("KEY".to_owned(), Secret::new("k3y-of-tests".to_owned()))]);
    build_spec(ToolkitTransport::Stdio {
        command: command.to_owned(),
        args,
        env,
        working_dir: None,
    })
}

pub fn http_spec(port: u16) -> ToolkitSpec {
    let headers = BTreeMap::from([("X-Key".to_owned(), Secret::new("k3y-of-tests".to_owned()))]);
    build_spec(ToolkitTransport::Http { url: format!("http://127.0.0.1:{port}/mcp"), headers })
}

fn build_spec(transport: ToolkitTransport) -> ToolkitSpec {
    ToolkitSpec {
        transport,
        name: None,
        description: None,
        enabled: true,
        timeout: Duration::from_mins(1),
        sandbox: ToolkitSandbox::Off,
        network: NetworkAccess::Open,
        allow: AllowedTools::All,
        cache: Duration::ZERO,
        parallel: false,
        memory_mb: None,
        home_mb: None,
        max_processes: None,
    }
}

pub fn make_arguments(value: Value) -> Map<String, Value> {
    let Value::Object(arguments) = value else { panic!("no object") };
    arguments
}

/// The text of a result.
pub fn read_result_text(result: &CallResult) -> &str {
    result.content[0]["text"].as_str().unwrap()
}

/// Returns whether a process runs.
#[cfg(unix)]
pub fn is_running(process: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    test_kill_process(Pid::from_raw(process.cast_signed()).unwrap()).is_ok()
}

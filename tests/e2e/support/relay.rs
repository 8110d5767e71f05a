//! A client that starts `codeinfo stdio` and speaks over its standard streams.

use std::{path::Path, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::process::{ProgramEnvironment, apply_environment, program_command};

/// Long enough that only a hanging test meets it.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A server that stops a second after the last relay.
fn short_lived_environment() -> ProgramEnvironment {
    vec![("IDLE_EXIT_SECS".to_owned(), "1".to_owned())]
}

pub(crate) struct RelayClient {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl RelayClient {
    /// Starts one in `folder`. A server that it starts stops a second after the last relay.
    pub(crate) fn start(
        data_dir: &Path,
        folder: &Path,
        environment: &ProgramEnvironment,
        arguments: &[&str],
    ) -> Self {
        Self::spawn(
            program_command(data_dir, &short_lived_environment()),
            folder,
            environment,
            arguments,
        )
    }

    /// Starts one of raw search by a shell that leaves another handle of its output open, as clients may.
    pub(crate) fn start_with_leaked_output(
        data_dir: &Path,
        folder: &Path,
        environment: &ProgramEnvironment,
    ) -> Self {
        let mut shell = apply_environment(Command::new("sh"), data_dir, &short_lived_environment());
        shell.args(["-c", "exec 7>&1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_codeinfo")]);
        Self::spawn(shell, folder, environment, &["--search"])
    }

    fn spawn(
        mut command: Command,
        folder: &Path,
        environment: &ProgramEnvironment,
        arguments: &[&str],
    ) -> Self {
        let mut child = command
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .arg("stdio")
            .args(arguments)
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, lines }
    }

    pub(crate) async fn send_line(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.input.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    pub(crate) async fn send_request(&mut self, id: u64, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_line(&message.to_string()).await;
    }

    /// Sends a call of the only tool that fits.
    pub(crate) async fn call_tool(&mut self, id: u64, tool: &str, arguments: Value) {
        self.send_request(id, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    }

    /// Cancels a request.
    pub(crate) async fn cancel_request(&mut self, id: u64) {
        let (method, params) = ("notifications/cancelled", json!({ "requestId": id }));
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send_line(&message.to_string()).await;
    }

    /// Ends its input.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Returns the next message; `None` when the output ends.
    pub(crate) async fn read_message(&mut self) -> Option<Value> {
        let line = timeout(TIMEOUT, self.lines.next_line()).await.unwrap().unwrap();
        line.map(|line| serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}")))
    }

    /// Returns the answer to `id`, past everything before it.
    pub(crate) async fn read_answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.read_message().await.unwrap();
            if message["id"] == json!(id) {
                return message;
            }
        }
    }
}

//! Starts the Codex process, serves its three pipes with one task each, and waits for its end.

use std::{collections::BTreeMap, ffi::OsString, path::Path, sync::Arc, time::Duration};

use codeinfo_core::{
    pipes::{BoundedLine, BoundedLineReader, PipedChild, STDERR_TIMEOUT, drain_stderr},
    task::Tasks,
};
use codeinfo_secrets::redact_message;
use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};
use tracing::{debug, warn};

use super::{error::CodexError, server::CodexConnection};
use crate::CodexSettings;

/// Maximum bytes of a line of output: Codex cuts a tool's result at 1 MiB, and JSON may need six bytes for each.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum wait for the process to end after its input is closed; it takes 0.1 s.
const GRACE: Duration = Duration::from_secs(3);

pub(super) struct CodexProcessSpec<'a> {
    pub(super) binary: &'a Path,
    pub(super) arguments: Vec<String>,
    /// Inherited environment; `PATH` and a few fixed variables are added.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) path: OsString,
    pub(super) settings: &'a CodexSettings,
}

/// `queue` receives the lines to write. `replies` sends to it without keeping the process alive.
pub(super) fn start_process(
    start: &CodexProcessSpec<'_>,
    tasks: &Tasks,
    replies: mpsc::WeakSender<Vec<u8>>,
    queue: mpsc::Receiver<Vec<u8>>,
    shared: &Arc<CodexConnection>,
) -> Result<(), CodexError> {
    let CodexProcessSpec { binary, settings, .. } = start;
    let mut command = Command::new(binary);
    command
        .args(&start.arguments)
        .env_clear()
        .envs(&start.variables)
        .env("PATH", &start.path)
        .env("NO_COLOR", "1");
    if let Some(home) = &settings.home {
        command.env("CODEX_HOME", home);
    }
    // Keeps a proxy of the environment from the connection between Codex and our search.
    for name in ["NO_PROXY", "no_proxy"] {
        command.env(name, &settings.no_proxy);
    }
    let failed = |source| CodexError::Start { path: (*binary).to_owned(), source };
    // Ctrl-C must reach only this process, which interrupts turns first and then closes the input.
    let PipedChild { child, stdin, stdout, stderr } =
        PipedChild::spawn(&mut command).map_err(failed)?;
    debug!(process.id = child.id(), "Codex started");
    tasks.spawn(write_lines(stdin, queue, Arc::clone(shared)));
    let stderr_reading = tasks.spawn_handle(record_stderr(stderr, Arc::clone(shared)));
    tasks.spawn(read_output(child, stdout, stderr_reading, replies, Arc::clone(shared)));
    Ok(())
}

/// Returning closes the input of the process, which makes it end.
async fn write_lines(
    mut stdin: ChildStdin,
    mut queue: mpsc::Receiver<Vec<u8>>,
    shared: Arc<CodexConnection>,
) {
    loop {
        let line = tokio::select! {
            () = shared.closing.cancelled() => break,
            line = queue.recv() => line,
        };
        let Some(line) = line else {
            shared.begin_shutdown();
            break;
        };
        let written = tokio::select! {
            () = shared.closing.cancelled() => break,
            written = stdin.write_all(&line) => written,
        };
        if let Err(error) = written {
            debug!(%error, "Codex accepts no more input");
            break;
        }
    }
    shared.closing.cancel();
}

/// Reads the lines of the process until it ends, then waits for it.
async fn read_output(
    mut child: Child,
    stdout: ChildStdout,
    stderr_reading: JoinHandle<()>,
    replies: mpsc::WeakSender<Vec<u8>>,
    shared: Arc<CodexConnection>,
) {
    let mut lines = BoundedLineReader::new(stdout, MAX_LINE_BYTES);
    tokio::select! {
        () = read_lines(&mut lines, &replies, &shared) => {}
        () = async { shared.closing.cancelled().await; tokio::time::sleep(GRACE).await } => {
            warn!("Codex does not end by itself");
        }
    }
    let status = match timeout(GRACE, child.wait()).await {
        Ok(Ok(status)) => {
            debug!(%status, "Codex ended");
            Some(status)
        }
        Ok(Err(error)) => {
            warn!(%error, "the end of Codex cannot be awaited");
            None
        }
        Err(_) => {
            if let Err(error) = child.kill().await {
                warn!(%error, "Codex cannot be killed");
            }
            None
        }
    };
    // The last lines may still be in the pipe.
    drop(timeout(STDERR_TIMEOUT, stderr_reading).await);
    shared.mark_ended(status);
    shared.gone.cancel();
}

async fn read_lines(
    lines: &mut BoundedLineReader<ChildStdout>,
    replies: &mpsc::WeakSender<Vec<u8>>,
    shared: &CodexConnection,
) {
    loop {
        let reply = match lines.next_line().await {
            Ok(Some(BoundedLine::Whole(line))) => shared.handle_line(&line),
            // Counts as a malformed line.
            Ok(Some(BoundedLine::TooLong { .. })) => shared.handle_line(b""),
            Ok(None) => return,
            Err(error) => {
                warn!(%error, "the output of Codex cannot be read");
                return;
            }
        };
        // A full queue means that Codex does not read; its request then gets no answer.
        if let (Some(reply), Some(queue)) = (reply, replies.upgrade()) {
            drop(queue.try_send(reply));
        }
    }
}

/// Drains standard error and records its redacted lines. Lines that are too long are dropped.
async fn record_stderr(stderr: ChildStderr, shared: Arc<CodexConnection>) {
    drain_stderr(stderr, |line| {
        let BoundedLine::Whole(line) = line else { return };
        let message = redact_message(&String::from_utf8_lossy(&line));
        if !message.is_empty() {
            debug!(codex.stderr = message, "Codex says");
            shared.record_stderr(message);
        }
    })
    .await;
}

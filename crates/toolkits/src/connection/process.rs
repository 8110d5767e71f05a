//! Runs the process of a toolkit in its own process group, with pumps that bound its messages, and ends the group.
//!
//! If this server is killed, it cannot end its children; toolkits then see their standard input close. Asking
//! the system to kill them would require unsafe code.

use std::{
    process::ExitStatus,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use codeinfo_core::pipes::{
    BoundedLine, BoundedLineReader, PipedChild, STDERR_TIMEOUT, drain_stderr,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    MAX_MESSAGE_BYTES, StopGrace, ToolkitCommand, messages::FailureLinePicker,
    usage::ResourceLimits,
};

/// Bytes of the buffer between a pump and the protocol; the rest of a longer line waits.
const BUFFER_BYTES: usize = 64 * 1024;
/// Interval for checking that a group has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Our ends of the process's standard output and input.
pub(super) type ProcessStreams = (DuplexStream, DuplexStream);

/// Running process; dropping it kills its group.
pub(super) struct ToolkitProcess {
    child: Child,
    id: Option<u32>,
    /// Cancelling this closes standard input.
    closing: CancellationToken,
    pub(super) output: Arc<ToolkitOutput>,
    bounds: ResourceLimits,
    is_over: bool,
}

impl ToolkitProcess {
    /// Starts the command of `launch` within `bounds`, whose tasks run the pumps.
    pub(super) fn start(
        launch: &ToolkitCommand,
        bounds: ResourceLimits,
    ) -> Result<(Self, ProcessStreams), String> {
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).env_clear().envs(&launch.env).current_dir(&launch.dir);
        let PipedChild { child, stdin, stdout, stderr } =
            PipedChild::spawn(&mut command).map_err(|error| {
                let name = launch.program.file_name().unwrap_or_default().to_string_lossy();
                format!("`{name}` cannot be started: {error}")
            })?;
        let closing = CancellationToken::new();
        let output = Arc::new(ToolkitOutput::default());
        let ours = tokio::io::duplex(BUFFER_BYTES);
        let theirs = tokio::io::duplex(BUFFER_BYTES);
        let tasks = &bounds.tasks;
        tasks.spawn(pump_stdin(ours.1, stdin, closing.clone()));
        tasks.spawn(pump_stdout(stdout, theirs.1, Arc::clone(&output)));
        tasks.spawn(pump_stderr(stderr, Arc::clone(&output)));
        let process = Self { id: child.id(), child, closing, output, bounds, is_over: false };
        Ok((process, (theirs.0, ours.0)))
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.id
    }

    /// Returns why the process ended or closed its standard output. Kills one that exceeds its limits.
    pub(super) async fn wait_for_end(&mut self) -> String {
        tokio::select! {
            status = self.child.wait() => self.describe_end(status.ok()).await,
            () = self.output.closed.cancelled() => {
                // Usually the process is about to end.
                let status = timeout(STDERR_TIMEOUT, self.child.wait()).await;
                self.describe_end(status.ok().and_then(Result::ok)).await
            }
            excess = self.bounds.wait_for_excess(self.id) => {
                self.signal_group(StopSignal::Kill);
                excess
            }
        }
    }

    async fn describe_end(&self, status: Option<ExitStatus>) -> String {
        drop(timeout(STDERR_TIMEOUT, self.output.stderr_closed.cancelled()).await);
        let how = match status {
            _ if self.output.fault().is_some() => {
                self.output.fault().unwrap_or_default().to_owned()
            }
            None => "it closed its standard output".to_owned(),
            Some(status) => match (status.code(), exit_signal(status)) {
                (Some(code), _) => format!("it ended with exit status {code}"),
                (None, Some(signal)) => format!("it was ended by signal {signal}"),
                (None, None) => "it ended".to_owned(),
            },
        };
        match self.output.failure_reason() {
            Some(words) => format!("{how}, saying: {words}"),
            None => how,
        }
    }

    /// Ends the process and its group: closes its input, then terminates, then kills, with a wait after each step.
    pub(super) async fn stop(mut self, grace: &StopGrace) {
        self.closing.cancel();
        grace.wait_for_step(self.child.wait()).await;
        for urgency in [StopSignal::Ask, StopSignal::Kill] {
            if !self.is_gone() {
                self.signal_group(urgency);
                grace.wait_for_step(self.wait_until_gone()).await;
            }
        }
        self.is_over = true;
        self.output.over.cancel();
    }

    async fn wait_until_gone(&mut self) {
        while !self.is_gone() {
            sleep(PAUSE).await;
        }
    }

    fn is_gone(&mut self) -> bool {
        // An ended process stays in its group until it is waited for.
        let has_ended = !matches!(self.child.try_wait(), Ok(None));
        has_ended && !self.group_is_there()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopSignal {
    Ask,
    Kill,
}

#[cfg(unix)]
impl ToolkitProcess {
    fn process_group(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(i32::try_from(self.id?).ok()?)
    }

    fn group_is_there(&self) -> bool {
        self.process_group()
            .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
    }

    fn signal_group(&mut self, urgency: StopSignal) {
        let signal = match urgency {
            StopSignal::Ask => rustix::process::Signal::TERM,
            StopSignal::Kill => rustix::process::Signal::KILL,
        };
        if let Some(group) = self.process_group() {
            // The group may be gone already.
            rustix::process::kill_process_group(group, signal).ok();
        }
    }
}

#[cfg(not(unix))]
impl ToolkitProcess {
    fn group_is_there(&self) -> bool {
        false
    }

    fn signal_group(&mut self, urgency: StopSignal) {
        if urgency == StopSignal::Kill {
            drop(self.child.start_kill());
        }
    }
}

#[cfg(unix)]
fn exit_signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn exit_signal(_: ExitStatus) -> Option<i32> {
    None
}

impl Drop for ToolkitProcess {
    /// Kills the group if nothing waited for its end.
    fn drop(&mut self) {
        if !self.is_over && !self.is_gone() {
            self.signal_group(StopSignal::Kill);
        }
        self.closing.cancel();
        self.output.over.cancel();
    }
}

/// Maximum lines that are not messages; a server that prints more is disconnected.
const MAX_MALFORMED_LINES: u64 = 10_000;
/// Maximum requests and notifications of a server per second; further ones wait, as each occupies a task.
const MAX_REQUESTS: u32 = 200;
const SECOND: Duration = Duration::from_secs(1);

pub(super) struct ToolkitOutput {
    malformed_lines: AtomicU64,
    last_response: Mutex<Instant>,
    reason: Mutex<FailureLinePicker>,
    fault: OnceLock<&'static str>,
    /// Cancelled when standard output is closed.
    pub(super) closed: CancellationToken,
    pub(super) stderr_closed: CancellationToken,
    /// Cancelled when the process is over. Descendants outside of its group may still hold its pipes open.
    pub(super) over: CancellationToken,
}

impl Default for ToolkitOutput {
    fn default() -> Self {
        Self {
            malformed_lines: AtomicU64::new(0),
            last_response: Mutex::new(Instant::now()),
            reason: Mutex::default(),
            fault: OnceLock::new(),
            closed: CancellationToken::new(),
            stderr_closed: CancellationToken::new(),
            over: CancellationToken::new(),
        }
    }
}

impl ToolkitOutput {
    pub(super) fn malformed_lines(&self) -> u64 {
        self.malformed_lines.load(Ordering::Relaxed)
    }

    pub(super) fn last_response_at(&self) -> Instant {
        *self.last_response.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fault(&self) -> Option<&'static str> {
        self.fault.get().copied()
    }

    pub(super) fn failure_reason(&self) -> Option<String> {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.line().map(str::to_owned)
    }

    fn is_too_malformed(&self) -> bool {
        self.malformed_lines.fetch_add(1, Ordering::Relaxed) >= MAX_MALFORMED_LINES
    }
}

/// Forwards messages of the protocol until they end or `closing` is cancelled.
async fn pump_stdin(mut from: DuplexStream, mut to: ChildStdin, closing: CancellationToken) {
    tokio::select! {
        () = closing.cancelled() => {}
        // A process that no longer reads will soon end or stop answering.
        _ = tokio::io::copy(&mut from, &mut to) => {}
    }
}

/// Forwards messages of standard output until the process is over.
async fn pump_stdout(from: ChildStdout, to: DuplexStream, output: Arc<ToolkitOutput>) {
    tokio::select! {
        () = output.over.cancelled() => {}
        () = read_messages(from, to, &output) => {}
    }
    output.closed.cancel();
}

async fn read_messages(from: ChildStdout, mut to: DuplexStream, output: &ToolkitOutput) {
    let mut lines = BoundedLineReader::new(from, MAX_MESSAGE_BYTES);
    let mut requests = RequestLimiter { since: Instant::now(), count: 0 };
    while let Ok(Some(line)) = lines.next_line().await {
        let message = match line {
            BoundedLine::Whole(line) => filter_message(line, output, &mut requests).await,
            BoundedLine::TooLong { start, end } => build_too_long_reply(&start, &end),
        };
        match message {
            Some(message) => match to.write_all(&message).await {
                Ok(()) => {}
                Err(_) => break,
            },
            None if output.is_too_malformed() => {
                output.fault.get_or_init(|| "it keeps printing lines that are not messages of MCP");
                break;
            }
            None => {}
        }
    }
    output.closed.cancel();
    drop(to);
    // A process blocks if nothing reads its output.
    let mut rest = lines.into_inner();
    let mut buffer = [0; 4096];
    while rest.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
}

/// Drains standard error until the process is over, and records the reason of a failure.
async fn pump_stderr(stderr: ChildStderr, output: Arc<ToolkitOutput>) {
    let draining = drain_stderr(stderr, |line| {
        let (BoundedLine::Whole(line) | BoundedLine::TooLong { start: line, .. }) = line;
        output.reason.lock().unwrap_or_else(PoisonError::into_inner).read_line(&line);
    });
    tokio::select! {
        () = output.over.cancelled() => {}
        () = draining => {}
    }
    output.stderr_closed.cancel();
}

/// Members that determine the kind of a message.
#[derive(Deserialize)]
struct MessageHead {
    method: Option<IgnoredAny>,
    id: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    result: Option<IgnoredAny>,
}

struct RequestLimiter {
    since: Instant,
    count: u32,
}

/// Returns `line` with a line feed if it is a message.
async fn filter_message(
    mut line: Vec<u8>,
    output: &ToolkitOutput,
    requests: &mut RequestLimiter,
) -> Option<Vec<u8>> {
    if line.trim_ascii().is_empty() {
        return Some(Vec::new());
    }
    let head: MessageHead = serde_json::from_slice(&line).ok()?;
    if head.method.is_some() {
        requests.wait_until_allowed().await;
    } else if head.id.is_some() && (head.result.is_some() || head.error.is_some()) {
        *output.last_response.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    } else {
        return None;
    }
    line.push(b'\n');
    Some(line)
}

impl RequestLimiter {
    async fn wait_until_allowed(&mut self) {
        if self.since.elapsed() >= SECOND {
            *self = Self { since: Instant::now(), count: 0 };
        }
        self.count += 1;
        if self.count > MAX_REQUESTS {
            sleep_until(self.since + SECOND).await;
        }
    }
}

/// Replaces an answer that is too long. The request identifier is at the start or the end of an answer.
fn build_too_long_reply(start: &[u8], end: &[u8]) -> Option<Vec<u8>> {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text.split_at(end).0.parse::<u64>().ok()
    };
    let after = |text: &str| {
        let (_, number) = text.split_once("\"id\":")?;
        digits(number.trim_start())
    };
    let start_text = String::from_utf8_lossy(start);
    let end_text = String::from_utf8_lossy(end);
    let first = start_text.split("\"result\"").next().and_then(after);
    let last = || {
        let (_, number) = end_text.rsplit_once("\"id\":")?;
        number.trim().strip_suffix('}').and_then(|number| number.trim().parse().ok())
    };
    let id = first.or_else(last)?;
    let words = format!("its answer has more than {MAX_MESSAGE_BYTES} bytes");
    let error =
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": words } });
    Some(format!("{error}\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_too_long_is_known_by_its_number_at_either_end() {
        let id = |start: &str, end: &str| {
            let line = build_too_long_reply(start.as_bytes(), end.as_bytes())?;
            let message: serde_json::Value = serde_json::from_slice(&line).unwrap();
            message["id"].as_u64()
        };
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"result":{"#, r#"x"}]}}"#), Some(7));
        assert_eq!(id(r#"{"result":{"content":[{"#, r#"x"}]},"jsonrpc":"2.0","id":12}"#), Some(12));
        // An identifier inside the result does not count.
        assert_eq!(id(r#"{"result":{"id":3,"#, r#""id":4}}"#), None);
        assert_eq!(id("xxxxxxx", "xxxxx"), None);
    }
}

//! Runs the process of a toolkit in its own process group, and ends the whole group.
//!
//! If this server is killed, it cannot end its children; toolkits then see their standard input close. Asking
//! the system to kill them would require unsafe code.

use std::{
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::DuplexStream,
    process::{Child, Command},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{ToolkitCommand, pipes, timing::StopGrace, usage::ResourceLimits};

/// Bytes of the buffer between a pump and the protocol; the rest of a longer line waits.
const BUFFER_BYTES: usize = 64 * 1024;
/// Interval for checking that a group has ended.
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum wait for the rest of standard error.
const STDERR_TIMEOUT: Duration = Duration::from_millis(200);
/// `CREATE_NEW_PROCESS_GROUP`: keeps Ctrl-C from the process.
#[cfg(windows)]
const OWN_GROUP: u32 = 0x200;

/// Our ends of the process's standard output and input.
pub(super) type ProcessStreams = (DuplexStream, DuplexStream);

/// Running process; dropping it kills its group.
pub(super) struct ToolkitProcess {
    child: Child,
    id: Option<u32>,
    /// Cancelling this closes standard input.
    closing: CancellationToken,
    pub(super) output: Arc<pipes::ToolkitOutput>,
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
        command
            .args(&launch.args)
            .env_clear()
            .envs(&launch.env)
            .current_dir(&launch.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // Keeps Ctrl-C of a terminal from the process, and lets us end it with its children.
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(windows)]
        command.creation_flags(OWN_GROUP);
        let shown = launch.program.file_name().unwrap_or_default().to_string_lossy();
        let failed = |error: std::io::Error| format!("`{shown}` cannot be started: {error}");
        let mut child = command.spawn().map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(std::io::Error::other("a pipe is missing")));
        };
        let closing = CancellationToken::new();
        let output = Arc::new(pipes::ToolkitOutput::default());
        let ours = tokio::io::duplex(BUFFER_BYTES);
        let theirs = tokio::io::duplex(BUFFER_BYTES);
        let tasks = &bounds.tasks;
        tasks.spawn(pipes::pump_stdin(ours.1, stdin, closing.clone()));
        tasks.spawn(pipes::pump_stdout(stdout, theirs.1, Arc::clone(&output)));
        tasks.spawn(pipes::read_words(stderr, Arc::clone(&output)));
        let process = Self { id: child.id(), child, closing, output, bounds, is_over: false };
        Ok((process, (theirs.0, ours.0)))
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.id
    }

    /// Waits until the process ends or closes its standard output, and returns the reason. Kills a process that
    /// exceeds its limits.
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
        drop(timeout(STDERR_TIMEOUT, self.output.said_all.cancelled()).await);
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

    /// Ends the process and its group: closes its input, then terminates, then kills, with a wait after each
    /// step.
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

    /// Returns true if no process of the group remains.
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

//! Child processes with owned pipes, each in a process group of its own.

use std::{io, process::Stdio, time::Duration};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::lines::{BoundedLine, BoundedLineReader};

/// Maximum bytes of a line of standard error.
const MAX_STDERR_LINE_BYTES: usize = 16 * 1024;
/// Maximum wait for the rest of standard error after the end of a process. Its own children may hold the pipe open.
pub const STDERR_TIMEOUT: Duration = Duration::from_millis(200);
/// `CREATE_NEW_PROCESS_GROUP`: keeps Ctrl-C from the process.
#[cfg(windows)]
const NEW_PROCESS_GROUP: u32 = 0x200;

/// Running process with its pipes. Dropping `child` kills it.
pub struct PipedChild {
    /// The process.
    pub child: Child,
    /// Our end of its standard input; dropping it closes the input.
    pub stdin: ChildStdin,
    /// Our end of its standard output.
    pub stdout: ChildStdout,
    /// Our end of its standard error.
    pub stderr: ChildStderr,
}

impl PipedChild {
    /// Starts `command` in its own process group, so that Ctrl-C of a terminal does not reach it.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(windows)]
        command.creation_flags(NEW_PROCESS_GROUP);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("a pipe is missing"));
        };
        Ok(Self { child, stdin, stdout, stderr })
    }
}

/// Reads standard error to its end, so that the process never blocks on it, and passes each line to `record_line`.
pub async fn drain_stderr(stderr: ChildStderr, mut record_line: impl FnMut(BoundedLine)) {
    let mut lines = BoundedLineReader::new(stderr, MAX_STDERR_LINE_BYTES);
    while let Ok(Some(line)) = lines.next_line().await {
        record_line(line);
    }
}

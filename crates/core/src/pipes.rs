//! Child processes with owned pipes, and lines of bounded length from a pipe.

use std::{io, process::Stdio, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
};

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

/// One line without its line end.
#[derive(Debug, PartialEq, Eq)]
pub enum BoundedLine {
    /// A line within the length limit.
    Whole(Vec<u8>),
    /// A line above the length limit. Only its start and end are available.
    TooLong {
        /// First bytes of the line.
        start: Vec<u8>,
        /// Last bytes of the line.
        end: Vec<u8>,
    },
}

/// Maximum bytes returned of each end of a line that is too long.
const END_BYTES: usize = 256;

/// Reader of lines with at most `max` bytes. [`BoundedLineReader::next_line`] may be cancelled without loss.
pub struct BoundedLineReader<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    max: usize,
    /// Last bytes of the current line, if it is too long.
    end: Option<Vec<u8>>,
}

impl<R: AsyncRead + Unpin> BoundedLineReader<R> {
    /// Creates a reader of lines with at most `max` bytes.
    pub fn new(reader: R, max: usize) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), max, end: None }
    }

    /// Returns the underlying reader. Bytes that are already buffered are lost.
    pub fn into_inner(self) -> R {
        self.reader.into_inner()
    }

    /// Returns the next line, or `None` at the end. A last line without an end is dropped, as its writer died.
    pub async fn next_line(&mut self) -> io::Result<Option<BoundedLine>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = end.map_or(available, |end| available.split_at(end).0);
            let used = piece.len() + usize::from(end.is_some());
            if let Some(end) = &mut self.end {
                keep_end(end, piece);
            } else if self.line.len() + piece.len() > self.max {
                let mut end = std::mem::take(&mut self.line);
                end.extend_from_slice(piece);
                self.line.extend(end.iter().take(END_BYTES));
                keep_end(&mut end, &[]);
                self.end = Some(end);
            } else {
                self.line.extend_from_slice(piece);
            }
            self.reader.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                return Ok(Some(match self.end.take() {
                    None => BoundedLine::Whole(line),
                    Some(end) => BoundedLine::TooLong { start: line, end },
                }));
            }
        }
    }
}

/// Appends `piece` to the last bytes of a line and drops all but the last [`END_BYTES`].
fn keep_end(end: &mut Vec<u8>, piece: &[u8]) {
    end.extend(piece.iter().skip(piece.len().saturating_sub(END_BYTES)));
    end.drain(..end.len().saturating_sub(END_BYTES));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unfinished_lines_are_dropped_and_long_ones_cut() {
        let mut lines = BoundedLineReader::new(&b"one\n0123456789\n\ntwo\nhalf"[..], 5);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            seen.push(line);
        }
        let whole = |text: &[u8]| BoundedLine::Whole(text.to_vec());
        let bytes = b"0123456789".to_vec();
        let long = BoundedLine::TooLong { start: bytes.clone(), end: bytes };
        assert_eq!(seen, [whole(b"one"), long, whole(b""), whole(b"two")]);
    }

    #[tokio::test]
    async fn both_ends_of_a_too_long_line_are_returned() {
        let text = format!("{}{}{}\n", "a".repeat(256), "-".repeat(100_000), "z".repeat(256));
        let line = BoundedLineReader::new(text.as_bytes(), 300).next_line().await.unwrap();
        let (start, end) = (vec![b'a'; 256], vec![b'z'; 256]);
        assert_eq!(line, Some(BoundedLine::TooLong { start, end }));
    }
}

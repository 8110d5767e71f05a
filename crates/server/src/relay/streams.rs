//! Standard input as lines and standard output as messages, each on a thread, as both may block.

use std::{
    io::{self, BufRead, Read, Write},
    string::FromUtf8Error,
    thread,
    time::Duration,
};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::request_id::RequestIdScanner;

/// Maximum number of lines or messages that wait on either side.
const MAX_WAITING: usize = 64;
/// Maximum time for the client to read the last output.
const LAST_GRACE: Duration = Duration::from_secs(2);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    Text(String),
    /// A line that is too long or not text, with the id of the request in it, as JSON.
    Refused(Option<String>),
}

pub(super) struct StdinReader {
    lines: mpsc::Receiver<InputLine>,
    /// Cancelled at the end of the input, when lines may still wait.
    ended: CancellationToken,
}

pub(super) struct StdoutWriter {
    messages: mpsc::Sender<String>,
    /// Resolves when the last message has been written, or none can be.
    written: oneshot::Receiver<()>,
}

pub(super) fn open_streams(max_line_bytes: usize) -> io::Result<(StdinReader, StdoutWriter)> {
    let ((lines, input), (messages, output)) =
        (mpsc::channel(MAX_WAITING), mpsc::channel(MAX_WAITING));
    let (over, written) = oneshot::channel();
    let ended = CancellationToken::new();
    let end = ended.clone();
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        read_lines(io::stdin().lock(), max_line_bytes, &lines);
        end.cancel();
    })?;
    thread::Builder::new().name("stdout".to_owned()).spawn(move || {
        write_lines(io::stdout().lock(), output);
        // The receiver is gone if the relay ends for another reason.
        let _ = over.send(());
    })?;
    Ok((StdinReader { lines: input, ended }, StdoutWriter { messages, written }))
}

impl StdinReader {
    pub(super) async fn next_line(&mut self) -> Option<InputLine> {
        self.lines.recv().await
    }

    pub(super) async fn wait_for_end(&self) {
        self.ended.cancelled().await;
    }
}

impl StdoutWriter {
    pub(super) async fn write_message(&self, text: &str) {
        // A line break in JSON is white space; one in a string is escaped.
        let line = text.replace(['\n', '\r'], " ");
        // `wait_until_closed` reports a closed output.
        drop(self.messages.send(line).await);
    }

    pub(super) async fn wait_until_closed(&self) {
        self.messages.closed().await;
    }

    /// Waits until the output has been read, at most [`LAST_GRACE`].
    pub(super) async fn close(self) {
        let Self { messages, written } = self;
        drop(messages);
        drop(tokio::time::timeout(LAST_GRACE, written).await);
    }
}

/// Reads lines until the end, without blank ones.
fn read_lines(mut input: impl BufRead, max_bytes: usize, lines: &mpsc::Sender<InputLine>) {
    let max = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    loop {
        let mut line = Vec::new();
        match (&mut input).take(max).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_cut = line.len() > max_bytes && line.last() != Some(&b'\n');
        let line = match String::from_utf8(line) {
            Ok(text) if !is_cut && text.trim().is_empty() => continue,
            Ok(text) if !is_cut => InputLine::Text(text.trim().to_owned()),
            other => {
                let mut id = RequestIdScanner::default();
                id.read(&other.map_or_else(FromUtf8Error::into_bytes, String::into_bytes));
                if is_cut && skip_line(&mut input, &mut id).is_err() {
                    return;
                }
                InputLine::Refused(id.finish())
            }
        };
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

fn skip_line(input: &mut impl BufRead, id: &mut RequestIdScanner) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        let is_over = end.is_some() || taken == 0;
        id.read(bytes.get(..taken).unwrap_or_default());
        input.consume(taken);
        if is_over {
            return Ok(());
        }
    }
}

fn write_lines(mut output: impl Write, mut messages: mpsc::Receiver<String>) {
    while let Some(mut line) = messages.blocking_recv() {
        line.push('\n');
        if output.write_all(line.as_bytes()).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whole_and_long_ones_left_out() {
        let (sender, mut receiver) = mpsc::channel(64);
        let input =
            b"{\"a\":1}\r\n\n  \n0123456789\nok\n012345678901234567890123\n\xff\n\
              {\"method\":\"a\",\"params\":\"0123456789\",\"id\":7}\n{\"id\":1,\"method\":\"\xff\"}\nlast".as_slice();
        read_lines(io::BufReader::with_capacity(4, input), 10, &sender);
        drop(sender);
        let mut lines = Vec::new();
        while let Some(line) = receiver.blocking_recv() {
            lines.push(line);
        }
        let text = |text: &str| InputLine::Text(text.to_owned());
        let wanted = [
            text("{\"a\":1}"),
            text("0123456789"),
            text("ok"),
            InputLine::Refused(None),
            InputLine::Refused(None),
            InputLine::Refused(Some("7".to_owned())),
            InputLine::Refused(Some("1".to_owned())),
            text("last"),
        ];
        assert_eq!(lines, wanted);
    }
}

//! Reads lines of bounded length from a pipe.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// The line was longer than allowed and has been skipped.
    TooLong,
}

/// Lines of at most `max` bytes. [`Lines::next`] may be cancelled without losing anything.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    max: usize,
    too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R, max: usize) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), max, too_long: false }
    }

    /// Returns the next line, or `None` at the end. A last line without an end is dropped: its
    /// writer died in the middle.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = end.map_or(available, |end| available.split_at(end).0);
            let used = piece.len() + usize::from(end.is_some());
            if self.line.len() + piece.len() > self.max {
                self.too_long = true;
                self.line.clear();
            } else if !self.too_long {
                self.line.extend_from_slice(piece);
            }
            self.reader.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                let too_long = std::mem::take(&mut self.too_long);
                return Ok(Some(if too_long { Line::TooLong } else { Line::Whole(line) }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn long_and_unfinished_lines_are_left_out() {
        let mut lines = Lines::new(&b"one\n0123456789\n\ntwo\nhalf"[..], 5);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(line);
        }
        let whole = |text: &[u8]| Line::Whole(text.to_vec());
        assert_eq!(seen, [whole(b"one"), Line::TooLong, whole(b""), whole(b"two")]);
    }
}

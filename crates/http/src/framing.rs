//! Tracks the start and end of each request, bounds its head, and detects an ambiguous length.
//!
//! The parser (`hyper`) itself drops one of `Content-Length` and `Transfer-Encoding`, so the bytes
//! are checked before. Only input that it accepts matters; other input ends the connection.

/// Maximum bytes of a request line and its headers. A longer head is refused with 431.
pub(super) const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Bytes of a line that are stored: enough for the relevant headers without padding.
const MAX_LINE_BYTES: usize = 256;

/// Position of a connection's bytes within its requests.
#[derive(Debug)]
pub(super) struct RequestFraming {
    part: FramingPart,
    heads: u64,
    /// Number of the last head with an ambiguous length.
    unclear: Option<u64>,
}

#[derive(Debug)]
enum FramingPart {
    Head(PartialHead),
    Body {
        left: u64,
    },
    /// Chunked or ambiguous; the connection ends with the request.
    Rest,
}

#[derive(Debug, Default)]
struct PartialHead {
    bytes: usize,
    /// Start of the current line without its line feed; one byte over the maximum if it is cut.
    line: Vec<u8>,
    /// True once the request line is complete.
    begun: bool,
    length: Option<u64>,
    is_chunked: bool,
    is_unclear: bool,
}

impl RequestFraming {
    pub(super) fn new() -> Self {
        Self { part: FramingPart::Head(PartialHead::default()), heads: 0, unclear: None }
    }

    /// Tracks nothing, because the bytes belong to another protocol.
    pub(super) fn for_other_protocol() -> Self {
        Self { part: FramingPart::Rest, ..Self::new() }
    }

    /// Returns how many bytes may be read now.
    pub(super) fn max_readable_bytes(&self) -> usize {
        match &self.part {
            FramingPart::Head(head) => MAX_HEAD_BYTES.saturating_sub(head.bytes),
            FramingPart::Body { left } => {
                usize::try_from(*left).unwrap_or(usize::MAX).saturating_add(MAX_HEAD_BYTES)
            }
            FramingPart::Rest => usize::MAX,
        }
    }

    /// Returns the number, counted from 0, of the request with an ambiguous length.
    pub(super) fn ambiguous_request(&self) -> Option<u64> {
        self.unclear
    }

    /// Records bytes that were read.
    pub(super) fn track_bytes(&mut self, mut bytes: &[u8]) {
        while let Some((byte, rest)) = bytes.split_first() {
            match &mut self.part {
                FramingPart::Rest => return,
                FramingPart::Body { left } => {
                    let whole = usize::try_from(*left).ok();
                    let Some((_, after)) = whole.and_then(|left| bytes.split_at_checked(left))
                    else {
                        *left -= bytes.len() as u64;
                        return;
                    };
                    self.part = FramingPart::Head(PartialHead::default());
                    bytes = after;
                }
                FramingPart::Head(head) => {
                    bytes = rest;
                    if head.is_whole_with(*byte) {
                        let after = head.next_part();
                        if head.is_unclear {
                            self.unclear = Some(self.heads);
                        }
                        self.heads += 1;
                        self.part = after;
                    }
                }
            }
        }
    }
}

impl PartialHead {
    /// Adds a byte; returns whether it ends the head.
    fn is_whole_with(&mut self, byte: u8) -> bool {
        self.bytes += 1;
        if byte != b'\n' {
            if self.line.len() <= MAX_LINE_BYTES {
                self.line.push(byte);
            }
            return false;
        }
        let mut line = std::mem::take(&mut self.line);
        let is_cut = MAX_LINE_BYTES < line.len();
        if !is_cut && line.last() == Some(&b'\r') {
            line.pop();
        }
        // Empty lines before a request line are skipped.
        if line.is_empty() {
            return self.begun;
        }
        if self.begun {
            self.read_header_line(&line, is_cut);
        }
        self.begun = true;
        line.clear();
        self.line = line;
        false
    }

    fn read_header_line(&mut self, line: &[u8], is_cut: bool) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            self.is_unclear |= is_cut || length.is_none() || self.is_chunked;
            self.is_unclear |= self.length.is_some();
            self.length = length;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_unclear |= is_cut || !value.eq_ignore_ascii_case(b"chunked");
            self.is_unclear |= self.is_chunked || self.length.is_some();
            self.is_chunked = true;
        }
    }

    fn next_part(&self) -> FramingPart {
        match self.length {
            _ if self.is_unclear || self.is_chunked => FramingPart::Rest,
            Some(left) if left != 0 => FramingPart::Body { left },
            Some(_) | None => FramingPart::Head(Self::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_HEAD_BYTES, RequestFraming};

    /// Reads `text` in pieces of `size` bytes; returns the number of heads and the ambiguous one.
    fn read(text: &str, size: usize) -> (u64, Option<u64>) {
        let mut framing = RequestFraming::new();
        for piece in text.as_bytes().chunks(size) {
            framing.track_bytes(piece);
        }
        (framing.heads, framing.ambiguous_request())
    }

    #[test]
    fn requests_are_told_apart_however_their_bytes_arrive() {
        let text = "\r\nPOST / HTTP/1.1\r\ncontent-length: 8\r\n\r\nGET /\r\n\r\
                    GET /a HTTP/1.1\nhost: x\n\nPOST / HTTP/1.1\r\nContent-Length:0\r\n\r\n\
                    POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
                    4\r\n\r\n\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(read(text, size), (4, None), "{size}");
        }
    }

    #[test]
    fn a_length_that_could_be_read_in_two_ways_is_noted() {
        let spaces = " ".repeat(300);
        let padded = format!("content-length:{spaces}1");
        let cut = format!("content-length: 1{spaces}2");
        let coded = format!("transfer-encoding: chunked{spaces}, identity");
        for lines in [
            "content-length: 1\r\ntransfer-encoding: chunked",
            "transfer-encoding: chunked\r\ncontent-length: 1",
            "Content-Length: 1\r\ncontent-length: 1",
            "content-length: 1\r\ncontent-length: 2",
            "content-length: 1, 1",
            "content-length: -1",
            "content-length:",
            padded.as_str(),
            cut.as_str(),
            coded.as_str(),
            "transfer-encoding: chunked, identity",
            "transfer-encoding: identity, chunked",
            "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
            "transfer-encoding: \"chunked\"",
            "transfer-encoding:",
        ] {
            let text =
                format!("GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nhost: x\r\n{lines}\r\n\r\n");
            assert_eq!(read(&text, 5), (2, Some(1)), "{lines}");
        }
        for lines in
            ["transfer-encoding: \t Chunked \t", "x-content-length: 1\r\ncontent-length: 1"]
        {
            let text = format!("POST / HTTP/1.1\r\nhost: x\r\n{lines}\r\n\r\n");
            assert_eq!(read(&text, 5), (1, None), "{lines}");
        }
    }

    #[test]
    fn the_room_of_a_head_ends_at_its_bound() {
        let mut framing = RequestFraming::new();
        framing.track_bytes(&vec![b'x'; MAX_HEAD_BYTES - 3]);
        assert_eq!(framing.max_readable_bytes(), 3);
        framing.track_bytes(b"\n\r\n");
        assert_eq!((framing.heads, framing.max_readable_bytes()), (1, MAX_HEAD_BYTES));
        framing.track_bytes(b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\n12");
        assert_eq!(framing.max_readable_bytes(), 3 + MAX_HEAD_BYTES);
    }
}

//! Reads protocol buffers from a stream. Lengths are only compared with bounds, never allocated.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
};

use super::{MAX_INDEX_BYTES, MAX_NAME_BYTES};

/// Failure to read an index.
#[derive(Debug)]
pub enum ScipError {
    /// The input cannot be read.
    Unreadable(io::Error),
    /// The input ends within a field.
    Truncated,
    /// The input has or claims more than [`MAX_INDEX_BYTES`](super::MAX_INDEX_BYTES).
    TooLarge,
    /// The bytes at an offset are no part of an index.
    Malformed(u64, &'static str),
    /// There are more of these than the given maximum.
    TooMany(&'static str, usize),
    /// Two documents have this path.
    RepeatedPath(String),
}

impl fmt::Display for ScipError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(formatter, "the SCIP index cannot be read: {error}"),
            Self::Truncated => {
                formatter.write_str("the SCIP index is not complete; run the indexer again")
            }
            Self::TooLarge => {
                let mebibytes = MAX_INDEX_BYTES >> 20;
                write!(
                    formatter,
                    "the SCIP index has more than {mebibytes} MiB; index a part of it"
                )
            }
            Self::Malformed(at, fault) => write!(
                formatter,
                "the file is no SCIP index: {fault} at byte {at}; run the indexer again"
            ),
            Self::TooMany(things, max) => {
                write!(formatter, "the SCIP index has more than {max} {things}; index a part of it")
            }
            Self::RepeatedPath(path) => write!(
                formatter,
                "the SCIP index has {path:?} twice; run one indexer over each file"
            ),
        }
    }
}

impl std::error::Error for ScipError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Self::Unreadable(error) = self { Some(error) } else { None }
    }
}

/// Head of a field. Its value follows in the stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireField {
    pub(super) number: u64,
    kind: u64,
    /// Offset at which the message around it ends.
    end: u64,
}

pub(super) struct WireReader<R> {
    input: BufReader<R>,
    /// Offset of the next byte.
    at: u64,
}

impl<R: Read> WireReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(1 << 16, input), at: 0 }
    }

    /// Reads the head of the next field of the whole input; `None` at its end.
    pub(super) fn read_first_field(&mut self) -> Result<Option<WireField>, ScipError> {
        if self.fill_buffer()?.is_empty() {
            return Ok(None);
        }
        self.read_head(MAX_INDEX_BYTES).map(Some)
    }

    /// Reads the head of the next field of a message that ends at `end`; `None` at its end.
    pub(super) fn read_field(&mut self, end: u64) -> Result<Option<WireField>, ScipError> {
        if self.at == end { Ok(None) } else { self.read_head(end).map(Some) }
    }

    fn read_head(&mut self, end: u64) -> Result<WireField, ScipError> {
        let head = self.read_varint(end)?;
        if head < 8 {
            return Err(self.report_fault("a field without a number"));
        }
        Ok(WireField { number: head >> 3, kind: head & 7, end })
    }

    /// Reads the length of a message, a text or packed numbers, and returns the offset of its end.
    pub(super) fn read_end(&mut self, field: WireField) -> Result<u64, ScipError> {
        if field.kind != 2 {
            return Err(self.report_fault("a field of another type"));
        }
        let bytes = self.read_varint(field.end)?;
        self.advance_to(bytes, field.end)
    }

    pub(super) fn read_number(&mut self, field: WireField) -> Result<u64, ScipError> {
        if field.kind != 0 {
            return Err(self.report_fault("a field of another type"));
        }
        self.read_varint(field.end)
    }

    pub(super) fn read_coordinate(&mut self, field: WireField) -> Result<u32, ScipError> {
        let number = self.read_number(field)?;
        self.check_coordinate(number)
    }

    fn check_coordinate(&self, number: u64) -> Result<u32, ScipError> {
        // A negative number has ten bytes and its highest bit.
        let coordinate = i32::try_from(number).ok().and_then(|number| u32::try_from(number).ok());
        coordinate
            .ok_or_else(|| self.report_fault("a line or column that is negative or too large"))
    }

    /// Reads a number, or packed ones, into `values`, which has room for four.
    pub(super) fn read_coordinates(
        &mut self,
        field: WireField,
        values: &mut Vec<u32>,
    ) -> Result<(), ScipError> {
        if field.kind == 0 {
            values.push(self.read_coordinate(field)?);
        } else {
            let end = self.read_end(field)?;
            while self.at < end && values.len() <= 4 {
                let number = self.read_varint(end)?;
                values.push(self.check_coordinate(number)?);
            }
        }
        if values.len() > 4 {
            Err(self.report_fault("a range of more than four numbers"))
        } else {
            Ok(())
        }
    }

    pub(super) fn read_name(&mut self, field: WireField) -> Result<String, ScipError> {
        let end = self.read_end(field)?;
        let bytes = usize::try_from(end - self.at).unwrap_or(usize::MAX);
        if bytes > MAX_NAME_BYTES {
            return Err(self.report_fault("a path or symbol of more than 1,000 bytes"));
        }
        let mut name = vec![0; bytes];
        self.input.read_exact(&mut name).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ScipError::Truncated,
            _ => ScipError::Unreadable(error),
        })?;
        self.at = end;
        String::from_utf8(name).map_err(|_| self.report_fault("a path or symbol that is not UTF-8"))
    }

    pub(super) fn skip_field(&mut self, field: WireField) -> Result<(), ScipError> {
        let end = match field.kind {
            0 => return self.read_varint(field.end).map(drop),
            1 => self.advance_to(8, field.end)?,
            2 => self.read_end(field)?,
            5 => self.advance_to(4, field.end)?,
            _ => return Err(self.report_fault("a field of an unknown type")),
        };
        while self.at < end {
            let buffered = self.fill_buffer()?.len();
            if buffered == 0 {
                return Err(ScipError::Truncated);
            }
            let wanted = usize::try_from(end - self.at).unwrap_or(usize::MAX);
            self.consume_bytes(buffered.min(wanted));
        }
        Ok(())
    }

    /// Returns an error about the byte before the next one.
    pub(super) fn report_fault(&self, fault: &'static str) -> ScipError {
        ScipError::Malformed(self.at.saturating_sub(1), fault)
    }

    /// Returns the offset after `bytes` more bytes of a message that ends at `end`.
    fn advance_to(&self, bytes: u64, end: u64) -> Result<u64, ScipError> {
        match self.at.checked_add(bytes) {
            Some(next) if next <= end => Ok(next),
            _ if end == MAX_INDEX_BYTES => Err(ScipError::TooLarge),
            _ => Err(self.report_fault("a length beyond the end of its message")),
        }
    }

    fn read_varint(&mut self, end: u64) -> Result<u64, ScipError> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            if self.at >= end {
                self.advance_to(1, end)?;
            }
            let byte = *self.fill_buffer()?.first().ok_or(ScipError::Truncated)?;
            self.consume_bytes(1);
            let bits = u64::from(byte & 127);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(self.report_fault("a number of more than 64 bits"))
    }

    fn fill_buffer(&mut self) -> Result<&[u8], ScipError> {
        self.input.fill_buf().map_err(ScipError::Unreadable)
    }

    fn consume_bytes(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.at += bytes as u64;
    }
}

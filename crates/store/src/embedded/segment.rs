//! A segment: chunks with their vectors and terms, and records of files, in one file that never changes.
//!
//! Its parts follow one another; a footer says where each is, how long, and its checksum. What every
//! search needs is read into memory when a segment is opened; bodies stay where they are.

use std::{
    io::{self, ErrorKind, Write},
    ops::Range,
};

use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

use super::{codes::Codes, source::Source, table::Table, terms::Terms};

/// Ends every segment. The number is that of the layout.
const MAGIC: &[u8; 8] = b"codeinf4";
/// What follows the footer: its length, its checksum and the magic.
const TAIL: u64 = 4 + 4 + 8;
/// What is read at a time of parts that stay on disk.
const BLOCK: u64 = 1 << 20;

/// The parts of a segment, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    ChunkBodies,
    FileBodies,
    UpperCodes,
    LowerCodes,
    Scales,
    TermDirectory,
    TermLists,
    ChunkKeys,
    FileKeys,
}

/// How many parts there are.
const PARTS: usize = Part::FileKeys as usize + 1;

/// Where a part is.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Span {
    start: u64,
    end: u64,
    checksum: u32,
}

/// What is compared with the checksums when a segment is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compare {
    /// What is read into memory; the rest is only there.
    Memory,
    /// Every byte.
    All,
}

/// An open segment.
#[derive(Debug)]
pub(super) struct Segment {
    source: Source,
    /// The bodies of chunks and of files: what is not read into memory.
    on_disk: [Span; 2],
    pub(super) chunks: Table,
    pub(super) files: Table,
    pub(super) codes: Codes,
    pub(super) terms: Terms,
}

impl Segment {
    /// Opens a segment of vectors of `dimensions`. Fails with [`ErrorKind::InvalidData`] or
    /// [`ErrorKind::UnexpectedEof`] where it is not what was written.
    pub(super) fn open(source: Source, dimensions: usize, compare: Compare) -> io::Result<Self> {
        let spans = footer(&source)?;
        let span = |part: Part| {
            spans.get(part as usize).copied().ok_or_else(|| io::Error::from(ErrorKind::InvalidData))
        };
        let read = |part: Part| {
            let span = span(part)?;
            let bytes = source.read(span.start..span.end)?;
            if crc32fast::hash(&bytes) == span.checksum { Ok(bytes) } else { invalid() }
        };
        let on_disk = [span(Part::ChunkBodies)?, span(Part::FileBodies)?];
        let [of_chunks, of_files] = on_disk.map(|span| span.start..span.end);
        let chunks = Table::decode(&read(Part::ChunkKeys)?, source.clone(), of_chunks);
        let files = Table::decode(&read(Part::FileKeys)?, source.clone(), of_files);
        let codes = [Part::UpperCodes, Part::LowerCodes, Part::Scales].map(read);
        let [upper, lower, scales] = codes;
        let codes = Codes::decode(dimensions, [&upper?, &lower?, &scales?]);
        let terms = Terms::decode(&read(Part::TermDirectory)?, read(Part::TermLists)?);
        let (Some(chunks), Some(files), Some(codes), Some(terms)) = (chunks, files, codes, terms)
        else {
            return invalid();
        };
        if codes.len() as u64 != u64::from(chunks.len()) {
            return invalid();
        }
        let segment = Self { source, on_disk, chunks, files, codes, terms };
        if compare == Compare::All {
            segment.check()?;
        }
        Ok(segment)
    }

    /// Compares what is not read into memory with its checksums. Fails with [`ErrorKind::InvalidData`]
    /// where it is not what was written.
    pub(super) fn check(&self) -> io::Result<()> {
        for Span { start, end, checksum } in self.on_disk {
            if self::checksum(&self.source, start..end)? != checksum {
                return invalid();
            }
        }
        Ok(())
    }

    /// Returns how many bytes it has.
    pub(super) fn bytes(&self) -> u64 {
        self.source.len()
    }

    /// Whether it is not in a file yet.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.source, Source::Memory(_))
    }
}

/// Writes a segment part by part.
#[derive(Debug)]
pub(super) struct Output<W> {
    to: W,
    spans: Vec<Span>,
    start: u64,
    at: u64,
    hasher: Hasher,
}

impl<W: Write> Output<W> {
    /// Begins a segment.
    pub(super) fn to(to: W) -> Self {
        Self { to, spans: Vec::with_capacity(PARTS), start: 0, at: 0, hasher: Hasher::new() }
    }

    /// Writes some bytes of the part that has begun.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.at += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    /// Ends the part that has begun, and begins the next one.
    pub(super) fn end(&mut self, part: Part) {
        debug_assert_eq!(self.spans.len(), part as usize, "parts come in order");
        let checksum = std::mem::take(&mut self.hasher).finalize();
        self.spans.push(Span { start: self.start, end: self.at, checksum });
        self.start = self.at;
    }

    /// Writes a whole part.
    pub(super) fn part(&mut self, part: Part, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes)?;
        self.end(part);
        Ok(())
    }

    /// Writes the footer, and returns what was written to.
    pub(super) fn finish(mut self) -> io::Result<W> {
        let footer = postcard::to_stdvec(&self.spans).map_err(io::Error::other)?;
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        self.to.write_all(&footer)?;
        self.to.write_all(&length.to_le_bytes())?;
        self.to.write_all(&crc32fast::hash(&footer).to_le_bytes())?;
        self.to.write_all(MAGIC)?;
        Ok(self.to)
    }
}

/// Reads where the parts are.
fn footer(source: &Source) -> io::Result<Vec<Span>> {
    let end = source.len();
    let tail = source.read(end.saturating_sub(TAIL)..end)?;
    let Some((length, tail)) = tail.split_first_chunk() else { return invalid() };
    let Some((checksum, magic)) = tail.split_first_chunk() else { return invalid() };
    let (length, checksum) = (u32::from_le_bytes(*length), u32::from_le_bytes(*checksum));
    if magic != MAGIC {
        return invalid();
    }
    let end = end - TAIL;
    let Some(start) = end.checked_sub(u64::from(length)) else { return invalid() };
    let bytes = source.read(start..end)?;
    if crc32fast::hash(&bytes) != checksum {
        return invalid();
    }
    postcard::from_bytes(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Returns the checksum of bytes that are not kept.
fn checksum(source: &Source, range: Range<u64>) -> io::Result<u32> {
    let mut hasher = Hasher::new();
    let mut at = range.start;
    while at < range.end {
        let next = range.end.min(at + BLOCK);
        hasher.update(&source.read(at..next)?);
        at = next;
    }
    Ok(hasher.finalize())
}

fn invalid<T>() -> io::Result<T> {
    Err(io::Error::new(ErrorKind::InvalidData, "it is not what was written"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::{
            build,
            fixture::{DIMENSIONS, chunk, file},
        },
        *,
    };

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let chunks = [chunk(8), chunk(7), chunk(6)];
        build::write(&mut bytes, DIMENSIONS, &chunks, &[file("src/a.rs")]).unwrap();
        bytes
    }

    fn open(bytes: Vec<u8>, dimensions: usize) -> io::Result<Segment> {
        Segment::open(Source::Memory(Arc::new(bytes)), dimensions, Compare::All)
    }

    #[test]
    fn what_was_written_is_there_and_nothing_else_is_a_segment() {
        let bytes = written();
        let segment = open(bytes.clone(), 2).unwrap();
        assert_eq!((segment.chunks.len(), segment.files.len()), (3, 1));
        let ids: Vec<u128> = segment.chunks.after(None).map(|(id, _)| id.as_u128()).collect();
        assert_eq!(ids, [6, 7, 8]);
        assert!(open(bytes.clone(), 65).is_err());
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(open(flipped, 2).is_err(), "byte {at}");
            assert!(open(bytes[..at].to_vec(), 2).is_err(), "cut at {at}");
            assert!(open(bytes[at + 1..].to_vec(), 2).is_err(), "begun at {at}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(open(longer, 2).is_err());
    }

    #[test]
    fn parts_that_do_not_fit_together_are_no_segment() {
        use Part::{
            ChunkBodies, ChunkKeys, FileBodies, FileKeys, LowerCodes, Scales, TermDirectory,
            TermLists, UpperCodes,
        };
        let source = Source::Memory(Arc::new(written()));
        let spans = footer(&source).unwrap();
        let parts = [
            ChunkBodies,
            FileBodies,
            UpperCodes,
            LowerCodes,
            Scales,
            TermDirectory,
            TermLists,
            ChunkKeys,
            FileKeys,
        ];
        // Each is shortened once, with the checksum of what is left.
        for (shorter, left_out) in (0..parts.len()).map(|at| (at, 4)).chain([(0, 0)]) {
            let mut output = Output::to(Vec::new());
            for (at, (part, span)) in parts.into_iter().zip(&spans).enumerate() {
                let end = if at == shorter { span.end - left_out } else { span.end };
                output.part(part, &source.read(span.start..end).unwrap()).unwrap();
            }
            let opened = open(output.finish().unwrap(), 2);
            assert_eq!(opened.is_ok(), left_out == 0, "{:?}", parts[shorter]);
        }
    }

    #[test]
    fn a_command_compares_what_it_reads_into_memory_only() {
        let mut bytes = written();
        // The first part is that of bodies, which stay where they are.
        bytes[0] ^= 1;
        let source = Source::Memory(Arc::new(bytes));
        assert!(Segment::open(source.clone(), 2, Compare::Memory).is_ok());
        assert!(Segment::open(source, 2, Compare::All).is_err());
    }
}

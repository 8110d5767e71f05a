//! A segment: chunks with their vectors and terms, and records of files, in one file that never changes.
//!
//! Its parts follow one another; a footer lists their positions and checksums. Vectors, terms and keys are read into
//! memory when a segment is opened; bodies are read when they are needed.

use std::{
    io::{self, ErrorKind, Write},
    ops::Range,
};

use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

use crate::{
    codes::VectorCodes, signs::RowSigns, source::SegmentSource, table::RecordTable,
    terms::TermLists,
};

/// The last bytes of every segment. The number is that of the layout.
const MAGIC: &[u8; 8] = b"codeinf4";
/// Bytes after the footer: its length, its checksum and the magic.
const TAIL: u64 = 4 + 4 + 8;
/// Bytes that are read at a time from parts that stay on disk.
const BLOCK: u64 = 1 << 20;

/// The parts of a segment, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentPart {
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

const PARTS: usize = SegmentPart::FileKeys as usize + 1;

/// Position and checksum of a part.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct PartSpan {
    start: u64,
    end: u64,
    checksum: u32,
}

/// Bytes that are compared with checksums when a segment is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChecksumScope {
    /// Parts that are read into memory; of the others only the length is checked.
    Memory,
    /// Every byte.
    All,
}

#[derive(Debug)]
pub(crate) struct IndexSegment {
    source: SegmentSource,
    /// The bodies of chunks and of files, which are not read into memory.
    on_disk: [PartSpan; 2],
    pub(crate) chunks: RecordTable,
    pub(crate) files: RecordTable,
    pub(crate) codes: VectorCodes,
    pub(crate) signs: RowSigns,
    pub(crate) terms: TermLists,
}

impl IndexSegment {
    /// Opens a segment of vectors of `dimensions`. Fails with [`ErrorKind::InvalidData`] or
    /// [`ErrorKind::UnexpectedEof`] if it differs from what was written.
    pub(crate) fn open(
        source: SegmentSource,
        dimensions: usize,
        compare: ChecksumScope,
    ) -> io::Result<Self> {
        let spans = read_footer(&source)?;
        let span = |part: SegmentPart| {
            spans.get(part as usize).copied().ok_or_else(|| io::Error::from(ErrorKind::InvalidData))
        };
        let read = |part: SegmentPart| {
            let span = span(part)?;
            let bytes = source.read(span.start..span.end)?;
            if crc32fast::hash(&bytes) == span.checksum { Ok(bytes) } else { fail_invalid() }
        };
        let on_disk = [span(SegmentPart::ChunkBodies)?, span(SegmentPart::FileBodies)?];
        let [of_chunks, of_files] = on_disk.map(|span| span.start..span.end);
        let chunks = RecordTable::decode(&read(SegmentPart::ChunkKeys)?, source.clone(), of_chunks);
        let files = RecordTable::decode(&read(SegmentPart::FileKeys)?, source.clone(), of_files);
        let codes =
            [SegmentPart::UpperCodes, SegmentPart::LowerCodes, SegmentPart::Scales].map(read);
        let [upper, lower, scales] = codes;
        let codes = VectorCodes::decode(dimensions, [&upper?, &lower?, &scales?]);
        let terms =
            TermLists::decode(&read(SegmentPart::TermDirectory)?, read(SegmentPart::TermLists)?);
        let (Some(chunks), Some(files), Some(codes), Some(terms)) = (chunks, files, codes, terms)
        else {
            return fail_invalid();
        };
        if codes.len() as u64 != u64::from(chunks.len()) {
            return fail_invalid();
        }
        let signs = RowSigns::from_codes(&codes);
        let segment = Self { source, on_disk, chunks, files, codes, signs, terms };
        if compare == ChecksumScope::All {
            segment.check_bodies()?;
        }
        Ok(segment)
    }

    /// Compares the parts on disk with their checksums. Fails with [`ErrorKind::InvalidData`] if they differ.
    pub(crate) fn check_bodies(&self) -> io::Result<()> {
        for PartSpan { start, end, checksum } in self.on_disk {
            if compute_checksum(&self.source, start..end)? != checksum {
                return fail_invalid();
            }
        }
        Ok(())
    }

    pub(crate) fn byte_len(&self) -> u64 {
        self.source.len()
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.source, SegmentSource::Memory(_))
    }
}

#[derive(Debug)]
pub(crate) struct SegmentWriter<W> {
    to: W,
    spans: Vec<PartSpan>,
    start: u64,
    at: u64,
    hasher: Hasher,
}

impl<W: Write> SegmentWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, spans: Vec::with_capacity(PARTS), start: 0, at: 0, hasher: Hasher::new() }
    }

    /// Writes bytes of the current part.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.at += bytes.len() as u64;
        self.to.write_all(bytes)
    }

    pub(crate) fn end_part(&mut self, part: SegmentPart) {
        debug_assert_eq!(self.spans.len(), part as usize, "parts come in order");
        let checksum = std::mem::take(&mut self.hasher).finalize();
        self.spans.push(PartSpan { start: self.start, end: self.at, checksum });
        self.start = self.at;
    }

    pub(crate) fn write_part(&mut self, part: SegmentPart, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes)?;
        self.end_part(part);
        Ok(())
    }

    /// Writes the footer and returns the output.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let footer = postcard::to_stdvec(&self.spans).map_err(io::Error::other)?;
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        self.to.write_all(&footer)?;
        self.to.write_all(&length.to_le_bytes())?;
        self.to.write_all(&crc32fast::hash(&footer).to_le_bytes())?;
        self.to.write_all(MAGIC)?;
        Ok(self.to)
    }
}

fn read_footer(source: &SegmentSource) -> io::Result<Vec<PartSpan>> {
    let end = source.len();
    let tail = source.read(end.saturating_sub(TAIL)..end)?;
    let Some((length, tail)) = tail.split_first_chunk() else { return fail_invalid() };
    let Some((checksum, magic)) = tail.split_first_chunk() else { return fail_invalid() };
    let (length, checksum) = (u32::from_le_bytes(*length), u32::from_le_bytes(*checksum));
    if magic != MAGIC {
        return fail_invalid();
    }
    let end = end - TAIL;
    let Some(start) = end.checked_sub(u64::from(length)) else { return fail_invalid() };
    let bytes = source.read(start..end)?;
    if crc32fast::hash(&bytes) != checksum {
        return fail_invalid();
    }
    postcard::from_bytes(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

fn compute_checksum(source: &SegmentSource, range: Range<u64>) -> io::Result<u32> {
    let mut hasher = Hasher::new();
    let mut at = range.start;
    while at < range.end {
        let next = range.end.min(at + BLOCK);
        hasher.update(&source.read(at..next)?);
        at = next;
    }
    Ok(hasher.finalize())
}

fn fail_invalid<T>() -> io::Result<T> {
    Err(io::Error::new(ErrorKind::InvalidData, "it is not what was written"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        build,
        test_support::{DIMENSIONS, chunk, file},
    };

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let chunks = [chunk(8), chunk(7), chunk(6)];
        build::write_segment(&mut bytes, DIMENSIONS, &chunks, &[file("src/a.rs")]).unwrap();
        bytes
    }

    fn open(bytes: Vec<u8>, dimensions: usize) -> io::Result<IndexSegment> {
        IndexSegment::open(SegmentSource::Memory(Arc::new(bytes)), dimensions, ChecksumScope::All)
    }

    #[test]
    fn what_was_written_is_there_and_nothing_else_is_a_segment() {
        let bytes = written();
        let segment = open(bytes.clone(), 2).unwrap();
        assert_eq!((segment.chunks.len(), segment.files.len()), (3, 1));
        let ids: Vec<u128> =
            segment.chunks.places_after(None).map(|(id, _)| id.as_u128()).collect();
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
        use SegmentPart::{
            ChunkBodies, ChunkKeys, FileBodies, FileKeys, LowerCodes, Scales, TermDirectory,
            TermLists, UpperCodes,
        };
        let source = SegmentSource::Memory(Arc::new(written()));
        let spans = read_footer(&source).unwrap();
        let parts = [
            ChunkBodies, FileBodies, UpperCodes, LowerCodes, Scales, TermDirectory, TermLists,
            ChunkKeys, FileKeys,
        ];
        // Each is shortened once, with the checksum of the remaining bytes.
        for (shorter, left_out) in (0..parts.len()).map(|at| (at, 4)).chain([(0, 0)]) {
            let mut output = SegmentWriter::new(Vec::new());
            for (at, (part, span)) in parts.into_iter().zip(&spans).enumerate() {
                let end = if at == shorter { span.end - left_out } else { span.end };
                output.write_part(part, &source.read(span.start..end).unwrap()).unwrap();
            }
            let opened = open(output.finish().unwrap(), 2);
            assert_eq!(opened.is_ok(), left_out == 0, "{:?}", parts[shorter]);
        }
    }

    #[test]
    fn a_command_compares_what_it_reads_into_memory_only() {
        let mut bytes = written();
        // The first part is that of bodies, which are not read into memory.
        bytes[0] ^= 1;
        let source = SegmentSource::Memory(Arc::new(bytes));
        assert!(IndexSegment::open(source.clone(), 2, ChecksumScope::Memory).is_ok());
        assert!(IndexSegment::open(source, 2, ChecksumScope::All).is_err());
    }
}

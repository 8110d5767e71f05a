//! Reads the bytes of a segment, which are in memory until a commit writes them to a file.

use crate::folder;
use std::{
    fs::File,
    io::{self, ErrorKind},
    ops::Range,
    path::Path,
    sync::Arc,
};

/// Storage of the bytes. Clones share it.
#[derive(Debug, Clone)]
pub(crate) enum SegmentSource {
    Memory(Arc<Vec<u8>>),
    /// A file that never changes, with its length.
    File(Arc<File>, u64),
}

impl SegmentSource {
    /// Opens a regular file; fails for links, pipes and others.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = folder::open_regular_file(path, File::options().read(true))?;
        let length = file.metadata()?.len();
        Ok(Self::File(Arc::new(file), length))
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// Reads a range of bytes. Fails with [`ErrorKind::UnexpectedEof`] if it exceeds the source, and
    /// with [`ErrorKind::OutOfMemory`] if they do not fit in memory.
    pub(crate) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let is_there = range.start <= range.end && range.end <= self.len();
        let length = usize::try_from(range.end.wrapping_sub(range.start));
        let (true, Ok(length)) = (is_there, length) else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
        match self {
            Self::Memory(all) => {
                let start = usize::try_from(range.start).unwrap_or(usize::MAX);
                bytes.extend(all.iter().skip(start).take(length));
            }
            Self::File(file, _) => {
                bytes.resize(length, 0);
                read_exact_at(file, &mut bytes, range.start)?;
            }
        }
        Ok(bytes)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_read(bytes, at)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = bytes.split_at_mut(read).1;
                at += read as u64;
            }
        }
    }
    Ok(())
}

/// Decodes little-endian numbers of `N` bytes; `None` if bytes remain.
pub(crate) fn decode_numbers<const N: usize, T>(
    bytes: &[u8],
    decode: impl Fn([u8; N]) -> T,
) -> Option<Vec<T>> {
    let (numbers, rest) = bytes.as_chunks();
    rest.is_empty().then(|| numbers.iter().map(|bytes| decode(*bytes)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_there_are_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let sources = [
            SegmentSource::Memory(Arc::new(b"abc".to_vec())),
            SegmentSource::open(file.path()).unwrap(),
        ];
        for source in sources {
            assert_eq!(source.read(1..3).unwrap(), b"bc");
            assert_eq!(source.read(3..3).unwrap(), b"");
            for range in [1..4, 4..5, 0..u64::MAX] {
                let error = source.read(range).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
            }
        }
    }

    #[test]
    fn numbers_are_decoded_without_a_rest() {
        assert_eq!(decode_numbers(&[1, 0, 0, 0], u32::from_le_bytes), Some(vec![1]));
        assert_eq!(decode_numbers(&[1, 0, 0, 0, 2], u32::from_le_bytes), None);
        assert_eq!(decode_numbers(&[0; 7], u64::from_le_bytes), None);
    }
}

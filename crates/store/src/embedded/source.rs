//! The bytes of a segment: in memory until they are written, then in a file.

use std::{
    fs::File,
    io::{self, ErrorKind},
    ops::Range,
    path::Path,
    sync::Arc,
};

use super::super::atomic;

/// Where the bytes are. Clones share them.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Memory(Arc<Vec<u8>>),
    /// A file that never changes, and its length.
    File(Arc<File>, u64),
}

impl Source {
    /// Opens a file, which must not be a link, a pipe or anything else.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = atomic::open_regular_file(path, File::options().read(true))?;
        let length = file.metadata()?.len();
        Ok(Self::File(Arc::new(file), length))
    }

    /// Returns how many bytes there are.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, length) => *length,
        }
    }

    /// Reads a range of bytes. Fails with [`ErrorKind::UnexpectedEof`] where they are not all there, and
    /// with [`ErrorKind::OutOfMemory`] where there is no room for them.
    pub(super) fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_there_are_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let sources =
            [Source::Memory(Arc::new(b"abc".to_vec())), Source::open(file.path()).unwrap()];
        for source in sources {
            assert_eq!(source.read(1..3).unwrap(), b"bc");
            assert_eq!(source.read(3..3).unwrap(), b"");
            for range in [1..4, 4..5, 0..u64::MAX] {
                let error = source.read(range).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
            }
        }
    }
}

//! The write-ahead journal: each change is in this file before the engine sees it, until the engine
//! has put it on disk itself.
//!
//! The engine keeps recent changes in memory and does not read its own log back, so without this a
//! `kill -9` would lose acknowledged writes; flushing the engine after each write would cost a
//! tenth of a second each time. Records are length (u32), checksum (u64), body; little-endian.

use std::{
    fs::{File, Metadata, TryLockError},
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use tracing::warn;

use super::{
    super::{StoreError, atomic},
    entry::{self, Entry},
};

/// Length and checksum.
const HEADER: usize = 12;

/// The most bytes of one record: a removal names each point, in 16 bytes.
const MAX_RECORD: u32 = 1 << 28;

/// An open journal, locked against a second opener.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// Why a record was not written.
#[derive(Debug)]
pub(super) enum AppendError {
    /// The journal is as it was before.
    Refused(StoreError),
    /// Part of the record stands at the end, and what followed it would be lost.
    Torn(StoreError),
}

impl Journal {
    /// Opens the journal of `folder`, creating it if needed. Fails with [`StoreError::Held`] when
    /// another store is open on the same folder.
    pub(super) fn open(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join("journal");
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file =
            atomic::open(&path, &mut options).map_err(|source| StoreError::io(&path, source))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, file, bytes: 0 }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Held {
                path: folder.to_owned(),
                holder: "another opener of this folder".to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(StoreError::io(&path, source)),
        }
    }

    /// Hands every whole record to `apply`, in order, and cuts off what follows the last one: a
    /// record that was being written when the process was killed, never acknowledged.
    pub(super) fn replay(
        &mut self,
        mut apply: impl FnMut(Entry) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let length = self.on_file(File::metadata)?.len();
        let mut reader = BufReader::new(&self.file);
        let mut whole = 0;
        while let Some((body, size)) = record(&mut reader, length - whole)
            .map_err(|source| StoreError::io(&self.path, source))?
        {
            let entry = entry::decode(&body).ok_or_else(|| StoreError::Damaged {
                path: self.path.with_file_name(""),
                reason: "its journal holds an unknown kind of record".to_owned(),
            })?;
            apply(entry)?;
            whole += size;
        }
        if whole < length {
            warn!(torn.bytes = length - whole, "journal ended in an unfinished record");
        }
        self.cut(whole)
    }

    /// Writes a record; it survives `kill -9` once this returns.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), AppendError> {
        let body = entry::encode(entry).map_err(AppendError::Refused)?;
        let length = u32::try_from(body.len()).ok().filter(|length| *length <= MAX_RECORD);
        let length = length.ok_or_else(|| {
            let reason = format!("one batch has {} bytes", body.len());
            AppendError::Refused(StoreError::Engine { action: "write its journal", reason })
        })?;
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend(length.to_le_bytes());
        bytes.extend(checksum(&body).to_le_bytes());
        bytes.extend(body);
        if let Err(error) = (&self.file).write_all(&bytes) {
            let error = StoreError::io(&self.path, error);
            // Part of the record may be there; whatever follows it would never be read.
            return match self.cut(self.bytes) {
                Ok(()) => Err(AppendError::Refused(error)),
                Err(_) => Err(AppendError::Torn(error)),
            };
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Forgets every record: the engine has them on disk.
    pub(super) fn clear(&mut self) -> Result<(), StoreError> {
        self.cut(0)
    }

    /// Fails when another file, or none, is in its place: its folder was removed, and whatever is there now
    /// belongs to somebody else.
    pub(super) fn check_place(&self) -> Result<(), StoreError> {
        let held = self.on_file(File::metadata)?;
        if self.path.metadata().is_ok_and(|found| is_same(&held, &found)) {
            return Ok(());
        }
        let folder = self.path.with_file_name("");
        let reason = format!(
            "`{}` was removed or replaced while it was in use; restart to make it again",
            folder.display()
        );
        Err(StoreError::Engine { action: "use its folder", reason })
    }

    /// Puts the records on disk, so that they survive a power failure too.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.on_file(File::sync_data)
    }

    /// Returns how many bytes of records there are.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn cut(&mut self, length: u64) -> Result<(), StoreError> {
        self.on_file(|mut file| {
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length)).map(drop)
        })?;
        self.bytes = length;
        Ok(())
    }

    fn on_file<T>(&self, work: impl FnOnce(&File) -> io::Result<T>) -> Result<T, StoreError> {
        work(&self.file).map_err(|source| StoreError::io(&self.path, source))
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Reads one record of at most `left` bytes: its body and its size in the file. `None` at the end
/// and at a record that is not whole.
fn record(reader: &mut impl Read, left: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
    let header = HEADER as u64;
    if left < header {
        return Ok(None);
    }
    let (mut length, mut sum) = ([0; 4], [0; 8]);
    reader.read_exact(&mut length)?;
    reader.read_exact(&mut sum)?;
    let length = u32::from_le_bytes(length);
    if MAX_RECORD < length || left - header < u64::from(length) {
        return Ok(None);
    }
    let mut body = vec![0; length as usize];
    reader.read_exact(&mut body)?;
    let whole = checksum(&body) == u64::from_le_bytes(sum);
    Ok(whole.then_some((body, header + u64::from(length))))
}

/// FNV-1a, 64 bits, by eight bytes at a time: it only has to notice a write that was cut short.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words
        .chain(rest.iter().map(|byte| u64::from(*byte)))
        .fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3))
}

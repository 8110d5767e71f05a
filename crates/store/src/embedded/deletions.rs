//! The file that lists what was deleted of a segment: a checksum, then how many bytes are of chunks, then
//! the places of chunks and of files as bits.

use std::{
    io::{self, ErrorKind},
    path::Path,
    sync::Arc,
};

use super::{
    super::{StoreError, atomic},
    manifest::deleted_file,
    places::Places,
    state::{Live, Saved},
};

/// Writes the list of what was deleted of a segment, on disk once this returns.
pub(super) fn write(folder: &Path, number: u64, of: &Live) -> Result<(), StoreError> {
    let (chunks, files) = (of.deleted_chunks.bytes(), of.deleted_files.bytes());
    let body = [&(chunks.len() as u64).to_le_bytes()[..], &chunks, &files].concat();
    let bytes = [&crc32fast::hash(&body).to_le_bytes()[..], &body].concat();
    atomic::replace(&folder.join(deleted_file(number)), &bytes)
}

/// Reads the list of what was deleted of a segment.
pub(super) fn read(folder: &Path, number: u64, of: &mut Live) -> io::Result<()> {
    let bytes = match atomic::read(&folder.join(deleted_file(number))) {
        Ok(bytes) => bytes.ok_or(ErrorKind::NotFound)?,
        Err(StoreError::Io { source, .. }) => return Err(source),
        Err(error) => return Err(io::Error::other(error)),
    };
    let places = (of.segment.chunks.len(), of.segment.files.len());
    let (chunks, files) = decode(&bytes, places).ok_or(ErrorKind::InvalidData)?;
    of.saved = Some(Saved { number, counts: (chunks.len(), files.len()) });
    (of.deleted_chunks, of.deleted_files) = (Arc::new(chunks), Arc::new(files));
    Ok(())
}

fn decode(bytes: &[u8], (chunks, files): (u32, u32)) -> Option<(Places, Places)> {
    let (checksum, body) = bytes.split_first_chunk()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (length, rest) = body.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (of_chunks, of_files) = rest.split_at_checked(length)?;
    Some((Places::decode(of_chunks, chunks)?, Places::decode(of_files, files)?))
}

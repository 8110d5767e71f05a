//! The file that lists the deletions of a segment: a checksum, the length of the bytes for chunks, then the places of
//! chunks and of files as bits.

use std::{
    io::{self, ErrorKind},
    path::Path,
    sync::Arc,
};

use crate::{
    IndexError, files,
    manifest::deletions_file_name,
    place_set::PlaceSet,
    snapshot::{LiveSegment, SavedDeletions},
};

/// Writes the deletions of a segment, on disk once this returns.
pub(crate) fn write_deletions(
    folder: &Path,
    number: u64,
    of: &LiveSegment,
) -> Result<(), IndexError> {
    let (chunks, files) = (of.deleted_chunks.encode(), of.deleted_files.encode());
    let body = [&(chunks.len() as u64).to_le_bytes()[..], &chunks, &files].concat();
    let bytes = [&crc32fast::hash(&body).to_le_bytes()[..], &body].concat();
    files::replace_file(&folder.join(deletions_file_name(number)), &bytes)
}

/// Reads the deletions of a segment.
pub(crate) fn read_deletions(folder: &Path, number: u64, of: &mut LiveSegment) -> io::Result<()> {
    let bytes = match files::read_file(&folder.join(deletions_file_name(number))) {
        Ok(bytes) => bytes.ok_or(ErrorKind::NotFound)?,
        Err(IndexError::Io { source, .. }) => return Err(source),
        Err(error) => return Err(io::Error::other(error)),
    };
    let (chunk_count, file_count) = (of.segment.chunks.len(), of.segment.files.len());
    let (chunks, files) =
        decode_deletions(&bytes, chunk_count, file_count).ok_or(ErrorKind::InvalidData)?;
    of.saved = Some(SavedDeletions { number, counts: (chunks.len(), files.len()) });
    (of.deleted_chunks, of.deleted_files) = (Arc::new(chunks), Arc::new(files));
    Ok(())
}

fn decode_deletions(bytes: &[u8], chunks: u32, files: u32) -> Option<(PlaceSet, PlaceSet)> {
    let (checksum, body) = bytes.split_first_chunk()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let (length, rest) = body.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (of_chunks, of_files) = rest.split_at_checked(length)?;
    Some((PlaceSet::decode(of_chunks, chunks)?, PlaceSet::decode(of_files, files)?))
}

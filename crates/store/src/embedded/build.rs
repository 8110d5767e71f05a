//! Writes segments: of records that are new, and of other segments, without what was deleted of them.

use std::{
    io::{self, Write},
    ops::Range,
};

use codeinfo_core::{FileRecord, RootId};
use uuid::Uuid;

use super::{
    body,
    codes::{self, Codes},
    places::Places,
    segment::{Output, Part},
    state::Live,
    table::{Keys, Table},
    terms::Terms,
};
use crate::Chunk;

/// What is read at a time of a segment that is merged.
const BLOCK: u64 = 4 << 20;

/// Returns the id of a file's record, which follows from where the file is.
pub(super) fn file_id(root: RootId, path: &str) -> Uuid {
    Uuid::new_v5(&root.0, path.as_bytes())
}

/// Writes a segment of new records, whose ids are distinct.
pub(super) fn write(
    to: impl Write,
    dimensions: usize,
    chunks: &[Chunk],
    files: &[FileRecord],
) -> io::Result<()> {
    let mut output = Output::to(to);
    let (mut codes, mut chunk_keys, mut file_keys) =
        (Codes::of(dimensions), Keys::default(), Keys::default());
    for chunk in chunks {
        codes.push(&codes::unit(&chunk.vectors.dense));
        let body = body::of_chunk(&chunk.record).map_err(io::Error::other)?;
        output.write(&body)?;
        chunk_keys.push(chunk.id, chunk.record.root);
        chunk_keys.push_length(u32::try_from(body.len()).map_err(io::Error::other)?);
    }
    output.end(Part::ChunkBodies);
    for file in files {
        let body = body::of_file(file).map_err(io::Error::other)?;
        output.write(&body)?;
        file_keys.push(file_id(file.root, &file.path), file.root);
        file_keys.push_length(u32::try_from(body.len()).map_err(io::Error::other)?);
    }
    output.end(Part::FileBodies);
    let sparse = (0..).zip(chunks).map(|(place, chunk)| {
        let terms = &chunk.vectors.sparse;
        (place, terms.indices.as_slice(), terms.values.as_slice())
    });
    finish(output, &codes, &Terms::of(sparse), [chunk_keys, file_keys])
}

/// Writes what is left of other segments as one. Fails where one of them is damaged, so that damage gets
/// no checksum of its own.
pub(super) fn merge(to: impl Write, dimensions: usize, sources: &[Live]) -> io::Result<()> {
    sources.iter().try_for_each(|live| live.segment.check())?;
    let mut output = Output::to(to);
    let (mut codes, mut chunk_keys, mut file_keys) =
        (Codes::of(dimensions), Keys::default(), Keys::default());
    for Live { segment, deleted_chunks, .. } in sources {
        for range in deleted_chunks.others(0..segment.chunks.len()) {
            codes.extend(&segment.codes, range.start as usize..range.end as usize);
        }
        let ranges = deleted_chunks.others(0..segment.chunks.len());
        copy(&mut output, &mut chunk_keys, &segment.chunks, ranges)?;
    }
    output.end(Part::ChunkBodies);
    for Live { segment, deleted_files, .. } in sources {
        let ranges = deleted_files.others(0..segment.files.len());
        copy(&mut output, &mut file_keys, &segment.files, ranges)?;
    }
    output.end(Part::FileBodies);
    let terms: Vec<&Terms> = sources.iter().map(|live| &live.segment.terms).collect();
    let places = places(sources);
    let place = |source: usize, from: u32| {
        let [chunks, _] = places.get(source)?;
        *chunks.get(from as usize)?
    };
    finish(output, &codes, &Terms::merged(&terms, place), [chunk_keys, file_keys])
}

/// Returns where each chunk and each file of each segment goes; `None` for those that were deleted.
pub(super) fn places(sources: &[Live]) -> Vec<[Vec<Option<u32>>; 2]> {
    let (mut chunks, mut files) = (0.., 0..);
    let of_source = sources.iter().map(|live| {
        [
            moved(live.segment.chunks.len(), &live.deleted_chunks, &mut chunks),
            moved(live.segment.files.len(), &live.deleted_files, &mut files),
        ]
    });
    of_source.collect()
}

fn moved(all: u32, deleted: &Places, next: &mut impl Iterator<Item = u32>) -> Vec<Option<u32>> {
    (0..all).map(|place| if deleted.contains(place) { None } else { next.next() }).collect()
}

/// Copies bodies, and adds their keys.
fn copy(
    output: &mut Output<impl Write>,
    keys: &mut Keys,
    from: &Table,
    ranges: impl Iterator<Item = Range<u32>>,
) -> io::Result<()> {
    for range in ranges {
        for place in range.clone() {
            if let (Some(id), Some(root)) = (from.id(place), from.root(place)) {
                keys.push(id, root);
                keys.push_length(from.length(place));
            }
        }
        from.bodies(range, BLOCK, |bodies| output.write(bodies))?;
    }
    Ok(())
}

fn finish(
    mut output: Output<impl Write>,
    codes: &Codes,
    terms: &Terms,
    [mut chunks, mut files]: [Keys; 2],
) -> io::Result<()> {
    let [upper, lower, scales] = codes.bytes();
    output.part(Part::UpperCodes, &upper)?;
    output.part(Part::LowerCodes, &lower)?;
    output.part(Part::Scales, &scales)?;
    let (directory, lists) = terms.bytes();
    output.part(Part::TermDirectory, &directory)?;
    output.part(Part::TermLists, lists)?;
    chunks.sort();
    files.sort();
    output.part(Part::ChunkKeys, &chunks.bytes())?;
    output.part(Part::FileKeys, &files.bytes())?;
    output.finish()?.flush()
}

//! Writes segments: of new records, and of other segments without their deleted records.

use std::{
    io::{self, Write},
    ops::Range,
};

use codeinfo_core::{FileRecord, RootId};
use uuid::Uuid;

use crate::{
    NewChunk,
    codes::{self, VectorCodes},
    deletions::PlaceSet,
    records,
    segment::{SegmentPart, SegmentWriter},
    snapshot::LiveSegment,
    table::{RecordKeys, RecordTable},
    terms::TermLists,
};

/// Bytes that are read at a time from a segment that is merged.
const BLOCK: u64 = 4 << 20;

pub(crate) fn file_id(root: RootId, path: &str) -> Uuid {
    Uuid::new_v5(&root.0, path.as_bytes())
}

/// Writes a segment of new records, whose ids are distinct.
pub(crate) fn write_segment(
    to: impl Write,
    dimensions: usize,
    chunks: &[NewChunk],
    files: &[FileRecord],
) -> io::Result<()> {
    let mut output = SegmentWriter::new(to);
    let (mut codes, mut chunk_keys, mut file_keys) =
        (VectorCodes::with_dimensions(dimensions), RecordKeys::default(), RecordKeys::default());
    for chunk in chunks {
        codes.push(&codes::normalize(&chunk.vectors.dense));
        let body = records::encode_chunk(&chunk.record).map_err(io::Error::other)?;
        output.write(&body)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        chunk_keys.push(chunk.id, chunk.record.root, length);
    }
    output.end_part(SegmentPart::ChunkBodies);
    for file in files {
        let body = records::encode_file(file).map_err(io::Error::other)?;
        output.write(&body)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        file_keys.push(file_id(file.root, &file.path), file.root, length);
    }
    output.end_part(SegmentPart::FileBodies);
    let sparse = (0..).zip(chunks).map(|(place, chunk)| {
        let terms = &chunk.vectors.sparse;
        (place, terms.indices.as_slice(), terms.values.as_slice())
    });
    write_vectors_and_keys(output, &codes, &TermLists::from_chunks(sparse), chunk_keys, file_keys)
}

/// Writes the remaining records of other segments as one. Fails on damage, so that it never gets a valid checksum.
pub(crate) fn merge_segments(
    to: impl Write,
    dimensions: usize,
    sources: &[LiveSegment],
) -> io::Result<()> {
    sources.iter().try_for_each(|live| live.segment.check_bodies())?;
    let mut output = SegmentWriter::new(to);
    let (mut codes, mut chunk_keys, mut file_keys) =
        (VectorCodes::with_dimensions(dimensions), RecordKeys::default(), RecordKeys::default());
    for LiveSegment { segment, deleted_chunks, .. } in sources {
        for range in deleted_chunks.ranges_without(0..segment.chunks.len()) {
            codes.extend(&segment.codes, range.start as usize..range.end as usize);
        }
        let ranges = deleted_chunks.ranges_without(0..segment.chunks.len());
        copy_records(&mut output, &mut chunk_keys, &segment.chunks, ranges)?;
    }
    output.end_part(SegmentPart::ChunkBodies);
    for LiveSegment { segment, deleted_files, .. } in sources {
        let ranges = deleted_files.ranges_without(0..segment.files.len());
        copy_records(&mut output, &mut file_keys, &segment.files, ranges)?;
    }
    output.end_part(SegmentPart::FileBodies);
    let terms: Vec<&TermLists> = sources.iter().map(|live| &live.segment.terms).collect();
    let places = map_places(sources);
    let place = |source: usize, from: u32| {
        let [chunks, _] = places.get(source)?;
        *chunks.get(from as usize)?
    };
    write_vectors_and_keys(output, &codes, &TermLists::merge(&terms, place), chunk_keys, file_keys)
}

/// Returns the new place of each chunk and each file of each segment; `None` for deleted ones.
pub(crate) fn map_places(sources: &[LiveSegment]) -> Vec<[Vec<Option<u32>>; 2]> {
    let (mut chunks, mut files) = (0.., 0..);
    let places = sources.iter().map(|live| {
        [
            map_table(live.segment.chunks.len(), &live.deleted_chunks, &mut chunks),
            map_table(live.segment.files.len(), &live.deleted_files, &mut files),
        ]
    });
    places.collect()
}

fn map_table(
    count: u32,
    deleted: &PlaceSet,
    next: &mut impl Iterator<Item = u32>,
) -> Vec<Option<u32>> {
    (0..count).map(|place| if deleted.contains(place) { None } else { next.next() }).collect()
}

fn copy_records(
    output: &mut SegmentWriter<impl Write>,
    keys: &mut RecordKeys,
    from: &RecordTable,
    ranges: impl Iterator<Item = Range<u32>>,
) -> io::Result<()> {
    for range in ranges {
        for place in range.clone() {
            if let (Some(id), Some(root)) = (from.id_at(place), from.root_at(place)) {
                keys.push(id, root, from.body_length(place));
            }
        }
        from.for_each_block(range, BLOCK, |bodies| output.write(bodies))?;
    }
    Ok(())
}

fn write_vectors_and_keys(
    mut output: SegmentWriter<impl Write>,
    codes: &VectorCodes,
    terms: &TermLists,
    mut chunks: RecordKeys,
    mut files: RecordKeys,
) -> io::Result<()> {
    let [upper, lower, scales] = codes.encode();
    output.write_part(SegmentPart::UpperCodes, &upper)?;
    output.write_part(SegmentPart::LowerCodes, &lower)?;
    output.write_part(SegmentPart::Scales, &scales)?;
    let (directory, lists) = terms.encode();
    output.write_part(SegmentPart::TermDirectory, &directory)?;
    output.write_part(SegmentPart::TermLists, lists)?;
    chunks.sort();
    files.sort();
    output.write_part(SegmentPart::ChunkKeys, &chunks.encode())?;
    output.write_part(SegmentPart::FileKeys, &files.encode())?;
    output.finish()?.flush()
}

//! Looks through the list of points of each segment, and at the sizes of what is kept beside it, where no checksum proves them.
//!
//! The engine makes room for the highest place that the list names: a few flipped bytes took 14 GB. Where
//! its marks of deleted points are cut short, every write fails that deletes one after the cut.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, ErrorKind, Read},
    path::Path,
};

use super::{
    super::{StoreError, atomic},
    checksums,
};

/// The engine's name for the list of a segment that takes changes.
const CHANGING: &str = "/mutable_id_tracker.mappings";
/// Its name for the list of a sealed one: how many points there are, then each.
const SEALED: &str = "/id_tracker.mappings";
/// Beside that: a bit for each point, in words of eight bytes.
const DELETED: &str = "/id_tracker.deleted";
/// Beside that, too: eight bytes for each point.
const VERSIONS: &str = "/id_tracker.versions";

/// Returns what the engine cannot have written, by the paths below the folder of the store.
pub(super) fn implausible(folder: &Path) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for path in checksums::files(folder)? {
        let file = folder.join(&path);
        let suspect = if path.ends_with(CHANGING) {
            is_plausible_file(&file).map(|is| (!is).then_some(CHANGING))
        } else if path.ends_with(SEALED) {
            misfit(&file)
        } else {
            continue;
        };
        match suspect {
            Ok(None) => {}
            Ok(Some(name)) => {
                let segment = checksums::segment(&path).unwrap_or_default();
                found.push(format!("{segment}{name}"));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if error.kind() == ErrorKind::InvalidData => found.push(path),
            Err(source) => return Err(StoreError::io(&file, source)),
        }
    }
    Ok(found)
}

fn is_plausible_file(path: &Path) -> io::Result<bool> {
    let (file, length) = open(path)?;
    is_plausible(BufReader::new(file), length)
}

/// Returns what does not have the size that the points of a sealed segment take.
fn misfit(list: &Path) -> io::Result<Option<&'static str>> {
    let (mut file, length) = open(list)?;
    let mut count = [0; 8];
    is_read(&mut file, &mut count)?;
    let count = u64::from_le_bytes(count);
    // Each point takes some bytes of the list.
    if length <= count {
        return Ok(Some(SEALED));
    }
    for (name, size) in [(DELETED, count.div_ceil(64) * 8), (VERSIONS, count.saturating_mul(8))] {
        if list.with_file_name(name.trim_start_matches('/')).metadata()?.len() != size {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = atomic::open(path, File::options().read(true))?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

/// Whether each whole entry is of a known kind and names a place that so many entries can have reached.
/// An entry is its kind, an id, and when it adds a point its place; the last one may be cut short.
fn is_plausible(mut list: impl BufRead, length: u64) -> io::Result<bool> {
    let mut kind = [0];
    while is_read(&mut list, &mut kind)? {
        let (id, has_place) = match kind {
            [1] => (8, true),
            [2] => (16, true),
            [3] => (8, false),
            [4] => (16, false),
            _ => return Ok(false),
        };
        let (mut skipped, mut place) = ([0; 16], [0; 4]);
        if !is_read(&mut list, skipped.get_mut(..id).unwrap_or_default())? {
            return Ok(true);
        }
        if has_place {
            if !is_read(&mut list, &mut place)? {
                return Ok(true);
            }
            if length < u64::from(u32::from_le_bytes(place)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Fills `bytes`, or finds that the list ends before that.
fn is_read(list: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match list.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::is_plausible;

    #[test]
    fn a_list_is_plausible_until_a_place_is_out_of_reach_or_a_kind_unknown() {
        let entry = |place: u32| [&[2][..], &[7; 16], &place.to_le_bytes()].concat();
        let list = [entry(0), entry(1), vec![4; 17], entry(2)].concat();
        let is_plausible = |list: &[u8]| is_plausible(list, list.len() as u64).unwrap();
        assert!((0..=list.len()).all(|length| is_plausible(&list[..length])));
        assert!(!is_plausible(&[list.clone(), entry(0xa5a5)].concat()));
        assert!(!is_plausible(&[list, vec![9]].concat()));
    }
}

//! Looks through the list of points of each segment that takes changes, where no checksum proves it.
//!
//! The engine makes room for the highest place that the list names: a few flipped bytes took 14 GB.

use std::{fs, io};

use super::{super::StoreError, checksums};

/// The engine's name for the list.
const NAME: &str = "/mutable_id_tracker.mappings";

/// Returns the lists that the engine cannot have written, by their paths below the folder of the store.
pub(super) fn implausible(folder: &std::path::Path) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for path in checksums::files(folder)?.into_iter().filter(|path| path.ends_with(NAME)) {
        let file = folder.join(&path);
        match fs::read(&file) {
            Ok(bytes) if is_plausible(&bytes) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) => found.push(path),
            Err(source) => return Err(StoreError::io(&file, source)),
        }
    }
    Ok(found)
}

/// Whether each whole entry is of a known kind and names a place that so many entries can have reached.
/// An entry is its kind, an id, and when it adds a point its place; the last one may be cut short.
fn is_plausible(list: &[u8]) -> bool {
    let mut rest = list;
    while let Some((kind, after)) = rest.split_first() {
        let (id, has_place) = match kind {
            1 => (8, true),
            2 => (16, true),
            3 => (8, false),
            4 => (16, false),
            _ => return false,
        };
        let Some((_, after)) = after.split_at_checked(id) else { return true };
        rest = after;
        if has_place {
            let Some((place, after)) = rest.split_first_chunk() else { return true };
            if list.len() < u32::from_le_bytes(*place) as usize {
                return false;
            }
            rest = after;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::is_plausible;

    #[test]
    fn a_list_is_plausible_until_a_place_is_out_of_reach_or_a_kind_unknown() {
        let entry = |place: u32| [&[2][..], &[7; 16], &place.to_le_bytes()].concat();
        let list = [entry(0), entry(1), vec![4; 17], entry(2)].concat();
        assert!((0..=list.len()).all(|length| is_plausible(&list[..length])));
        assert!(!is_plausible(&[list.clone(), entry(0xa5a5)].concat()));
        assert!(!is_plausible(&[list, vec![9]].concat()));
    }
}

//! Reads cited files beneath their roots, on blocking threads.

use std::{
    collections::{HashMap, HashSet},
    io,
    path::Path,
};

use codeinfo_core::{FileRecord, Root, hash};
use codeinfo_worktree::{
    beneath::{self, RootDir},
    decode,
};

use super::{content::CitedFileText, resolve::RootFilePath};

pub(super) const MAX_FILE_BYTES: u64 = 8 << 20;
/// Maximum bytes read for one answer.
pub(super) const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct FileReadRequest {
    pub(super) place: RootFilePath,
    pub(super) record: FileRecord,
}

#[derive(Debug)]
pub(super) struct CurrentFile {
    /// `None` if it is not a regular text file any more.
    pub(super) content: Option<CitedFileText>,
    pub(super) is_changed: bool,
}

/// Reads the files of each root. Omits files that may not be read or would exceed the limits.
pub(super) fn read_files(
    roots: impl Iterator<Item = (Root, Vec<FileReadRequest>)>,
) -> HashMap<RootFilePath, CurrentFile> {
    let mut files = HashMap::new();
    let mut unread_bytes = MAX_BYTES;
    for (root, wanted) in roots {
        let Ok(folder) = RootDir::open_root(&root) else { continue };
        for FileReadRequest { place, record } in wanted {
            if record.size > unread_bytes {
                continue;
            }
            let Some(file) = read_file(&folder, &record) else { continue };
            let bytes = file.content.as_ref().map_or(0, CitedFileText::byte_len);
            unread_bytes = unread_bytes.saturating_sub(bytes);
            files.insert(place, file);
        }
    }
    files
}

/// Returns the places below each root that exist, of any file type. Reads no content.
pub(super) fn find_existing_paths(
    roots: impl Iterator<Item = (Root, Vec<RootFilePath>)>,
) -> HashSet<RootFilePath> {
    let mut found = HashSet::new();
    for (root, places) in roots {
        if let Ok(folder) = RootDir::open_root(&root) {
            found
                .extend(places.into_iter().filter(|(_, path)| folder.may_contain(Path::new(path))));
        }
    }
    found
}

/// Reads one file; `None` if it may not be read or is too large.
fn read_file(folder: &RootDir, record: &FileRecord) -> Option<CurrentFile> {
    const GONE: CurrentFile = CurrentFile { content: None, is_changed: true };
    let (opened, facts) = match folder.open_file(Path::new(&record.path)) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None,
        // The file is gone or became a link.
        Err(_) => return Some(GONE),
    };
    let bytes = beneath::read_to_limit(opened, MAX_FILE_BYTES + 1, || ()).ok()?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return None;
    }
    let is_settled = record.modified_ns != 0
        && record.modified_ns == facts.modified_ns
        && record.size == bytes.len() as u64;
    let is_changed = !is_settled && !hash::matches_content(&record.version, &bytes);
    let Some(decoded) = decode::decode_text(&bytes) else { return Some(GONE) };
    let content = CitedFileText::new(record.path.clone(), decoded.text.into_owned());
    Some(CurrentFile { content: Some(content), is_changed })
}

//! Lines of a file as it is now, and which of them are not as they were indexed.

use std::{collections::HashSet, io, iter, path::Path};

use codeinfo_lang::detect;

use super::{
    Evidence, EvidenceError,
    place::{File, Place},
    snapshot::Snapshot,
};
use crate::{
    beneath::{self, Beneath},
    domain::{FileRecord, LineRange, RootId, hash},
    secret,
};

/// The most lines of one reply, and how many there are unless more are asked for.
const MAX_LINES: u32 = 200;
const DEFAULT_LINES: u32 = 100;
/// Larger files are not read again.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// Which lines are asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// The first; the file's first if left out.
    pub first: Option<u32>,
    /// The last.
    pub last: Option<u32>,
}

/// Whether a file is as it was indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is.
    Indexed,
    /// It is not; the lines are as they are now, and these of them are new or were changed.
    Changed(Vec<LineRange>),
    /// It is gone; the lines are as they were indexed.
    Gone,
    /// It is not text any more, a secret, a link, or too large; the lines are as they were indexed.
    Unreadable,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLines {
    /// Which.
    pub file: File,
    /// How many lines the file has.
    pub total: u32,
    /// The lines, each with its number.
    pub lines: Vec<(u32, String)>,
    /// The range that was asked for, within the file; more than `lines` if that would be too much.
    pub asked: LineRange,
    /// Whether they are as they were indexed.
    pub state: State,
}

/// What a file has on disk now.
enum OnDisk {
    /// With how many lines it has.
    Same(u32),
    /// Without its secrets.
    Other(String),
    Gone,
    Unreadable,
}

impl Evidence {
    /// Reads lines of a file. Bounds that the file does not have are moved into it.
    pub async fn lines(
        &self,
        path: &str,
        asked: Asked,
        within: Option<RootId>,
    ) -> Result<FileLines, EvidenceError> {
        let (root, record) = match self.place(path, within).await? {
            Place::File(root, record) => (root, record),
            Place::Folder(..) => return Err(EvidenceError::IsFolder(path.to_owned())),
        };
        if record.chunks == 0 {
            return Err(EvidenceError::NoContent(path.to_owned()));
        }
        let file = self.file(&root, &record.path);
        let snapshot = self.snapshot(&record).await?;
        let on_disk = self.blocking(move || on_disk(&root.path, &record)).await?;
        let (text, total, state) = match (on_disk, snapshot) {
            (OnDisk::Other(text), snapshot) => {
                let changed = changed(&text, snapshot.as_ref());
                (text, 0, State::Changed(changed))
            }
            (_, None) => return Err(EvidenceError::InProgress(path.to_owned())),
            (OnDisk::Same(total), Some(snapshot)) => (snapshot.text(), total, State::Indexed),
            (OnDisk::Gone, Some(snapshot)) => (snapshot.text(), 0, State::Gone),
            (OnDisk::Unreadable, Some(snapshot)) => (snapshot.text(), 0, State::Unreadable),
        };
        let lines: Vec<&str> = text.lines().collect();
        let total = number(lines.len()).max(total);
        let (asked, shown_last) = clamped(asked, total);
        // What is indexed ends with the last line that is not blank.
        let lines = (1..=shown_last).zip(lines.into_iter().chain(iter::repeat("")));
        let shown = lines.filter(|(number, _)| asked.first <= *number);
        let lines = shown.map(|(number, line)| (number, line.to_owned())).collect();
        Ok(FileLines { file, total, lines, asked, state })
    }
}

/// Returns the lines that are asked for, as far as there are such, and the last of them that one reply has.
fn clamped(Asked { first, last }: Asked, total: u32) -> (LineRange, u32) {
    let total = total.max(1);
    let first = first.unwrap_or(1).clamp(1, total);
    let last = last.unwrap_or(first.saturating_add(DEFAULT_LINES - 1)).clamp(first, total);
    (LineRange { first, last }, last.min(first.saturating_add(MAX_LINES - 1)))
}

/// Reads a file beneath its root, never through a link.
fn on_disk(root: &Path, record: &FileRecord) -> OnDisk {
    let opened = Beneath::open(root).and_then(|root| root.file(Path::new(&record.path)));
    let read = opened.and_then(|(file, _)| beneath::read(file, MAX_FILE_BYTES + 1, || ()));
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return OnDisk::Gone,
        Err(_) => return OnDisk::Unreadable,
    };
    let Ok(text) = str::from_utf8(&bytes) else { return OnDisk::Unreadable };
    if hash::is_of(&record.version, &bytes) {
        return OnDisk::Same(number(text.lines().count()));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let language = detect::language(&record.path, text);
    let is_secret = secret::holds_secret(language, text);
    if is_secret || text.contains('\0') || bytes.len() as u64 > MAX_FILE_BYTES {
        return OnDisk::Unreadable;
    }
    OnDisk::Other(secret::redact(&record.path, language, text).text.into_owned())
}

/// Returns which lines are not among those that were indexed.
fn changed(text: &str, indexed: Option<&Snapshot>) -> Vec<LineRange> {
    let indexed = indexed.map(Snapshot::text).unwrap_or_default();
    let known: HashSet<&str> = indexed.lines().map(str::trim_end).collect();
    let mut changed: Vec<LineRange> = Vec::new();
    for (number, line) in (1..).zip(text.lines().map(str::trim_end)) {
        if line.is_empty() || known.contains(line) {
            continue;
        }
        match changed.last_mut().filter(|range| range.last + 1 == number) {
            Some(range) => range.last = number,
            None => changed.push(LineRange { first: number, last: number }),
        }
    }
    changed
}

fn number(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_moved_into_the_file() {
        let range = |first, last, total| {
            let (asked, shown) = clamped(Asked { first, last }, total);
            (asked.first, asked.last, shown)
        };
        assert_eq!(range(None, None, 1000), (1, 100, 100));
        assert_eq!(range(Some(0), Some(0), 1000), (1, 1, 1));
        assert_eq!(range(Some(950), None, 1000), (950, 1000, 1000));
        assert_eq!(range(Some(2000), Some(3000), 1000), (1000, 1000, 1000));
        assert_eq!(range(Some(10), Some(5), 1000), (10, 10, 10));
        assert_eq!(range(Some(10), Some(900), 1000), (10, 900, 209));
        assert_eq!(range(Some(u32::MAX), Some(u32::MAX), 0), (1, 1, 1));
    }
}

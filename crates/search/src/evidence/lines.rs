//! Lines of a file as it is now, and which of them are not as they were indexed.

use std::{
    io, iter,
    path::Path,
    time::{Duration, Instant},
};

use codeinfo_core::{FileRecord, LineRange, Root, Within, hash};
use codeinfo_lang::detect;
use codeinfo_worktree::{
    beneath::{self, Beneath},
    decode::{self, DecodedText, TextEncoding},
};
use similar::{Algorithm, DiffOp, DiffTag};

use super::{
    Evidence, EvidenceError,
    place::{File, Place},
    snapshot::Snapshot,
};

/// The most lines of one reply, and how many there are unless more are asked for.
const MAX_LINES: u32 = 200;
const DEFAULT_LINES: u32 = 100;
/// Larger files are not read again.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Texts that differ in most lines are compared for so long; what is left then counts as changed.
const COMPARING: Duration = Duration::from_secs(1);

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
    /// It is on the host of this name; the lines are as they were indexed.
    Elsewhere(String),
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
    /// What the file is written in, where it was read.
    pub encoding: TextEncoding,
}

/// A file that was read.
pub(super) struct Whole {
    pub(super) lines: FileLines,
    /// All of it, without its secrets.
    pub(super) text: String,
    pub(super) root: Root,
}

/// What a file has on disk now.
enum OnDisk {
    /// With how many lines it has.
    Same(u32, TextEncoding),
    /// Without its secrets; and which of its lines are new or were changed.
    Other(String, Vec<LineRange>, TextEncoding),
    Gone,
    Unreadable,
    Elsewhere(String),
}

impl Evidence {
    /// Reads lines of a file. Bounds that the file does not have are moved into it.
    pub async fn lines(
        &self,
        path: &str,
        asked: Asked,
        within: Within,
    ) -> Result<FileLines, EvidenceError> {
        Ok(self.whole(path, (asked, MAX_LINES), within).await?.lines)
    }

    /// Reads a file, and of its lines those that are asked for, so many at most.
    pub(super) async fn whole(
        &self,
        path: &str,
        (asked, most): (Asked, u32),
        within: Within,
    ) -> Result<Whole, EvidenceError> {
        let (root, record) = match self.place(path, within).await? {
            Place::File(root, record) => (root, record),
            Place::Folder(..) => return Err(EvidenceError::IsFolder(path.to_owned())),
        };
        if record.chunks == 0 {
            let rule = hash::split_omitted(&record.version).1;
            return Err(EvidenceError::NoContent(path.to_owned(), rule));
        }
        let file = self.file(&root, &record.path);
        let snapshot = self.snapshot(&record).await?;
        let tree = root.clone();
        let read = move || (on_disk(&tree, &record, snapshot.as_ref()), snapshot);
        let (on_disk, snapshot) = self.blocking(read).await?;
        let encoding = on_disk.encoding();
        let (text, total, state) = match (on_disk, snapshot) {
            (OnDisk::Other(text, changed, _), _) => (text, 0, State::Changed(changed)),
            (_, None) => return Err(EvidenceError::InProgress(path.to_owned())),
            (OnDisk::Same(total, _), Some(snapshot)) => (snapshot.text(), total, State::Indexed),
            (OnDisk::Gone, Some(snapshot)) => (snapshot.text(), 0, State::Gone),
            (OnDisk::Unreadable, Some(snapshot)) => (snapshot.text(), 0, State::Unreadable),
            (OnDisk::Elsewhere(host), Some(snapshot)) => {
                (snapshot.text(), 0, State::Elsewhere(host))
            }
        };
        let all: Vec<&str> = text.lines().collect();
        let total = number(all.len()).max(total);
        let (asked, shown_last) = clamped(asked, total, most);
        // What is indexed ends with the last line that is not blank.
        let lines = (1..=shown_last).zip(all.into_iter().chain(iter::repeat("")));
        let shown = lines.filter(|(number, _)| asked.first <= *number);
        let lines = shown.map(|(number, line)| (number, line.to_owned())).collect();
        let lines = FileLines { file, total, lines, asked, state, encoding };
        Ok(Whole { lines, text, root })
    }
}

impl OnDisk {
    fn encoding(&self) -> TextEncoding {
        match self {
            Self::Same(_, encoding) | Self::Other(.., encoding) => *encoding,
            Self::Gone | Self::Unreadable | Self::Elsewhere(_) => TextEncoding::UTF_8,
        }
    }
}

/// Returns the lines that are asked for, as far as there are such, and the last of them that one reply has.
fn clamped(Asked { first, last }: Asked, total: u32, most: u32) -> (LineRange, u32) {
    let total = total.max(1);
    let first = first.unwrap_or(1).clamp(1, total);
    let last = last.unwrap_or(first.saturating_add(DEFAULT_LINES - 1)).clamp(first, total);
    (LineRange { first, last }, last.min(first.saturating_add(most - 1)))
}

/// Reads a file beneath its root, never through a link.
fn on_disk(root: &Root, record: &FileRecord, indexed: Option<&Snapshot>) -> OnDisk {
    if let Some(host) = &root.host {
        return OnDisk::Elsewhere(host.name.clone());
    }
    let opened = Beneath::of(root).and_then(|tree| tree.file(Path::new(&record.path)));
    let read = opened.and_then(|(file, _)| beneath::read(file, MAX_FILE_BYTES + 1, || ()));
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return OnDisk::Gone,
        Err(_) => return OnDisk::Unreadable,
    };
    let Some(DecodedText { text, encoding }) = decode::decode(&bytes) else {
        return OnDisk::Unreadable;
    };
    if hash::is_of(&record.version, &bytes) {
        return OnDisk::Same(number(text.lines().count()), encoding);
    }
    let language = detect::language(&record.path, &text);
    let censored = codeinfo_secrets::censor(&record.path, language, &text);
    let Some(censored) = censored.filter(|_| bytes.len() as u64 <= MAX_FILE_BYTES) else {
        return OnDisk::Unreadable;
    };
    let text = decode::shorten_lines(censored.text).into_owned();
    let changed = changed(&text, &indexed.map(Snapshot::text).unwrap_or_default());
    OnDisk::Other(text, changed, encoding)
}

/// Returns which lines are not those that were indexed, in their order.
fn changed(text: &str, indexed: &str) -> Vec<LineRange> {
    let before: Vec<&str> = indexed.lines().map(str::trim_end).collect();
    let now: Vec<&str> = text.lines().map(str::trim_end).collect();
    let until = Instant::now() + COMPARING;
    let parts = similar::capture_diff_slices_deadline(Algorithm::Myers, &before, &now, Some(until));
    let other = parts.iter().filter(|part| part.tag() != DiffTag::Equal);
    let other = other.flat_map(DiffOp::new_range);
    let mut changed: Vec<LineRange> = Vec::new();
    for at in other.filter(|at| now.get(*at).is_some_and(|line| !line.is_empty())) {
        let number = number(at + 1);
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
            let (asked, shown) = clamped(Asked { first, last }, total, MAX_LINES);
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

    #[test]
    fn lines_that_were_moved_are_changed() {
        let read = |before: &str, now: &str| -> Vec<(u32, u32)> {
            changed(now, before).iter().map(|range| (range.first, range.last)).collect()
        };
        assert_eq!(read("a\nb\nc\n", "a \nb\nc"), []);
        assert_eq!(read("a\nb\nc\nd\n", "a\nc\nb\nd\n").len(), 1);
        assert_eq!(read("a\n}\nb\n}\n", "x\na\n}\n\n\nb\n}\ny\n"), [(1, 1), (8, 8)]);
        assert_eq!(read("a\nb\n", "b\n"), []);
        assert_eq!(read("", "a\nb\n"), [(1, 2)]);
        let numbers = |of: &mut dyn Iterator<Item = u32>| -> String {
            of.map(|number| format!("{number}\n")).collect::<Vec<_>>().concat()
        };
        let reversed = read(&numbers(&mut (0..300_000)), &numbers(&mut (0..300_000).rev()));
        assert!(reversed.iter().map(|(first, last)| last - first + 1).sum::<u32>() >= 299_999);
    }
}

//! Reads lines of a file as it is now and finds those that changed since it was indexed.

use std::{
    io, iter,
    path::Path,
    time::{Duration, Instant},
};

use codeinfo_core::{FileRecord, LineRange, Root, RootFilter, hash};
use codeinfo_lang::detect;
use codeinfo_worktree::{
    beneath::{self, RootDir},
    decode::{self, DecodedText, TextEncoding},
};
use similar::{Algorithm, DiffOp, DiffTag};

use super::{
    Evidence, EvidenceError,
    resolve::{IndexedFile, ResolvedPath},
    snapshot::FileSnapshot,
};

/// Maximum lines of one reply, and their default number.
const MAX_LINES: u32 = 200;
const DEFAULT_LINES: u32 = 100;
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Maximum time of comparing texts that differ in most lines. The rest then counts as changed.
const MAX_COMPARING: Duration = Duration::from_secs(1);

/// Requested lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestedLines {
    /// First line, counted from 1; by default the first line of the file.
    pub first: Option<u32>,
    /// Last line; by default so that a default number of lines is returned.
    pub last: Option<u32>,
}

/// State of a file compared with the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexedFileState {
    /// Unchanged.
    Indexed,
    /// Changed: the lines are the current ones, and these ranges are new or changed.
    Changed(Vec<LineRange>),
    /// Deleted: the lines are those of the index.
    Deleted,
    /// No longer text, a secret, a link, or too large: the lines are those of the index.
    Unreadable,
    /// On the named host: the lines are those of the index.
    OnOtherHost(String),
    /// The lines are those of a commit.
    Committed,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLines {
    /// The file.
    pub file: IndexedFile,
    /// Number of lines of the file.
    pub total: u32,
    /// The lines, each with its number.
    pub lines: Vec<(u32, String)>,
    /// Requested range within the file. It is longer than `lines` if it exceeds the maximum.
    pub asked: LineRange,
    /// State compared with the index.
    pub state: IndexedFileState,
    /// Encoding of the file on disk.
    pub encoding: TextEncoding,
}

pub(super) struct LoadedFile {
    pub(super) lines: FileLines,
    /// The whole text, without secrets.
    pub(super) text: String,
    pub(super) root: Root,
}

enum DiskContent {
    Same(u32, TextEncoding),
    /// Changed: the text without secrets, and its new or changed lines.
    Other(String, Vec<LineRange>, TextEncoding),
    Deleted,
    Unreadable,
    OnOtherHost(String),
}

impl Evidence {
    /// Reads lines of a file. Bounds outside the file are clamped.
    pub async fn read_lines(
        &self,
        path: &str,
        asked: RequestedLines,
        within: RootFilter,
    ) -> Result<FileLines, EvidenceError> {
        Ok(self.load_file(path, asked, MAX_LINES, within).await?.lines)
    }

    /// Reads a file and at most `max_lines` of its requested lines.
    pub(super) async fn load_file(
        &self,
        path: &str,
        asked: RequestedLines,
        max_lines: u32,
        within: RootFilter,
    ) -> Result<LoadedFile, EvidenceError> {
        let (root, record) = match self.resolve_path(path, within).await? {
            ResolvedPath::File(root, record) => (root, record),
            ResolvedPath::Folder(..) => return Err(EvidenceError::IsFolder(path.to_owned())),
        };
        if record.chunks == 0 {
            let rule = hash::split_omitted(&record.version).1;
            return Err(EvidenceError::NoContent(path.to_owned(), rule));
        }
        let file = self.to_indexed_file(&root, &record.path);
        let snapshot = self.load_snapshot(&record).await?;
        let tree = root.clone();
        let read = move || (read_disk_content(&tree, &record, snapshot.as_ref()), snapshot);
        let (disk, snapshot) = self.run_blocking(read).await?;
        let encoding = disk.encoding();
        let (text, total, state) = match (disk, snapshot) {
            (DiskContent::Other(text, changed, _), _) => {
                (text, 0, IndexedFileState::Changed(changed))
            }
            (_, None) => return Err(EvidenceError::InProgress(path.to_owned())),
            (DiskContent::Same(total, _), Some(snapshot)) => {
                (snapshot.text(), total, IndexedFileState::Indexed)
            }
            (DiskContent::Deleted, Some(snapshot)) => {
                (snapshot.text(), 0, IndexedFileState::Deleted)
            }
            (DiskContent::Unreadable, Some(snapshot)) => {
                (snapshot.text(), 0, IndexedFileState::Unreadable)
            }
            (DiskContent::OnOtherHost(host), Some(snapshot)) => {
                (snapshot.text(), 0, IndexedFileState::OnOtherHost(host))
            }
        };
        let mut lines = FileLines::new(file, state, encoding);
        lines.select_lines(&text, total, asked, max_lines);
        Ok(LoadedFile { lines, text, root })
    }
}

impl FileLines {
    pub(super) fn new(file: IndexedFile, state: IndexedFileState, encoding: TextEncoding) -> Self {
        let asked = LineRange { first: 1, last: 1 };
        Self { file, total: 0, lines: Vec::new(), asked, state, encoding }
    }

    /// Takes at most `max_lines` requested lines of a text, which has at least `min_total` lines.
    pub(super) fn select_lines(
        &mut self,
        text: &str,
        min_total: u32,
        asked: RequestedLines,
        max_lines: u32,
    ) {
        let all: Vec<&str> = text.lines().collect();
        self.total = to_line_number(all.len()).max(min_total);
        let (range, shown_last) = clamp_lines(asked, self.total, max_lines);
        self.asked = range;
        // Indexed text ends with the last line that is not blank.
        let lines = (1..=shown_last).zip(all.into_iter().chain(iter::repeat("")));
        let shown = lines.filter(|(number, _)| range.first <= *number);
        self.lines = shown.map(|(number, line)| (number, line.to_owned())).collect();
    }
}

impl DiskContent {
    fn encoding(&self) -> TextEncoding {
        match self {
            Self::Same(_, encoding) | Self::Other(.., encoding) => *encoding,
            Self::Deleted | Self::Unreadable | Self::OnOtherHost(_) => TextEncoding::UTF_8,
        }
    }
}

/// Clamps the requested lines to the file. Returns them, and the last line of at most `max_lines`.
fn clamp_lines(
    RequestedLines { first, last }: RequestedLines,
    total: u32,
    max_lines: u32,
) -> (LineRange, u32) {
    let end = total.max(1);
    let start = first.unwrap_or(1).clamp(1, end);
    let range = LineRange {
        first: start,
        last: last.unwrap_or(start.saturating_add(DEFAULT_LINES - 1)).clamp(start, end),
    };
    (range, range.last.min(start.saturating_add(max_lines - 1)))
}

/// Reads a file beneath its root, never through a link.
fn read_disk_content(
    root: &Root,
    record: &FileRecord,
    indexed: Option<&FileSnapshot>,
) -> DiskContent {
    if let Some(host) = &root.host {
        return DiskContent::OnOtherHost(host.name.clone());
    }
    let opened = RootDir::open_root(root).and_then(|tree| tree.open_file(Path::new(&record.path)));
    let read = opened.and_then(|(file, _)| beneath::read_to_limit(file, MAX_FILE_BYTES + 1, || ()));
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return DiskContent::Deleted,
        Err(_) => return DiskContent::Unreadable,
    };
    let Some(DecodedText { text, encoding }) = decode::decode_text(&bytes) else {
        return DiskContent::Unreadable;
    };
    if hash::matches_content(&record.version, &bytes) {
        return DiskContent::Same(to_line_number(text.lines().count()), encoding);
    }
    let language = detect::detect_language(&record.path, &text);
    let censored = codeinfo_secrets::censor_text(&record.path, language, &text);
    let Some(censored) = censored.filter(|_| bytes.len() as u64 <= MAX_FILE_BYTES) else {
        return DiskContent::Unreadable;
    };
    let text = decode::shorten_lines(censored.text).into_owned();
    let changed = find_changed_lines(&text, &indexed.map(FileSnapshot::text).unwrap_or_default());
    DiskContent::Other(text, changed, encoding)
}

/// Returns the ranges of lines that differ from the indexed ones, in order.
fn find_changed_lines(text: &str, indexed: &str) -> Vec<LineRange> {
    let before: Vec<&str> = indexed.lines().map(str::trim_end).collect();
    let now: Vec<&str> = text.lines().map(str::trim_end).collect();
    let until = Instant::now() + MAX_COMPARING;
    let parts = similar::capture_diff_slices_deadline(Algorithm::Myers, &before, &now, Some(until));
    let differing =
        parts.iter().filter(|part| part.tag() != DiffTag::Equal).flat_map(DiffOp::new_range);
    let mut changed: Vec<LineRange> = Vec::new();
    for at in differing.filter(|at| now.get(*at).is_some_and(|line| !line.is_empty())) {
        let number = to_line_number(at + 1);
        match changed.last_mut().filter(|range| range.last + 1 == number) {
            Some(range) => range.last = number,
            None => changed.push(LineRange { first: number, last: number }),
        }
    }
    changed
}

fn to_line_number(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_clamped_to_the_file() {
        let range = |first, last, total| {
            let (asked, shown) = clamp_lines(RequestedLines { first, last }, total, MAX_LINES);
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
    fn moved_lines_count_as_changed() {
        let read = |before: &str, now: &str| -> Vec<(u32, u32)> {
            find_changed_lines(now, before).iter().map(|range| (range.first, range.last)).collect()
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

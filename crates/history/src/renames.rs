//! Finds the file that another was renamed or copied from, by the share of equal lines, as in git.

use std::{
    cmp::Reverse,
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
};

use crate::{
    CommitId, HistoryReader,
    budget::WalkResult,
    line_diff::is_binary,
    reader::{FileEntry, MAX_FILE_BYTES},
    tree_diff::TreeChange,
};

/// Minimum similarity of a renamed file, in parts of [`MAX_SCORE`]: half, as by default in git.
const MIN_SCORE: u64 = MAX_SCORE / 2;
const MAX_SCORE: u64 = 60_000;
/// Maximum pairs of files compared by content, git's `diff.renameLimit` squared.
pub(crate) const MAX_PAIRS: usize = 1_000_000;
/// Git remembers this number of sources that are the most similar to a file.
const MAX_CANDIDATES: usize = 4;
/// Longer lines are compared in pieces of this length.
const MAX_PIECE: usize = 64;

/// A file whose content another file may have got.
pub(crate) struct RenameSource {
    pub(crate) path: Vec<u8>,
    pub(crate) entry: FileEntry,
    /// False for a file that remains, and so can only be copied.
    pub(crate) is_deleted: bool,
    /// True for a deleted file that was found to be renamed.
    pub(crate) is_used: bool,
    /// Bytes of the content, and its pieces, once they are known.
    size: Option<u64>,
    pieces: Option<ContentPieces>,
}

/// Score and whether the name is the same, the number of the source, and whether it is deleted.
type RankedSource = (Reverse<(u64, bool)>, usize, bool);

/// Bytes of a content by the hash of the line that they are part of.
struct ContentPieces(HashMap<u64, u64>);

impl RenameSource {
    pub(crate) fn new(path: Vec<u8>, entry: FileEntry, is_deleted: bool) -> Self {
        Self { path, entry, is_deleted, is_used: false, size: None, pieces: None }
    }
}

impl HistoryReader {
    /// Finds the old path of a file among deleted files, and if `with_copies` also remaining ones.
    pub(crate) fn find_old_path(
        &mut self,
        path: &[u8],
        entry: &FileEntry,
        trees: [CommitId; 2],
        with_copies: bool,
    ) -> WalkResult<Option<RenameSource>> {
        let [before, after] = trees;
        let changes = self.diff_trees(Some(before), Some(after))?;
        let deleted = changes.into_iter().filter(|change| change.after.is_none());
        let mut sources: Vec<_> = deleted
            .filter_map(|change| Some(RenameSource::new(change.path, change.before?, true)))
            .collect();
        if with_copies {
            let count = sources.len();
            for TreeChange { path, after, .. } in self.diff_trees(None, Some(before))? {
                let (deleted, _) = sources.split_at(count);
                if deleted.binary_search_by(|source| source.path.cmp(&path)).is_err() {
                    sources.extend(after.map(|entry| RenameSource::new(path, entry, false)));
                }
            }
            sources.sort_by(|a, b| a.path.cmp(&b.path));
        }
        let index = match find_equal(&sources, path, entry) {
            Some(index) => Some(index),
            None if sources.len() > MAX_PAIRS => None,
            None => self.find_similar(&mut sources, path, entry)?,
        };
        Ok(index.map(|index| sources.swap_remove(index)))
    }

    /// Finds the most similar source of a file; one that is deleted before one that remains.
    pub(crate) fn find_similar(
        &mut self,
        sources: &mut [RenameSource],
        path: &[u8],
        entry: &FileEntry,
    ) -> WalkResult<Option<usize>> {
        let mut file = RenameSource::new(path.to_owned(), *entry, false);
        let mut best = Vec::new();
        let is_open = |source: &RenameSource| !source.is_used;
        for (index, source) in sources.iter_mut().enumerate().filter(|(_, source)| is_open(source))
        {
            let score = self.score_source(source, &mut file)?;
            let rank = Reverse((score, find_name(&source.path) == find_name(path)));
            keep_best(&mut best, (rank, index, source.is_deleted));
        }
        best.retain(|(Reverse((score, _)), ..)| *score >= MIN_SCORE);
        best.sort_by_key(|(rank, ..)| *rank);
        let found = best.iter().find(|(.., is_deleted)| *is_deleted).or(best.first());
        Ok(found.map(|(_, index, _)| *index))
    }

    /// Returns the similarity of two files; 0 if their sizes differ too much.
    fn score_source(
        &mut self,
        source: &mut RenameSource,
        file: &mut RenameSource,
    ) -> WalkResult<u64> {
        if !file.entry.mode.is_blob() || !source.entry.mode.is_blob() {
            return Ok(0);
        }
        let (size, other) = (self.find_size(file)?, self.find_size(source)?);
        let (smaller, larger) = (size.min(other), size.max(other));
        let is_far = smaller.saturating_mul(MAX_SCORE) < larger.saturating_mul(MIN_SCORE);
        if is_far || size == 0 {
            return Ok(0);
        }
        self.load_pieces(file)?;
        self.load_pieces(source)?;
        let (Some(own), Some(pieces)) = (&file.pieces, &source.pieces) else { return Ok(0) };
        Ok(own.count_common(pieces) * MAX_SCORE / larger)
    }

    fn find_size(&mut self, file: &mut RenameSource) -> WalkResult<u64> {
        match file.size {
            Some(size) => Ok(size),
            None => Ok(*file.size.insert(self.read_size(&file.entry)?)),
        }
    }

    /// Reads the pieces of a file once. A file that is too large has none.
    fn load_pieces(&mut self, file: &mut RenameSource) -> WalkResult {
        if file.pieces.is_none() && file.size <= Some(MAX_FILE_BYTES) {
            file.pieces = Some(ContentPieces::new(&self.read_file(&file.entry)?));
        }
        Ok(())
    }
}

impl ContentPieces {
    fn new(content: &[u8]) -> Self {
        let is_text = !is_binary(content);
        let mut pieces = HashMap::new();
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            // A line that ends as on Windows is equal to one that does not.
            let other = line.strip_suffix(b"\r\n").filter(|_| is_text);
            let owned = other.map(|text| [text, b"\n"].concat());
            for piece in owned.as_deref().unwrap_or(line).chunks(MAX_PIECE) {
                let mut hasher = DefaultHasher::new();
                hasher.write(piece);
                *pieces.entry(hasher.finish()).or_default() += piece.len() as u64;
            }
        }
        Self(pieces)
    }

    fn count_common(&self, other: &Self) -> u64 {
        let shared = self.0.iter().filter_map(|(hash, count)| Some(*count.min(other.0.get(hash)?)));
        shared.sum()
    }
}

/// Adds a candidate in the place of the worst. Of equal ones, git takes the one in the first place.
fn keep_best(best: &mut Vec<RankedSource>, candidate: RankedSource) {
    if best.len() < MAX_CANDIDATES {
        best.push(candidate);
    } else if let Some(worst) = best.iter_mut().rev().max_by_key(|(rank, ..)| *rank)
        && candidate.0 < worst.0
    {
        *worst = candidate;
    }
}

/// Finds a source of equal content: first one that is deleted, and has the same name.
pub(crate) fn find_equal(
    sources: &[RenameSource],
    path: &[u8],
    entry: &FileEntry,
) -> Option<usize> {
    let is_equal = |source: &RenameSource| {
        let is_same_kind =
            source.entry.mode == entry.mode || source.entry.mode.is_blob() && entry.mode.is_blob();
        source.entry.id == entry.id && is_same_kind && !source.is_used
    };
    let equal = sources.iter().enumerate().filter(|(_, source)| is_equal(source));
    let best = equal.max_by_key(|(index, source)| {
        let is_namesake = find_name(&source.path) == find_name(path);
        (u8::from(source.is_deleted) + u8::from(is_namesake), Reverse(*index))
    });
    best.map(|(index, _)| index)
}

fn find_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

//! The files of a folder with what they define. Pure.

use std::collections::{BTreeMap, HashSet};

use codeinfo_lang::role;

use super::snapshot::Snapshot;
use crate::domain::FileRecord;

/// So many files are read, those of most chunks among plain source first, ...
const MAX_FILES: usize = 150;
/// ... and so many chunks of them.
const MAX_CHUNKS: usize = 12_000;

/// So many names are kept of a file.
const MAX_NAMES: usize = 64;

/// The files of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Absolute path as clients see it.
    pub path: String,
    /// How many files there are, in it and below.
    pub files: usize,
    /// The most telling of them, by path.
    pub members: Vec<Member>,
    /// The first of the folders and files in it, with how many files each has that are not among `members`.
    pub others: Vec<(String, usize)>,
}

/// A file of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Path below the folder.
    pub path: String,
    /// The last line with something in it.
    pub lines: u32,
    /// What it defines, without what is in another definition of it.
    pub names: Vec<String>,
    /// How telling it is among all: 0 is the most.
    pub rank: usize,
}

/// Returns the files worth reading, the most telling first.
pub(super) fn wanted(files: &[FileRecord]) -> Vec<FileRecord> {
    let mut files: Vec<&FileRecord> = files.iter().collect();
    files.sort_by_cached_key(|file| {
        (role::roles(&file.path).count(), std::cmp::Reverse(file.chunks), file.path.clone())
    });
    let mut chunks = 0;
    let fits = |file: &&&FileRecord| {
        chunks += file.chunks as usize;
        chunks <= MAX_CHUNKS
    };
    files.iter().take(MAX_FILES).take_while(fits).map(|file| (*file).clone()).collect()
}

/// Makes the outline of the folder whose path below the root is `folder`. `read` are in order of how telling they
/// are.
pub(super) fn of(path: String, folder: &str, files: &[FileRecord], read: &[Snapshot]) -> Folder {
    let below = |file: &str| -> String {
        file.strip_prefix(folder).unwrap_or(file).trim_start_matches('/').to_owned()
    };
    let member = |(rank, snapshot): (usize, &Snapshot)| Member {
        path: below(&snapshot.record.path),
        lines: snapshot.chunks.last().map_or(0, |chunk| chunk.end_line),
        names: names(snapshot),
        rank,
    };
    let mut members: Vec<Member> = read.iter().enumerate().map(member).collect();
    members.sort_by(|a, b| a.path.cmp(&b.path));
    let shown: HashSet<&str> = read.iter().map(|snapshot| snapshot.record.path.as_str()).collect();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| !shown.contains(file.path.as_str())) {
        *others.entry(first_part(&below(&file.path)).to_owned()).or_default() += 1;
    }
    Folder { path, files: files.len(), members, others: others.into_iter().collect() }
}

/// Returns the first folder of a path with its `/`, or the file.
pub(super) fn first_part(path: &str) -> &str {
    path.find('/').and_then(|at| path.get(..=at)).unwrap_or(path)
}

/// Returns what a file defines that is in no other definition of it.
fn names(snapshot: &Snapshot) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for symbol in snapshot.chunks.iter().flat_map(|chunk| &chunk.defines) {
        let is_inside = |outer: &String| {
            symbol
                .strip_prefix(outer.as_str())
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        if names.len() < MAX_NAMES && !names.iter().any(is_inside) {
            names.push(symbol.clone());
        }
    }
    names
}

//! Lists the files of a folder with their definitions. Pure.

use std::collections::{BTreeMap, HashSet};

use codeinfo_core::FileRecord;
use codeinfo_lang::{
    landmark::{self, LandmarkKind},
    role::{self, FileRole},
};

use super::snapshot::FileSnapshot;

/// Maximum files that are read; those with the most chunks among plain source come first.
const MAX_FILES: usize = 150;
/// Maximum chunks of these files.
const MAX_CHUNKS: usize = 12_000;

/// Maximum landmarks of each kind that are read before other files.
const MAX_LANDMARKS: usize = 30;
/// Maximum names per file.
const MAX_NAMES: usize = 64;

/// Outline of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderOutline {
    /// Absolute path as clients see it.
    pub path: String,
    /// Number of files in the folder and below.
    pub files: usize,
    /// The most important files: landmarks by kind, then plain source, then tests, documents and
    /// others.
    pub members: Vec<FolderMember>,
    /// First path parts of the other files, each with its number of files that are not among
    /// `members`.
    pub others: Vec<(String, usize)>,
    /// Files left out of the index, in one line; empty if there are none.
    pub left_out: String,
}

/// A file of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderMember {
    /// Path below the folder.
    pub path: String,
    /// Number of the last line that is not blank.
    pub lines: u32,
    /// Outermost definitions.
    pub names: Vec<String>,
    /// Rank by importance among all files; 0 is the most important.
    pub rank: usize,
    /// Kind of landmark, if the file is one.
    pub landmark: Option<LandmarkKind>,
    /// Number and text of the line that describes a landmark.
    pub about: Option<(u32, String)>,
}

/// Returns the files to read, most important first: landmarks, the outermost of each kind first,
/// then plain source.
pub(super) fn select_key_files(files: &[FileRecord]) -> Vec<FileRecord> {
    let mut landmarks: Vec<(LandmarkKind, usize, &FileRecord)> = files
        .iter()
        .filter_map(|file| {
            Some((detect_landmark(&file.path)?, file.path.matches('/').count(), file))
        })
        .collect();
    landmarks.sort_by_key(|(kind, folders, file)| (*kind, *folders, &file.path));
    let firsts =
        landmarks.chunk_by(|a, b| a.0 == b.0).flat_map(|alike| alike.iter().take(MAX_LANDMARKS));
    let mut read: Vec<&FileRecord> = firsts.map(|(_, _, file)| *file).collect();
    let known: HashSet<&str> = read.iter().map(|file| file.path.as_str()).collect();
    let mut files: Vec<&FileRecord> =
        files.iter().filter(|file| !known.contains(file.path.as_str())).collect();
    files.sort_by_cached_key(|file| {
        (role::detect_roles(&file.path).count(), std::cmp::Reverse(file.chunks), file.path.clone())
    });
    read.append(&mut files);
    let mut chunks = 0;
    let fits = |file: &&&FileRecord| {
        chunks += file.chunks as usize;
        chunks <= MAX_CHUNKS
    };
    read.iter().take(MAX_FILES).take_while(fits).map(|file| (*file).clone()).collect()
}

/// Builds the outline of a folder, whose path below the root is `folder`. `read` is ordered by
/// importance.
pub(super) fn build_folder_outline(
    path: String,
    folder: &str,
    files: &[FileRecord],
    read: &[FileSnapshot],
) -> FolderOutline {
    let below = |file: &str| -> String {
        file.strip_prefix(folder).unwrap_or(file).trim_start_matches('/').to_owned()
    };
    let member = |(rank, snapshot): (usize, &FileSnapshot)| {
        let landmark = detect_landmark(&snapshot.record.path);
        let text = if landmark.is_some() { snapshot.text() } else { String::new() };
        let about = landmark.and_then(|landmark| landmark::find_description_line(landmark, &text));
        FolderMember {
            path: below(&snapshot.record.path),
            lines: snapshot.chunks.last().map_or(0, |chunk| chunk.end_line),
            names: list_outermost_names(snapshot),
            rank,
            landmark,
            about: about.map(|(line, text)| (line, text.to_owned())),
        }
    };
    let mut members: Vec<FolderMember> = read.iter().enumerate().map(member).collect();
    let is_aside = |path: &str| role::detect_roles(path).next().is_some();
    members.sort_by_cached_key(|member| {
        let path = member.path.clone();
        (member.landmark.is_none(), member.landmark, is_aside(&path), path)
    });
    let shown: HashSet<&str> = read.iter().map(|snapshot| snapshot.record.path.as_str()).collect();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| !shown.contains(file.path.as_str())) {
        *others.entry(first_part(&below(&file.path)).to_owned()).or_default() += 1;
    }
    FolderOutline {
        path,
        files: files.len(),
        members,
        others: others.into_iter().collect(),
        left_out: String::new(),
    }
}

/// Returns the landmark kind of a file. Tests, examples and third-party code are not landmarks.
fn detect_landmark(path: &str) -> Option<LandmarkKind> {
    let is_aside = |role| !matches!(role, FileRole::Docs | FileRole::Data);
    landmark::detect_landmark(path).filter(|_| !role::detect_roles(path).any(is_aside))
}

/// Returns the first folder of a path with its `/`, or the file name.
pub(super) fn first_part(path: &str) -> &str {
    path.find('/').and_then(|at| path.get(..=at)).unwrap_or(path)
}

/// Returns the definitions of a file that are not inside another.
fn list_outermost_names(snapshot: &FileSnapshot) -> Vec<String> {
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

//! Lists the definitions of a file or folder, and the size of folders.

use std::collections::{BTreeMap, HashSet};

use codeinfo_core::{FileRecord, Root, RootFilter, hash, list_omissions};
use codeinfo_lang::{
    landmark::{self, LandmarkKind},
    role::{self, FileRole},
};

use super::{
    Evidence, EvidenceError,
    resolve::{IndexedFile, ResolvedPath},
    snapshot::{FileSnapshot, retain_indexed},
};

/// Maximum lines from the first line of a definition to its name.
const HEAD_LINES: usize = 4;
const MAX_HEAD_BYTES: usize = 200;

/// Outline of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outline {
    /// The path is a file.
    File {
        /// The file.
        file: IndexedFile,
        /// Lower-case name of its language.
        language: Option<String>,
        /// Number of the last line that is not blank.
        lines: u32,
        /// Definitions in the order of their lines.
        definitions: Vec<OutlineEntry>,
    },
    /// The path is a folder.
    Folder(FolderOutline),
}

/// A definition, or a section under a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineEntry {
    /// First line, counted from 1.
    pub first: u32,
    /// Last line, inclusive.
    pub last: u32,
    /// Number of definitions around it.
    pub depth: usize,
    /// First line, indented as in the file, with further lines up to the name of the definition.
    pub head: String,
}

impl Evidence {
    /// Returns the definitions of a file or folder as it was indexed.
    pub async fn load_outline(
        &self,
        path: &str,
        within: RootFilter,
    ) -> Result<Outline, EvidenceError> {
        match self.resolve_path(path, within).await? {
            ResolvedPath::File(root, record) => self.outline_file(path, &root, &record).await,
            ResolvedPath::Folder(root, folder, files) => {
                let shown = self.display_path(&root, &folder);
                let wanted = select_key_files(&files);
                let snapshots = self.load_snapshots(wanted).await?;
                let omitted = root.omitted.filter_below(&folder);
                let left_out = list_omissions(omitted.groups(), &[]);
                let found = build_folder_outline(shown, &folder, &files, &snapshots);
                Ok(Outline::Folder(FolderOutline { left_out, ..found }))
            }
        }
    }

    async fn outline_file(
        &self,
        asked: &str,
        root: &Root,
        record: &FileRecord,
    ) -> Result<Outline, EvidenceError> {
        if record.chunks == 0 {
            let rule = hash::split_omitted(&record.version).1;
            return Err(EvidenceError::NoContent(asked.to_owned(), rule));
        }
        let snapshot = self
            .load_snapshot(record)
            .await?
            .ok_or_else(|| EvidenceError::InProgress(asked.to_owned()))?;
        let file = self.to_indexed_file(root, &record.path);
        let outline = move || {
            let text = snapshot.text();
            let language = snapshot.language();
            let lines: Vec<&str> = text.lines().collect();
            let known = codeinfo_chunk::list_definitions(language, &text);
            let entry = |definition: codeinfo_chunk::Definition| {
                let head = read_definition_head(&lines, &definition);
                let codeinfo_chunk::Definition { first, last, depth, .. } = definition;
                OutlineEntry { first, last, depth, head }
            };
            Outline::File {
                file,
                language: language.map(|language| language.name.to_owned()),
                lines: u32::try_from(lines.len()).unwrap_or(u32::MAX),
                definitions: known.into_iter().map(entry).collect(),
            }
        };
        self.run_blocking(outline).await
    }
}

/// Returns the first lines of a definition, joined, up to the one with its name.
fn read_definition_head(lines: &[&str], definition: &codeinfo_chunk::Definition) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = definition.symbol.rsplit(|c: char| !is_word(c)).find(|part| !part.is_empty());
    let at = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let from = at(definition.first.saturating_sub(1));
    let own = lines.get(from..at(definition.last)).unwrap_or_default();
    let mut head = String::new();
    for line in own.iter().take(HEAD_LINES) {
        if head.is_empty() {
            head.push_str(line.trim_end());
        } else {
            head.extend([" ", line.trim()]);
        }
        if name.is_none_or(|name| head.contains(name)) {
            head.truncate(head.floor_char_boundary(MAX_HEAD_BYTES));
            return head;
        }
    }
    let first = own.first().copied().unwrap_or_default();
    first.get(..first.floor_char_boundary(MAX_HEAD_BYTES)).unwrap_or_default().trim_end().to_owned()
}

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
    /// Most important files: landmarks by kind, then plain source, tests, documents and others.
    pub members: Vec<FolderMember>,
    /// First path parts of the files that are not among `members`, each with their number.
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

/// Returns the files to read: landmarks, the outermost of each kind first, then plain source.
fn select_key_files(files: &[FileRecord]) -> Vec<FileRecord> {
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

/// Builds the outline of the `folder` below the root; `read` is ordered by importance.
fn build_folder_outline(
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
        *others.entry(first_path_part(&below(&file.path)).to_owned()).or_default() += 1;
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
pub(super) fn first_path_part(path: &str) -> &str {
    path.find('/').and_then(|at| path.get(..=at)).unwrap_or(path)
}

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

/// Content of a folder, without its subfolders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FolderSize {
    /// Number of files with indexed content.
    pub files: usize,
    /// Bytes of these files.
    pub bytes: u64,
}

impl Evidence {
    /// Measures the folders of a repository by their paths below the root, whose own is empty.
    pub async fn measure_folders(
        &self,
        root: &Root,
    ) -> Result<BTreeMap<String, FolderSize>, EvidenceError> {
        let files = retain_indexed(self.store.files(root.id).await?, root);
        self.run_blocking(move || sum_folder_sizes(&files)).await
    }
}

fn sum_folder_sizes(files: &[FileRecord]) -> BTreeMap<String, FolderSize> {
    let mut sizes: BTreeMap<String, FolderSize> = BTreeMap::new();
    for file in files {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let size = match sizes.get_mut(folder) {
            Some(size) => size,
            None => sizes.entry(folder.to_owned()).or_default(),
        };
        size.files += 1;
        size.bytes += file.size;
    }
    sizes
}

//! Reads both versions of the files with differences that match a query, and compares them.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

use codeinfo_core::{ChunkRecord, LineRange, RootId, merge_ranges};
use codeinfo_evidence::snapshot::{FileSnapshot, join_chunks, load_snapshots};
use tokio::task::spawn_blocking;

use super::{
    super::{
        Search, SearchError,
        candidate::SearchCandidate,
        file_diff::{FileComparison, FileDiff, FileVersion, MatchedLines, UnmatchedFiles},
    },
    TreeDifference,
};

/// Maximum bytes of a version of a file; of a larger one, only the matching chunks are compared.
const MAX_FILE_BYTES: u64 = 2 << 20;
/// The same for all files of a search.
const MAX_COMPARED_BYTES: u64 = 16 << 20;
/// Maximum time of finding the shortest diffs of all files of a search.
const MAX_COMPARING: Duration = Duration::from_millis(500);
/// Maximum names of files without a change that matches.
const MAX_UNMATCHED_PATHS: usize = 20;

/// Candidates in whose lines something changed, and the changes.
pub(super) struct ComparedCandidates {
    pub(super) candidates: Vec<SearchCandidate>,
    pub(super) diffs: Vec<FileDiff>,
    pub(super) also_differ: Option<UnmatchedFiles>,
}

struct ComparedFile {
    /// The diff, still without hunks.
    diff: FileDiff,
    versions: [VersionContent; 2],
}

/// Text and chunks of a version, in the order of their lines; empty if the tree lacks the file.
struct VersionContent {
    text: String,
    chunks: Vec<ChunkRecord>,
}

impl Search {
    /// Compares the files of ranked candidates. Returns at most `limit` candidates with a change in
    /// their lines, in their order, and the changes that they touch.
    pub(super) async fn compare_candidates(
        &self,
        mut ranked: Vec<SearchCandidate>,
        sides: [&TreeDifference; 2],
        limit: usize,
    ) -> Result<ComparedCandidates, SearchError> {
        let files = self.load_compared_files(&ranked, sides).await?;
        let [_, second] = sides.map(|side| side.tree.id);
        let compare = move || {
            let deadline = Instant::now() + MAX_COMPARING;
            let comparisons: HashMap<&str, FileComparison<'_>> = files
                .iter()
                .map(|file| (file.diff.rel_path.as_str(), file.compare_versions(deadline)))
                .collect();
            ranked.retain(|SearchCandidate { record, .. }| {
                let comparison = comparisons.get(record.path.as_str());
                comparison
                    .is_some_and(|file| file.is_changed(chunk_lines(record), record.root == second))
            });
            ranked.truncate(limit);
            let all_diffs = files.iter().filter_map(|file| {
                let path = file.diff.rel_path.as_str();
                let matched = MatchedLines {
                    before: list_lines(&ranked, path, |root| root != second),
                    after: list_lines(&ranked, path, |root| root == second),
                };
                let hunks = comparisons.get(path)?.find_hunks(&matched);
                Some(FileDiff { hunks, ..file.diff.clone() })
            });
            let diffs: Vec<FileDiff> = all_diffs.filter(|diff| !diff.hunks.is_empty()).collect();
            (ranked, diffs)
        };
        let comparing = spawn_blocking(compare).await;
        let (candidates, diffs) = comparing.map_err(|_| SearchError::Stopped)?;
        let also_differ = list_unmatched_files(sides, &diffs);
        Ok(ComparedCandidates { candidates, diffs, also_differ })
    }

    /// Reads both versions of the files of candidates, in the order of the best candidate of each.
    async fn load_compared_files(
        &self,
        ranked: &[SearchCandidate],
        sides: [&TreeDifference; 2],
    ) -> Result<Vec<ComparedFile>, SearchError> {
        let mut seen = HashSet::new();
        let all_paths = ranked.iter().map(|candidate| candidate.record.path.as_str());
        let paths: Vec<&str> = all_paths.filter(|path| seen.insert(*path)).collect();
        let mut bytes = 0;
        let mut records = Vec::new();
        for path in &paths {
            let versions = sides.iter().filter_map(|side| side.files.get(*path));
            let added: u64 = versions.clone().map(|file| file.size).sum();
            let is_small = versions.clone().all(|file| file.size <= MAX_FILE_BYTES);
            if is_small && bytes + added <= MAX_COMPARED_BYTES {
                bytes += added;
                records.extend(versions.cloned());
            }
        }
        let snapshots = load_snapshots(&self.store, records).await?.into_iter();
        let mut read: HashMap<(RootId, String), Vec<ChunkRecord>> = snapshots
            .map(|FileSnapshot { record, chunks }| ((record.root, record.path), chunks))
            .collect();
        let files = paths.into_iter().map(|path| {
            let [before, after] = sides.map(|side| match side.files.get(path) {
                Some(file) => read.remove(&(file.root, path.to_owned())),
                None => Some(Vec::new()),
            });
            let versions = before.zip(after).map_or_else(
                || sides.map(|side| list_chunks(ranked, path, side.tree.id)),
                |(before, after)| [before, after],
            );
            let [first, second] =
                sides.map(|side| Some(side).filter(|side| side.files.contains_key(path)));
            let tree = second.or(first).map(|side| &side.tree);
            let diff = FileDiff {
                rel_path: path.to_owned(),
                path: tree.map(|tree| self.display_path(tree, path)).unwrap_or_default(),
                before: first.map(|side| side.tree.name.clone()),
                after: second.map(|side| side.tree.name.clone()),
                hunks: Vec::new(),
            };
            ComparedFile { diff, versions: versions.map(VersionContent::new) }
        });
        Ok(files.collect())
    }
}

impl ComparedFile {
    fn compare_versions(&self, deadline: Instant) -> FileComparison<'_> {
        let [before, after] = self
            .versions
            .each_ref()
            .map(|version| FileVersion::new(&version.text, &version.chunks));
        FileComparison::new(before, after, deadline)
    }
}

impl VersionContent {
    fn new(chunks: Vec<ChunkRecord>) -> Self {
        Self { text: join_chunks(&chunks), chunks }
    }
}

/// Returns the chunks of the candidates in one version of a file, in the order of their lines.
fn list_chunks(ranked: &[SearchCandidate], path: &str, root: RootId) -> Vec<ChunkRecord> {
    let records = ranked.iter().map(|candidate| &candidate.record);
    let mut chunks: Vec<ChunkRecord> =
        records.filter(|chunk| chunk.path == path && chunk.root == root).cloned().collect();
    chunks.sort_unstable_by_key(|chunk| (chunk.start_line, chunk.end_line));
    chunks
}

fn list_lines(
    ranked: &[SearchCandidate],
    path: &str,
    is_tree: impl Fn(RootId) -> bool,
) -> Vec<LineRange> {
    let records = ranked.iter().map(|candidate| &candidate.record);
    let own = records.filter(|chunk| chunk.path == path && is_tree(chunk.root));
    merge_ranges(own.map(chunk_lines).collect())
}

/// Lists the files with content that differ between the trees and have no hunk.
fn list_unmatched_files(sides: [&TreeDifference; 2], diffs: &[FileDiff]) -> Option<UnmatchedFiles> {
    let shown: HashSet<&str> = diffs.iter().map(|diff| diff.rel_path.as_str()).collect();
    let differing = sides.iter().flat_map(|side| side.files.values());
    let unmatched = differing.filter(|file| file.chunks > 0 && !shown.contains(&*file.path));
    let paths: BTreeSet<&str> = unmatched.map(|file| file.path.as_str()).collect();
    let named = paths.iter().take(MAX_UNMATCHED_PATHS).map(|path| (*path).to_owned()).collect();
    (!paths.is_empty()).then_some(UnmatchedFiles { count: paths.len(), paths: named })
}

fn chunk_lines(chunk: &ChunkRecord) -> LineRange {
    LineRange { first: chunk.start_line, last: chunk.end_line }
}

//! Finds the distinct names that match a pattern in the indexed files, with exact counts.

use std::{cmp::Reverse, collections::HashMap};

use codeinfo_core::RootFilter;

use super::{
    Evidence, EvidenceError, IndexedFile, SearchedRepository,
    classify::{ClassifiedOccurrence, OccurrenceKind, group_places, rank_by_roles},
    pattern::NamePattern,
    scan::ScanBudget,
    searched::list_searched_repositories,
    snapshot::FileSnapshot,
};

/// Maximum number and bytes of names that are counted one by one; the total includes the others.
const MAX_COUNTED: usize = 20_000;
const MAX_COUNTED_BYTES: usize = 2 << 20;
const MAX_RETURNED: usize = 500;

/// The matches of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternMatches {
    /// Text of the pattern.
    pub pattern: String,
    /// Number of occurrences.
    pub count: usize,
    /// Number of files with an occurrence.
    pub files: usize,
    /// Number of distinct names; there are more if `uncounted` is not 0.
    pub distinct: usize,
    /// Number of occurrences of names that are not among the `distinct` ones.
    pub uncounted: usize,
    /// Best first: defined names, then those in code, tests, documents, comments and strings.
    pub names: Vec<MatchedName>,
    /// Searched repositories.
    pub searched: Vec<SearchedRepository>,
    /// Names of unsearched repositories, whose folder is gone.
    pub gone: Vec<String>,
    /// Number of unread files; the counts are exact if it is 0.
    pub unread: usize,
    /// True if a long line was searched in pieces, so that matches may be missing.
    pub is_cut: bool,
}

/// A name that matches a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedName {
    /// Spelling of the name.
    pub name: String,
    /// Number of occurrences.
    pub count: usize,
    /// Number of files with an occurrence.
    pub files: usize,
    /// Its first definition, or else its first use.
    pub first: MatchedPlace,
}

/// Location of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedPlace {
    /// Kind of occurrence.
    pub group: OccurrenceKind,
    /// The file.
    pub file: IndexedFile,
    /// Line number.
    pub line: u32,
    /// Text of the line.
    pub text: String,
}

struct NameCount {
    count: usize,
    files: usize,
    /// Index of the last file that contains it.
    last_file: usize,
    /// Sort key of the best occurrence: its kind and the rank of its file, lower is better.
    order: (usize, u8),
    root: usize,
    first: MatchedPlace,
}

struct CountedFile<'a> {
    root: usize,
    path: &'a str,
    rank: u8,
}

#[derive(Default)]
struct MatchTally {
    names: HashMap<String, NameCount>,
    bytes: usize,
    count: usize,
    files: usize,
    uncounted: usize,
    is_cut: bool,
}

impl MatchTally {
    /// Counts the matches in one file. Returns `false` if the time ran out.
    fn count_file(
        &mut self,
        root: usize,
        snapshot: &FileSnapshot,
        pattern: &NamePattern,
        budget: &mut ScanBudget,
    ) -> bool {
        let text = snapshot.text();
        let mut places = pattern.find_places(&text, *budget);
        let before = self.count;
        let rank = rank_by_roles(snapshot.roles());
        let path = &snapshot.record.path;
        let file = CountedFile { root, path, rank };
        let mut take =
            |place: &ClassifiedOccurrence<'_>, _: &mut ScanBudget| self.count_place(place, &file);
        group_places(snapshot, &text, &mut places, budget, &mut take);
        self.files += usize::from(self.count > before);
        self.is_cut |= places.is_cut;
        !places.is_stopped
    }

    fn count_place(&mut self, place: &ClassifiedOccurrence<'_>, file: &CountedFile<'_>) {
        self.count += 1;
        let order = (place.group as usize, file.rank);
        let first = || MatchedPlace {
            group: place.group,
            file: IndexedFile { rel_path: file.path.to_owned(), ..IndexedFile::default() },
            line: place.line,
            text: place.line_text(),
        };
        if let Some(known) = self.names.get_mut(place.name) {
            known.count += 1;
            known.files += usize::from(known.last_file != self.files);
            known.last_file = self.files;
            if order < known.order {
                (known.order, known.root, known.first) = (order, file.root, first());
            }
            return;
        }
        let bytes = self.bytes + place.name.len();
        if self.names.len() >= MAX_COUNTED || bytes > MAX_COUNTED_BYTES {
            self.uncounted += 1;
            return;
        }
        self.bytes = bytes;
        let first = first();
        let last_file = self.files;
        let root = file.root;
        let count = NameCount { count: 1, files: 1, last_file, order, root, first };
        self.names.insert(place.name.to_owned(), count);
    }
}

impl Evidence {
    /// Finds the distinct names that match a pattern.
    pub async fn find_matches(
        &self,
        pattern: NamePattern,
        within: RootFilter,
    ) -> Result<PatternMatches, EvidenceError> {
        let (roots, gone) = self.list_present_roots(within).await?;
        let files = self.list_files(&roots).await?;
        let needle = pattern.clone();
        let read = move |tally: &mut MatchTally,
                         root,
                         snapshot: &FileSnapshot,
                         budget: &mut ScanBudget| {
            tally.count_file(root, snapshot, &needle, budget)
        };
        let (tally, unread) = self.scan_files(files, MatchTally::default(), read).await?;
        let distinct = tally.names.len();
        let mut names: Vec<(String, NameCount)> = tally.names.into_iter().collect();
        names.sort_by(|(name, a), (other, b)| {
            (a.order, Reverse(a.count), name).cmp(&(b.order, Reverse(b.count), other))
        });
        let name = |(name, NameCount { count, files, root, mut first, .. })| {
            if let Some(root) = roots.get(root) {
                first.file = self.to_indexed_file(root, &first.file.rel_path);
            }
            MatchedName { name, count, files, first }
        };
        Ok(PatternMatches {
            pattern: pattern.as_str().to_owned(),
            count: tally.count,
            files: tally.files,
            distinct,
            uncounted: tally.uncounted,
            names: names.into_iter().take(MAX_RETURNED).map(name).collect(),
            searched: list_searched_repositories(&roots),
            gone,
            unread,
            is_cut: tally.is_cut,
        })
    }
}

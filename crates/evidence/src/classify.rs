//! Counts a word in one file and classifies its occurrences. Pure; runs on blocking threads.

use std::ops::Range;

use codeinfo_chunk::{CommentScanner, SyntaxContext, classify_words, classify_words_quickly};
use codeinfo_lang::role::FileRole;
use serde::Serialize;

use super::{scan::ScanBudget, snapshot::FileSnapshot, word::WordMatcher};

/// Maximum lines that are shown.
pub const MAX_SHOWN: usize = 40;
/// Maximum occurrences in a file that the grammar classifies; comment and string marks do the rest.
const MAX_PLACES: usize = 20_000;
/// Maximum bytes of a shown line, and those of them before the word.
const LINE_BYTES: usize = 200;
const LEAD_BYTES: usize = 80;

/// Kind of an occurrence of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OccurrenceKind {
    /// The name of a definition.
    Definitions,
    /// Code.
    Uses,
    /// Code of tests.
    Tests,
    /// Documents.
    Documents,
    /// Comments and strings in code.
    Asides,
}

impl OccurrenceKind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 5] =
        [Self::Definitions, Self::Uses, Self::Tests, Self::Documents, Self::Asides];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OccurrenceLine {
    pub(super) number: u32,
    pub(super) text: String,
    pub(super) count: usize,
}

#[derive(Debug)]
pub(super) struct FileOccurrences {
    pub(super) root: usize,
    pub(super) path: String,
    /// Higher for files that are less important for a name.
    pub(super) rank: u8,
    /// By kind, in the order of [`OccurrenceKind::ALL`].
    pub(super) groups: [KindOccurrences; 5],
}

#[derive(Debug, Default)]
pub(super) struct KindOccurrences {
    pub(super) count: usize,
    /// First lines, at most [`MAX_SHOWN`].
    pub(super) lines: Vec<OccurrenceLine>,
}

/// Counts a word in a file; `None` if the file does not contain it.
pub(super) fn count_occurrences(
    root: usize,
    snapshot: &FileSnapshot,
    word: &WordMatcher,
    budget: &mut ScanBudget,
) -> Option<FileOccurrences> {
    let text = snapshot.text();
    let mut groups: [KindOccurrences; 5] = Default::default();
    let mut count = |place: &ClassifiedOccurrence<'_>, budget: &mut ScanBudget| {
        let Some(group) = groups.get_mut(place.group as usize) else { return };
        group.count += 1;
        let has_room = budget.kept > 0 && group.lines.len() < MAX_SHOWN;
        match group.lines.last_mut().filter(|last| last.number == place.line) {
            Some(last) => last.count += 1,
            None if has_room => {
                budget.kept -= 1;
                group.lines.push(OccurrenceLine {
                    number: place.line,
                    text: place.line_text(),
                    count: 1,
                });
            }
            None => {}
        }
    };
    group_places(snapshot, &text, word.find_places(&text), budget, &mut count);
    let is_there = groups.iter().any(|group| group.count > 0);
    is_there.then(|| FileOccurrences {
        root,
        path: snapshot.record.path.clone(),
        rank: rank_by_roles(snapshot.roles()),
        groups,
    })
}

pub(super) struct ClassifiedOccurrence<'a> {
    pub(super) name: &'a str,
    pub(super) group: OccurrenceKind,
    pub(super) line: u32,
    line_text: &'a str,
    /// Byte offset of the name in the line.
    column: usize,
}

impl ClassifiedOccurrence<'_> {
    /// Returns the line without its indentation, or the part around the name if it is long.
    pub(super) fn line_text(&self) -> String {
        trim_line_around(self.line_text, self.column)
    }
}

/// Classifies the occurrences of a text and passes each to `take`. `places` are ascending.
pub(super) fn group_places<'a>(
    snapshot: &FileSnapshot,
    text: &'a str,
    mut places: impl Iterator<Item = Range<usize>>,
    budget: &mut ScanBudget,
    take: &mut impl FnMut(&ClassifiedOccurrence<'a>, &mut ScanBudget),
) {
    let first: Vec<Range<usize>> = places.by_ref().take(MAX_PLACES).collect();
    if first.is_empty() {
        return;
    }
    let roles = snapshot.roles();
    let tests = snapshot.language().and_then(|language| language.lines_before_tests(text));
    let is_test = |number: u32| tests.is_some_and(|before| number as usize > before);
    let group = |place| choose_occurrence_kind(roles, place);
    let known = classify_places(snapshot, roles, text, &first, budget);
    let known = first.into_iter().zip(known).map(|(place, kind)| (place, group(kind)));
    let mut marks = CommentScanner::new(snapshot.language(), text);
    let others = places.map(|place| {
        let group = group(marks.classify_word(&place));
        (place, group)
    });
    let mut numbers = LineNumbers { text, at: 0, line: 1, start: 0, end: 0 };
    for (place, group) in known.chain(others) {
        let (line, range) = numbers.find_line(place.start);
        let group = match group {
            OccurrenceKind::Uses if is_test(line) => OccurrenceKind::Tests,
            group => group,
        };
        let column = place.start - range.start;
        let name = text.get(place).unwrap_or_default();
        let line_text = text.get(range).unwrap_or_default();
        take(&ClassifiedOccurrence { name, group, line, line_text, column }, budget);
    }
}

fn classify_places(
    snapshot: &FileSnapshot,
    roles: &[FileRole],
    text: &str,
    words: &[Range<usize>],
    budget: &mut ScanBudget,
) -> Vec<SyntaxContext> {
    if roles.contains(&FileRole::Docs) {
        return vec![SyntaxContext::Code; words.len()];
    }
    let classify = if budget.reserve_parsed_bytes(text.len()) {
        classify_words
    } else {
        classify_words_quickly
    };
    classify(snapshot.language(), text, words)
}

fn choose_occurrence_kind(roles: &[FileRole], place: SyntaxContext) -> OccurrenceKind {
    match place {
        _ if roles.contains(&FileRole::Docs) => OccurrenceKind::Documents,
        SyntaxContext::Definition => OccurrenceKind::Definitions,
        SyntaxContext::Code if roles.contains(&FileRole::Test) => OccurrenceKind::Tests,
        SyntaxContext::Code => OccurrenceKind::Uses,
        SyntaxContext::Aside => OccurrenceKind::Asides,
    }
}

/// Ranks a file: 0 for plain source, more for tests, most for vendored or generated code and data.
pub(super) fn rank_by_roles(roles: &[FileRole]) -> u8 {
    let rank = |role: &FileRole| match role {
        FileRole::Docs | FileRole::Page => 0,
        FileRole::Example | FileRole::Declaration | FileRole::Compatibility => 1,
        FileRole::Test => 2,
        FileRole::Vendored | FileRole::Generated | FileRole::Data => 3,
    };
    roles.iter().map(rank).max().unwrap_or(0)
}

/// Line numbers of ascending byte offsets.
struct LineNumbers<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    start: usize,
    end: usize,
}

impl LineNumbers<'_> {
    fn find_line(&mut self, byte: usize) -> (u32, Range<usize>) {
        let passed = self.text.as_bytes().get(self.at..byte).unwrap_or_default();
        for end in memchr::memchr_iter(b'\n', passed) {
            self.line += 1;
            self.start = self.at + end + 1;
        }
        self.at = byte.max(self.at);
        if self.end <= byte {
            let rest = self.text.as_bytes().get(byte..).unwrap_or_default();
            self.end = memchr::memchr(b'\n', rest).map_or(self.text.len(), |end| byte + end);
        }
        (self.line, self.start..self.end)
    }
}

/// Returns a line without its indentation, or the part around byte `at` if it is long.
fn trim_line_around(line: &str, at: usize) -> String {
    let indent = line.len() - line.trim_start().len();
    let inner = line.trim();
    if inner.len() <= LINE_BYTES {
        return inner.to_owned();
    }
    let inner_at = at.saturating_sub(indent).min(inner.len());
    let start = inner.floor_char_boundary(inner_at.saturating_sub(LEAD_BYTES));
    let from = if start < LEAD_BYTES / 2 { 0 } else { start };
    let to = inner.floor_char_boundary(from + LINE_BYTES);
    let before = if from > 0 { "⋯ " } else { "" };
    let after = if to < inner.len() { " ⋯" } else { "" };
    format!("{before}{}{after}", inner.get(from..to).unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_the_word() {
        assert_eq!(trim_line_around("\t  foo(bar) ", 3), "foo(bar)");
        let long = format!("    {}needle{}", "é ".repeat(300), "a ".repeat(300));
        let shown = trim_line_around(&long, long.find("needle").unwrap());
        assert!(shown.contains("needle") && shown.len() < 220, "{shown}");
        assert!(shown.starts_with("⋯ é") && shown.ends_with("a ⋯"), "{shown}");
        let start = format!("needle {}", "a ".repeat(300));
        assert!(trim_line_around(&start, 0).starts_with("needle a"));
    }

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\nb b\n\nc";
        let mut numbers = LineNumbers { text, at: 0, line: 1, start: 0, end: 0 };
        let found = [0, 2, 4, 7].map(|byte| numbers.find_line(byte));
        assert_eq!(found, [(1, 0..1), (2, 2..5), (2, 2..5), (4, 7..8)]);
    }

    #[test]
    fn the_end_of_a_long_line_is_searched_once() {
        let text = "a ".repeat(2_000_000);
        let mut numbers = LineNumbers { text: &text, at: 0, line: 1, start: 0, end: 0 };
        let mut lines = (0..text.len()).step_by(2).map(|byte| numbers.find_line(byte));
        assert!(lines.all(|line| line == (1, 0..text.len())));
    }
}

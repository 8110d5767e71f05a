//! Text of a cited file with lookups of its lines, words and definitions. Does no I/O.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
    ops::RangeInclusive,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use codeinfo_core::{ChunkRecord, LineRange};
use codeinfo_embed::StaticModel;
use codeinfo_lang::{comment, detect, words::fold_name};
use memchr::memmem;
use sha2::{Digest, Sha256};

use super::fit::{CitedRegion, TermLines};

/// Maximum occurrences of a name that are reported.
const MAX_PLACES: usize = 3;
const MAX_LINES: u32 = 2000;
/// Maximum bytes of a line with definitions; minified code is longer and has one line to cite.
const MAX_LINE_BYTES: usize = 10 << 10;
/// Maximum occurrences of a name, and bytes before each, that are examined to find its definition.
const MAX_HEAD_CANDIDATES: usize = 100;
const MAX_HEAD_BYTES: usize = 400;
/// Digits of a content hash. People see it in the lock file, so it is short.
const HASH_DIGITS: usize = 16;
/// Digits of the hash of the first line.
const FIRST_LINE_DIGITS: usize = 4;
/// Minimum bytes of moved lines: short lines may occur anywhere and are not searched for.
const MIN_MOVED_BYTES: usize = 16;

#[derive(Debug)]
pub(super) struct CitedFileText {
    path: String,
    text: String,
    starts: Vec<usize>,
    /// Definitions by the last segment of their name; read on first use.
    definitions: OnceLock<HashMap<String, Vec<LineRange>>>,
    words: Mutex<HashMap<String, Arc<[u32]>>>,
    /// Lines of every word by its folded spelling; read when an exact search finds nothing.
    spellings: OnceLock<HashMap<String, Vec<u32>>>,
    /// Lines of every term; read when the first citation is assessed.
    terms: OnceLock<TermLines>,
}

impl CitedFileText {
    pub(super) fn new(path: String, text: String) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if text.is_empty() || text.ends_with('\n') {
            starts.pop();
        }
        Self {
            path,
            text,
            starts,
            definitions: OnceLock::new(),
            words: Mutex::default(),
            spellings: OnceLock::new(),
            terms: OnceLock::new(),
        }
    }

    pub(super) fn line_count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn byte_len(&self) -> u64 {
        self.text.len() as u64
    }

    /// Returns the size of line ranges in bytes, or of the file if there are none.
    pub(super) fn byte_len_of_ranges(&self, ranges: &[LineRange]) -> u64 {
        let length = |range: &LineRange| {
            self.line_start(range.last.saturating_add(1))
                .saturating_sub(self.line_start(range.first)) as u64
        };
        if ranges.is_empty() { self.byte_len() } else { ranges.iter().map(length).sum() }
    }

    pub(super) fn has_lines(&self, range: LineRange) -> bool {
        1 <= range.first && range.first <= range.last && range.last <= self.line_count()
    }

    /// Returns whether the lines have a word in any spelling, or overlap its definition.
    pub(super) fn mentions_word(&self, word: &str, range: LineRange) -> bool {
        any_within(&self.lines_of_word(word), range)
            || self.definitions_of(word).iter().any(|own| ranges_overlap(*own, range))
            || any_within(self.lines_of_spellings(word), range)
    }

    /// Returns whether a word is part of the file's path: a folder, file name, extension or crate
    /// name, which is often the folder of `src` after a prefix: `grep_searcher` in `searcher/src`.
    pub(super) fn is_in_path(&self, word: &str) -> bool {
        let fold = |part: &str| fold_name(part.replace('-', "_").as_bytes());
        let is_word = |part: &str| fold(part) == fold(word);
        let crate_folder = self.path.split("/src/").next().and_then(|path| path.rsplit('/').next());
        let is_crate = |folder: &str| {
            let prefix = word.strip_suffix(&folder.replace('-', "_"));
            prefix.is_some_and(|prefix| prefix.ends_with('_'))
        };
        self.path.split(['/', '.']).any(is_word) || crate_folder.is_some_and(is_crate)
    }

    pub(super) fn definitions_of(&self, word: &str) -> &[LineRange] {
        let all = self.definitions.get_or_init(|| self.index_definitions());
        all.get(word).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the innermost definition around a range.
    pub(super) fn definition_around(&self, range: LineRange) -> Option<LineRange> {
        let all = self.definitions.get_or_init(|| self.index_definitions());
        let definitions = all.values().flatten().copied();
        definitions
            .filter(|lines| lines.first <= range.first && range.last <= lines.last)
            .min_by_key(|lines| (lines.last - lines.first, lines.first))
    }

    /// Returns the first lines with a word, in any spelling if the exact one is missing.
    pub(super) fn lines_with(&self, word: &str) -> Vec<LineRange> {
        let own = self.lines_of_word(word);
        let lines = if own.is_empty() { self.lines_of_spellings(word) } else { &own };
        let first_lines = lines.iter().take(MAX_PLACES);
        first_lines.map(|line| LineRange { first: *line, last: *line }).collect()
    }

    /// Returns the occurrence of a name, or its definition, that is nearest to some lines.
    pub(super) fn find_nearest_occurrence(
        &self,
        word: &str,
        lines: &[LineRange],
    ) -> Option<LineRange> {
        let own = self.lines_of_word(word);
        let found = if own.is_empty() { self.lines_of_spellings(word) } else { &own };
        let places = found.iter().map(|line| LineRange { first: *line, last: *line });
        let distance = |place: &LineRange| {
            let apart = |range: &LineRange| {
                place.first.saturating_sub(range.last).max(range.first.saturating_sub(place.last))
            };
            lines.iter().map(apart).min()
        };
        self.definitions_of(word).iter().copied().chain(places).min_by_key(distance)
    }

    /// Builds the region of cited lines to compare with statements. The file must have the lines.
    pub(super) fn build_cited_region(
        &self,
        lines: &[LineRange],
        model: &StaticModel,
    ) -> CitedRegion<'_> {
        let terms = self.terms.get_or_init(|| TermLines::from_text(&self.text));
        CitedRegion::new(terms, &self.text, lines, model)
    }

    /// Returns the lines with a word in any spelling: `rel_path` is `relPath` on the wire, and
    /// `REL_PATH` or `rel-path` elsewhere.
    fn lines_of_spellings(&self, word: &str) -> &[u32] {
        let all = self.spellings.get_or_init(|| self.index_spellings());
        all.get(&fold_name(word.as_bytes())).map(Vec::as_slice).unwrap_or_default()
    }

    fn index_spellings(&self) -> HashMap<String, Vec<u32>> {
        let mut found: HashMap<String, Vec<u32>> = HashMap::new();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        for (line, text) in (1..).zip(self.text.lines()) {
            for run in text.split(|c| !is_part(c)) {
                let parts = run.split('-').filter(|part| part.len() < run.len());
                for word in parts.chain([run]).map(|word| fold_name(word.as_bytes())) {
                    let lines = found.entry(word).or_default();
                    if lines.last() != Some(&line) {
                        lines.push(line);
                    }
                }
            }
        }
        found
    }

    /// Returns the lines with a word, each once. Words are remembered, as a model may repeat them.
    fn lines_of_word(&self, word: &str) -> Arc<[u32]> {
        let mut known = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = known.get(word) {
            return Arc::clone(lines);
        }
        let mut found: Vec<u32> =
            find_word_offsets(&self.text, word).map(|at| self.line_at(at)).collect();
        found.dedup();
        let lines: Arc<[u32]> = found.into();
        known.insert(word.to_owned(), Arc::clone(&lines));
        lines
    }

    /// Hashes line ranges, or the whole file if there are none: hex digits of SHA-256 over the
    /// lines without trailing white space. `None` if a line is missing, or if the ranges have more
    /// lines than the file because they overlap.
    pub(super) fn hash_lines(&self, ranges: &[LineRange]) -> Option<String> {
        let whole = [LineRange { first: 1, last: self.line_count() }];
        let ranges = if ranges.is_empty() { &whole } else { ranges };
        let lengths = ranges.iter().map(|range| u64::from(range.line_count()));
        let has_all = self.line_count() == 0 || ranges.iter().all(|range| self.has_lines(*range));
        if !has_all || lengths.sum::<u64>() > u64::from(self.line_count().max(1)) {
            return None;
        }
        let mut hasher = Sha256::new();
        for range in ranges {
            for line in self.text_of(range.first..=range.last) {
                hasher.update(line.trim_end());
                hasher.update(b"\n");
            }
        }
        Some(short_hex(&hasher.finalize()))
    }

    /// Returns the fingerprint of lines: their hash and the first digits of the first line's, which
    /// speed up a search for moved lines. `None` if a line is missing.
    pub(super) fn fingerprint_lines(&self, range: LineRange) -> Option<String> {
        let first = self.hash_lines(&[LineRange { last: range.first, ..range }])?;
        Some(self.hash_lines(&[range])? + first.get(..FIRST_LINE_DIGITS)?)
    }

    /// Returns at most two ranges of `count` lines with a fingerprint; none for short lines.
    pub(super) fn find_by_fingerprint(&self, fingerprint: &str, count: u32) -> Vec<LineRange> {
        let Some(first) = fingerprint.get(HASH_DIGITS..) else { return Vec::new() };
        let last = (self.line_count() + 1).saturating_sub(count);
        let ranges = (1..=last).map(|first| LineRange { first, last: first + (count - 1) });
        let starts = |range: &LineRange| {
            let hash = self.hash_lines(&[LineRange { last: range.first, ..*range }]);
            hash.is_some_and(|hash| hash.starts_with(first))
        };
        let is_same =
            |range: &LineRange| self.fingerprint_lines(*range).as_deref() == Some(fingerprint);
        let is_long = |range: &LineRange| {
            let text = self.text_of(range.first..=range.last);
            text.map(|line| line.trim().len()).sum::<usize>() >= MIN_MOVED_BYTES
        };
        let found = ranges.filter(|range| starts(range) && is_same(range) && is_long(range));
        found.take(2).collect()
    }

    /// Compares lines with their indexed text; `None` if none was indexed.
    pub(super) fn is_as_indexed(&self, indexed: &[ChunkRecord], range: LineRange) -> Option<bool> {
        let indexed = indexed_text_of_lines(indexed, range)?;
        let now = self.text_of(range.first..=range.last);
        Some(now.map(str::trim_end).eq(indexed.iter().map(|line| line.trim_end())))
    }

    /// Returns the current place of lines that were indexed at `range`, if it is unique.
    pub(super) fn find_indexed_lines(
        &self,
        indexed: &[ChunkRecord],
        range: LineRange,
    ) -> Option<LineRange> {
        let indexed = indexed_text_of_lines(indexed, range)?;
        let text = indexed.join("\n");
        if text.trim().len() < MIN_MOVED_BYTES {
            return None;
        }
        let mut places = memmem::find_iter(self.text.as_bytes(), text.as_bytes())
            .filter(|at| self.starts.binary_search(at).is_ok());
        let first = self.line_at(places.next()?);
        places
            .next()
            .is_none()
            .then(|| LineRange { first, last: first + (range.last - range.first) })
    }

    pub(super) fn text_of(&self, lines: RangeInclusive<u32>) -> impl Iterator<Item = &str> {
        let start = self.line_start(*lines.start());
        let end = self.line_start(lines.end().saturating_add(1));
        self.text.get(start..end).unwrap_or_default().lines()
    }

    /// Returns the byte offset of a line, counted from 1; the end of the text after the last line.
    fn line_start(&self, line: u32) -> usize {
        let at = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        self.starts.get(at).copied().unwrap_or(self.text.len())
    }

    fn line_at(&self, byte: usize) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= byte)).unwrap_or(u32::MAX)
    }

    fn index_definitions(&self) -> HashMap<String, Vec<LineRange>> {
        let mut found: HashMap<String, Vec<LineRange>> = HashMap::new();
        let language = detect::detect_language(&self.path, &self.text);
        let lines: Vec<&str> = self.text.lines().collect();
        let is_long =
            |line: u32| self.line_start(line + 1) - self.line_start(line) > MAX_LINE_BYTES;
        for chunk in codeinfo_chunk::chunk_text(language, &self.text).chunks {
            if (chunk.start_line..=chunk.end_line).any(is_long) {
                continue;
            }
            let mut names = HashSet::new();
            for symbol in &chunk.defines {
                let own = symbol.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
                let new = own.filter(|name| !name.is_empty() && names.insert(*name));
                let Some(name) = new else { continue };
                let head = self.find_definition_head(name, chunk.start_line, chunk.end_line);
                let Some(first) = head else { continue };
                let range = LineRange { first, last: last_line(&lines, first) };
                let ranges = found.entry(name.to_owned()).or_default();
                if ranges.last() != Some(&range) {
                    ranges.push(range);
                }
            }
        }
        found
    }

    /// Returns the first line that most resembles a definition's head. Comments are ignored.
    fn find_definition_head(&self, name: &str, first: u32, last: u32) -> Option<u32> {
        let start = self.line_start(first);
        let within = self.text.get(start..self.line_start(last.saturating_add(1)))?;
        let places =
            find_word_offsets(within, name).map(|at| (self.line_at(start + at), start + at));
        let code = places.take(MAX_HEAD_CANDIDATES).filter(|(line, _)| {
            !self.text_of(*line..=*line).any(|text| comment::is_lead(text.trim_start()))
        });
        let likeness = |(line, at): &(u32, usize)| {
            let before = self.text.get(self.line_start(*line)..*at).unwrap_or_default();
            if before.len() > MAX_HEAD_BYTES { 2 } else { use_likeness(before.trim()) }
        };
        code.min_by_key(likeness).map(|(line, _)| line)
    }
}

pub(super) fn short_hex(hash: &[u8]) -> String {
    let mut hex = String::with_capacity(HASH_DIGITS);
    for byte in hash.iter().take(HASH_DIGITS / 2) {
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

fn find_word_offsets<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    memmem::find_iter(text.as_bytes(), word.as_bytes()).filter(move |at| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Rates how much a name after `before` on its line looks used; 0 is a definition. Only plain words
/// precede the name of a definition, such as `pub(super) async fn`.
fn use_likeness(before: &str) -> u8 {
    let count = |mark: char| before.matches(mark).count();
    let is_open = count('(') != count(')') || count('{') != count('}') || count('[') != count(']');
    match before {
        _ if is_open || before.contains('=') || before.ends_with(['.', ',', '!', '"']) => 2,
        "" => 1,
        _ => 0,
    }
}

/// Returns the last line of a definition, by the indentation of its lines.
fn last_line(lines: &[&str], first: u32) -> u32 {
    let at = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(own) = lines.get(at).map(|line| indent(line)) else { return first };
    let (mut last, mut line) = (first, first);
    for text in lines.get(at + 1..).unwrap_or_default().iter().take(MAX_LINES as usize) {
        line += 1;
        let inner = text.trim();
        if inner.is_empty() {
            continue;
        }
        let is_deeper = indent(text) > own;
        let opens = inner == "{" || inner == "begin" || inner.starts_with("where");
        let closes =
            inner.starts_with(['}', ')', ']']) || inner == "end" || inner.starts_with("end;");
        if indent(text) < own || !is_deeper && !opens && !closes {
            break;
        }
        last = line;
        let goes_on = inner.ends_with(['{', '(', '[', ':', ',', '=', '>']);
        if !is_deeper && closes && !goes_on {
            break;
        }
    }
    last
}

/// Returns the indexed text of lines; `None` if none of them was indexed.
fn indexed_text_of_lines(indexed: &[ChunkRecord], range: LineRange) -> Option<Vec<&str>> {
    let mut lines = vec![""; usize::try_from(range.line_count()).ok()?];
    let mut is_known = false;
    for chunk in indexed {
        for (line, text) in (chunk.start_line..).zip(chunk.text.split('\n')) {
            let place = line.checked_sub(range.first).and_then(|at| usize::try_from(at).ok());
            if let Some(place) = place.and_then(|at| lines.get_mut(at)) {
                *place = text;
                is_known = true;
            }
        }
    }
    is_known.then_some(lines)
}

fn any_within(lines: &[u32], range: LineRange) -> bool {
    let next = lines.partition_point(|line| *line < range.first);
    lines.get(next).is_some_and(|line| *line <= range.last)
}

pub(super) fn ranges_overlap(a: LineRange, b: LineRange) -> bool {
    a.first <= b.last && b.first <= a.last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_line_is_not_read_for_each_name_that_it_has() {
        let words: Vec<String> =
            (0..60_000).map(|at| format!("function f{}(){{}} ", at % 50)).collect();
        let line = words.concat();
        let content =
            CitedFileText::new("src/a.js".to_owned(), format!("function g() {{}}\n{line}\n"));
        assert!(content.definitions_of("f7").is_empty());
        assert_eq!(content.lines_with("f7"), [LineRange { first: 2, last: 2 }]);
        let lines = "function f() {}\n".repeat(20_000);
        let content = CitedFileText::new("src/a.js".to_owned(), lines);
        assert_eq!(content.definitions_of("f")[0], LineRange { first: 1, last: 1 });
    }
}

//! What stands in which lines of a file. Pure.

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

/// So many places of a name are said.
const MAX_PLACES: usize = 3;
/// A definition is not followed further than this.
const MAX_LINES: u32 = 2000;
/// Definitions in longer lines, such as those of minified code, are not looked for: nor is there more than one line to
/// cite.
const MAX_LINE_BYTES: usize = 10 << 10;
/// So many places of a name, and bytes before each, are read for the one that defines it.
const MAX_HEADS: usize = 100;
const MAX_BEFORE: usize = 400;
/// How many digits of a hash tell contents apart, for a note that people see.
const HASH_DIGITS: usize = 16;
/// How many of the first line's.
const FIRST_DIGITS: usize = 4;
/// A few short lines may stand anywhere, and are not looked for elsewhere.
const MIN_BYTES: usize = 16;

/// The text of a file.
#[derive(Debug)]
pub(super) struct CitedFileText {
    path: String,
    text: String,
    /// Where each line starts, in bytes.
    starts: Vec<usize>,
    /// Where each definition is, by its last name; read when it is first asked for.
    definitions: OnceLock<HashMap<String, Vec<LineRange>>>,
    /// The lines of the words that were looked for.
    words: Mutex<HashMap<String, Arc<[u32]>>>,
    /// The lines of every word in any spelling; read when one is not found as it is written.
    spellings: OnceLock<HashMap<String, Vec<u32>>>,
    /// The lines of every term of statements; read when the first citation is assessed.
    terms: OnceLock<TermLines>,
}

impl CitedFileText {
    pub(super) fn new(path: String, text: String) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if text.is_empty() || text.ends_with('\n') {
            starts.pop();
        }
        let (definitions, spellings, terms) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { path, text, starts, definitions, words: Mutex::default(), spellings, terms }
    }

    /// Returns how many lines there are.
    pub(super) fn line_count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// Returns how long it is.
    pub(super) fn byte_len(&self) -> u64 {
        self.text.len() as u64
    }

    /// Returns how many bytes some lines have; those of the file for none.
    pub(super) fn byte_len_of_ranges(&self, ranges: &[LineRange]) -> u64 {
        let length = |range: &LineRange| {
            self.line_start(range.last.saturating_add(1))
                .saturating_sub(self.line_start(range.first)) as u64
        };
        if ranges.is_empty() { self.byte_len() } else { ranges.iter().map(length).sum() }
    }

    /// Whether these are lines of the file.
    pub(super) fn has_lines(&self, range: LineRange) -> bool {
        1 <= range.first && range.first <= range.last && range.last <= self.line_count()
    }

    /// Whether a word stands in these lines, in whatever spelling, or they are in what it names.
    pub(super) fn mentions_word(&self, word: &str, range: LineRange) -> bool {
        any_within(&self.lines_of_word(word), range)
            || self.definitions_of(word).iter().any(|own| ranges_overlap(*own, range))
            || any_within(self.lines_of_spellings(word), range)
    }

    /// Returns whether a word is part of the file's path: a folder, the name or the ending of the file, or
    /// the name of its crate, which is often that of the folder of `src` after a prefix: `grep_searcher`
    /// in `searcher/src`.
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

    /// Returns where a name is defined.
    pub(super) fn definitions_of(&self, word: &str) -> &[LineRange] {
        let all = self.definitions.get_or_init(|| self.index_definitions());
        all.get(word).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the innermost definition around some lines.
    pub(super) fn definition_around(&self, range: LineRange) -> Option<LineRange> {
        let all = self.definitions.get_or_init(|| self.index_definitions());
        let around = all.values().flatten().copied();
        let around = around.filter(|one| one.first <= range.first && range.last <= one.last);
        around.min_by_key(|one| (one.last - one.first, one.first))
    }

    /// Returns the first lines that have a word; where none has it as it is written, in any spelling.
    pub(super) fn lines_with(&self, word: &str) -> Vec<LineRange> {
        let own = self.lines_of_word(word);
        let lines = if own.is_empty() { self.lines_of_spellings(word) } else { &own };
        let lines = lines.iter().take(MAX_PLACES);
        lines.map(|line| LineRange { first: *line, last: *line }).collect()
    }

    /// Returns the occurrence of a name that is nearest to some lines: its definition where that is nearer.
    pub(super) fn find_nearest_occurrence(
        &self,
        word: &str,
        lines: &[LineRange],
    ) -> Option<LineRange> {
        let own = self.lines_of_word(word);
        let places = if own.is_empty() { self.lines_of_spellings(word) } else { &own };
        let places = places.iter().map(|line| LineRange { first: *line, last: *line });
        let distance = |place: &LineRange| {
            let apart = |range: &LineRange| {
                place.first.saturating_sub(range.last).max(range.first.saturating_sub(place.last))
            };
            lines.iter().map(apart).min()
        };
        self.definitions_of(word).iter().copied().chain(places).min_by_key(distance)
    }

    /// Returns cited lines to be compared with what is said of them. The file has them.
    pub(super) fn build_cited_region(
        &self,
        lines: &[LineRange],
        model: &StaticModel,
    ) -> CitedRegion<'_> {
        let terms = self.terms.get_or_init(|| TermLines::from_text(&self.text));
        CitedRegion::new(terms, &self.text, lines, model)
    }

    /// Returns the lines that have a word in any spelling: `rel_path` is `relPath` on the wire, and
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

    /// Returns the lines that have a word, each once. A text is searched once for each word, however often
    /// a model gives it.
    fn lines_of_word(&self, word: &str) -> Arc<[u32]> {
        let mut known = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = known.get(word) {
            return Arc::clone(lines);
        }
        let mut lines: Vec<u32> =
            find_word_offsets(&self.text, word).map(|at| self.line_at(at)).collect();
        lines.dedup();
        let lines: Arc<[u32]> = lines.into();
        known.insert(word.to_owned(), Arc::clone(&lines));
        lines
    }

    /// Names the content of lines, or, if there are none, of the file: hex digits of SHA-256 over the
    /// lines, without white space at their ends. `None` for lines that are not there, or of which there are
    /// more than the file has, since some stand twice.
    pub(super) fn hash_lines(&self, ranges: &[LineRange]) -> Option<String> {
        let whole = [LineRange { first: 1, last: self.line_count() }];
        let ranges = if ranges.is_empty() { &whole } else { ranges };
        let lengths =
            ranges.iter().map(|range| u64::from(range.last.saturating_sub(range.first)) + 1);
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
        let mut hex = String::with_capacity(HASH_DIGITS);
        for byte in hasher.finalize().iter().take(HASH_DIGITS / 2) {
            // Writing to a `String` cannot fail.
            let _infallible = write!(hex, "{byte:02x}");
        }
        Some(hex)
    }

    /// Returns what tells the content of lines from another: their hash, and a few digits of that of the
    /// first line, by which they are found elsewhere. `None` for lines that are not there.
    pub(super) fn fingerprint_lines(&self, range: LineRange) -> Option<String> {
        let first = self.hash_lines(&[LineRange { last: range.first, ..range }])?;
        Some(self.hash_lines(&[range])? + first.get(..FIRST_DIGITS)?)
    }

    /// Returns where so many lines stand that have a fingerprint, two places at most. A few short lines may
    /// stand anywhere, and are not looked for.
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
            text.map(|line| line.trim().len()).sum::<usize>() >= MIN_BYTES
        };
        let found = ranges.filter(|range| starts(range) && is_same(range) && is_long(range));
        found.take(2).collect()
    }

    /// Compares lines with what was indexed of them; `None` where nothing was.
    pub(super) fn is_as_indexed(&self, indexed: &[ChunkRecord], range: LineRange) -> Option<bool> {
        let indexed = indexed_text_of_lines(indexed, range)?;
        let now = self.text_of(range.first..=range.last);
        Some(now.map(str::trim_end).eq(indexed.iter().map(|line| line.trim_end())))
    }

    /// Returns where lines stand now that were indexed at `range`, if that is in one place.
    pub(super) fn find_indexed_lines(
        &self,
        indexed: &[ChunkRecord],
        range: LineRange,
    ) -> Option<LineRange> {
        let indexed = indexed_text_of_lines(indexed, range)?;
        let text = indexed.join("\n");
        if text.trim().len() < MIN_BYTES {
            return None;
        }
        let mut places = memmem::find_iter(self.text.as_bytes(), text.as_bytes())
            .filter(|at| self.starts.binary_search(at).is_ok());
        let (first, second) = (places.next()?, places.next());
        let first = self.line_at(first);
        second.is_none().then(|| LineRange { first, last: first + (range.last - range.first) })
    }

    pub(super) fn text_of(&self, lines: RangeInclusive<u32>) -> impl Iterator<Item = &str> {
        let (start, end) =
            (self.line_start(*lines.start()), self.line_start(lines.end().saturating_add(1)));
        self.text.get(start..end).unwrap_or_default().lines()
    }

    /// Returns where a line starts, counted from 1; the end of the text for those after the last.
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

    /// Returns the line that most looks like the head of a definition, the first of several, among some
    /// that have a name and are no comments.
    fn find_definition_head(&self, name: &str, first: u32, last: u32) -> Option<u32> {
        let start = self.line_start(first);
        let within = self.text.get(start..self.line_start(last.saturating_add(1)))?;
        let places =
            find_word_offsets(within, name).map(|at| (self.line_at(start + at), start + at));
        let code = places.take(MAX_HEADS).filter(|(line, _)| {
            !self.text_of(*line..=*line).any(|text| comment::is_lead(text.trim_start()))
        });
        let likeness = |(line, at): &(u32, usize)| {
            let before = self.text.get(self.line_start(*line)..*at).unwrap_or_default();
            if before.len() > MAX_BEFORE { 2 } else { use_likeness(before.trim()) }
        };
        code.min_by_key(likeness).map(|(line, _)| line)
    }
}

/// Returns where a text has a word that is not part of a longer one.
fn find_word_offsets<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    memmem::find_iter(text.as_bytes(), word.as_bytes()).filter(move |at| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns how much a name after `before` on its line looks used rather than defined: what stands before the
/// name of a definition are words alone, such as `pub(super) async fn`.
fn use_likeness(before: &str) -> u8 {
    let count = |mark: char| before.matches(mark).count();
    let is_open = count('(') != count(')') || count('{') != count('}') || count('[') != count(']');
    match before {
        _ if is_open || before.contains('=') || before.ends_with(['.', ',', '!', '"']) => 2,
        "" => 1,
        _ => 0,
    }
}

/// Returns the last line of a definition, by how far its lines are indented.
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

/// Returns the lines of a range as they were indexed; `None` if one that is not blank is missing.
fn indexed_text_of_lines(indexed: &[ChunkRecord], range: LineRange) -> Option<Vec<&str>> {
    let count = usize::try_from(range.last.checked_sub(range.first)?).ok()? + 1;
    let mut lines = vec![""; count];
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

/// Whether one of some lines, which are in order, is in a range.
fn any_within(lines: &[u32], range: LineRange) -> bool {
    let next = lines.partition_point(|line| *line < range.first);
    lines.get(next).is_some_and(|line| *line <= range.last)
}

fn ranges_overlap(a: LineRange, b: LineRange) -> bool {
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

//! Splits an answer into claims: sentences with citations, beside the cited lines. Does no I/O.

use std::{
    collections::{HashMap, HashSet},
    iter,
    ops::Range,
};

use codeinfo_core::{LineRange, plain_line};

use super::{
    attribution::sentence_ranges, content::CitedFileText, markdown::MarkdownPieces, parse::Citation,
};

const MAX_SENTENCE_BYTES: usize = 480;
/// Maximum ranges of lines that are read for one sentence.
const MAX_EXCERPTS: usize = 8;
/// Maximum lines read of a range.
const MAX_LINES: u32 = 2000;
/// Maximum bytes of an excerpt: more does not fit into a request, even with a single claim.
const MAX_EXCERPT_BYTES: usize = 6000;
/// Maximum bytes of a line, such as one of minified code.
const MAX_LINE_BYTES: usize = 200;
/// Mark at the end of a shortened text.
const ELLIPSIS: char = '…';
/// Bytes of a line that is shortened for lack of room.
const MIN_LINE_BYTES: usize = 40;
/// Bytes of the note about omitted lines.
const OMISSION_BYTES: usize = 40;
const NUMBER_BYTES: usize = 8;
/// Minimum words of a sentence beside its citations; a shorter one continues the one before it.
const MIN_WORDS: usize = 2;
/// Minimum characters of a word that is compared with lines.
const MIN_WORD_CHARS: usize = 3;

/// A sentence with citations, and the lines that it cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// The sentence as one line, joined to the sentence before it if it continues that one.
    pub sentence: String,
    /// One excerpt for each range of lines that was read; empty if none could be read.
    pub excerpts: Vec<CitedExcerpt>,
}

/// Lines that a sentence cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CitedExcerpt {
    /// Path as the answer writes it.
    pub path: String,
    /// Byte range of the citation in the text.
    pub citation: Range<usize>,
    /// Cited lines, limited to those of the file.
    pub range: LineRange,
    /// Number and text of each line, in order, without omitted lines.
    pub lines: Vec<(u32, String)>,
    /// Set if nothing that the sentence cites was omitted or shortened, in any of its excerpts.
    pub is_whole: bool,
}

impl Claim {
    /// Returns the size in bytes of the longest form that can be sent.
    pub fn max_byte_len(&self) -> usize {
        self.sentence.len() + self.excerpts.iter().map(CitedExcerpt::byte_len).sum::<usize>()
    }
}

impl CitedExcerpt {
    /// Returns the size in bytes of the lines with their numbers, escaped as in JSON.
    pub fn byte_len(&self) -> usize {
        self.path.len() + self.lines.iter().map(|(_, line)| line_bytes(line)).sum::<usize>()
    }

    /// Returns the excerpt with the lines that fit into `max_bytes`: the first, then those with the
    /// rarest words of the sentence and their neighbours, then the others from the top.
    #[must_use]
    pub fn shorten_to_fit(&self, sentence: &str, max_bytes: usize) -> Self {
        let lines: Vec<&str> = self.lines.iter().map(|(_, line)| line.as_str()).collect();
        let room = max_bytes.saturating_sub(self.path.len());
        let words = find_words(sentence);
        let chosen = choose_lines(&lines, &words, room);
        let numbered = self.lines.iter().enumerate().filter(|(at, _)| chosen.contains(at));
        let mut fitting: Vec<(u32, String)> = numbered.map(|(_, line)| line.clone()).collect();
        if fitting.is_empty() && room > MIN_LINE_BYTES {
            // Falls back to a piece of the highest ranked line.
            let best = rank_lines(&lines, &words).into_iter().nth(1).unwrap_or_default();
            let line = self.lines.get(best).cloned();
            fitting.extend(line.map(|(number, line)| (number, shorten_text(line, MIN_LINE_BYTES))));
        }
        let is_whole = self.is_whole && fitting == self.lines;
        Self { lines: fitting, is_whole, ..self.clone() }
    }
}

/// Returns the claims of a text; `content` returns the file of the citation at an index.
pub(super) fn find_claims<'a>(
    text: &str,
    pieces: &MarkdownPieces,
    citations: &[Citation],
    content: impl Fn(usize) -> Option<&'a CitedFileText>,
) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut before: Option<Range<usize>> = None;
    for range in sentence_ranges(text, pieces, citations) {
        let is_block = pieces.blocks.binary_search(&range.start).is_ok();
        let first = citations.partition_point(|citation| citation.range.start < range.start);
        let end = citations.partition_point(|citation| citation.range.start < range.end);
        let cited = citations.get(first..end).unwrap_or_default();
        let continued = before.take().filter(|_| !is_block);
        before = Some(range.clone());
        if cited.is_empty() {
            continue;
        }
        let full_range = if count_words(text, &range, cited) < MIN_WORDS {
            // `It waits. (a.rs:3)`
            continued.map(|former| former.start..range.end)
        } else {
            Some(range.clone())
        };
        let Some(full_range) = full_range else { continue };
        let sentence = join_into_line(text.get(full_range).unwrap_or_default());
        let mut excerpts: Vec<CitedExcerpt> = Vec::new();
        let mut is_whole = !sentence.ends_with(ELLIPSIS);
        for (at, citation) in (first..).zip(cited) {
            match content(at) {
                Some(content) => excerpts.extend(read_excerpts(citation, content, &sentence)),
                None => is_whole = false,
            }
        }
        is_whole &= excerpts.len() <= MAX_EXCERPTS;
        excerpts.truncate(MAX_EXCERPTS);
        for excerpt in &mut excerpts {
            excerpt.is_whole &= is_whole;
        }
        claims.push(Claim { range, sentence, excerpts });
    }
    claims
}

fn read_excerpts(
    citation: &Citation,
    content: &CitedFileText,
    sentence: &str,
) -> Vec<CitedExcerpt> {
    let whole = [LineRange { first: 1, last: content.line_count() }];
    let ranges = if citation.lines.is_empty() { &whole[..] } else { &citation.lines };
    let in_file = ranges.iter().filter_map(|range| {
        let first = range.first.min(range.last).max(1);
        let last = range.first.max(range.last).min(content.line_count());
        (first <= last).then_some(LineRange { first, last })
    });
    let excerpts = in_file.take(MAX_EXCERPTS).map(|range| {
        let read = range.last.min(range.first.saturating_add(MAX_LINES - 1));
        let lines = (range.first..).zip(content.text_of(range.first..=read));
        let lines: Vec<(u32, String)> =
            lines.map(|(number, line)| (number, plain_code(line))).collect();
        let excerpt = CitedExcerpt {
            path: citation.path.clone(),
            citation: citation.range.clone(),
            range,
            is_whole: read == range.last && !lines.iter().any(|(_, line)| line.ends_with(ELLIPSIS)),
            lines,
        };
        excerpt.shorten_to_fit(sentence, MAX_EXCERPT_BYTES)
    });
    excerpts.filter(|excerpt| !excerpt.lines.is_empty()).collect()
}

/// Chooses the indexes of the lines that fit into `room` bytes.
fn choose_lines(lines: &[&str], words: &HashSet<String>, room: usize) -> HashSet<usize> {
    let mut kept = HashSet::new();
    let mut left = room;
    for at in rank_lines(lines, words) {
        let Some(line) = lines.get(at) else { continue };
        let is_beside = at > 0 && kept.contains(&(at - 1)) || kept.contains(&(at + 1));
        let gap = if is_beside || lines.len() == 1 { 0 } else { OMISSION_BYTES };
        if let Some(rest) = left.checked_sub(line_bytes(line) + gap)
            && !kept.contains(&at)
        {
            kept.insert(at);
            left = rest;
        }
    }
    kept
}

/// Returns the indexes of lines, those with the rarest words first. Some indexes occur twice.
fn rank_lines(lines: &[&str], words: &HashSet<String>) -> Vec<usize> {
    let found: Vec<HashSet<String>> =
        lines.iter().map(|line| find_words(line).intersection(words).cloned().collect()).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in found.iter().flatten() {
        *counts.entry(word).or_default() += 1;
    }
    let weight = |words: &HashSet<String>| -> usize {
        words.iter().filter_map(|word| 1000_usize.checked_div(*counts.get(word.as_str())?)).sum()
    };
    let mut weighted: Vec<(usize, usize)> = found.iter().map(weight).enumerate().collect();
    weighted.retain(|(_, weight)| *weight > 0);
    weighted.sort_by_key(|(at, weight)| (std::cmp::Reverse(*weight), *at));
    let ranked = weighted.into_iter().flat_map(|(at, _)| [at, at + 1, at.saturating_sub(1)]);
    iter::once(0).chain(ranked).chain(0..lines.len()).collect()
}

/// Returns the words of a text in lower case, without short ones.
pub fn find_words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let long = words.filter(|word| word.chars().nth(MIN_WORD_CHARS - 1).is_some());
    long.map(str::to_lowercase).collect()
}

fn count_words(text: &str, range: &Range<usize>, cited: &[Citation]) -> usize {
    let (mut at, mut count) = (range.start, 0);
    let ends =
        cited.iter().map(|citation| citation.whole.clone()).chain(iter::once(range.end..range.end));
    for citation in ends {
        let between = text.get(at..citation.start.max(at)).unwrap_or_default();
        let words = between.split(|c: char| !c.is_alphanumeric());
        count += words.filter(|word| word.chars().any(char::is_alphabetic)).count();
        at = citation.end.max(at);
    }
    count
}

fn line_bytes(line: &str) -> usize {
    let escaped = line.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    line.len() + escaped + NUMBER_BYTES
}

fn join_into_line(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    shorten_text(plain_line(&words.join(" ")), MAX_SENTENCE_BYTES)
}

/// Returns a line of code without characters that would end or reorder it.
fn plain_code(line: &str) -> String {
    let line = plain_line(line.trim_end()).replace(|c: char| c != '\t' && c.is_control(), " ");
    shorten_text(line.replace('\t', "  "), MAX_LINE_BYTES)
}

fn shorten_text(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push(ELLIPSIS);
    }
    text
}

#[cfg(test)]
mod tests;

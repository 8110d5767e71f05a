//! Trims code to the lines that match a query.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
};

use codeinfo_core::plain_line;
use codeinfo_lang::{comment, words::split_words};

use super::super::intent::QueryIntent;

/// Maximum lines of a text, lines around each match, and maximum bytes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrimLimits {
    pub(super) lines: usize,
    pub(super) around: usize,
    pub(super) bytes: usize,
}

/// Mark before the numbers of left-out lines.
pub(super) const MARK: char = '⋯';

/// Maximum lines of a comment shown whole, and the number of lines shown of longer ones.
const LONG_COMMENT: usize = 8;
const COMMENT_LINES: usize = 4;

/// Minimum lines that a mark replaces.
const MIN_LEFT_OUT: usize = 2;

#[derive(Debug)]
pub(super) struct QueryWords {
    words: HashSet<String>,
}

impl QueryWords {
    pub(super) fn from_query(query: &str) -> Self {
        Self { words: QueryIntent::parse(query).words }
    }

    pub(super) fn are_all_in(&self, text: &str) -> bool {
        !self.words.is_empty() && self.find_words_in_line(text).len() == self.words.len()
    }

    fn find_words_in_line<'a>(&'a self, line: &str) -> HashSet<&'a str> {
        split_words(line).filter_map(|word| self.words.get(&word).map(String::as_str)).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberedLine<'a> {
    pub(super) number: u32,
    pub(super) text: &'a str,
}

/// Renders all lines after their numbers, of long comments only the first: comments are a third of
/// the bytes of results, but an eighth of the lines that answer questions.
pub(super) fn render_all_lines(
    lines: &[NumberedLine<'_>],
    is_comment: impl Fn(&str) -> bool,
) -> String {
    let mut text = String::new();
    for run in lines.chunk_by(|line, next| is_comment(line.text) == is_comment(next.text)) {
        let is_long =
            run.len() > LONG_COMMENT && run.first().is_some_and(|line| is_comment(line.text));
        let (shown, hidden) = run.split_at(if is_long { COMMENT_LINES } else { run.len() });
        for line in shown {
            push_line(&mut text, *line, usize::MAX);
        }
        push_mark(&mut text, hidden);
    }
    text
}

fn push_mark(text: &mut String, hidden: &[NumberedLine<'_>]) {
    if let (Some(first), Some(last)) = (hidden.first(), hidden.last()) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{MARK} {}-{}", first.number, last.number);
    }
}

/// Renders the signature and the lines around words of the query, with marks for omitted lines.
pub(super) fn render_trimmed_lines(
    lines: &[NumberedLine<'_>],
    query_words: &QueryWords,
    limits: TrimLimits,
) -> String {
    let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
    let kept = select_lines(&texts, query_words, limits);
    let mut trimmed = String::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let hidden = kept.iter().skip(at).take_while(|kept| !**kept).count();
        if hidden >= MIN_LEFT_OUT {
            push_mark(&mut trimmed, lines.get(at..at + hidden).unwrap_or_default());
            at += hidden;
            continue;
        }
        push_line(&mut trimmed, *line, limits.bytes);
        at += 1;
    }
    trimmed
}

/// Renders the same lines without marks.
pub(super) fn render_brief_lines(
    lines: &[NumberedLine<'_>],
    query_words: &QueryWords,
    limits: TrimLimits,
) -> String {
    let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
    let kept =
        lines.iter().zip(select_lines(&texts, query_words, limits)).filter(|(_, kept)| *kept);
    let mut brief = String::new();
    for (line, _) in kept {
        push_line(&mut brief, *line, limits.bytes);
    }
    brief
}

fn push_line(text: &mut String, line: NumberedLine<'_>, max_bytes: usize) {
    let NumberedLine { number, text: code } = line;
    let (shown, cut) = code.split_at(code.floor_char_boundary(max_bytes));
    let shown = plain_line(shown);
    let more = if cut.is_empty() { String::new() } else { format!(" {MARK}") };
    let _ = writeln!(text, "{number}|{}{more}", shown.trim_end());
}

/// Returns true for each line to keep: the best lines with their surroundings, up to the maximum.
fn select_lines(lines: &[&str], query_words: &QueryWords, limits: TrimLimits) -> Vec<bool> {
    let mut kept = vec![false; lines.len()];
    let mut room = limits.lines;
    let mut keep = |kept: &mut Vec<bool>, at: usize| match kept.get_mut(at) {
        Some(line) if !*line && 0 < room => {
            *line = true;
            room -= 1;
        }
        _ => {}
    };
    keep(&mut kept, find_signature_line(lines));
    let order = rank_lines(lines, query_words);
    for at in &order {
        keep(&mut kept, *at);
        for step in 1..=limits.around {
            keep(&mut kept, at.saturating_sub(step));
            keep(&mut kept, at + step);
        }
    }
    if order.is_empty() {
        for at in 0..lines.len() {
            keep(&mut kept, at);
        }
    }
    kept
}

/// Returns the indices of lines with words of the query, best first. Rare words count more.
fn rank_lines(lines: &[&str], query_words: &QueryWords) -> Vec<usize> {
    let found: Vec<HashSet<&str>> =
        lines.iter().map(|line| query_words.find_words_in_line(line)).collect();
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for word in found.iter().flatten() {
        *counts.entry(word).or_insert(0.0) += 1.0;
    }
    let score = |words: &HashSet<&str>| -> f32 {
        words.iter().filter_map(|word| counts.get(word)).map(|count| 1.0 / count).sum()
    };
    let mut scored: Vec<(usize, f32)> =
        found.iter().map(score).enumerate().filter(|(_, score)| 0.0 < *score).collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.into_iter().map(|(at, _)| at).collect()
}

/// Returns the index of the first line that is neither comment nor attribute.
fn find_signature_line(lines: &[&str]) -> usize {
    let is_lead = |line: &str| line.trim().is_empty() || comment::is_lead(line);
    lines.iter().position(|line| !is_lead(line)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
/// Opens a store.
fn open(path: &Path) -> Store {
    let first = 1;
    let second = 2;
    let third = 3;
    let journal = Journal::read(path);
    let fourth = 4;
    let fifth = 5;
    let sixth = 6;
    Store::new(journal)
}";

    fn lines() -> Vec<NumberedLine<'static>> {
        (7..).zip(TEXT.lines()).map(|(number, text)| NumberedLine { number, text }).collect()
    }

    #[test]
    fn the_signature_and_matching_lines_are_kept() {
        let limits = TrimLimits { lines: 4, around: 1, bytes: 400 };
        insta::assert_snapshot!(render_trimmed_lines(&lines(), &QueryWords::from_query("where is the journal read"), limits), @r"
        7|/// Opens a store.
        8|fn open(path: &Path) -> Store {
        ⋯ 9-10
        11|    let third = 3;
        12|    let journal = Journal::read(path);
        13|    let fourth = 4;
        ⋯ 14-17
        ");
    }

    #[test]
    fn the_first_lines_are_kept_without_matches() {
        let limits = TrimLimits { lines: 3, around: 1, bytes: 20 };
        insta::assert_snapshot!(render_trimmed_lines(&lines(), &QueryWords::from_query("nothing of this"), limits), @r"
        7|/// Opens a store.
        8|fn open(path: &Path) ⋯
        9|    let first = 1;
        ⋯ 10-17
        ");
    }

    #[test]
    fn only_the_first_lines_of_long_comments_are_shown() {
        let comment = |lines: usize| format!("{}fn a() {{}}\n// b", "// a\n".repeat(lines));
        let shown = |lines: usize| {
            let text = comment(lines);
            let lines = (1..).zip(text.lines()).map(|(number, text)| NumberedLine { number, text });
            render_all_lines(&lines.collect::<Vec<_>>(), |line| line.starts_with("//"))
        };
        assert_eq!(shown(8).lines().count(), 10);
        insta::assert_snapshot!(shown(9), @r"
        1|// a
        2|// a
        3|// a
        4|// a
        ⋯ 5-9
        10|fn a() {}
        11|// b
        ");
    }

    #[test]
    fn short_texts_are_not_trimmed() {
        let limits = TrimLimits { lines: 40, around: 30, bytes: 400 };
        assert_eq!(
            render_trimmed_lines(&lines(), &QueryWords::from_query("journal"), limits),
            render_all_lines(&lines(), |_| false)
        );
    }
}

//! Splits Rust source into tokens and comments, precisely enough to count lines and names.

use std::ops::RangeInclusive;

/// Text of each literal token: the content of a string is no code.
const LITERAL: &str = "\"\"";

/// A word, a literal or one character of punctuation.
pub(crate) struct SourceToken<'a> {
    pub(crate) text: &'a str,
    pub(crate) lines: RangeInclusive<usize>,
}

/// A line comment, with its slashes.
pub(crate) struct LineComment<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// The tokens and line comments of a file, without those of its tests.
pub(crate) struct SourceFile<'a> {
    pub(crate) tokens: Vec<SourceToken<'a>>,
    pub(crate) comments: Vec<LineComment<'a>>,
}

impl<'a> SourceFile<'a> {
    /// Reads a source and drops every item behind `#[cfg(test)]`.
    pub(crate) fn parse(source: &'a str) -> Self {
        let mut file = Self { tokens: Vec::new(), comments: Vec::new() };
        let mut reader = SourceReader { rest: source, line: 1 };
        while reader.read_next(&mut file) {}
        let tests = find_test_lines(&file.tokens);
        let is_tested = |line: usize| tests.iter().any(|lines| lines.contains(&line));
        file.tokens.retain(|token| !is_tested(*token.lines.start()));
        file.comments.retain(|comment| !is_tested(comment.line));
        file
    }

    /// Counts the lines that have a token.
    pub(crate) fn count_code_lines(&self) -> usize {
        let (mut count, mut last_line) = (0, 0);
        for token in &self.tokens {
            let first_new = (last_line + 1).max(*token.lines.start());
            count += (token.lines.end() + 1).saturating_sub(first_new);
            last_line = last_line.max(*token.lines.end());
        }
        count
    }
}

/// Reads a source from its beginning to its end.
struct SourceReader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> SourceReader<'a> {
    /// Reads one token, comment or space into the file; returns `false` at the end of the source.
    fn read_next(&mut self, file: &mut SourceFile<'a>) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        let line = self.line;
        if self.rest.starts_with("//") {
            let text = self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            file.comments.push(LineComment { text, line });
        } else if self.rest.starts_with("/*") {
            self.take(measure_block_comment(self.rest));
        } else if first.is_whitespace() {
            self.take(first.len_utf8());
        } else if let Some(len) = measure_literal(self.rest) {
            self.take(len);
            file.tokens.push(SourceToken { text: LITERAL, lines: line..=self.line });
        } else {
            let word = self.rest.find(|c: char| !is_word_char(c)).unwrap_or(self.rest.len());
            let text = self.take(word.max(first.len_utf8()));
            file.tokens.push(SourceToken { text, lines: line..=line });
        }
        true
    }

    fn take(&mut self, len: usize) -> &'a str {
        let (text, rest) = self.rest.split_at(len);
        self.rest = rest;
        self.line += text.matches('\n').count();
        text
    }
}

pub(crate) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the length of a block comment, with the comments inside it.
fn measure_block_comment(source: &str) -> usize {
    let (mut depth, mut end) = (0, 0);
    while let Some(rest) = source.get(end..).filter(|rest| !rest.is_empty()) {
        let step = match rest.get(..2) {
            Some("/*") => 1,
            Some("*/") => -1,
            _ => 0,
        };
        depth += step;
        end += if step == 0 { rest.chars().next().map_or(1, char::len_utf8) } else { 2 };
        if depth == 0 {
            return end;
        }
    }
    source.len()
}

/// Returns the length of the string or character that a source begins with, or `None` for a lifetime.
fn measure_literal(source: &str) -> Option<usize> {
    let prefix_len = source.find(|c: char| !c.is_ascii_lowercase()).filter(|len| *len <= 2)?;
    let (prefix, quoted) = source.split_at(prefix_len);
    let len = match (prefix, quoted.chars().next()?) {
        ("" | "b" | "c", '"') => measure_escaped(quoted, '"'),
        ("" | "b", '\'') => measure_character(quoted)?,
        ("r" | "br" | "cr", '"' | '#') => {
            let hashes = quoted.len() - quoted.trim_start_matches('#').len();
            let text = quoted.get(hashes..)?.strip_prefix('"')?;
            let end = format!("\"{}", "#".repeat(hashes));
            text.find(&end).map_or(quoted.len(), |at| hashes + 1 + at + end.len())
        }
        _ => return None,
    };
    Some(prefix_len + len)
}

fn measure_character(quoted: &str) -> Option<usize> {
    let mut chars = quoted.chars().skip(1);
    match (chars.next()?, chars.next()) {
        ('\\', _) => Some(measure_escaped(quoted, '\'')),
        (only, Some('\'')) => Some(only.len_utf8() + 2),
        _ => None,
    }
}

/// Returns the length up to the closing quote, which no backslash precedes.
fn measure_escaped(quoted: &str, quote: char) -> usize {
    let mut chars = quoted.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    quoted.len()
}

/// Returns the lines of every item behind an attribute `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn find_test_lines(tokens: &[SourceToken]) -> Vec<RangeInclusive<usize>> {
    let mut ranges = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(attribute) = tokens.get(at..).filter(|_| token.text == "#") else { continue };
        let texts: Vec<&str> = attribute.iter().take(7).map(|token| token.text).collect();
        if matches!(
            texts[..],
            ["#", "[", "cfg", "(", "test", ..] | ["#", "[", "cfg", "(", "all", "(", "test"]
        ) {
            let last = at + find_item_end(attribute);
            let end = tokens.get(last).map_or(*token.lines.end(), |token| *token.lines.end());
            ranges.push(*token.lines.start()..=end);
        }
    }
    ranges
}

/// Returns the index of the last token of an item: its closing brace, or its semicolon.
fn find_item_end(tokens: &[SourceToken]) -> usize {
    let (mut depth, mut is_in_body) = (0, false);
    for (at, token) in tokens.iter().enumerate() {
        is_in_body |= depth == 0 && token.text == "{";
        depth += nesting(token.text);
        if depth == 0 && (token.text == ";" || is_in_body) {
            return at;
        }
    }
    tokens.len()
}

/// Returns how a token changes the depth of brackets.
pub(crate) fn nesting(text: &str) -> i32 {
    match text {
        "(" | "[" | "{" => 1,
        ")" | "]" | "}" => -1,
        _ => 0,
    }
}

#[test]
fn comments_blank_lines_and_tests_are_no_code() {
    let source = "\
//! Head.

/* a /* nested */
   block */
fn a() -> &'static str { // trailing
    r#\"text // no comment
    \"quoted\" { \"#
}
#[cfg(test)]
#[derive(Debug)]
struct Fixture([u8; 2]);

#[cfg(all(test, unix))]
mod tests {
    // Not counted.
    fn b() {}
}
const C: char = '\"'; const D: char = '\\''; const E: &str = \"\\\"\";
";
    let file = SourceFile::parse(source);
    assert_eq!(file.count_code_lines(), 5);
    let comments: Vec<_> = file.comments.iter().map(|one| (one.line, one.text)).collect();
    assert_eq!(comments, [(1, "//! Head."), (5, "// trailing")]);
    assert!(file.tokens.iter().all(|token| !["comment", "b", "Fixture"].contains(&token.text)));
    assert_eq!(file.tokens.last().unwrap().text, ";");
}

#[test]
fn quotes_of_lifetimes_open_nothing() {
    let file = SourceFile::parse("fn a<'a>(b: &'a str) {}\n\nfn c(d: char) { d == 'x'; }");
    assert_eq!(file.count_code_lines(), 2);
    assert_eq!(file.tokens.iter().filter(|token| token.text == "fn").count(), 2);
}

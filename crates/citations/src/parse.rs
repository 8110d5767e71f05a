//! Finds the citations of a Markdown text: paths of files, most of them with lines. Pure, in linear time.

use std::ops::Range;

use codeinfo_core::LineRange;
use codeinfo_lang::detect;

use super::{
    lines::{NumberSpans, parse_line_reference},
    pieces::{MarkdownPiece, MarkdownPieceKind, MarkdownPieces},
};

/// Further citations of a text are not read: a model decides how many there are.
pub const MAX_CITATIONS: usize = 200;
/// Longer paths are none.
const MAX_PATH_BYTES: usize = 1024;
/// A link's text is looked for so far before its target.
const MAX_LINK_BYTES: usize = 512;

/// How sure it is that a file of a repository is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CitationCertainty {
    /// Only if there is such a file: a name in backticks, a path that no language has, or one in a fenced
    /// block.
    IfFound,
    /// Without lines: also if its name or its folder is known.
    Path,
    /// With lines.
    Location,
}

/// A place that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Path and lines in the text.
    pub range: Range<usize>,
    /// The same with the code span or the link around it that holds nothing else: what is struck out.
    pub whole: Range<usize>,
    /// As it is written, without escapes.
    pub path: String,
    /// As they are written: one may end before it starts. None for a whole file.
    pub lines: Vec<LineRange>,
    /// How sure it is that this is a citation.
    pub certainty: CitationCertainty,
    /// The path alone in the text.
    pub(super) written: Range<usize>,
    /// Where the numbers of its lines stand in the text.
    pub(super) numbers: Vec<NumberSpans>,
}

impl Citation {
    /// Whether it is only a name that a file may have.
    pub(super) fn is_bare(&self) -> bool {
        self.certainty == CitationCertainty::IfFound && self.lines.is_empty()
    }
}

/// Returns the citations of a text in their order, at most [`MAX_CITATIONS`].
pub fn find_citations(text: &str) -> Vec<Citation> {
    find_citations_in_pieces(text, &MarkdownPieces::parse(text), MAX_CITATIONS)
}

pub(super) fn find_citations_in_pieces(
    text: &str,
    whole: &MarkdownPieces,
    most: usize,
) -> Vec<Citation> {
    let mut found: Vec<Citation> = Vec::new();
    for piece in &whole.pieces {
        let done = found.last().map_or(0, |last| last.range.end);
        let at = piece.range.start.max(done);
        let mut scan = CitationScanner { text, piece, at, has_brackets: has_brackets(text, piece) };
        while found.len() < most
            && let Some(citation) = scan.next_citation()
        {
            found.push(citation);
        }
    }
    found
}

struct CitationScanner<'a> {
    text: &'a str,
    piece: &'a MarkdownPiece,
    at: usize,
    /// Whether brackets are part of paths here.
    has_brackets: bool,
}

impl CitationScanner<'_> {
    fn next_citation(&mut self) -> Option<Citation> {
        while self.at < self.piece.range.end {
            let run = self.next_run()?;
            self.at = run.end;
            if self.text_from(run.end).starts_with("://") && self.skips_address(&run) {
                continue;
            }
            if let Some(citation) = self.parse_citation(run) {
                self.at = self.at.max(citation.range.end);
                return Some(citation);
            }
        }
        None
    }

    /// Returns the next run of characters that paths have.
    fn next_run(&self) -> Option<Range<usize>> {
        let rest = self.text.get(self.at..self.piece.range.end)?;
        let is_part = self.is_part();
        let start = self.at + rest.find(&is_part)?;
        let run = self.text.get(start..self.piece.range.end)?;
        Some(start..start + run.find(|c| !is_part(c)).unwrap_or(run.len()))
    }

    /// Returns what tells the characters of paths: brackets are among them in code alone, and letters of
    /// scripts that put no spaces between words.
    fn is_part(&self) -> impl Fn(char) -> bool + use<> {
        let (is_code, brackets) = (self.piece.kind == MarkdownPieceKind::Code, self.has_brackets);
        move |c: char| match c {
            '_' | '-' | '.' | '/' | '~' | '@' | '+' | '%' | '$' | '\\' => true,
            '[' | ']' | '(' | ')' => brackets,
            c if c.is_ascii() => c.is_ascii_alphanumeric(),
            c => c.is_alphanumeric() && (is_code || c < '\u{2e80}'),
        }
    }

    /// Skips the rest of a URL. A path that is written as one is read on.
    fn skips_address(&mut self, scheme: &Range<usize>) -> bool {
        self.at += "://".len();
        if self.text.get(scheme.clone()) == Some("file") {
            return true;
        }
        let rest = self.text.get(self.at..self.piece.range.end).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, ')' | '>' | '"' | ']' | '|');
        self.at += rest.find(ends).unwrap_or(rest.len());
        true
    }

    fn parse_citation(&self, run: Range<usize>) -> Option<Citation> {
        let in_link = self.piece.kind == MarkdownPieceKind::Prose
            && self.text_before(run.start).ends_with("](");
        let path = self.without_marks(&run, in_link);
        let end = path.end;
        if path.len() > MAX_PATH_BYTES || self.is_rest_of_pattern(&run) {
            return None;
        }
        let ends_code = end == self.piece.range.end && self.piece.kind == MarkdownPieceKind::Code;
        let ticks = if ends_code { self.piece.ticks } else { 0 };
        let read =
            (end == run.end).then(|| parse_line_reference(self.text_from(end), ticks)).flatten();
        // A fenced line and what stands on the next one are apart.
        let read = read.filter(|read| ends_code || end + read.length <= self.piece.range.end);
        let start = match &read {
            Some(read) if !in_link => self.after_emphasis(&path, end + read.length),
            _ => path.start,
        };
        let path = unescape_path(self.text.get(start..end)?, in_link)?;
        let certainty = rate_certainty(&path, read.is_some(), self.piece.kind, in_link)?;
        let (written, mut range) = (start..end, start..end);
        let (mut ranges, mut numbers) = (Vec::new(), Vec::new());
        if let Some(read) = read {
            range.end += read.length;
            ranges = read.ranges;
            numbers = read.numbers.into_iter().map(|read| read.offset_by(end)).collect();
        }
        if range.end > self.piece.range.end {
            range.start = self.find_span_start(start);
        }
        let whole = self.find_enclosing_range(&range, in_link);
        Some(Citation { range, whole, path, lines: ranges, certainty, written, numbers })
    }

    /// Returns where the path of a run stands: without full stops after it, and without the marks of Markdown
    /// around it in prose, such as those that strike it out. `~/` at its start is a folder.
    fn without_marks(&self, run: &Range<usize>, in_link: bool) -> Range<usize> {
        let written = self.text.get(run.clone()).unwrap_or_default();
        let trimmed = written.trim_end_matches(['.', '-', '+', '~', '\\']);
        if self.piece.kind != MarkdownPieceKind::Prose || in_link {
            return run.start..run.start + trimmed.len();
        }
        let after = trimmed.trim_start_matches('~');
        let tildes = trimmed.len() - after.len();
        let own = if after.starts_with('/') { tildes % 2 } else { 0 };
        let range = run.start + tildes - own..run.start + trimmed.len();
        let path = after.trim_start_matches('_');
        let marks = after.len() - path.len();
        match path.strip_suffix('_') {
            Some(inner) if 0 < marks && own == 0 => {
                let closing = path.len() - inner.trim_end_matches('_').len();
                let least = marks.min(closing);
                range.start + least..range.end - least
            }
            _ => range,
        }
    }

    /// Returns where a path starts after the underscores of emphasis that ends after its lines.
    fn after_emphasis(&self, path: &Range<usize>, end: usize) -> usize {
        let written = self.text.get(path.clone()).unwrap_or_default();
        let opening = written.len() - written.trim_start_matches('_').len();
        let after = self.text_from(end);
        let closing = after.len() - after.trim_start_matches('_').len();
        let is_prose = self.piece.kind == MarkdownPieceKind::Prose;
        path.start + if is_prose { opening.min(closing) } else { 0 }
    }

    /// Whether a run is what stands after or before the star of a pattern or the bracket of a
    /// placeholder: `src/*.rs`.
    fn is_rest_of_pattern(&self, run: &Range<usize>) -> bool {
        let written = self.text.get(run.clone()).unwrap_or_default();
        let after_mark = self.text_before(run.start).ends_with(['*', '>', '}', '{']);
        after_mark && written.starts_with(['.', '/'])
            || written.ends_with('/')
            || written.ends_with(['/', '-', '_', '.'])
                && self.text_from(run.end).starts_with(['*', '{', '<'])
    }

    fn text_from(&self, from: usize) -> &str {
        self.text.get(from..).unwrap_or_default()
    }

    fn text_before(&self, to: usize) -> &str {
        self.text.get(..to).unwrap_or_default()
    }

    /// Returns where the code span starts whose end is passed.
    fn find_span_start(&self, start: usize) -> usize {
        let is_alone = start == self.piece.range.start;
        if is_alone { start.saturating_sub(self.piece.ticks) } else { start }
    }

    fn find_enclosing_range(&self, range: &Range<usize>, in_link: bool) -> Range<usize> {
        if *range == self.piece.range && self.piece.kind == MarkdownPieceKind::Code {
            return range.start - self.piece.ticks..range.end + self.piece.ticks;
        }
        let link = || {
            let close = range.start.checked_sub("](".len())?;
            let from = close.saturating_sub(MAX_LINK_BYTES).max(self.line_start(close));
            let from = self.text.ceil_char_boundary(from);
            let open = from + self.text.get(from..close)?.rfind('[')?;
            self.text_from(range.end).starts_with(')').then_some(open..range.end + 1)
        };
        in_link.then(link).flatten().unwrap_or_else(|| range.clone())
    }

    fn line_start(&self, at: usize) -> usize {
        let from = self.text.floor_char_boundary(at.saturating_sub(MAX_LINK_BYTES));
        let line = self.text.get(from..at).unwrap_or_default();
        line.rfind('\n').map_or(from, |end| from + end + 1)
    }
}

/// Whether a code span is a path that has brackets, such as `app/[id]/page.tsx`.
fn has_brackets(text: &str, piece: &MarkdownPiece) -> bool {
    let own = text.get(piece.range.clone()).unwrap_or_default();
    piece.kind == MarkdownPieceKind::Code
        && (own.contains("/[") || own.contains("/("))
        && !own.contains(char::is_whitespace)
}

/// Returns a path without escapes of Markdown, or those of a link's target.
fn unescape_path(written: &str, in_link: bool) -> Option<String> {
    let mut path = String::with_capacity(written.len());
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => path.push(rest.next().filter(char::is_ascii_punctuation)?),
            '%' if in_link => {
                let code = rest.as_str().get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
                let code = code.filter(|code| (b' '..0x7f).contains(code))?;
                path.push(char::from(code));
                rest.nth(1);
            }
            c => path.push(c),
        }
    }
    Some(path)
}

/// Returns how sure it is that a path is one, or `None` where it is something else.
fn rate_certainty(
    path: &str,
    has_lines: bool,
    kind: MarkdownPieceKind,
    in_link: bool,
) -> Option<CitationCertainty> {
    let (folder, name) =
        path.rsplit_once('/').map_or((None, path), |(folder, name)| (Some(folder), name));
    let is_path = folder.is_some();
    let is_odd = path.starts_with(['$', '-', '%'])
        || path.split('/').skip(1).any(str::is_empty)
        || path.starts_with("www.");
    if is_odd || !name.contains(char::is_alphabetic) {
        return None;
    }
    let is_known = detect::by_path(name).is_some();
    let has_extension = name.rsplit_once('.').is_some_and(|(_, extension)| {
        extension.len() <= 10
            && extension.starts_with(char::is_alphabetic)
            && extension.chars().all(char::is_alphanumeric)
    });
    match (kind, has_lines) {
        // What a program printed may be of other files.
        (MarkdownPieceKind::Fenced, true) if is_known || is_path || has_extension => {
            Some(CitationCertainty::IfFound)
        }
        (_, true) if is_known || has_extension && (is_path || name.starts_with('.')) => {
            Some(CitationCertainty::Location)
        }
        (_, true) if is_path || has_extension => Some(CitationCertainty::IfFound),
        (MarkdownPieceKind::Prose, false) if is_path && is_known || in_link && has_extension => {
            Some(CitationCertainty::Path)
        }
        (MarkdownPieceKind::Code, false) if is_path && (is_known || has_extension) => {
            Some(CitationCertainty::Path)
        }
        (MarkdownPieceKind::Code, false) if is_known || has_extension => {
            Some(CitationCertainty::IfFound)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;
    use crate::fault::join_lines;

    /// Returns path, lines and what is struck out of each citation.
    fn read(text: &str) -> Vec<(String, String, &str)> {
        let read = find_citations(text).into_iter();
        read.map(|one| (one.path, join_lines(&one.lines), text.get(one.whole).unwrap())).collect()
    }

    #[test]
    fn every_way_to_write_lines_is_read() {
        for (text, path, lines, whole) in [
            ("see src/a.rs:12-40.", "src/a.rs", "12-40", "src/a.rs:12-40"),
            ("`src/a.rs:12`", "src/a.rs", "12", "`src/a.rs:12`"),
            ("(a.rs:12:3)", "a.rs", "12", "a.rs:12:3"),
            (
                "``/abs/a.go:90-123,155-170``",
                "/abs/a.go",
                "90-123, 155-170",
                "``/abs/a.go:90-123,155-170``",
            ),
            ("a.go:90-123, 155-170; no", "a.go", "90-123, 155-170", "a.go:90-123, 155-170"),
            ("a.go:90, 3 times", "a.go", "90", "a.go:90"),
            ("src/a.py#L12-L40,", "src/a.py", "12-40", "src/a.py#L12-L40"),
            ("src/a.py#L12C3-L40C9", "src/a.py", "12-40", "src/a.py#L12C3-L40C9"),
            ("src/a.py:L12-L40", "src/a.py", "12-40", "src/a.py:L12-L40"),
            ("src/a.py:12–40", "src/a.py", "12-40", "src/a.py:12–40"),
            ("[a](./src/a.py#L3)!", "./src/a.py", "3", "[a](./src/a.py#L3)"),
            ("[a b](src/a%20b.py?plain=1#L3)", "src/a b.py", "3", "[a b](src/a%20b.py?plain=1#L3)"),
            ("`src/a.rs`:12-40", "src/a.rs", "12-40", "`src/a.rs`:12-40"),
            ("`src/a.rs` (lines 12-40)", "src/a.rs", "12-40", "`src/a.rs` (lines 12-40)"),
            (
                "src/a.rs, lines 12 to 40 and 50",
                "src/a.rs",
                "12-40, 50",
                "src/a.rs, lines 12 to 40 and 50",
            ),
            ("`src/a.rs` (12-40)", "src/a.rs", "12-40", "`src/a.rs` (12-40)"),
            ("src/a.rs (2 of them)", "src/a.rs", "", "src/a.rs"),
            ("`app/[id]/page.tsx:3`", "app/[id]/page.tsx", "3", "`app/[id]/page.tsx:3`"),
            ("src/my\\_a.rs:3", "src/my_a.rs", "3", "src/my\\_a.rs:3"),
            ("**src/a.rs:40-12**", "src/a.rs", "40-12", "src/a.rs:40-12"),
            ("~~src/a.rs:3~~", "src/a.rs", "3", "src/a.rs:3"),
            ("~src/a.rs:3-4~", "src/a.rs", "3-4", "src/a.rs:3-4"),
            ("~~src/a.rs~~", "src/a.rs", "", "src/a.rs"),
            ("~~/abs/a.rs:3~~", "/abs/a.rs", "3", "/abs/a.rs:3"),
            ("~/src/a.rs:3 and ~~", "~/src/a.rs", "3", "~/src/a.rs:3"),
            ("x ~~~/src/a.rs:3~~", "~/src/a.rs", "3", "~/src/a.rs:3"),
            ("_src/a.rs:9_", "src/a.rs", "9", "src/a.rs:9"),
            ("__src/a.rs:9-12__.", "src/a.rs", "9-12", "src/a.rs:9-12"),
            ("~~_src/my_a.rs:9_~~", "src/my_a.rs", "9", "src/my_a.rs:9"),
            ("_src/a.rs_", "src/a.rs", "", "src/a.rs"),
            ("_in src/a.rs:9_", "src/a.rs", "9", "src/a.rs:9"),
            ("__init__.py:9 and _x_", "__init__.py", "9", "__init__.py:9"),
            ("`__init__.py:9`", "__init__.py", "9", "`__init__.py:9`"),
            ("`~~a.py:9`", "~~a.py", "9", "`~~a.py:9`"),
            ("file:///x/a.rs:3", "/x/a.rs", "3", "/x/a.rs:3"),
            ("见src/a.rs:3。", "src/a.rs", "3", "src/a.rs:3"),
            ("Makefile:12", "Makefile", "12", "Makefile:12"),
            ("`mod.rs`", "mod.rs", "", "`mod.rs`"),
            ("a.rs:99999999999999", "a.rs", "4294967295", "a.rs:99999999999999"),
            ("```\nsrc/a.rs:12: fn x\n```", "src/a.rs", "12", "src/a.rs:12"),
        ] {
            let expected = (path.to_owned(), lines.to_owned(), whole);
            assert_eq!(read(text), [expected], "{text}");
        }
    }

    #[test]
    fn what_is_no_place_of_a_file_is_left() {
        for text in [
            "https://example.com/a/b.py:12 and http://x/src/a.rs#L3",
            "v1.2.3, 1.2.3:4 and x86-64-v2 at 12:30",
            "`std::fmt` and `Store::open:12`",
            "C:\\src\\a.rs:12",
            "127.0.0.1:5010, localhost:8080, `node:18`",
            "and/or, TCP/IP, a ratio of 3:4",
            "src/*.rs, `src/**/*.rs`, `src/{a,b}.rs`, <name>/y.rs",
            "Node.js and README.md as words",
            "```\nuse src/a.rs\n```",
            "$HOME/a.rs:3",
            "on 2024.md:2024-01-02",
            "docker.io/library/python:3.12",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    #[test]
    fn a_text_has_so_many_citations_and_takes_so_much_time() {
        assert_eq!(find_citations(&"`a.rs:1` ".repeat(1000)).len(), MAX_CITATIONS);
        for hostile in [
            "a", "`", "[", "](", "a/", ":1", "a.rs:1,", "`` ` ", ".", " \n", "\\_", "a.rs.", "://",
            "1-",
        ] {
            let text = hostile.repeat((1 << 20) / hostile.len());
            let begun = Instant::now();
            find_citations(&text);
            // Linear, also without optimisation; a square of a million would take an hour.
            assert!(begun.elapsed().as_secs() < 20, "{hostile}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_and_ranges_are_where_paths_stand(
            text in "([a-z]{1,3}|[/.:`#\\[\\]()\\\\~%L,é–見 \n-]|[0-9]{1,3}|\\.rs|```|src/a\\.rs:1){0,60}"
        ) {
            let mut done = 0;
            for one in find_citations(&text) {
                let (own, whole) = (text.get(one.range.clone()), text.get(one.whole.clone()));
                let (own, whole) = (own.unwrap(), whole.unwrap());
                prop_assert!(whole.contains(own));
                prop_assert!(done <= one.range.start, "{text:?}");
                let is_written = own.trim_start_matches('`').starts_with(&one.path);
                prop_assert!(is_written || own.contains(['\\', '%']), "{own:?} {:?}", one.path);
                if one.lines.is_empty() {
                    prop_assert!(own == one.path || own.contains(['\\', '%']));
                }
                done = one.range.end;
            }
        }

        #[test]
        fn what_is_written_is_read(
            before in "[a-z ,(*]{0,9} ", folder in "[a-z_]{1,8}", name in "[a-z_]{1,8}",
            (first, last) in (1..5000_u32, 1..5000_u32), after in "[ .,;)*][a-z ]{0,9}",
        ) {
            let written = format!("{folder}/{name}.rs:{first}-{last}");
            let text = format!("{before}{written}{after}");
            let found = find_citations(&text);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(text.get(found[0].range.clone()), Some(written.as_str()));
            prop_assert_eq!(&found[0].lines, &[LineRange { first, last }]);
        }
    }
}

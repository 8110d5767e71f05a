//! Finds the paths and commits that a Markdown text cites. Does no I/O and takes linear time.

mod commits;

use std::ops::Range;

use codeinfo_core::LineRange;
use codeinfo_lang::detect;

use super::{
    line_reference::{NumberSpans, parse_line_reference},
    markdown::{MarkdownPiece, MarkdownPieceKind, MarkdownPieces},
};

pub(crate) use commits::CommitReference;

/// Maximum citations read from a text, whose number a model decides.
pub const MAX_CITATIONS: usize = 200;
const MAX_PATH_BYTES: usize = 1024;
/// Maximum bytes before a link's target that are searched for the start of the link.
const MAX_LINK_BYTES: usize = 512;

/// Certainty that a path refers to a file of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CitationCertainty {
    /// Certain only if the file exists: a name in backticks, a path without the extension of a
    /// language, or a path in a fenced block.
    IfFound,
    /// A path without lines; certain if its file name or its folder is known.
    Path,
    /// A path with lines.
    Location,
}

/// A place in a file, or a commit, that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// Byte range of path and lines in the text.
    pub range: Range<usize>,
    /// Byte range with a code span or link that holds nothing else; this range is struck out.
    pub whole: Range<usize>,
    /// Path as written, without escapes; for a commit, `app@1a2b3c4` or `app@1a2b3c4:src/a.rs`.
    pub path: String,
    /// Line ranges as written, of which one may end before it starts; empty for a whole file.
    pub lines: Vec<LineRange>,
    /// Certainty that this is a citation.
    pub certainty: CitationCertainty,
    /// Byte range of the path alone.
    pub(super) written: Range<usize>,
    /// Byte ranges of the line numbers.
    pub(super) numbers: Vec<NumberSpans>,
    /// The commit, whose place the lines are in.
    pub(super) commit: Option<CommitReference>,
}

impl Citation {
    /// Returns whether it is only a name that a file may have.
    pub(super) fn is_bare(&self) -> bool {
        self.certainty == CitationCertainty::IfFound && self.lines.is_empty()
    }
}

/// Returns the citations of a text in order, at most [`MAX_CITATIONS`].
pub fn find_citations(text: &str) -> Vec<Citation> {
    find_citations_in_pieces(text, &MarkdownPieces::parse(text), MAX_CITATIONS)
}

pub(super) fn find_citations_in_pieces(
    text: &str,
    pieces: &MarkdownPieces,
    max_citations: usize,
) -> Vec<Citation> {
    let mut found: Vec<Citation> = Vec::new();
    for piece in &pieces.pieces {
        let done = found.last().map_or(0, |last| last.range.end);
        let at = piece.range.start.max(done);
        let mut scan = CitationScanner { text, piece, at, has_brackets: has_brackets(text, piece) };
        while found.len() < max_citations
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
    /// Set if brackets are part of paths in this piece.
    has_brackets: bool,
}

impl CitationScanner<'_> {
    fn next_citation(&mut self) -> Option<Citation> {
        while self.at < self.piece.range.end {
            let run = self.next_run(self.at)?;
            self.at = run.end;
            if self.text_from(run.end).starts_with("://") && self.skip_address(&run) {
                continue;
            }
            if let Some(citation) = self.parse_commit(&run).or_else(|| self.parse_citation(run)) {
                self.at = self.at.max(citation.range.end);
                return Some(citation);
            }
        }
        None
    }

    fn next_run(&self, from: usize) -> Option<Range<usize>> {
        let rest = self.text.get(from..self.piece.range.end)?;
        let is_part = self.is_part();
        let start = from + rest.find(&is_part)?;
        let run = self.text.get(start..self.piece.range.end)?;
        Some(start..start + run.find(|c| !is_part(c)).unwrap_or(run.len()))
    }

    /// Returns the predicate for path characters. Brackets and letters of scripts without spaces
    /// between words count only in code.
    fn is_part(&self) -> impl Fn(char) -> bool + use<> {
        let is_code = self.piece.kind == MarkdownPieceKind::Code;
        let brackets = self.has_brackets;
        move |c: char| match c {
            '_' | '-' | '.' | '/' | '~' | '@' | '+' | '%' | '$' | '\\' => true,
            '[' | ']' | '(' | ')' => brackets,
            c if c.is_ascii() => c.is_ascii_alphanumeric(),
            c => c.is_alphanumeric() && (is_code || c < '\u{2e80}'),
        }
    }

    /// Skips the rest of a URL; of a `file://` URL only the scheme, so that its path is read.
    fn skip_address(&mut self, scheme: &Range<usize>) -> bool {
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
        self.parse_place(run, false)
    }

    /// Parses a path, which after a commit and a colon needs no folder.
    fn parse_place(&self, run: Range<usize>, after_commit: bool) -> Option<Citation> {
        let in_link = self.is_link_target(&run);
        let path = self.trim_path_marks(&run, in_link);
        let end = path.end;
        if path.len() > MAX_PATH_BYTES || self.is_rest_of_pattern(&run) {
            return None;
        }
        let ends_code = end == self.piece.range.end && self.piece.kind == MarkdownPieceKind::Code;
        let ticks = if ends_code { self.piece.ticks } else { 0 };
        let parsed =
            (end == run.end).then(|| parse_line_reference(self.text_from(end), ticks)).flatten();
        // Lines of a fenced block are read separately.
        let reference =
            parsed.filter(|lines| ends_code || end + lines.length <= self.piece.range.end);
        let start = match &reference {
            Some(lines) if !in_link => self.after_emphasis(&path, end + lines.length),
            _ => path.start,
        };
        let path = unescape_path(self.text.get(start..end)?, in_link)?;
        let is_named = in_link || after_commit;
        let certainty = rate_certainty(&path, reference.is_some(), self.piece.kind, is_named)?;
        let written = start..end;
        let mut range = written.clone();
        let mut ranges = Vec::new();
        let mut numbers = Vec::new();
        if let Some(reference) = reference {
            range.end += reference.length;
            ranges = reference.ranges;
            numbers = reference.numbers.into_iter().map(|spans| spans.offset_by(end)).collect();
        }
        if range.end > self.piece.range.end {
            range.start = self.find_span_start(start);
        }
        let whole = self.find_enclosing_range(&range, in_link);
        let lines = ranges;
        Some(Citation { range, whole, path, lines, certainty, written, numbers, commit: None })
    }

    fn is_link_target(&self, run: &Range<usize>) -> bool {
        self.piece.kind == MarkdownPieceKind::Prose && self.text_before(run.start).ends_with("](")
    }

    /// Returns the range of the path in a run, without trailing full stops and, in prose, the
    /// Markdown marks around it, such as those of strikethrough. `~/` at its start is the home
    /// folder.
    fn trim_path_marks(&self, run: &Range<usize>, in_link: bool) -> Range<usize> {
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
            Some(inner) if marks > 0 && own == 0 => {
                let closing = path.len() - inner.trim_end_matches('_').len();
                let paired = marks.min(closing);
                range.start + paired..range.end - paired
            }
            _ => range,
        }
    }

    /// Returns the start of a path after underscores of emphasis that closes after the lines.
    fn after_emphasis(&self, path: &Range<usize>, end: usize) -> usize {
        let written = self.text.get(path.clone()).unwrap_or_default();
        let opening = written.len() - written.trim_start_matches('_').len();
        let after = self.text_from(end);
        let closing = after.len() - after.trim_start_matches('_').len();
        let is_prose = self.piece.kind == MarkdownPieceKind::Prose;
        path.start + if is_prose { opening.min(closing) } else { 0 }
    }

    /// Returns whether a run is the remainder of a pattern or a placeholder, such as `src/*.rs`.
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

    /// Returns the start of the code span that ends before the line numbers.
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

/// Returns whether a code span is a path with brackets, such as `app/[id]/page.tsx`.
fn has_brackets(text: &str, piece: &MarkdownPiece) -> bool {
    let own = text.get(piece.range.clone()).unwrap_or_default();
    piece.kind == MarkdownPieceKind::Code
        && (own.contains("/[") || own.contains("/("))
        && !own.contains(char::is_whitespace)
}

/// Removes the Markdown escapes of a path, or the percent escapes of a link target.
fn unescape_path(written: &str, in_link: bool) -> Option<String> {
    let mut path = String::with_capacity(written.len());
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => path.push(rest.next().filter(char::is_ascii_punctuation)?),
            '%' if in_link => {
                let code = rest.as_str().get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
                let byte = code.filter(|code| (b' '..0x7f).contains(code))?;
                path.push(char::from(byte));
                rest.nth(1);
            }
            c => path.push(c),
        }
    }
    Some(path)
}

/// Rates how certainly a path refers to a file; `None` if it is something else. A link or a commit may name it.
fn rate_certainty(
    path: &str,
    has_lines: bool,
    kind: MarkdownPieceKind,
    is_named: bool,
) -> Option<CitationCertainty> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_path = path.contains('/');
    let is_odd = path.starts_with(['$', '-', '%'])
        || path.split('/').skip(1).any(str::is_empty)
        || path.starts_with("www.");
    if is_odd || !name.contains(char::is_alphabetic) {
        return None;
    }
    let is_known = detect::detect_by_path(name).is_some();
    let has_extension = name.rsplit_once('.').is_some_and(|(_, extension)| {
        extension.len() <= 10
            && extension.starts_with(char::is_alphabetic)
            && extension.chars().all(char::is_alphanumeric)
    });
    match (kind, has_lines) {
        // Output of programs may name files of other projects.
        (MarkdownPieceKind::Fenced, true) if is_known || is_path || has_extension => {
            Some(CitationCertainty::IfFound)
        }
        (_, true) if is_known || has_extension && (is_path || name.starts_with('.')) => {
            Some(CitationCertainty::Location)
        }
        (_, true) if is_path || has_extension => Some(CitationCertainty::IfFound),
        (MarkdownPieceKind::Prose, false) if is_path && is_known || is_named && has_extension => {
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

    /// Returns path, lines and struck-out text of each citation.
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

    /// Returns repository, id, path and lines of each commit, and the text of the citation.
    fn read_commits(text: &str) -> Vec<(String, &str)> {
        let read = find_citations(text).into_iter();
        let describe = |one: Citation| {
            let lines = join_lines(&one.lines);
            let written = text.get(one.range.clone()).unwrap();
            let Some(CommitReference { repo, id, path, .. }) = one.commit else {
                return (format!("- - {} {lines}", one.path), written);
            };
            let [repo, path] = [repo, path].map(|part| part.unwrap_or("-".to_owned()));
            (format!("{repo} {id} {path} {lines}"), written)
        };
        read.map(describe).collect()
    }

    #[test]
    fn commits_are_read_with_their_places() {
        for (text, expected, written) in [
            ("since app@1a2b3c4.", "app 1a2b3c4 - ", "app@1a2b3c4"),
            ("(`app@1A2B3C4d5e`)", "app 1a2b3c4d5e - ", "app@1A2B3C4d5e"),
            ("_app@1a2b3c4_", "app 1a2b3c4 - ", "app@1a2b3c4"),
            ("owner/my\\_app@1a2b3c4, too", "owner/my_app 1a2b3c4 - ", "owner/my\\_app@1a2b3c4"),
            ("app@v1.2@1a2b3c4", "app@v1.2 1a2b3c4 - ", "app@v1.2@1a2b3c4"),
            ("in `1a2b3c4` it", "- 1a2b3c4 - ", "1a2b3c4"),
            ("[this](app@1a2b3c4)", "app 1a2b3c4 - ", "app@1a2b3c4"),
            (
                "app@1a2b3c4 src/a.rs:3-5 has",
                "app 1a2b3c4 src/a.rs 3-5",
                "app@1a2b3c4 src/a.rs:3-5",
            ),
            ("`app@1a2b3c4 src/a.rs`", "app 1a2b3c4 src/a.rs ", "app@1a2b3c4 src/a.rs"),
            ("`app@1a2b3c4/src/a.rs:3`", "app 1a2b3c4 src/a.rs 3", "app@1a2b3c4/src/a.rs:3"),
            (
                "app@1a2b3c4/src/a.rs#L3-L5",
                "app 1a2b3c4 src/a.rs 3-5",
                "app@1a2b3c4/src/a.rs#L3-L5",
            ),
            ("app@1a2b3c4:src/a.rs:3,7", "app 1a2b3c4 src/a.rs 3, 7", "app@1a2b3c4:src/a.rs:3,7"),
            ("app@1a2b3c4: src/a.rs:3", "app 1a2b3c4 src/a.rs 3", "app@1a2b3c4: src/a.rs:3"),
            ("`app@1a2b3c4:src/a.rs`:3", "app 1a2b3c4 src/a.rs 3", "`app@1a2b3c4:src/a.rs`:3"),
            ("`1a2b3c4:src/a.rs:3`", "- 1a2b3c4 src/a.rs 3", "1a2b3c4:src/a.rs:3"),
            (
                "[a](app@1a2b3c4:src/a%20b.rs#L3)",
                "app 1a2b3c4 src/a b.rs 3",
                "app@1a2b3c4:src/a%20b.rs#L3",
            ),
        ] {
            assert_eq!(read_commits(text), [(expected.to_owned(), written)], "{text}");
        }
        let wholes = |text| read(text).into_iter().map(|(_, _, whole)| whole).collect::<Vec<_>>();
        assert_eq!(wholes("see `app@1a2b3c4`"), ["`app@1a2b3c4`"]);
        assert_eq!(wholes("[it](app@1a2b3c4:a.rs#L3)"), ["[it](app@1a2b3c4:a.rs#L3)"]);
    }

    #[test]
    fn what_is_no_commit_is_left_or_the_place_after_it_read() {
        for text in [
            "the colour #1a2b3c4 and 1a2b3c4 in prose",
            "`1234567` and `0.1a2b3c4`",
            "me@example.com and app@1a2b3c",
            "`app@1a2b3c4x`, `app@1a2b3c4-dirty`",
            "@1a2b3c4",
            "https://host/app/commit/1a2b3c4 and https://host/app@1a2b3c4",
            "```\napp@1a2b3c4\n```",
            "`fix 1a2b3c4`",
        ] {
            assert_eq!(read_commits(text), [], "{text}");
        }
        let expected = |places: &[(&'static str, &'static str)]| -> Vec<(String, &str)> {
            places.iter().map(|(place, text)| ((*place).to_owned(), *text)).collect()
        };
        for (text, places) in [
            (
                "app@1a2b3c4 (src/a.rs:3)",
                [("app 1a2b3c4 - ", "app@1a2b3c4"), ("- - src/a.rs 3", "src/a.rs:3")],
            ),
            (
                "`app@1a2b3c4` `src/a.rs:3`",
                [("app 1a2b3c4 - ", "app@1a2b3c4"), ("- - src/a.rs 3", "src/a.rs:3")],
            ),
            (
                "app@1a2b3c4 app@5d6e7f8",
                [("app 1a2b3c4 - ", "app@1a2b3c4"), ("app 5d6e7f8 - ", "app@5d6e7f8")],
            ),
            (
                "app@1a2b3c4 src/a.rs, b/a.rs:3",
                [("app 1a2b3c4 - ", "app@1a2b3c4"), ("- - src/a.rs ", "src/a.rs")],
            ),
        ] {
            assert_eq!(read_commits(text)[..2], expected(&places), "{text}");
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
            "1-", "a@1a2b3c4 ", "a@1a2b3c4:", "@", "`1a2b3c4`",
        ] {
            let text = hostile.repeat((1 << 20) / hostile.len());
            let begun = Instant::now();
            find_citations(&text);
            // Linear time, also without optimisation; quadratic time for a million bytes would be
            // an hour.
            assert!(begun.elapsed().as_secs() < 20, "{hostile}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_and_ranges_are_where_paths_stand(
            text in "(a@1a2b3c4|[a-z]{1,3}|[/.:`#\\[\\]()\\\\~%L,é–見 \n-]|[0-9]{1,3}|\\.rs|```|src/a\\.rs:1){0,60}"
        ) {
            let mut done = 0;
            for one in find_citations(&text) {
                let own = text.get(one.range.clone()).unwrap();
                let whole = text.get(one.whole.clone()).unwrap();
                prop_assert!(whole.contains(own));
                prop_assert!(done <= one.range.start, "{text:?}");
                let is_written = own.trim_start_matches('`').starts_with(&one.path);
                let has_other_form = own.contains(['\\', '%']) || one.commit.is_some();
                prop_assert!(is_written || has_other_form, "{own:?} {:?}", one.path);
                if one.lines.is_empty() && one.commit.is_none() {
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

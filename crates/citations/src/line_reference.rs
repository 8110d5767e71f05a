//! Parses the line numbers after a path: `:12-40`, `#L12-L40`, `` ` (lines 12-40)``. Does no I/O.

use std::ops::Range;

use codeinfo_core::LineRange;

/// Maximum ranges read after one path.
const MAX_RANGES: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineReference {
    /// Ranges as written; one may end before it starts.
    pub(super) ranges: Vec<LineRange>,
    /// Byte ranges of the numbers, relative to the end of the path.
    pub(super) numbers: Vec<NumberSpans>,
    /// Length in bytes, from the end of the path.
    pub(super) length: usize,
}

/// Byte ranges of the first and the last line number of a range; a single line has no `last`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NumberSpans {
    pub(super) first: Range<usize>,
    pub(super) last: Option<Range<usize>>,
}

impl NumberSpans {
    /// Shifts the byte ranges by the end of the path.
    pub(super) fn offset_by(self, end: usize) -> Self {
        let moved = |at: Range<usize>| at.start + end..at.end + end;
        Self { first: moved(self.first), last: self.last.map(moved) }
    }
}

/// Parses line numbers at the start of `rest`, the text after a path. `ticks` is the number of
/// backticks that end the code span of the path, 0 outside of code.
pub(super) fn parse_line_reference(rest: &str, ticks: usize) -> Option<LineReference> {
    let mut reader = LineReferenceParser { rest, start: rest.len(), words: false };
    if ticks > 0 && reader.rest.starts_with('`') {
        let closed = reader.rest.get(ticks..)?;
        reader.rest = closed;
        return reader.clone().parse_after_marker().or_else(|| reader.parse_in_words());
    }
    reader.clone().parse_after_marker().or_else(|| reader.parse_in_words())
}

#[derive(Clone)]
struct LineReferenceParser<'a> {
    rest: &'a str,
    start: usize,
    /// Set if words precede the numbers, as in `lines 12 to 40`.
    words: bool,
}

impl LineReferenceParser<'_> {
    /// Parses `:12`, `:L12`, `#L12` and `?plain=1#L12`.
    fn parse_after_marker(mut self) -> Option<LineReference> {
        if self.eat_prefix("?plain=1#L") || self.eat_prefix("#L") {
            return self.parse_ranges(false);
        }
        if !self.eat_prefix(":") {
            return None;
        }
        self.parse_ranges(false)
    }

    /// Parses ` (lines 12-40)`, `, line 12` and ` (12-40)`.
    fn parse_in_words(mut self) -> Option<LineReference> {
        self.eat_prefix(",");
        let is_apart = self.eat_prefix(" ");
        let in_brackets = is_apart && self.eat_prefix("(");
        let named = ["lines ", "line ", "Lines ", "Line "].iter().any(|word| self.eat_prefix(word));
        self.words = named;
        if !is_apart || !named && !in_brackets {
            return None;
        }
        let needs_bracket = !named;
        let mut found = self.clone().parse_ranges(needs_bracket)?;
        if in_brackets {
            let consumed = self.rest.len().checked_sub(self.start.checked_sub(found.length)?)?;
            let closes = self.rest.get(consumed..)?.starts_with(')');
            if closes {
                found.length += 1;
            } else if needs_bracket {
                return None;
            }
        }
        Some(found)
    }

    /// Parses one or several ranges; `only_spans` rejects single numbers, which may mean anything.
    fn parse_ranges(mut self, only_spans: bool) -> Option<LineReference> {
        let (range, written) = self.parse_range(only_spans)?;
        let (mut ranges, mut numbers) = (vec![range], vec![written]);
        let mut length = self.start - self.rest.len();
        while ranges.len() < MAX_RANGES {
            let mut next = self.clone();
            let near = next.eat_prefix(",") || next.words && next.eat_prefix(" and");
            let apart = next.eat_prefix(" ");
            if !near {
                break;
            }
            let _prefix = next.eat_prefix(":") || next.eat_prefix("L");
            let read = next.parse_range(only_spans || apart && !next.words);
            let Some((range, written)) = read else { break };
            ranges.push(range);
            numbers.push(written);
            self = next;
            length = self.start - self.rest.len();
        }
        Some(LineReference { ranges, numbers, length })
    }

    fn parse_range(&mut self, only_spans: bool) -> Option<(LineRange, NumberSpans)> {
        let _prefix = self.eat_prefix("L");
        let (first, at) = self.parse_number()?;
        let mut numbers = NumberSpans { first: at, last: None };
        self.skip_column();
        let mut ahead = self.clone();
        let joins = ["..=", "..", "-", "–", "—"].iter().any(|mark| ahead.eat_prefix(mark))
            || ahead.words && (ahead.eat_prefix(" to ") || ahead.eat_prefix(" through "));
        if joins {
            let _prefix = ahead.eat_prefix("L");
            if let Some((last, at)) = ahead.parse_number() {
                ahead.skip_column();
                *self = ahead;
                numbers.last = Some(at);
                let is_whole = self.is_number_complete() && !self.has_third_number();
                return is_whole.then_some((LineRange { first, last }, numbers));
            }
        }
        (!only_spans && self.is_number_complete())
            .then_some((LineRange { first, last: first }, numbers))
    }

    /// Returns whether the number ends here and is not part of a word, a version or a percentage.
    fn is_number_complete(&self) -> bool {
        let mut after = self.rest.chars();
        match after.next() {
            Some(c) if c.is_alphanumeric() || c == '%' => false,
            // An underscore that ends emphasis is not part of a word.
            Some('_') => !after.as_str().trim_start_matches('_').starts_with(char::is_alphanumeric),
            Some('.') => !after.next().is_some_and(|c| c.is_ascii_digit()),
            _ => true,
        }
    }

    fn has_third_number(&self) -> bool {
        let after = self.rest.strip_prefix('-');
        after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Skips a column: `:3` or `C3`.
    fn skip_column(&mut self) {
        let mut ahead = self.clone();
        if (ahead.eat_prefix(":") || ahead.eat_prefix("C")) && ahead.parse_number().is_some() {
            *self = ahead;
        }
    }

    fn parse_number(&mut self) -> Option<(u32, Range<usize>)> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, after) = self.rest.split_at_checked(end)?;
        if digits.is_empty() {
            return None;
        }
        let start = self.start - self.rest.len();
        self.rest = after;
        // Numbers that overflow are beyond the end of every file.
        Some((digits.parse().unwrap_or(u32::MAX), start..start + digits.len()))
    }

    fn eat_prefix(&mut self, mark: &str) -> bool {
        let after = self.rest.strip_prefix(mark);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }
}

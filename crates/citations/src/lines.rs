//! Reads the lines that follow a path: `:12-40`, `#L12-L40`, `` ` (lines 12-40)``. Pure.

use std::ops::Range;

use codeinfo_core::LineRange;

/// More ranges after one path are not read.
const MAX_RANGES: usize = 16;

/// What stands after a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lines {
    /// As they are written, so that one may end before it starts.
    pub(super) ranges: Vec<LineRange>,
    /// Where their numbers stand, from the end of the path.
    pub(super) numbers: Vec<Numbers>,
    /// How many bytes they take, from the end of the path.
    pub(super) length: usize,
}

/// Where the first and the last line of a range are written; a line alone has no last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) first: Range<usize>,
    pub(super) last: Option<Range<usize>>,
}

impl Numbers {
    /// Moves them by where the path ends.
    pub(super) fn after(self, end: usize) -> Self {
        let moved = |at: Range<usize>| at.start + end..at.end + end;
        Self { first: moved(self.first), last: self.last.map(moved) }
    }
}

/// Reads lines at the start of `rest`, which stands after a path. `ticks` backticks end the path's code
/// span, if it is in one.
pub(super) fn lines(rest: &str, ticks: usize) -> Option<Lines> {
    let mut reader = Reader { rest, start: rest.len(), words: false };
    if ticks > 0 && reader.rest.starts_with('`') {
        let closed = reader.rest.get(ticks..)?;
        reader.rest = closed;
        return reader.clone().marked().or_else(|| reader.in_words());
    }
    reader.clone().marked().or_else(|| reader.in_words())
}

#[derive(Clone)]
struct Reader<'a> {
    rest: &'a str,
    /// The length of the rest at the start.
    start: usize,
    /// Whether words stand before the numbers, as in `lines 12 to 40`.
    words: bool,
}

impl Reader<'_> {
    /// Reads `:12`, `:L12`, `#L12` and `?plain=1#L12`.
    fn marked(mut self) -> Option<Lines> {
        if self.eat("?plain=1#L") || self.eat("#L") {
            return self.ranges(false);
        }
        if !self.eat(":") {
            return None;
        }
        self.ranges(false)
    }

    /// Reads ` (lines 12-40)`, `, line 12` and ` (12-40)`.
    fn in_words(mut self) -> Option<Lines> {
        self.eat(",");
        let is_apart = self.eat(" ");
        let in_brackets = is_apart && self.eat("(");
        let named = ["lines ", "line ", "Lines ", "Line "].iter().any(|word| self.eat(word));
        self.words = named;
        if !is_apart || !named && !in_brackets {
            return None;
        }
        let needs_bracket = !named;
        let mut found = self.clone().ranges(needs_bracket)?;
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

    /// Reads one range or several; `only_spans` where a number alone may be anything.
    fn ranges(mut self, only_spans: bool) -> Option<Lines> {
        let (range, written) = self.range(only_spans)?;
        let (mut ranges, mut numbers) = (vec![range], vec![written]);
        let mut length = self.start - self.rest.len();
        while ranges.len() < MAX_RANGES {
            let mut next = self.clone();
            let near = next.eat(",") || next.words && next.eat(" and");
            let apart = next.eat(" ");
            if !near {
                break;
            }
            let _prefix = next.eat(":") || next.eat("L");
            let read = next.range(only_spans || apart && !next.words);
            let Some((range, written)) = read else { break };
            ranges.push(range);
            numbers.push(written);
            self = next;
            length = self.start - self.rest.len();
        }
        Some(Lines { ranges, numbers, length })
    }

    fn range(&mut self, only_spans: bool) -> Option<(LineRange, Numbers)> {
        let _prefix = self.eat("L");
        let (first, at) = self.number()?;
        let mut numbers = Numbers { first: at, last: None };
        self.column();
        let mut ahead = self.clone();
        let joins = ["..=", "..", "-", "–", "—"].iter().any(|mark| ahead.eat(mark))
            || ahead.words && (ahead.eat(" to ") || ahead.eat(" through "));
        if joins {
            let _prefix = ahead.eat("L");
            if let Some((last, at)) = ahead.number() {
                ahead.column();
                *self = ahead;
                numbers.last = Some(at);
                let is_whole = self.ends() && !self.goes_on();
                return is_whole.then_some((LineRange { first, last }, numbers));
            }
        }
        (!only_spans && self.ends()).then_some((LineRange { first, last: first }, numbers))
    }

    /// Whether a number is over here, and not part of a word, a version or a share.
    fn ends(&self) -> bool {
        let mut after = self.rest.chars();
        match after.next() {
            Some(c) if c.is_alphanumeric() || c == '%' => false,
            // What ends emphasis is no part of a word.
            Some('_') => !after.as_str().trim_start_matches('_').starts_with(char::is_alphanumeric),
            Some('.') => !after.next().is_some_and(|c| c.is_ascii_digit()),
            _ => true,
        }
    }

    /// Whether a third number follows, as in a date.
    fn goes_on(&self) -> bool {
        let after = self.rest.strip_prefix('-');
        after.is_some_and(|after| after.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Skips a column: `:3` or `C3`.
    fn column(&mut self) {
        let mut ahead = self.clone();
        if (ahead.eat(":") || ahead.eat("C")) && ahead.number().is_some() {
            *self = ahead;
        }
    }

    /// Reads a number, and says where it stands.
    fn number(&mut self) -> Option<(u32, Range<usize>)> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, after) = self.rest.split_at_checked(end)?;
        if digits.is_empty() {
            return None;
        }
        let start = self.start - self.rest.len();
        self.rest = after;
        // What is too large for a number is beyond the end of every file.
        Some((digits.parse().unwrap_or(u32::MAX), start..start + digits.len()))
    }

    fn eat(&mut self, mark: &str) -> bool {
        let after = self.rest.strip_prefix(mark);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }
}

//! Packs units into chunks: what leads a definition goes with it, small neighbours are joined,
//! what is too large is cut by lines, and every line that is not blank ends up in one chunk.

use std::{ops::Range, rc::Rc};

use super::{
    lines::Lines,
    outline::{Part, Unit, WHOLE},
};

/// A chunk of glue or of a cut definition grows to about this size, in lines and bytes.
const TARGET: (usize, usize) = (60, 2000);
/// Nothing is larger than this.
const MAX: (usize, usize) = (120, 6000);
/// Small definitions beside each other are joined up to this size.
const JOIN: (usize, usize) = (20, 800);
/// The first lines of something opened go with what follows up to this size.
const HEADER: (usize, usize) = (30, 1000);
/// A unit of at most this size does not stand alone if it can be helped.
const TINY: (usize, usize) = (4, 200);
/// A comment of at most this many lines goes with the next unit across one blank line.
const NEAR_LEAD_LINES: usize = 6;
/// A line too long for a chunk is cut into pieces of at most this many bytes.
const PIECE: usize = 2000;

/// Lines of one chunk, or a part of one very long line.
#[derive(Debug)]
pub(super) struct Packed<'a> {
    pub(super) lines: Range<usize>,
    pub(super) text: &'a str,
    pub(super) symbol: Option<Rc<str>>,
}

/// Packs the units of a parsed file.
pub(super) fn pack<'a>(lines: &Lines<'a>, units: Vec<Unit>, separator: &str) -> Vec<Packed<'a>> {
    let units = filled(lines, units);
    let units = attached(lines, units);
    let units = joined(lines, units, separator);
    let mut packed = Vec::new();
    for unit in units {
        cut(lines, unit.first..unit.last + 1, unit.symbol.as_ref(), &mut packed);
    }
    packed
}

/// Packs a file that is not parsed.
pub(super) fn windows<'a>(lines: &Lines<'a>) -> Vec<Packed<'a>> {
    let mut packed = Vec::new();
    let whole = lines.trim(0..lines.count());
    if lines.fits(&whole, TARGET) {
        cut(lines, whole, None, &mut packed);
    } else {
        windowed(lines, whole, None, &mut packed);
    }
    packed
}

/// Adds glue for lines that no unit covers and that are not blank. Parsers leave such lines out
/// only where a file is damaged.
fn filled(lines: &Lines<'_>, units: Vec<Unit>) -> Vec<Unit> {
    let mut filled: Vec<Unit> = Vec::with_capacity(units.len());
    let mut next = 0;
    let end = Unit { first: lines.count(), last: lines.count(), part: Part::Glue, symbol: None };
    for mut unit in units.into_iter().chain([end]) {
        let gap = lines.trim(next..unit.first.max(next));
        if !gap.is_empty() {
            let (first, last) = (gap.start, gap.end - 1);
            filled.push(Unit { first, last, part: Part::Glue, symbol: None });
        }
        // A parser may count an empty last line that is none.
        unit.last = unit.last.min(lines.count().saturating_sub(1));
        let own = lines.trim(unit.first.max(next)..unit.last + 1);
        next = next.max(unit.last + 1);
        if !own.is_empty() {
            filled.push(Unit { first: own.start, last: own.end - 1, ..unit });
        }
    }
    filled
}

/// Puts leads and openings to what follows them, and closings to what they close.
fn attached(lines: &Lines<'_>, units: Vec<Unit>) -> Vec<Unit> {
    let mut attached: Vec<Unit> = Vec::with_capacity(units.len());
    for unit in units {
        match attached.last_mut() {
            Some(before) if goes_together(lines, before, &unit) => {
                before.last = unit.last;
                if unit.part != Part::Closing {
                    before.part = unit.part;
                    before.symbol = unit.symbol;
                } else if before.part != Part::Definition {
                    before.part = Part::Glue;
                }
            }
            _ => {
                if unit.part != Part::Lead {
                    name_leads(&mut attached, &unit);
                }
                attached.push(unit);
            }
        }
    }
    attached
}

/// Gives the leads at the end the symbol of the unit they lead to. Too long to go with it, they are
/// still about it.
fn name_leads(attached: &mut [Unit], unit: &Unit) {
    let mut next = unit.first;
    for lead in attached.iter_mut().rev() {
        if lead.part != Part::Lead || lead.last + 1 != next {
            return;
        }
        lead.part = Part::Glue;
        lead.symbol.clone_from(&unit.symbol);
        next = lead.first;
    }
}

fn goes_together(lines: &Lines<'_>, before: &Unit, unit: &Unit) -> bool {
    let both = before.first..unit.last + 1;
    if !lines.fits(&both, MAX) {
        return false;
    }
    let blank = unit.first - before.last - 1;
    let own = before.first..before.last + 1;
    match (before.part, unit.part) {
        (_, Part::Closing) => true,
        (Part::Opening, Part::Opening) => true,
        (Part::Opening, _) => lines.fits(&own, HEADER),
        (Part::Lead, Part::Lead) => blank == 0 && lines.fits(&both, TARGET),
        (Part::Lead, _) => blank == 0 || (blank == 1 && own.len() <= NEAR_LEAD_LINES),
        (Part::Glue, Part::Definition) => lines.fits(&own, TINY) && lines.fits(&both, WHOLE),
        (Part::Glue | Part::Definition | Part::Closing, _) => false,
    }
}

/// Joins neighbours that are small.
fn joined(lines: &Lines<'_>, units: Vec<Unit>, separator: &str) -> Vec<Unit> {
    let mut joined: Vec<Unit> = Vec::with_capacity(units.len());
    // Size of the definition that a joined unit is named after.
    let mut named_bytes = 0;
    for unit in units {
        let bytes = lines.bytes(unit.first..unit.last + 1);
        match joined.last_mut() {
            Some(before) if may_join(lines, before, &unit, separator) => {
                let (symbol, is_new) = common(before, &unit, separator, named_bytes < bytes);
                before.symbol = symbol;
                before.last = unit.last;
                if unit.part == Part::Definition {
                    before.part = Part::Definition;
                }
                if is_new {
                    named_bytes = bytes;
                }
            }
            _ => {
                named_bytes = bytes;
                joined.push(unit);
            }
        }
    }
    joined
}

fn may_join(lines: &Lines<'_>, before: &Unit, unit: &Unit, separator: &str) -> bool {
    let both = before.first..unit.last + 1;
    let is_definition = |unit: &Unit| unit.part == Part::Definition;
    let is_tiny = |unit: &Unit| lines.fits(&(unit.first..unit.last + 1), TINY);
    if !is_definition(before) && !is_definition(unit) && before.symbol == unit.symbol {
        return lines.fits(&both, TARGET);
    }
    if is_tiny(unit) && !is_definition(unit) || is_tiny(before) && !is_definition(before) {
        return lines.fits(&both, WHOLE);
    }
    let same_place = match (is_definition(before), is_definition(unit)) {
        (true, true) => {
            let qualifier = |unit| qualifier(unit, separator);
            qualifier(unit).is_some() && qualifier(before) == qualifier(unit)
        }
        (true, false) => qualifier(before, separator) == unit.symbol.as_deref(),
        (false, true) => before.symbol.as_deref() == qualifier(unit, separator),
        (false, false) => false,
    };
    same_place && lines.fits(&both, JOIN)
}

/// The symbol of two joined units, and whether it is the second one's: that of the only definition,
/// else what their names share, else the name of the larger.
fn common(before: &Unit, unit: &Unit, separator: &str, is_larger: bool) -> (Option<Rc<str>>, bool) {
    let defines = |unit: &Unit| unit.part == Part::Definition;
    match (defines(before), defines(unit)) {
        (true, false) => (before.symbol.clone(), false),
        (false, true) => (unit.symbol.clone(), true),
        (false, false) if before.symbol == unit.symbol => (unit.symbol.clone(), false),
        (false, false) if is_larger => (unit.symbol.clone(), true),
        (false, false) => (before.symbol.clone(), false),
        (true, true) => match qualifier(unit, separator) {
            Some(shared) => (Some(Rc::from(shared)), false),
            None if is_larger => (unit.symbol.clone(), true),
            None => (before.symbol.clone(), false),
        },
    }
}

/// `a::b` of `a::b::c`.
fn qualifier<'a>(unit: &'a Unit, separator: &str) -> Option<&'a str> {
    unit.symbol.as_deref()?.rsplit_once(separator).map(|(qualifier, _)| qualifier)
}

/// Emits a run of lines whole if it may be that large, else in windows.
fn cut<'a>(
    lines: &Lines<'a>,
    range: Range<usize>,
    symbol: Option<&Rc<str>>,
    into: &mut Vec<Packed<'a>>,
) {
    let range = lines.trim(range);
    if range.is_empty() {
    } else if lines.fits(&range, MAX) {
        into.push(Packed {
            text: lines.text(range.clone()),
            lines: range,
            symbol: symbol.cloned(),
        });
    } else if range.len() == 1 {
        for text in pieces(lines.text(range.clone())) {
            into.push(Packed { lines: range.clone(), text, symbol: symbol.cloned() });
        }
    } else {
        windowed(lines, range, symbol, into);
    }
}

/// Emits a run of lines in windows of the target size.
fn windowed<'a>(
    lines: &Lines<'a>,
    range: Range<usize>,
    symbol: Option<&Rc<str>>,
    into: &mut Vec<Packed<'a>>,
) {
    let mut rest = range;
    while !rest.is_empty() {
        let end = window(lines, &rest);
        cut(lines, rest.start..end, symbol, into);
        rest.start = end;
    }
}

/// Returns where the first window of `rest` ends: at the best break in its second half.
fn window(lines: &Lines<'_>, rest: &Range<usize>) -> usize {
    let mut end = rest.start + 1;
    while end < rest.end && lines.fits(&(rest.start..end + 1), TARGET) {
        end += 1;
    }
    if end == rest.end {
        return end;
    }
    let half = rest.start + (end - rest.start).div_ceil(2);
    (half..=end).max_by_key(|at| breaks(lines, *at)).unwrap_or(end)
}

/// How good it is to cut before a line: behind a blank line, and where little is indented.
fn breaks(lines: &Lines<'_>, at: usize) -> (bool, std::cmp::Reverse<usize>) {
    let is_behind_blank = 0 < at && lines.is_blank(at - 1);
    (is_behind_blank, std::cmp::Reverse(lines.indent(at)))
}

/// Cuts a very long line into pieces, behind white space or punctuation where there is some.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(piece_end(rest));
            rest = behind;
            if !piece.trim().is_empty() {
                return Some(piece);
            }
        }
        None
    })
}

fn piece_end(rest: &str) -> usize {
    if rest.len() <= PIECE {
        return rest.len();
    }
    let mut end = PIECE;
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    let window = rest.get(..end).unwrap_or(rest);
    let breaks = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '}' | ')' | '>');
    match window.rmatch_indices(breaks).next() {
        Some((at, found)) if PIECE / 2 < at => at + found.len(),
        _ => end,
    }
}

//! Packs units into chunks.
//!
//! Comments and attributes join the definition they lead, small neighbours are joined, and large
//! units are cut by lines. Every line that is not blank ends up in one chunk.

use std::{collections::HashMap, ops::Range, rc::Rc};

use super::{
    TextOutline,
    lines::{LineIndex, SizeLimit, WHOLE},
    unit::{TextStructure, TextUnit, UnitRole},
    window::{self, MAX, PackedLines, TARGET},
};

/// Maximum lines and bytes of small neighbours that are joined.
const JOIN: SizeLimit = SizeLimit { lines: 24, bytes: 1000 };
/// Maximum lines and bytes of an opening that joins the next unit.
const HEADER: SizeLimit = SizeLimit { lines: 30, bytes: 1000 };
/// Maximum lines and bytes of a unit that is joined to a neighbour where possible.
const TINY: SizeLimit = SizeLimit { lines: 4, bytes: 200 };
/// Maximum lines of a comment that joins the next unit across one blank line.
const NEAR_LEAD_LINES: usize = 6;

pub(super) fn pack_units<'a>(lines: &LineIndex<'a>, outline: &TextOutline) -> Vec<PackedLines<'a>> {
    let TextStructure { units, definitions } = &outline.structure;
    let heads = find_opening_lines(units);
    let units = fill_gaps(lines, units);
    let units = attach_tiny_glue(lines, attach_leads(lines, units), outline.separator);
    let cut = definitions
        .iter()
        .filter(|definition| definition.is_cut)
        .map(|definition| definition.line)
        .collect();
    let units = UnitJoiner { lines, outline, cut }.join_units(units);
    let mut packed: Vec<PackedLines<'a>> = Vec::new();
    for unit in units {
        let from = packed.len();
        window::pack_range(lines, unit.first..unit.last + 1, unit.symbol.as_ref(), &mut packed);
        let above = unit.symbol.as_ref().and_then(|symbol| {
            let known = heads.get(symbol)?;
            known.get(known.partition_point(|head| *head < unit.first).checked_sub(1)?).copied()
        });
        let is_named = unit.part == UnitRole::Definition && unit.symbol.is_some();
        let mut table = None;
        for piece in packed.iter_mut().skip(from) {
            let start = piece.lines.start;
            table = find_table_head(lines, &piece.lines, table);
            piece.head = above.or(table).or((is_named && unit.first < start).then_some(unit.first));
        }
    }
    packed
}

/// Returns the first row of the table that continues into a piece, given that of the piece before.
fn find_table_head(
    lines: &LineIndex<'_>,
    piece: &Range<usize>,
    before: Option<usize>,
) -> Option<usize> {
    let is_row = |line: usize| lines.text(line..line + 1).trim_start().starts_with('|');
    let is_continued = is_row(piece.start) && 0 < piece.start && is_row(piece.start - 1);
    if !is_continued {
        return None;
    }
    before.or_else(|| {
        let top = piece.start.saturating_sub(TARGET.lines * 2);
        (top..piece.start).rev().take_while(|line| is_row(*line)).last()
    })
}

/// Returns the first lines of opened definitions by symbol, in ascending order.
fn find_opening_lines(units: &[TextUnit]) -> HashMap<Rc<str>, Vec<usize>> {
    let mut heads: HashMap<Rc<str>, Vec<usize>> = HashMap::new();
    let mut before: Option<&Rc<str>> = None;
    for unit in units {
        if let Some(symbol) = unit.symbol.as_ref()
            && unit.part == UnitRole::Opening
            && before != Some(symbol)
        {
            heads.entry(Rc::clone(symbol)).or_default().push(unit.first);
        }
        before = unit.symbol.as_ref();
    }
    heads
}

/// Adds glue for non-blank lines that no unit covers, which parsers leave only in damaged files.
fn fill_gaps(lines: &LineIndex<'_>, units: &[TextUnit]) -> Vec<TextUnit> {
    let mut filled: Vec<TextUnit> = Vec::with_capacity(units.len());
    let mut next = 0;
    let end =
        TextUnit { first: lines.count(), last: lines.count(), part: UnitRole::Glue, symbol: None };
    for mut unit in units.iter().cloned().chain([end]) {
        let gap = lines.trim_blank_lines(next..unit.first.max(next));
        if !gap.is_empty() {
            let first = gap.start;
            let last = gap.end - 1;
            filled.push(TextUnit { first, last, part: UnitRole::Glue, symbol: None });
        }
        // A parser may count an empty last line that the text does not have.
        unit.last = unit.last.min(lines.count().saturating_sub(1));
        let own = lines.trim_blank_lines(unit.first.max(next)..unit.last + 1);
        next = next.max(unit.last + 1);
        if !own.is_empty() {
            filled.push(TextUnit { first: own.start, last: own.end - 1, ..unit });
        }
    }
    filled
}

/// Joins leads and openings to the unit after them, and closings to the unit before.
fn attach_leads(lines: &LineIndex<'_>, units: Vec<TextUnit>) -> Vec<TextUnit> {
    let mut attached: Vec<TextUnit> = Vec::with_capacity(units.len());
    for unit in units {
        match attached.last_mut() {
            Some(before) if goes_together(lines, before, &unit) => {
                if unit.part != UnitRole::Closing {
                    before.symbol = symbol_of_both(lines, before, &unit);
                    before.part = unit.part;
                } else if before.part != UnitRole::Definition {
                    before.part = UnitRole::Glue;
                }
                before.last = unit.last;
            }
            _ => attached.push(unit),
        }
    }
    name_leads(&mut attached);
    attached
}

/// Gives each lead the symbol of the next unit: one too long to join it still describes it.
fn name_leads(units: &mut [TextUnit]) {
    let mut next: Option<(usize, Option<Rc<str>>)> = None;
    for unit in units.iter_mut().rev() {
        match &next {
            Some((first, symbol)) if unit.part == UnitRole::Lead && unit.last + 1 == *first => {
                unit.part = UnitRole::Glue;
                unit.symbol.clone_from(symbol);
            }
            _ => {}
        }
        next = Some((unit.first, unit.symbol.clone()));
    }
}

fn goes_together(lines: &LineIndex<'_>, before: &TextUnit, unit: &TextUnit) -> bool {
    let both = before.first..unit.last + 1;
    if !lines.fits_within(&both, MAX) {
        return false;
    }
    let blank = unit.first - before.last - 1;
    let own = before.first..before.last + 1;
    match (before.part, unit.part) {
        (_, UnitRole::Closing) | (UnitRole::Opening, UnitRole::Opening) => true,
        (UnitRole::Opening, _) => lines.fits_within(&own, HEADER),
        (UnitRole::Lead, UnitRole::Lead) => blank == 0 && lines.fits_within(&both, TARGET),
        (UnitRole::Lead, _) => blank == 0 || (blank == 1 && own.len() <= NEAR_LEAD_LINES),
        (UnitRole::Glue | UnitRole::Definition | UnitRole::Closing, _) => false,
    }
}

/// Returns the symbol of the unit after a lead or opening, or that of a type's larger opening.
fn symbol_of_both(lines: &LineIndex<'_>, before: &TextUnit, unit: &TextUnit) -> Option<Rc<str>> {
    let bytes = |unit: &TextUnit| lines.byte_len(unit.first..unit.last + 1);
    let is_type =
        matches!(before.part, UnitRole::Opening | UnitRole::Glue) && before.symbol.is_some();
    let keeps = is_type && bytes(unit) < bytes(before);
    if keeps { before.symbol.clone() } else { unit.symbol.clone() }
}

/// Joins tiny glue to the definition after it if both have the same enclosing symbol.
fn attach_tiny_glue(lines: &LineIndex<'_>, units: Vec<TextUnit>, separator: &str) -> Vec<TextUnit> {
    let mut led: Vec<TextUnit> = Vec::with_capacity(units.len());
    for unit in units {
        match led.last_mut() {
            Some(before)
                if unit.part == UnitRole::Definition
                    && before.part != UnitRole::Definition
                    && before.symbol.as_deref() == symbol_qualifier(&unit, separator)
                    && lines.fits_within(&(before.first..before.last + 1), TINY)
                    && lines.fits_within(&(before.first..unit.last + 1), WHOLE) =>
            {
                *before = TextUnit { first: before.first, ..unit };
            }
            _ => led.push(unit),
        }
    }
    led
}

struct UnitJoiner<'a> {
    lines: &'a LineIndex<'a>,
    outline: &'a TextOutline,
    /// First lines of definitions that are cut, in ascending order.
    cut: Vec<usize>,
}

impl UnitJoiner<'_> {
    fn join_units(&self, units: Vec<TextUnit>) -> Vec<TextUnit> {
        let mut joined: Vec<TextUnit> = Vec::with_capacity(units.len());
        // Bytes of the unit that gave the joined unit its name.
        let mut named_bytes = 0;
        for unit in units {
            let bytes = self.lines.byte_len(unit.first..unit.last + 1);
            match joined.last_mut() {
                Some(before) if self.may_join(before, &unit) => {
                    if self.takes_name(before, &unit, named_bytes < bytes) {
                        before.symbol = unit.symbol;
                        named_bytes = bytes;
                    }
                    before.last = unit.last;
                    if unit.part == UnitRole::Definition {
                        before.part = UnitRole::Definition;
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

    /// Returns true if two units may share a chunk: glue with its neighbour, or small ones of the
    /// same enclosing symbol and language; never the start of a cut definition with another one.
    fn may_join(&self, before: &TextUnit, unit: &TextUnit) -> bool {
        let TextOutline { borders, separator, .. } = self.outline;
        let is_glue = |unit: &TextUnit| unit.part != UnitRole::Definition;
        let is_tiny = |unit: &TextUnit| self.lines.fits_within(&(unit.first..unit.last + 1), TINY);
        let is_same_glue = is_glue(before) && is_glue(unit) && before.symbol == unit.symbol;
        if self.starts_cut_definition(unit) && !is_same_glue {
            let is_outside = before.symbol.is_none()
                || before.symbol.as_deref() == symbol_qualifier(unit, separator);
            return is_outside && is_glue(before) && is_tiny(before);
        }
        let size = if is_same_glue {
            TARGET
        } else if is_glue(before) && is_tiny(before) || is_glue(unit) && is_tiny(unit) {
            WHOLE
        } else if !is_between(borders, before, unit) && are_near(before, unit, separator) {
            JOIN
        } else {
            return false;
        };
        self.lines.fits_within(&(before.first..unit.last + 1), size)
    }

    fn starts_cut_definition(&self, unit: &TextUnit) -> bool {
        let next = self.cut.partition_point(|line| *line < unit.first);
        self.cut.get(next).is_some_and(|line| *line <= unit.last)
    }

    /// Returns true if two joined units take the name of the second one: that of the only
    /// definition, unless a named opening before it is larger, else that of the larger unit.
    fn takes_name(&self, before: &TextUnit, unit: &TextUnit, is_larger: bool) -> bool {
        let defines = |unit: &TextUnit| unit.part == UnitRole::Definition;
        match (defines(before), defines(unit) || self.starts_cut_definition(unit)) {
            (true, false) => false,
            (false, true) if before.symbol.is_none() => true,
            _ => is_larger,
        }
    }
}

/// Returns true if one of the ascending `borders` is after `before`, up to the start of `unit`.
fn is_between(borders: &[usize], before: &TextUnit, unit: &TextUnit) -> bool {
    let next = borders.partition_point(|border| *border <= before.last);
    borders.get(next).is_some_and(|border| *border <= unit.first)
}

/// Returns true if two units have the same enclosing symbol, or one encloses the other.
fn are_near(before: &TextUnit, unit: &TextUnit, separator: &str) -> bool {
    let before_enclosing = enclosing_symbol(before, separator);
    let unit_enclosing = enclosing_symbol(unit, separator);
    before_enclosing == unit_enclosing
        || before_enclosing == unit.symbol.as_deref()
        || unit_enclosing == before.symbol.as_deref()
}

fn enclosing_symbol<'a>(unit: &'a TextUnit, separator: &str) -> Option<&'a str> {
    match unit.part {
        UnitRole::Definition => symbol_qualifier(unit, separator),
        _ => unit.symbol.as_deref(),
    }
}

/// Returns `a::b` for `a::b::c`.
fn symbol_qualifier<'a>(unit: &'a TextUnit, separator: &str) -> Option<&'a str> {
    let (qualifier, _) = unit.symbol.as_deref()?.rsplit_once(separator)?;
    (!qualifier.is_empty()).then_some(qualifier)
}

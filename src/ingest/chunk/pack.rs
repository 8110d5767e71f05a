//! Packs units into chunks: what leads a definition goes with it, small neighbours are joined,
//! what is too large is cut by lines, and every line that is not blank ends up in one chunk.

use std::{collections::HashMap, ops::Range, rc::Rc};

use super::{
    lines::Lines,
    outline::{Part, Unit, WHOLE},
    window::{self, MAX, Packed, TARGET},
};

/// Small definitions beside each other are joined up to this size.
const JOIN: (usize, usize) = (20, 800);
/// The first lines of something opened go with what follows up to this size.
const HEADER: (usize, usize) = (30, 1000);
/// A unit of at most this size does not stand alone if it can be helped.
const TINY: (usize, usize) = (4, 200);
/// A comment of at most this many lines goes with the next unit across one blank line.
const NEAR_LEAD_LINES: usize = 6;

/// How the names of a text's units are made, and which of them may share a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// Stands between the names of a qualified symbol.
    pub(super) separator: &'static str,
    pub(super) top: Top,
}

/// What small neighbours that stand in nothing do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Top {
    /// Stay apart: definitions that are asked for by name.
    Apart,
    /// Are joined: rules and settings.
    Joined,
}

/// Packs the units of a file.
pub(super) fn pack<'a>(lines: &Lines<'a>, units: Vec<Unit>, manner: Manner) -> Vec<Packed<'a>> {
    let heads = heads(&units);
    let units = filled(lines, units);
    let units = led(lines, attached(lines, units), manner.separator);
    let units = joined(lines, units, manner);
    let mut packed: Vec<Packed<'a>> = Vec::new();
    for unit in units {
        let from = packed.len();
        window::cut(lines, unit.first..unit.last + 1, unit.symbol.as_ref(), &mut packed);
        let above = unit.symbol.as_ref().and_then(|symbol| {
            let known = heads.get(symbol)?;
            known.get(known.partition_point(|head| *head < unit.first).checked_sub(1)?).copied()
        });
        let is_named = unit.part == Part::Definition && unit.symbol.is_some();
        let mut table = None;
        for piece in packed.iter_mut().skip(from) {
            let start = piece.lines.start;
            table = table_head(lines, &piece.lines, table);
            piece.head = above.or(table).or((is_named && unit.first < start).then_some(unit.first));
        }
    }
    packed
}

/// The first row of the table that a piece starts in, given that of the piece before.
fn table_head(lines: &Lines<'_>, piece: &Range<usize>, before: Option<usize>) -> Option<usize> {
    let is_row = |line: usize| lines.text(line..line + 1).trim_start().starts_with('|');
    let goes_on = is_row(piece.start) && 0 < piece.start && is_row(piece.start - 1);
    if !goes_on {
        return None;
    }
    before.or_else(|| {
        let top = piece.start.saturating_sub(TARGET.0 * 2);
        (top..piece.start).rev().take_while(|line| is_row(*line)).last()
    })
}

/// Where the opened definitions start, by symbol.
fn heads(units: &[Unit]) -> HashMap<Rc<str>, Vec<usize>> {
    let mut heads: HashMap<Rc<str>, Vec<usize>> = HashMap::new();
    let mut before: Option<&Rc<str>> = None;
    for unit in units {
        if let Some(symbol) = unit.symbol.as_ref()
            && unit.part == Part::Opening
            && before != Some(symbol)
        {
            heads.entry(Rc::clone(symbol)).or_default().push(unit.first);
        }
        before = unit.symbol.as_ref();
    }
    heads
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
                if unit.part != Part::Closing {
                    before.symbol = symbol_of_both(lines, before, &unit);
                    before.part = unit.part;
                } else if before.part != Part::Definition {
                    before.part = Part::Glue;
                }
                before.last = unit.last;
            }
            _ => attached.push(unit),
        }
    }
    name_leads(&mut attached);
    attached
}

/// Gives leads the symbol of what they lead to. Too long to go with it, they are still about it.
fn name_leads(units: &mut [Unit]) {
    let mut next: Option<(usize, Option<Rc<str>>)> = None;
    for unit in units.iter_mut().rev() {
        match &next {
            Some((first, symbol)) if unit.part == Part::Lead && unit.last + 1 == *first => {
                unit.part = Part::Glue;
                unit.symbol.clone_from(symbol);
            }
            _ => {}
        }
        next = Some((unit.first, unit.symbol.clone()));
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
        (_, Part::Closing) | (Part::Opening, Part::Opening) => true,
        (Part::Opening, _) => lines.fits(&own, HEADER),
        (Part::Lead, Part::Lead) => blank == 0 && lines.fits(&both, TARGET),
        (Part::Lead, _) => blank == 0 || (blank == 1 && own.len() <= NEAR_LEAD_LINES),
        (Part::Glue | Part::Definition | Part::Closing, _) => false,
    }
}

/// What leads a definition takes its symbol, save for the first lines of a type that outweigh its
/// first member.
fn symbol_of_both(lines: &Lines<'_>, before: &Unit, unit: &Unit) -> Option<Rc<str>> {
    let bytes = |unit: &Unit| lines.bytes(unit.first..unit.last + 1);
    let is_type = matches!(before.part, Part::Opening | Part::Glue) && before.symbol.is_some();
    let keeps = is_type && bytes(unit) < bytes(before);
    if keeps { before.symbol.clone() } else { unit.symbol.clone() }
}

/// Puts tiny glue to the definition that follows it in the same place.
fn led(lines: &Lines<'_>, units: Vec<Unit>, separator: &str) -> Vec<Unit> {
    let mut led: Vec<Unit> = Vec::with_capacity(units.len());
    for unit in units {
        match led.last_mut() {
            Some(before)
                if unit.part == Part::Definition
                    && before.part != Part::Definition
                    && before.symbol.as_deref() == qualifier(&unit, separator)
                    && lines.fits(&(before.first..before.last + 1), TINY)
                    && lines.fits(&(before.first..unit.last + 1), WHOLE) =>
            {
                *before = Unit { first: before.first, ..unit };
            }
            _ => led.push(unit),
        }
    }
    led
}

/// Joins neighbours that are small.
fn joined(lines: &Lines<'_>, units: Vec<Unit>, manner: Manner) -> Vec<Unit> {
    let mut joined: Vec<Unit> = Vec::with_capacity(units.len());
    // Size of the definition that a joined unit is named after.
    let mut named_bytes = 0;
    // Whether the last unit is made of definitions of one line each, one below the other.
    let mut is_list = false;
    for unit in units {
        let bytes = lines.bytes(unit.first..unit.last + 1);
        let is_line = unit.part == Part::Definition && unit.first == unit.last;
        match joined.last_mut() {
            Some(before)
                if may_join(lines, before, &unit, manner)
                    || (is_list && is_line && goes_on(lines, before, &unit)) =>
            {
                is_list &= is_line && before.last + 1 == unit.first;
                let (symbol, is_new) = common(before, &unit, manner.separator, named_bytes < bytes);
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
                is_list = is_line;
                joined.push(unit);
            }
        }
    }
    joined
}

/// Whether a line right below goes on with a list of short definitions.
fn goes_on(lines: &Lines<'_>, before: &Unit, unit: &Unit) -> bool {
    before.last + 1 == unit.first && lines.fits(&(before.first..unit.last + 1), JOIN)
}

fn may_join(lines: &Lines<'_>, before: &Unit, unit: &Unit, manner: Manner) -> bool {
    let separator = manner.separator;
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
        // Clauses of a function, or parts of an implementation.
        (true, true) if before.symbol == unit.symbol => true,
        (true, true) => {
            let place = qualifier(unit, separator);
            (place.is_some() || manner.top == Top::Joined) && qualifier(before, separator) == place
        }
        (true, false) => qualifier(before, separator) == unit.symbol.as_deref(),
        (false, true) => before.symbol.as_deref() == qualifier(unit, separator),
        (false, false) => false,
    };
    same_place && lines.fits(&both, JOIN)
}

/// The symbol of two joined units, and whether it is the second one's: that of the only definition
/// unless a type's first lines outweigh it, else what their names share, else that of the larger.
fn common(before: &Unit, unit: &Unit, separator: &str, is_larger: bool) -> (Option<Rc<str>>, bool) {
    let defines = |unit: &Unit| unit.part == Part::Definition;
    match (defines(before), defines(unit)) {
        (false, true) if is_larger || before.symbol.is_none() => (unit.symbol.clone(), true),
        (false, false) | (true, true) if before.symbol == unit.symbol => {
            (unit.symbol.clone(), false)
        }
        (false, false) if is_larger => (unit.symbol.clone(), true),
        (true, false) | (false, _) => (before.symbol.clone(), false),
        (true, true) => match qualifier(unit, separator) {
            Some(shared) => (Some(Rc::from(shared)), false),
            None if is_larger => (unit.symbol.clone(), true),
            None => (before.symbol.clone(), false),
        },
    }
}

/// `a::b` of `a::b::c`.
fn qualifier<'a>(unit: &'a Unit, separator: &str) -> Option<&'a str> {
    let (qualifier, _) = unit.symbol.as_deref()?.rsplit_once(separator)?;
    (!qualifier.is_empty()).then_some(qualifier)
}

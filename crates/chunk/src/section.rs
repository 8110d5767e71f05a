//! Turns a text with headings into units: whole sections, or their paragraphs where a section is
//! too large.

mod heading;

use std::{ops::Range, rc::Rc};

use codeinfo_lang::{grammar::ConstructKind, language::HeadingStyle};

use self::heading::SectionHeading;
use super::{
    lines::LineIndex,
    size::CONTAINER,
    symbol,
    unit::{DefinitionSpan, TextUnit, UnitRole},
};

/// Returns the units of a text, in order, at most one on each line. A text without headings has
/// only paragraphs.
pub(super) fn build_units(style: HeadingStyle, lines: &LineIndex<'_>) -> Vec<TextUnit> {
    let headings = heading::find_headings(style, lines);
    let start_of = |at: usize| headings.get(at).map_or(lines.count(), |heading| heading.first);
    let mut units = Vec::new();
    add_paragraphs(lines, 0..start_of(0), None, &mut units);
    // Sections around the current one: level and symbol.
    let mut open: Vec<(usize, Rc<str>)> = Vec::new();
    let ends = find_section_ends(&headings);
    let mut at = 0;
    while let Some(heading) = headings.get(at) {
        while open.pop_if(|(level, _)| heading.level <= *level).is_some() {}
        let enclosing = open.last().map(|(_, symbol)| symbol.as_ref());
        let symbol = symbol::join_symbol(style.separator(), enclosing, &heading.name);
        let after = ends.get(at).copied().unwrap_or(headings.len());
        let section = lines.trim_blank_lines(heading.first..start_of(after));
        if lines.fits_within(&section, CONTAINER) {
            let last = section.end.max(heading.first + 1) - 1;
            // A heading without text leads the unit after it.
            let part = if last <= heading.last { UnitRole::Lead } else { UnitRole::Definition };
            units.push(TextUnit { first: heading.first, last, part, symbol: Some(symbol) });
            at = after;
            continue;
        }
        let first = heading.first;
        let last = heading.last;
        units.push(TextUnit {
            first,
            last,
            part: UnitRole::Lead,
            symbol: Some(Rc::clone(&symbol)),
        });
        add_paragraphs(lines, last + 1..start_of(at + 1), Some(&symbol), &mut units);
        open.push((heading.level, symbol));
        at += 1;
    }
    units
}

/// Returns every section, from its heading to the next heading of the same or a higher level.
pub(super) fn list_sections(style: HeadingStyle, lines: &LineIndex<'_>) -> Vec<DefinitionSpan> {
    let headings = heading::find_headings(style, lines);
    let ends = find_section_ends(&headings);
    let mut open: Vec<(usize, Rc<str>)> = Vec::new();
    let section = |(heading, end): (&SectionHeading, usize)| {
        while open.pop_if(|(level, _)| heading.level <= *level).is_some() {}
        let enclosing = open.last().map(|(_, symbol)| symbol.as_ref());
        let symbol = symbol::join_symbol(style.separator(), enclosing, &heading.name);
        open.push((heading.level, Rc::clone(&symbol)));
        let after = headings.get(end).map_or(lines.count(), |next| next.first);
        let last = lines.trim_blank_lines(heading.first..after).end.max(heading.last + 1) - 1;
        DefinitionSpan {
            line: heading.first,
            last,
            symbol,
            construct: ConstructKind::Container,
            is_cut: false,
            bases: Rc::default(),
        }
    };
    headings.iter().zip(ends).map(section).collect()
}

/// Returns, for each heading, the index of the next heading of the same or a higher level.
fn find_section_ends(headings: &[SectionHeading]) -> Vec<usize> {
    let mut ends = vec![headings.len(); headings.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        while let Some((_, before)) = open.pop_if(|(level, _)| heading.level <= *level) {
            if let Some(end) = ends.get_mut(before) {
                *end = at;
            }
        }
        open.push((heading.level, at));
    }
    ends
}

/// Adds the runs of lines between blank lines. A fenced block stays in one run.
fn add_paragraphs(
    lines: &LineIndex<'_>,
    range: Range<usize>,
    symbol: Option<&Rc<str>>,
    into: &mut Vec<TextUnit>,
) {
    let mut first = None;
    let mut fence: Option<&str> = None;
    let mut add = |first: usize, after: usize| {
        into.push(TextUnit {
            first,
            last: after - 1,
            part: UnitRole::Glue,
            symbol: symbol.cloned(),
        });
    };
    for line in range.clone() {
        let text = lines.text(line..line + 1).trim();
        match (fence, heading::parse_fence(text)) {
            (None, Some(opening)) => fence = Some(opening),
            (Some(opening), _) if heading::closes_fence(text, opening) => fence = None,
            _ => {}
        }
        match first {
            Some(start) if text.is_empty() && fence.is_none() => {
                add(start, line);
                first = None;
            }
            None if !text.is_empty() => first = Some(line),
            _ => {}
        }
    }
    if let Some(start) = first {
        add(start, range.end);
    }
}

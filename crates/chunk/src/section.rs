//! Turns a text with headings into units: whole sections, or the paragraphs of large ones.

use std::{ops::Range, rc::Rc};

use codeinfo_lang::language::HeadingStyle;

use super::{
    lines::{CONTAINER, LineIndex},
    symbol::{self, tidy_name},
    unit::{DefinitionSpan, TextUnit, UnitRole},
};

/// Returns the units of a text, in order, at most one a line; without headings, only paragraphs.
pub(super) fn build_units(style: HeadingStyle, lines: &LineIndex<'_>) -> Vec<TextUnit> {
    let headings = find_headings(style, lines);
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
        let (first, last) = (heading.first, heading.last);
        let lead = Some(Rc::clone(&symbol));
        units.push(TextUnit { first, last, part: UnitRole::Lead, symbol: lead });
        add_paragraphs(lines, last + 1..start_of(at + 1), Some(&symbol), &mut units);
        open.push((heading.level, symbol));
        at += 1;
    }
    units
}

/// Returns every section, from its heading to the next heading of the same or a higher level.
pub(super) fn list_sections(style: HeadingStyle, lines: &LineIndex<'_>) -> Vec<DefinitionSpan> {
    let headings = find_headings(style, lines);
    let ends = find_section_ends(&headings);
    let mut open: Vec<(usize, Rc<str>)> = Vec::new();
    let section = |(heading, end): (&SectionHeading, usize)| {
        while open.pop_if(|(level, _)| heading.level <= *level).is_some() {}
        let enclosing = open.last().map(|(_, symbol)| symbol.as_ref());
        let symbol = symbol::join_symbol(style.separator(), enclosing, &heading.name);
        open.push((heading.level, Rc::clone(&symbol)));
        let after = headings.get(end).map_or(lines.count(), |next| next.first);
        let last = lines.trim_blank_lines(heading.first..after).end.max(heading.last + 1) - 1;
        DefinitionSpan::container(heading.first, last, symbol)
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
        let symbol = symbol.cloned();
        into.push(TextUnit { first, last: after - 1, part: UnitRole::Glue, symbol });
    };
    for line in range.clone() {
        let text = lines.text(line..line + 1).trim();
        match (fence, parse_fence(text)) {
            (None, Some(opening)) => fence = Some(opening),
            (Some(opening), _) if closes_fence(text, opening) => fence = None,
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

const MAX_BYTES: usize = 400;
/// Maximum bytes of an underlined heading; longer lines are text.
const MAX_UNDERLINED: usize = 120;

#[derive(Debug)]
struct SectionHeading {
    first: usize,
    last: usize,
    /// Level, from 1 as the highest.
    level: usize,
    name: String,
}

fn find_headings(style: HeadingStyle, lines: &LineIndex<'_>) -> Vec<SectionHeading> {
    let mut scan = HeadingScanner { style, lines, underlines: Vec::new(), headings: Vec::new() };
    let mut fenced: Option<&str> = None;
    for line in count_front_matter_lines(style, lines)..lines.count() {
        let whole = lines.text(line..line + 1);
        let text = whole.get(..whole.floor_char_boundary(MAX_BYTES)).unwrap_or(whole);
        if matches!(style, HeadingStyle::Markdown | HeadingStyle::Asciidoc) {
            let trimmed = text.trim();
            match (fenced, parse_fence(trimmed)) {
                (Some(opening), _) => {
                    if closes_fence(trimmed, opening) {
                        fenced = None;
                    }
                    continue;
                }
                (None, Some(opening)) => {
                    fenced = Some(opening);
                    continue;
                }
                (None, None) => {}
            }
        }
        scan.scan_line(line, text);
    }
    scan.headings
}

fn parse_fence(text: &str) -> Option<&str> {
    ['`', '~', '-'].iter().find_map(|mark| {
        let end = text.find(|c| c != *mark).unwrap_or(text.len());
        let min_marks = if *mark == '-' { 4 } else { 3 };
        let is_fence = min_marks <= end && (*mark == '~' || !text.get(end..)?.contains(*mark));
        // Dashes are never a fence here: they are a rule or an underline.
        (is_fence && *mark != '-').then(|| text.get(..end)).flatten()
    })
}

fn closes_fence(text: &str, opening: &str) -> bool {
    let mark = opening.chars().next().unwrap_or('`');
    opening.len() <= text.len() && text.chars().all(|c| c == mark)
}

fn count_front_matter_lines(style: HeadingStyle, lines: &LineIndex<'_>) -> usize {
    let is_rule = |line: usize| lines.text(line..line + 1).trim_end() == "---";
    if style != HeadingStyle::Markdown || lines.count() == 0 || !is_rule(0) {
        return 0;
    }
    (1..lines.count().min(100)).find(|line| is_rule(*line)).map_or(0, |line| line + 1)
}

struct HeadingScanner<'a> {
    style: HeadingStyle,
    lines: &'a LineIndex<'a>,
    /// Underline marks, highest level first; true if the heading also has an overline.
    underlines: Vec<(char, bool)>,
    headings: Vec<SectionHeading>,
}

impl HeadingScanner<'_> {
    fn scan_line(&mut self, line: usize, text: &str) {
        let found = match self.style {
            HeadingStyle::Markdown => {
                parse_marked(text.trim_start(), '#').or_else(|| self.parse_setext(line, text))
            }
            HeadingStyle::Underlined => self.parse_underlined(line, text),
            HeadingStyle::Asciidoc => parse_marked(text, '='),
            HeadingStyle::Latex => parse_latex(text.trim_start()),
            HeadingStyle::Tables => parse_table_header(text),
            HeadingStyle::Stages => parse_build_stage(text.trim_start()),
            HeadingStyle::Markup => parse_html_heading(text),
            HeadingStyle::Requests => parse_man_request(text),
        };
        let Some((level, name)) = found else { return };
        let Some(name) = tidy_name(&name) else { return };
        let is_under = matches!(self.style, HeadingStyle::Underlined)
            || (self.style == HeadingStyle::Markdown && !text.trim_start().starts_with('#'));
        let is_over = self.style == HeadingStyle::Underlined && self.is_overlined(line);
        let above = if is_over { 2 } else { usize::from(is_under) };
        let first = line.saturating_sub(above);
        if self.headings.last().is_none_or(|before| before.last < first) {
            self.headings.push(SectionHeading { first, last: line, level, name });
        }
    }

    /// Returns the level and the line above `===` or `---`, if that line is a paragraph of its own.
    fn parse_setext(&self, line: usize, text: &str) -> Option<(usize, String)> {
        let mark = text.chars().next().filter(|mark| matches!(mark, '=' | '-'))?;
        let title = self.read_title_above(line, text, mark)?;
        Some((if mark == '=' { 1 } else { 2 }, title))
    }

    fn parse_underlined(&mut self, line: usize, text: &str) -> Option<(usize, String)> {
        let mark = text.chars().next().filter(char::is_ascii_punctuation)?;
        let title = self.read_title_above(line, text, mark)?;
        let kind = (mark, self.is_overlined(line));
        let known = self.underlines.iter().position(|known| *known == kind);
        let place = known.unwrap_or_else(|| {
            self.underlines.push(kind);
            self.underlines.len() - 1
        });
        Some((place + 1, title))
    }

    fn is_overlined(&self, line: usize) -> bool {
        let text = |line: usize| self.lines.text(line..line + 1).trim_end();
        line.checked_sub(2).is_some_and(|over| !text(over).is_empty() && text(over) == text(line))
    }

    fn read_title_above(&self, line: usize, text: &str, mark: char) -> Option<String> {
        let underline = text.trim_end();
        let above = line.checked_sub(1)?;
        let title = self.lines.text(above..line).trim();
        let is_alone = above == 0 || {
            let before = self.lines.text(above - 1..above).trim();
            before.is_empty() || before.chars().all(|c| c == mark)
        };
        let is_rule = 2 < underline.len() && underline.chars().all(|c| c == mark);
        let is_title = title.contains(char::is_alphanumeric)
            && title.len() <= MAX_UNDERLINED
            && !title.starts_with(['|', '>', '-', '*', '#', '+']);
        (is_rule && is_alone && is_title).then(|| title.to_owned())
    }
}

/// Parses `## Usage ##`, with one to six marks.
fn parse_marked(text: &str, mark: char) -> Option<(usize, String)> {
    let level = text.find(|c| c != mark).unwrap_or(text.len());
    let rest = text.get(level..)?;
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    is_heading.then(|| (level, rest.trim().trim_end_matches(mark).to_owned()))
}

/// Parses `.SH "EXIT STATUS"`, or `.Ss` for a subsection.
fn parse_man_request(text: &str) -> Option<(usize, String)> {
    let (request, name) = text.strip_prefix('.')?.split_once(char::is_whitespace)?;
    let level = match request {
        "SH" | "Sh" => 1,
        "SS" | "Ss" => 2,
        _ => return None,
    };
    Some((level, name.trim().trim_matches('"').to_owned()))
}

fn parse_latex(text: &str) -> Option<(usize, String)> {
    const WORDS: &[&str] = &["part", "chapter", "section", "subsection", "subsubsection"];
    let (word, rest) = text.strip_prefix('\\')?.split_once('{')?;
    let level = WORDS.iter().position(|known| *known == word.trim_end_matches('*'))?;
    Some((level + 1, rest.split('}').next()?.to_owned()))
}

/// Parses `[a.b]` and `[[a.b]]`.
fn parse_table_header(text: &str) -> Option<(usize, String)> {
    let name = text.strip_prefix('[')?;
    let name = name.strip_prefix('[').unwrap_or(name);
    let (name, after) = name.split_once(']')?;
    let comment = after.trim_start_matches(']').trim_start();
    let is_heading = comment.is_empty() || comment.starts_with(['#', ';']);
    (is_heading && !name.is_empty()).then(|| (1, name.to_owned()))
}

/// Reads `build` from `FROM rust:1 AS build`, or the image if the stage has no name.
fn parse_build_stage(text: &str) -> Option<(usize, String)> {
    let mut words = text.split_whitespace();
    if !words.next()?.eq_ignore_ascii_case("FROM") {
        return None;
    }
    let image = words.find(|word| !word.starts_with("--"))?;
    let is_named = words.next().is_some_and(|word| word.eq_ignore_ascii_case("AS"));
    Some((1, words.next().filter(|_| is_named).unwrap_or(image).to_owned()))
}

/// Parses `<h2 id="usage">Usage</h2>` on one line.
fn parse_html_heading(text: &str) -> Option<(usize, String)> {
    let at = text.find("<h").or_else(|| text.find("<H"))?;
    let rest = text.get(at + 2..)?;
    let level = rest.chars().next()?.to_digit(10).filter(|level| (1..=6).contains(level))?;
    let content = rest.get(1..)?.strip_prefix(['>', ' '])?;
    let content =
        if rest.get(1..)?.starts_with('>') { content } else { content.split_once('>')?.1 };
    let end = content.find("</h").or_else(|| content.find("</H")).unwrap_or(content.len());
    let mut name = String::new();
    let mut is_tag = false;
    for character in content.get(..end)?.chars() {
        match character {
            '<' => is_tag = true,
            '>' => is_tag = false,
            character if !is_tag => name.push(character),
            _ => {}
        }
    }
    let name = name.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    (!name.trim().is_empty()).then_some((level as usize, name))
}

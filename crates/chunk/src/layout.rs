//! Turns a text into units by its layout alone: lines that are indented below a line belong to it.
//!
//! Formatted code shows its structure in every language; keywords mark the lines that start a
//! definition. This takes a hundredth of a parser's time, linear in the text.
//!
//! Code must be indented in the usual way. Otherwise chunks are runs of lines.

mod head;
mod shape;

use std::rc::Rc;

use codeinfo_lang::{
    comment::CommentSyntax,
    grammar::ConstructKind,
    layout::{self, DefinitionStyle, LayoutRules},
};

use self::{
    head::{DefinitionHead, EnclosingScope},
    shape::{LayoutLineKind, TextShape},
};
use super::{
    lines::{CONTAINER, LineIndex, NAMED_VALUE_LINES, WHOLE},
    symbol,
    unit::{DefinitionSpan, TextStructure, TextUnit, UnitRole},
    window::TARGET,
};

/// Maximum lines of a definition's header until its brackets close.
const MAX_HEADER_LINES: usize = 30;

#[derive(Clone)]
struct OpenBlock {
    last: usize,
    symbol: Option<Rc<str>>,
    place: EnclosingScope,
}

pub(super) fn read_structure(
    layout: &LayoutRules,
    comments: &CommentSyntax,
    lines: &LineIndex<'_>,
) -> TextStructure {
    let shape = TextShape::new(layout, comments, lines);
    let read = TextStructure::default();
    let mut reader = LayoutReader { layout, lines, shape: &shape, read, paragraph: false };
    let mut open: Vec<OpenBlock> = Vec::new();
    let mut at = 0;
    while at < lines.count() {
        while open.last().is_some_and(|open| open.last < at) {
            open.pop();
        }
        let (symbol, place) = match open.last() {
            Some(open) => (open.symbol.clone(), open.place),
            None => (None, EnclosingScope::Outside),
        };
        let (after, opened) = reader.read_from_line(at, symbol.as_ref(), place);
        open.extend(opened);
        at = after;
    }
    reader.read
}

/// Returns the name that a line without its indentation defines, in any language, by its words.
pub(super) fn find_defined_name(line: &str) -> Option<String> {
    let head = head::parse_head(&layout::ANY, line, EnclosingScope::Type, true)?;
    let is_local = matches!(head.construct, ConstructKind::Value | ConstructKind::Label);
    head.defines.filter(|_| !is_local)
}

struct LayoutReader<'a> {
    layout: &'a LayoutRules,
    lines: &'a LineIndex<'a>,
    shape: &'a TextShape,
    read: TextStructure,
    /// True if the last unit is a run of single lines that may continue.
    paragraph: bool,
}

impl LayoutReader<'_> {
    /// Reads the unit at a line. Returns the line after it, and the block opened there, if any.
    fn read_from_line(
        &mut self,
        at: usize,
        symbol: Option<&Rc<str>>,
        place: EnclosingScope,
    ) -> (usize, Option<OpenBlock>) {
        let kind = self.shape.kind(at);
        if kind == LayoutLineKind::Blank {
            self.paragraph = false;
            return (at + 1, None);
        }
        let text = self.lines.text(at..at + 1).trim_start();
        let last = self.shape.last_line(at);
        let head = match kind {
            LayoutLineKind::Plain => head::parse_head(self.layout, text, place, at < last),
            LayoutLineKind::Lead if text.starts_with('@') || text.starts_with("#[") => {
                head::parse_head(self.layout, text, place, at < last)
            }
            _ => None,
        };
        match head {
            Some(head) if head.construct == ConstructKind::Label => {
                self.push_definition(at, &head, symbol, false);
            }
            Some(head) => return self.read_definition(at, last, &head, symbol),
            None => {}
        }
        match kind {
            LayoutLineKind::Lead => self.read_lead(at, last, text, symbol),
            _ if at == last => self.read_single_line(at, kind, symbol),
            _ if self.lines.fits_within(&(at..last + 1), WHOLE) => {
                self.add_inner_definitions(at, last, symbol, EnclosingScope::Code);
                self.push_unit(at, last, UnitRole::Glue, symbol.cloned());
                (last + 1, None)
            }
            _ => self.open_block(at, last, symbol.cloned(), place),
        }
    }

    fn read_definition(
        &mut self,
        at: usize,
        last: usize,
        head: &DefinitionHead,
        enclosing: Option<&Rc<str>>,
    ) -> (usize, Option<OpenBlock>) {
        let construct = head.construct;
        let max_size = if construct == ConstructKind::Container { CONTAINER } else { WHOLE };
        let opens = at < last
            && (construct == ConstructKind::Scope
                || !self.lines.fits_within(&(at..last + 1), max_size));
        self.push_definition(at, head, enclosing, opens && construct != ConstructKind::Scope);
        if construct == ConstructKind::Value && last - at + 1 < NAMED_VALUE_LINES {
            if at == last {
                return self.read_single_line(at, LayoutLineKind::Plain, enclosing);
            }
            self.push_unit(at, last, UnitRole::Glue, enclosing.cloned());
            return (last + 1, None);
        }
        let named = self.qualify_name(enclosing, &head.name);
        if opens {
            let place = if construct == ConstructKind::Definition {
                EnclosingScope::Code
            } else {
                EnclosingScope::Type
            };
            return self.open_block(at, last, Some(named), place);
        }
        let place = if construct == ConstructKind::Container {
            EnclosingScope::Type
        } else {
            EnclosingScope::Code
        };
        self.add_inner_definitions(at, last, Some(&named), place);
        let continues_equations = self.layout.shows == DefinitionStyle::Equations
            && self.read.units.last().is_some_and(|before| {
                before.symbol.as_ref() == Some(&named)
                    && self.lines.fits_within(&(before.first..last + 1), WHOLE)
            });
        match self.read.units.last_mut().filter(|_| continues_equations) {
            Some(before) => before.last = last,
            None => self.push_unit(at, last, UnitRole::Definition, Some(named)),
        }
        (last + 1, None)
    }

    /// Adds the definitions inside a whole block, unless the language only has keys or selectors.
    fn add_inner_definitions(
        &mut self,
        at: usize,
        last: usize,
        symbol: Option<&Rc<str>>,
        place: EnclosingScope,
    ) {
        if matches!(self.layout.shows, DefinitionStyle::Keys | DefinitionStyle::Selectors) {
            return;
        }
        let mut open = vec![OpenBlock { last, symbol: symbol.cloned(), place }];
        for line in at + 1..=last {
            while open.pop_if(|inner| inner.last < line).is_some() {}
            let Some(OpenBlock { symbol, place, .. }) = open.last().cloned() else { return };
            let end = self.shape.last_line(line);
            let text = self.lines.text(line..line + 1).trim_start();
            let is_plain = self.shape.kind(line) == LayoutLineKind::Plain;
            let head =
                is_plain.then(|| head::parse_head(self.layout, text, place, line < end)).flatten();
            if let Some(head) = head {
                self.push_definition(line, &head, symbol.as_ref(), false);
                let is_type = head.construct == ConstructKind::Container;
                let place = if is_type { EnclosingScope::Type } else { EnclosingScope::Code };
                let symbol = Some(self.qualify_name(symbol.as_ref(), &head.name));
                open.push(OpenBlock { last: end, symbol, place });
            } else if line < end {
                open.push(OpenBlock { last: end, symbol, place: EnclosingScope::Code });
            }
        }
    }

    fn push_definition(
        &mut self,
        line: usize,
        head: &DefinitionHead,
        enclosing: Option<&Rc<str>>,
        is_cut: bool,
    ) {
        if let Some(name) = &head.defines {
            let symbol = self.qualify_name(enclosing, name);
            let last = self.shape.last_line(line);
            self.read.definitions.push(DefinitionSpan {
                line,
                last,
                symbol,
                construct: head.construct,
                is_cut,
                bases: Rc::default(),
            });
        }
    }

    fn qualify_name(&self, enclosing: Option<&Rc<str>>, name: &str) -> Rc<str> {
        symbol::join_symbol(self.layout.separator, enclosing.map(AsRef::as_ref), name)
    }

    /// Reads a comment or an attribute with its continuation lines.
    fn read_lead(
        &mut self,
        at: usize,
        last: usize,
        text: &str,
        symbol: Option<&Rc<str>>,
    ) -> (usize, Option<OpenBlock>) {
        let is_open = text.trim_end().ends_with(['(', '[', '{', ',']);
        let end = if is_open && self.lines.fits_within(&(at..last + 1), TARGET) {
            last
        } else {
            self.shape.inner_last(at)
        };
        self.push_unit(at, end, UnitRole::Lead, symbol.cloned());
        (end + 1, None)
    }

    /// Reads a line with nothing below it, which ends a block or continues the lines above.
    fn read_single_line(
        &mut self,
        at: usize,
        kind: LayoutLineKind,
        symbol: Option<&Rc<str>>,
    ) -> (usize, Option<OpenBlock>) {
        if kind == LayoutLineKind::Closing {
            self.push_unit(at, at, UnitRole::Closing, symbol.cloned());
            return (at + 1, None);
        }
        let paragraph = self.paragraph;
        match self.read.units.last_mut() {
            Some(before)
                if paragraph
                    && before.last + 1 == at
                    && before.symbol.as_ref() == symbol
                    && self.lines.fits_within(&(before.first..at + 1), TARGET) =>
            {
                before.last = at;
            }
            _ => self.push_unit(at, at, UnitRole::Glue, symbol.cloned()),
        }
        self.paragraph = true;
        (at + 1, None)
    }

    /// Emits the first lines of a block and opens it, so that the rest is read line by line.
    fn open_block(
        &mut self,
        at: usize,
        last: usize,
        symbol: Option<Rc<str>>,
        place: EnclosingScope,
    ) -> (usize, Option<OpenBlock>) {
        let end = self.find_header_end(at, last);
        self.push_unit(at, end, UnitRole::Opening, symbol.clone());
        (end + 1, Some(OpenBlock { last, symbol, place }))
    }

    /// Returns the last line of a header, where its brackets close, or a line that is only `{`.
    fn find_header_end(&self, at: usize, last: usize) -> usize {
        let max_last = last.min(at + MAX_HEADER_LINES);
        let text = |line: usize| self.lines.text(line..line + 1).trim();
        let closing = |after: usize| {
            (after + 1..=max_last).find(|line| {
                self.shape.kind(*line) != LayoutLineKind::Blank
                    && self.shape.depth(*line) <= self.shape.depth(at) + 1
            })
        };
        let next =
            || (at + 1..=max_last).find(|line| self.shape.kind(*line) != LayoutLineKind::Blank);
        if text(at).ends_with(['(', ',', '<']) {
            let found = closing(at).filter(|line| text(*line).starts_with([')', '>', ']']));
            return found.unwrap_or(at);
        }
        next().filter(|line| text(*line) == "{").unwrap_or(at)
    }

    fn push_unit(&mut self, first: usize, last: usize, part: UnitRole, symbol: Option<Rc<str>>) {
        self.paragraph = false;
        self.read.units.push(TextUnit { first, last, part, symbol });
    }
}

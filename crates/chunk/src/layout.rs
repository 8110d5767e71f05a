//! Turns a text into units by its layout alone: what is indented below a line belongs to it.
//!
//! Formatted code shows its structure so, whatever the language; the words of each say which lines
//! start a definition. This takes no parser, a hundredth of a parser's time, and time in proportion
//! to the text for any text.
//!
//! This needs code that is indented as people do; where it is not, chunks are runs of lines.

mod head;
mod shape;

use std::rc::Rc;

use codeinfo_lang::{
    comment::Comments,
    grammar::Construct,
    layout::{self, Layout, Style},
};

use self::{
    head::{Head, Place},
    shape::{Kind, Shape},
};
use super::{
    lines::Lines,
    size::{CONTAINER, NAMED_VALUE_LINES, WHOLE},
    symbol,
    unit::{Definition, Part, Structure, Unit},
    window::TARGET,
};

/// The first line of a definition may go on over this many lines until its brackets close.
const MAX_HEADER_LINES: usize = 30;

/// A block that is read line by line.
#[derive(Clone)]
struct Open {
    last: usize,
    symbol: Option<Rc<str>>,
    place: Place,
}

/// Returns the structure of a text.
pub(super) fn structure(layout: &Layout, comments: &Comments, lines: &Lines<'_>) -> Structure {
    let shape = Shape::of(layout, comments, lines);
    let read = Structure::default();
    let mut reader = Reader { layout, lines, shape: &shape, read, paragraph: false };
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while at < lines.count() {
        while open.last().is_some_and(|open| open.last < at) {
            open.pop();
        }
        let (symbol, place) = match open.last() {
            Some(open) => (open.symbol.clone(), open.place),
            None => (None, Place::Outside),
        };
        let (after, opened) = reader.read(at, symbol.as_ref(), place);
        open.extend(opened);
        at = after;
    }
    reader.read
}

/// Returns what a line of any language defines, without its indentation, by the word it starts with.
pub(super) fn defined(line: &str) -> Option<String> {
    let head = head::head(&layout::ANY, line, Place::Type, true)?;
    let is_local = matches!(head.construct, Construct::Value | Construct::Label);
    head.defines.filter(|_| !is_local)
}

struct Reader<'a> {
    layout: &'a Layout,
    lines: &'a Lines<'a>,
    shape: &'a Shape,
    read: Structure,
    /// Whether the last unit is a run of single lines that may go on.
    paragraph: bool,
}

impl Reader<'_> {
    /// Reads what starts at a line; returns the line after, and the block opened there, if any.
    fn read(&mut self, at: usize, symbol: Option<&Rc<str>>, place: Place) -> (usize, Option<Open>) {
        let kind = self.shape.kind(at);
        if kind == Kind::Blank {
            self.paragraph = false;
            return (at + 1, None);
        }
        let text = self.lines.text(at..at + 1).trim_start();
        let last = self.shape.last(at);
        let head = match kind {
            Kind::Plain => head::head(self.layout, text, place, at < last),
            Kind::Lead if text.starts_with('@') || text.starts_with("#[") => {
                head::head(self.layout, text, place, at < last)
            }
            _ => None,
        };
        match head {
            Some(head) if head.construct == Construct::Label => {
                self.define(at, &head, symbol, false);
            }
            Some(head) => return self.definition(at, last, &head, symbol),
            None => {}
        }
        match kind {
            Kind::Lead => self.lead(at, last, text, symbol),
            _ if at == last => self.line(at, kind, symbol),
            _ if self.lines.fits(&(at..last + 1), WHOLE) => {
                self.inside(at, last, (symbol, Place::Code));
                self.unit(at, last, Part::Glue, symbol.cloned());
                (last + 1, None)
            }
            _ => self.open(at, last, symbol.cloned(), place),
        }
    }

    fn definition(
        &mut self,
        at: usize,
        last: usize,
        head: &Head,
        enclosing: Option<&Rc<str>>,
    ) -> (usize, Option<Open>) {
        let construct = head.construct;
        let most = if construct == Construct::Container { CONTAINER } else { WHOLE };
        let opens =
            at < last && (construct == Construct::Scope || !self.lines.fits(&(at..last + 1), most));
        self.define(at, head, enclosing, opens && construct != Construct::Scope);
        if construct == Construct::Value && last - at + 1 < NAMED_VALUE_LINES {
            if at == last {
                return self.line(at, Kind::Plain, enclosing);
            }
            self.unit(at, last, Part::Glue, enclosing.cloned());
            return (last + 1, None);
        }
        let named = self.named(enclosing, &head.name);
        if opens {
            let place = if construct == Construct::Definition { Place::Code } else { Place::Type };
            return self.open(at, last, Some(named), place);
        }
        let place = if construct == Construct::Container { Place::Type } else { Place::Code };
        self.inside(at, last, (Some(&named), place));
        let goes_on = self.layout.shows == Style::Equations
            && self.read.units.last().is_some_and(|before| {
                before.symbol.as_ref() == Some(&named)
                    && self.lines.fits(&(before.first..last + 1), WHOLE)
            });
        match self.read.units.last_mut().filter(|_| goes_on) {
            Some(before) => before.last = last,
            None => self.unit(at, last, Part::Definition, Some(named)),
        }
        (last + 1, None)
    }

    /// Adds the definitions inside a block that stays whole, unless it holds settings.
    fn inside(&mut self, at: usize, last: usize, (symbol, place): (Option<&Rc<str>>, Place)) {
        if matches!(self.layout.shows, Style::Keys | Style::Selectors) {
            return;
        }
        let mut open = vec![Open { last, symbol: symbol.cloned(), place }];
        for line in at + 1..=last {
            while open.pop_if(|inner| inner.last < line).is_some() {}
            let Some(Open { symbol, place, .. }) = open.last().cloned() else { return };
            let end = self.shape.last(line);
            let text = self.lines.text(line..line + 1).trim_start();
            let is_plain = self.shape.kind(line) == Kind::Plain;
            let head = is_plain.then(|| head::head(self.layout, text, place, line < end)).flatten();
            if let Some(head) = head {
                self.define(line, &head, symbol.as_ref(), false);
                let is_type = head.construct == Construct::Container;
                let place = if is_type { Place::Type } else { Place::Code };
                let symbol = Some(self.named(symbol.as_ref(), &head.name));
                open.push(Open { last: end, symbol, place });
            } else if line < end {
                open.push(Open { last: end, symbol, place: Place::Code });
            }
        }
    }

    fn define(&mut self, line: usize, head: &Head, enclosing: Option<&Rc<str>>, is_cut: bool) {
        if let Some(name) = &head.defines {
            let symbol = self.named(enclosing, name);
            let last = self.shape.last(line);
            let (construct, bases) = (head.construct, Rc::default());
            self.read.definitions.push(Definition { line, last, symbol, construct, is_cut, bases });
        }
    }

    fn named(&self, enclosing: Option<&Rc<str>>, name: &str) -> Rc<str> {
        symbol::joined(self.layout.separator, enclosing.map(AsRef::as_ref), name)
    }

    /// A comment or an attribute, with the lines it goes on over.
    fn lead(
        &mut self,
        at: usize,
        last: usize,
        text: &str,
        symbol: Option<&Rc<str>>,
    ) -> (usize, Option<Open>) {
        let is_open = text.trim_end().ends_with(['(', '[', '{', ',']);
        let end = if is_open && self.lines.fits(&(at..last + 1), TARGET) {
            last
        } else {
            self.shape.inner_last(at)
        };
        self.unit(at, end, Part::Lead, symbol.cloned());
        (end + 1, None)
    }

    /// A line with nothing below it: ends a block, or goes on with the lines above.
    fn line(&mut self, at: usize, kind: Kind, symbol: Option<&Rc<str>>) -> (usize, Option<Open>) {
        if kind == Kind::Closing {
            self.unit(at, at, Part::Closing, symbol.cloned());
            return (at + 1, None);
        }
        let paragraph = self.paragraph;
        match self.read.units.last_mut() {
            Some(before)
                if paragraph
                    && before.last + 1 == at
                    && before.symbol.as_ref() == symbol
                    && self.lines.fits(&(before.first..at + 1), TARGET) =>
            {
                before.last = at;
            }
            _ => self.unit(at, at, Part::Glue, symbol.cloned()),
        }
        self.paragraph = true;
        (at + 1, None)
    }

    /// Emits the first lines of a block, and has the rest read line by line.
    fn open(
        &mut self,
        at: usize,
        last: usize,
        symbol: Option<Rc<str>>,
        place: Place,
    ) -> (usize, Option<Open>) {
        let end = self.header_last(at, last);
        self.unit(at, end, Part::Opening, symbol.clone());
        (end + 1, Some(Open { last, symbol, place }))
    }

    /// Returns the last line of a header: where its brackets close, or where `{` stands alone.
    fn header_last(&self, at: usize, last: usize) -> usize {
        let most = last.min(at + MAX_HEADER_LINES);
        let text = |line: usize| self.lines.text(line..line + 1).trim();
        let closing = |after: usize| {
            (after + 1..=most).find(|line| {
                self.shape.kind(*line) != Kind::Blank
                    && self.shape.depth(*line) <= self.shape.depth(at) + 1
            })
        };
        let next = || (at + 1..=most).find(|line| self.shape.kind(*line) != Kind::Blank);
        if text(at).ends_with(['(', ',', '<']) {
            let found = closing(at).filter(|line| text(*line).starts_with([')', '>', ']']));
            return found.unwrap_or(at);
        }
        next().filter(|line| text(*line) == "{").unwrap_or(at)
    }

    fn unit(&mut self, first: usize, last: usize, part: Part, symbol: Option<Rc<str>>) {
        self.paragraph = false;
        self.read.units.push(Unit { first, last, part, symbol });
    }
}

//! Structure of a text: the units that are packed into chunks, and the definitions in them.

use std::rc::Rc;

use codeinfo_lang::grammar::ConstructKind;

/// A run of whole lines that belong together.
#[derive(Debug, Clone)]
pub(super) struct TextUnit {
    /// Lines count from 0; the last one is inclusive.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) part: UnitRole,
    pub(super) symbol: Option<Rc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitRole {
    Definition,
    /// Imports, statements, fields, text.
    Glue,
    /// A comment or attribute, which joins the next unit when it is near.
    Lead,
    /// The first lines of an opened node or block, which join the next unit.
    Opening,
    /// The last line of an opened node or block, which joins the unit before.
    Closing,
}

#[derive(Debug, Clone)]
pub(super) struct DefinitionSpan {
    /// First line, counted from 0, without comments and attributes.
    pub(super) line: usize,
    /// Last line, inclusive; may lie before the real end where that is unknown.
    pub(super) last: usize,
    pub(super) symbol: Rc<str>,
    pub(super) construct: ConstructKind,
    /// True if the definition is too large for one unit.
    pub(super) is_cut: bool,
    /// Types that the enclosing type, or the definition itself, extends or implements.
    pub(super) bases: Rc<[String]>,
}

impl DefinitionSpan {
    pub(super) fn container(line: usize, last: usize, symbol: Rc<str>) -> Self {
        let construct = ConstructKind::Container;
        Self { line, last, symbol, construct, is_cut: false, bases: Rc::default() }
    }
}

#[derive(Debug, Default)]
pub(super) struct TextStructure {
    /// Units in order, at most one on each line.
    pub(super) units: Vec<TextUnit>,
    pub(super) definitions: Vec<DefinitionSpan>,
}

impl TextStructure {
    pub(super) fn shift_lines(&mut self, by: usize) {
        for unit in &mut self.units {
            unit.first += by;
            unit.last += by;
        }
        for definition in &mut self.definitions {
            definition.line += by;
            definition.last += by;
        }
    }
}

impl From<Vec<TextUnit>> for TextStructure {
    /// Each named unit that is a definition becomes one; so does a named lead, which is a heading.
    fn from(units: Vec<TextUnit>) -> Self {
        let defines = |unit: &&TextUnit| matches!(unit.part, UnitRole::Definition | UnitRole::Lead);
        let starts = units.iter().filter(defines).filter_map(|unit| {
            let symbol = Rc::clone(unit.symbol.as_ref()?);
            Some(DefinitionSpan::container(unit.first, unit.last, symbol))
        });
        Self { definitions: starts.collect(), units }
    }
}

//! Structure of a text: its units, which are packed into chunks, and the definitions that start in
//! them.

use std::rc::Rc;

use codeinfo_lang::grammar::ConstructKind;

/// A run of whole lines that belong together.
#[derive(Debug, Clone)]
pub(super) struct TextUnit {
    /// First line, counted from 0.
    pub(super) first: usize,
    /// Last line, inclusive.
    pub(super) last: usize,
    pub(super) part: UnitRole,
    pub(super) symbol: Option<Rc<str>>,
}

/// Role of a unit among its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitRole {
    /// A whole definition, with or without its comments and attributes.
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

/// Lines and name of a definition.
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

#[derive(Debug, Default)]
pub(super) struct TextStructure {
    /// Units in order, at most one on each line.
    pub(super) units: Vec<TextUnit>,
    /// Definitions in the order of their lines.
    pub(super) definitions: Vec<DefinitionSpan>,
}

impl TextStructure {
    /// Moves all lines down by `by` lines.
    pub(super) fn move_down(&mut self, by: usize) {
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
    /// Makes a definition of each named unit that is a definition or a heading.
    fn from(units: Vec<TextUnit>) -> Self {
        let defines = |unit: &&TextUnit| matches!(unit.part, UnitRole::Definition | UnitRole::Lead);
        let starts = units.iter().filter(defines).filter_map(|unit| {
            let symbol = Rc::clone(unit.symbol.as_ref()?);
            Some(DefinitionSpan {
                line: unit.first,
                last: unit.last,
                symbol,
                construct: ConstructKind::Container,
                is_cut: false,
                bases: Rc::default(),
            })
        });
        Self { definitions: starts.collect(), units }
    }
}

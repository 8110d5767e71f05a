//! What a text is made of: units, which are packed into chunks, and the definitions that start in them.

use std::rc::Rc;

use codeinfo_lang::grammar::ConstructKind;

/// A run of whole lines that belongs together.
#[derive(Debug, Clone)]
pub(super) struct TextUnit {
    /// First line, counted from 0.
    pub(super) first: usize,
    /// Last line, inclusive.
    pub(super) last: usize,
    pub(super) part: UnitRole,
    pub(super) symbol: Option<Rc<str>>,
}

/// What a unit is to its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitRole {
    /// A whole definition, or one with what leads it.
    Definition,
    /// Imports, statements, fields, text.
    Glue,
    /// A comment or attribute: goes with the next unit when it is near.
    Lead,
    /// The first lines of something opened: goes with the next unit.
    Opening,
    /// The last line of something opened: goes with the unit before.
    Closing,
}

/// Where a definition starts.
#[derive(Debug, Clone)]
pub(super) struct DefinitionSpan {
    /// Its first line, counted from 0, without comments and attributes.
    pub(super) line: usize,
    /// Its last line, as far as that is known.
    pub(super) last: usize,
    pub(super) symbol: Rc<str>,
    pub(super) construct: ConstructKind,
    /// Whether it is too large for one unit.
    pub(super) is_cut: bool,
    /// What the type that it is, or is in, extends or implements.
    pub(super) bases: Rc<[String]>,
}

/// The structure of a text.
#[derive(Debug, Default)]
pub(super) struct TextStructure {
    /// In order, no two on one line.
    pub(super) units: Vec<TextUnit>,
    /// In order of their lines.
    pub(super) definitions: Vec<DefinitionSpan>,
}

impl TextStructure {
    /// Moves everything down by so many lines.
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
    /// Takes each unit that is a definition, or the heading of one, as the start of what it is named after.
    fn from(units: Vec<TextUnit>) -> Self {
        let defines = |unit: &&TextUnit| matches!(unit.part, UnitRole::Definition | UnitRole::Lead);
        let starts = units.iter().filter(defines).filter_map(|unit| {
            let symbol = Rc::clone(unit.symbol.as_ref()?);
            let (line, last) = (unit.first, unit.last);
            let (construct, bases) = (ConstructKind::Container, Rc::default());
            Some(DefinitionSpan { line, last, symbol, construct, is_cut: false, bases })
        });
        Self { definitions: starts.collect(), units }
    }
}

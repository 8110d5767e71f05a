//! Values of expressions and targets of names, with the rules that led to them.

use std::collections::HashMap;

use super::{DefinitionId, ResolutionRule};
use crate::modules::FileIndex;
use codeinfo_facts::ScopeIndex;

/// Maximum values of an expression that are followed.
pub(super) const MAX_VALUES: usize = 6;

/// Maximum values in one another that are followed; larger values are external.
const MAX_PARTS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ScopeId {
    pub(super) file: FileIndex,
    pub(super) index: ScopeIndex,
}

impl ScopeId {
    pub(super) fn with_index(self, index: ScopeIndex) -> Self {
        Self { file: self.file, index }
    }
}

/// Value of an expression, with what members and calls of it need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpressionValue {
    /// A function, with the type through which it was found.
    Function(DefinitionId, Option<DefinitionId>),
    Type(DefinitionId),
    Instance(DefinitionId),
    Bases(DefinitionId),
    /// An object whose members the body of its definition has.
    Object(DefinitionId),
    /// An object without a name, whose members a scope has.
    Members(ScopeId),
    /// A container, iterator or promise of values.
    Holder(Vec<ExpressionValue>),
    Mapping(Vec<ExpressionValue>),
    /// A function of a type: its first parameters and its result.
    Signature(Vec<Vec<ExpressionValue>>, Vec<ExpressionValue>),
    Tuple(Vec<Vec<ExpressionValue>>),
    /// A type variable of Python, of which the facts do not tell the type.
    Variable(DefinitionId),
    Module(FileIndex),
    /// A package without a file of its own, by its path.
    Folder(String),
    External,
}

/// Values of an expression, each with the weakest rule that led to it.
pub(super) type Values = Vec<(ExpressionValue, ResolutionRule)>;

/// Meaning of a name or member.
#[derive(Debug, Clone)]
pub(super) enum NameTarget {
    /// A definition, with the type through which it was found.
    Definition(DefinitionId, Option<DefinitionId>),
    Module(FileIndex),
    Folder(String),
    /// A binding of a scope, by its place among the sorted bindings: a local variable.
    Binding(ScopeIndex, u32),
    External,
}

/// Targets of an expression, each with the weakest rule that led to it.
pub(super) type Targets = Vec<(NameTarget, ResolutionRule)>;

pub(super) fn add_value(values: &mut Values, value: ExpressionValue, rule: ResolutionRule) {
    if let Some((_, known)) = values.iter_mut().find(|(known, _)| *known == value) {
        *known = (*known).min(rule);
    } else if values.len() < MAX_VALUES {
        let is_small = count_parts(&value, MAX_PARTS) < MAX_PARTS;
        values.push((if is_small { value } else { ExpressionValue::External }, rule));
    }
}

/// Returns the number of values in a value, itself included, at most a maximum.
fn count_parts(value: &ExpressionValue, max_parts: usize) -> usize {
    let count_all = |count: usize, part: &ExpressionValue| match max_parts.saturating_sub(count) {
        0 => count,
        left => count + count_parts(part, left),
    };
    match value {
        ExpressionValue::Holder(held) | ExpressionValue::Mapping(held) => {
            held.iter().fold(1, count_all)
        }
        ExpressionValue::Tuple(parts) => parts.iter().flatten().fold(1, count_all),
        ExpressionValue::Signature(parameters, result) => {
            parameters.iter().flatten().chain(result).fold(1, count_all)
        }
        _ => 1,
    }
}

/// Adds values that were reached through another one.
pub(super) fn add_values(values: &mut Values, new_values: Values, rule: ResolutionRule) {
    for (value, step) in new_values {
        add_value(values, value, rule.max(step));
    }
}

pub(super) fn add_held(values: &mut Values, held: Vec<ExpressionValue>, rule: ResolutionRule) {
    for value in held {
        add_value(values, value, rule);
    }
}

/// Makes the rule of each entry at least as weak as a step.
pub(super) fn weaken<T>(entries: &mut [(T, ResolutionRule)], step: ResolutionRule) {
    for (_, rule) in entries {
        *rule = (*rule).max(step);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExtensionId {
    pub(super) file: FileIndex,
    pub(super) index: u32,
}

#[derive(Default)]
pub(super) struct UnitIndex {
    pub(super) names: HashMap<String, Vec<DefinitionId>>,
    /// Files whose star imports other files have.
    pub(super) global_importers: Vec<FileIndex>,
    /// Extensions by the last name of their types.
    pub(super) extensions: HashMap<String, Vec<ExtensionId>>,
}

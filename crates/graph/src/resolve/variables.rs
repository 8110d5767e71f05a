//! Binds type variables of Python to the types that arguments give them.

use std::cell::OnceCell;

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    containers::is_type_of_type,
    value::{ExpressionValue, MAX_VALUES, ScopeId, Values, add_value},
};
use codeinfo_facts::{DefinitionFact, DefinitionKind, ShortExpression};

impl SymbolGraph {
    /// Binds variables in the results of a function by the arguments of a call.
    pub(super) fn bind_arguments(
        &self,
        results: Values,
        function: DefinitionId,
        scope: ScopeId,
        arguments: &[ShortExpression],
    ) -> Values {
        let bound = OnceCell::new();
        let find_bound = || self.match_arguments(function, scope, arguments);
        replace_variables(results, &|variable| {
            let values = bound.get_or_init(find_bound).iter();
            let of_variable = values.filter(|(known, _)| *known == variable).take(MAX_VALUES);
            of_variable.map(|(_, value)| value.clone()).collect()
        })
    }

    /// Returns what the arguments of a call have where parameters have variables.
    fn match_arguments(
        &self,
        function: DefinitionId,
        scope: ScopeId,
        arguments: &[ShortExpression],
    ) -> Vec<(DefinitionId, ExpressionValue)> {
        let mut bound = Vec::new();
        let Some(fact) = self.definition(function) else { return bound };
        let inside = ScopeId { file: function.file, index: fact.body.unwrap_or(fact.scope) };
        for (parameter, argument) in fact.parameters.iter().zip(arguments) {
            let given = if is_type_of_type(parameter) {
                self.evaluate_annotation(scope, argument, ResolutionRule::Result)
            } else {
                self.evaluate(scope, argument)
            };
            for expected in &self.evaluate_instances(inside, parameter) {
                for (given, _) in &given {
                    self.match_variables(expected, given, &mut bound);
                }
            }
        }
        bound
    }

    /// Adds the values that a given value has where the expected one has variables.
    fn match_variables(
        &self,
        expected: &ExpressionValue,
        given: &ExpressionValue,
        bound: &mut Vec<(DefinitionId, ExpressionValue)>,
    ) {
        match (expected, given) {
            (ExpressionValue::Variable(id), given) => bound.push((*id, given.clone())),
            (ExpressionValue::Holder(expected), ExpressionValue::Holder(given))
            | (ExpressionValue::Mapping(expected), ExpressionValue::Mapping(given)) => {
                for (expected, given) in expected.iter().zip(given) {
                    self.match_variables(expected, given, bound);
                }
            }
            (ExpressionValue::Signature(_, expected), given) => {
                for (result, _) in self.call_value(given) {
                    for expected in expected {
                        self.match_variables(expected, &result, bound);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns true for a variable that is assigned `TypeVar(…)`.
pub(super) fn is_type_variable(fact: &DefinitionFact) -> bool {
    let Some((_, ShortExpression::Call(function, _))) = fact.values.first() else { return false };
    fact.kind == DefinitionKind::Variable
        && matches!(
            &**function,
            ShortExpression::Name(name) | ShortExpression::Member(_, name) if name == "TypeVar"
        )
}

/// Replaces variables by values; those without any stay.
fn replace_variables(
    values: Values,
    find: &dyn Fn(DefinitionId) -> Vec<ExpressionValue>,
) -> Values {
    let mut replaced = Values::new();
    for (value, rule) in values {
        for value in replace_variable(value, find) {
            add_value(&mut replaced, value, rule);
        }
    }
    replaced
}

fn replace_variable(
    value: ExpressionValue,
    find: &dyn Fn(DefinitionId) -> Vec<ExpressionValue>,
) -> Vec<ExpressionValue> {
    let replace_all = |held: Vec<ExpressionValue>| -> Vec<ExpressionValue> {
        held.into_iter().flat_map(|value| replace_variable(value, find)).collect()
    };
    match value {
        ExpressionValue::Variable(id) => {
            let found = find(id);
            if found.is_empty() { vec![value] } else { found }
        }
        ExpressionValue::Holder(held) => vec![ExpressionValue::Holder(replace_all(held))],
        ExpressionValue::Mapping(held) => vec![ExpressionValue::Mapping(replace_all(held))],
        ExpressionValue::Tuple(parts) => {
            vec![ExpressionValue::Tuple(parts.into_iter().map(replace_all).collect())]
        }
        value => vec![value],
    }
}

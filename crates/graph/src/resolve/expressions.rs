//! Evaluates expressions to values.

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    containers::is_type_of_type,
    value::{ExpressionValue, NameTarget, ScopeId, Values, add_held, add_value, add_values},
};
use crate::facts::{DefinitionKind, ScopeKind, ShortExpression};

/// Methods whose parameters the keywords of a call name, in Python.
const CONSTRUCTORS: [&str; 2] = ["__init__", "__new__"];

impl SymbolGraph {
    /// Evaluates an expression; it has no values if a bound is reached.
    pub(super) fn evaluate(&self, scope: ScopeId, expression: &ShortExpression) -> Values {
        self.memory.descend(|| self.evaluate_parts(scope, expression))
    }

    fn evaluate_parts(&self, scope: ScopeId, expression: &ShortExpression) -> Values {
        match expression {
            ShortExpression::Name(_) | ShortExpression::Member(..) => {
                let mut values = Values::new();
                for (target, rule) in self.find_targets(scope, expression) {
                    add_values(&mut values, self.target_values(scope.file, target), rule);
                }
                values
            }
            ShortExpression::Call(function, arguments) => {
                self.evaluate_call(scope, function, arguments)
            }
            ShortExpression::Item(base, arguments) => self.evaluate_item(scope, base, arguments),
            ShortExpression::Members(index) => {
                let members = ExpressionValue::Members(scope.with_index(*index));
                vec![(members, ResolutionRule::Own)]
            }
            ShortExpression::Typed(annotation) => {
                self.evaluate_annotation(scope, annotation, ResolutionRule::Receiver)
            }
            ShortExpression::Signature(parameters, result) => {
                let types = parameters.iter().map(|kind| self.evaluate_instances(scope, kind));
                let (types, result) = (types.collect(), self.evaluate_instances(scope, result));
                vec![(ExpressionValue::Signature(types, result), ResolutionRule::Scope)]
            }
            ShortExpression::Keywords(function) => {
                let mut values = self.evaluate(scope, function);
                values.retain(|(value, _)| match value {
                    ExpressionValue::Type(id) => {
                        let found = CONSTRUCTORS.map(|name| self.find_type_member(*id, name));
                        let mut targets = found.iter().flatten();
                        !targets.any(|(target, _)| matches!(target, NameTarget::Definition(..)))
                    }
                    _ => false,
                });
                values
            }
            ShortExpression::Argument(function, place) => {
                self.evaluate_argument(scope, function, *place as usize)
            }
            ShortExpression::Entered(inner) => {
                let mut values = Values::new();
                for (value, rule) in self.evaluate(scope, inner) {
                    add_values(&mut values, self.enter_context(value), rule);
                }
                values
            }
            ShortExpression::Awaited(inner) => {
                let mut values = Values::new();
                for (value, rule) in self.evaluate(scope, inner) {
                    match value {
                        ExpressionValue::Holder(held) => add_held(&mut values, held, rule),
                        value => add_value(&mut values, value, rule),
                    }
                }
                values
            }
            ShortExpression::This => self.evaluate_receiver(scope, ExpressionValue::Instance),
            ShortExpression::ThisType => self.evaluate_receiver(scope, ExpressionValue::Type),
            ShortExpression::Super => self.evaluate_receiver(scope, ExpressionValue::Bases),
            ShortExpression::Either(one, other) => {
                let mut values = self.evaluate(scope, one);
                for (value, rule) in self.evaluate(scope, other) {
                    add_value(&mut values, value, rule);
                }
                values
            }
            ShortExpression::Outside => vec![(ExpressionValue::External, ResolutionRule::Scope)],
            ShortExpression::Unknown => Values::new(),
        }
    }

    /// Returns the object or the type around a scope, the latter as a value of some kind.
    fn evaluate_receiver(
        &self,
        scope: ScopeId,
        make_value: fn(DefinitionId) -> ExpressionValue,
    ) -> Values {
        let Some(id) = self.find_enclosing_type(scope) else { return Values::new() };
        let kind = self.definition(id).map(|fact| fact.kind);
        let is_object = kind == Some(DefinitionKind::Variable);
        let value = if is_object { ExpressionValue::Object(id) } else { make_value(id) };
        vec![(value, ResolutionRule::Own)]
    }

    /// Finds the type or object around a scope. The values of an object's members are not within it,
    /// unless they are functions.
    fn find_enclosing_type(&self, scope: ScopeId) -> Option<DefinitionId> {
        let mut index = Some(scope.index);
        let mut is_in_function = false;
        while let Some(current) = index {
            let entry = self.scope(scope.with_index(current))?;
            let definition = entry.definition.map(|index| DefinitionId { file: scope.file, index });
            if entry.kind == ScopeKind::Type {
                let kind = definition.and_then(|id| self.definition(id)).map(|fact| fact.kind);
                if is_in_function || kind == Some(DefinitionKind::Type) {
                    return definition;
                }
            }
            is_in_function |= entry.kind == ScopeKind::Function && definition.is_some();
            index = entry.parent;
        }
        None
    }

    /// Evaluates an annotation to the values that it allows.
    ///
    /// A step that found the type says less than how the value was found: `rule`.
    pub(super) fn evaluate_annotation(
        &self,
        scope: ScopeId,
        annotation: &ShortExpression,
        rule: ResolutionRule,
    ) -> Values {
        let mut values = Values::new();
        let is_type_itself = is_type_of_type(annotation);
        for (value, step) in self.evaluate(scope, annotation) {
            let instance = match value {
                ExpressionValue::Type(id) if !is_type_itself => ExpressionValue::Instance(id),
                other => other,
            };
            let step = if step <= ResolutionRule::Own { rule } else { rule.max(step) };
            add_value(&mut values, instance, step);
        }
        values
    }
}

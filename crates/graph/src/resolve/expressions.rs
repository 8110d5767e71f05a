//! Evaluates expressions to values.

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    containers::is_type_of_type,
    value::{ExpressionValue, NameTarget, ScopeId, Values, add_held, add_value, add_values},
};
use codeinfo_facts::{DefinitionKind, ModuleSystem, ScopeKind, ShortExpression};

/// Methods whose parameters the keywords of a call name, in Python.
const CONSTRUCTORS: [&str; 2] = ["__init__", "__new__"];

impl SymbolGraph {
    /// Evaluates an expression; it has no values if a bound is reached.
    pub(super) fn evaluate(&self, scope: ScopeId, expression: &ShortExpression) -> Values {
        self.memory.descend(|| self.evaluate_parts(scope, expression))
    }

    fn evaluate_parts(&self, scope: ScopeId, expression: &ShortExpression) -> Values {
        match expression {
            ShortExpression::Name(_) | ShortExpression::Root(_) | ShortExpression::Member(..) => {
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
            ShortExpression::Tuple(_)
            | ShortExpression::Part(..)
            | ShortExpression::Outer(_)
            | ShortExpression::Either(..) => self.evaluate_compound(scope, expression),
            ShortExpression::Outside => vec![(ExpressionValue::External, ResolutionRule::Scope)],
            ShortExpression::Unknown => Values::new(),
        }
    }

    /// Evaluates several values, one or either of several, or an expression of the scope around.
    fn evaluate_compound(&self, scope: ScopeId, expression: &ShortExpression) -> Values {
        match expression {
            ShortExpression::Tuple(parts) => {
                let rule = ResolutionRule::Receiver;
                let is_value = self.module_system(scope.file) == ModuleSystem::Python;
                let evaluated = parts.iter().map(|part| {
                    if is_value {
                        self.evaluate(scope, part)
                    } else {
                        self.evaluate_annotation(scope, part, rule)
                    }
                });
                let values =
                    evaluated.map(|part| part.into_iter().map(|(value, _)| value).collect());
                vec![(ExpressionValue::Tuple(values.collect()), ResolutionRule::Scope)]
            }
            ShortExpression::Part(whole, place) => {
                let mut values = Values::new();
                for (value, rule) in self.evaluate(scope, whole) {
                    match value {
                        ExpressionValue::Tuple(mut parts) if usize::from(*place) < parts.len() => {
                            add_held(&mut values, parts.swap_remove(usize::from(*place)), rule);
                        }
                        ExpressionValue::External => add_value(&mut values, value, rule),
                        value if self.module_system(scope.file) == ModuleSystem::Python => {
                            add_values(&mut values, self.item_values(scope.file, value), rule);
                        }
                        value if *place == 0 => add_value(&mut values, value, rule),
                        _ => {}
                    }
                }
                values
            }
            ShortExpression::Outer(inner) => {
                let outer = self.scope(scope).and_then(|entry| entry.parent);
                outer.map(|outer| self.evaluate(scope.with_index(outer), inner)).unwrap_or_default()
            }
            ShortExpression::Either(one, other) => {
                let mut values = self.evaluate(scope, one);
                for (value, rule) in self.evaluate(scope, other) {
                    add_value(&mut values, value, rule);
                }
                values
            }
            _ => Values::new(),
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
    pub(super) fn find_enclosing_type(&self, scope: ScopeId) -> Option<DefinitionId> {
        let mut index = Some(scope.index);
        let mut is_in_function = false;
        while let Some(current) = index {
            let entry = self.scope(scope.with_index(current))?;
            let definition = entry.definition.map(|index| DefinitionId { file: scope.file, index });
            if entry.kind == ScopeKind::Type {
                // The body of an extension has no definition of its own.
                let owner = self.find_body_owner(scope.with_index(current));
                let kind = definition.and_then(|id| self.definition(id)).map(|fact| fact.kind);
                let is_extension = definition.is_none() && owner.is_some();
                if is_in_function || is_extension || kind == Some(DefinitionKind::Type) {
                    return owner;
                }
            }
            is_in_function |= entry.kind == ScopeKind::Function && definition.is_some();
            index = entry.parent;
        }
        None
    }

    /// Returns the type that the members of a scope belong to.
    pub(super) fn find_body_owner(&self, body: ScopeId) -> Option<DefinitionId> {
        match self.scope(body)?.definition {
            Some(index) => Some(self.unify_parts(DefinitionId { file: body.file, index })),
            None => self.find_extended_type(body),
        }
    }

    /// Evaluates an annotation to the values that it allows, under the `rule` that found the value.
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

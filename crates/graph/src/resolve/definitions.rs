//! Tells the values of definitions, variables and results of functions.

use super::variables::is_type_variable;
use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    containers::is_known,
    memory::ValueKey,
    value::{
        ExpressionValue, NameTarget, ScopeId, Values, add_held, add_value, add_values, weaken,
    },
};
use crate::modules::FileIndex;
use codeinfo_facts::{BoundValue, DefinitionFact, DefinitionKind, ModuleSystem, ShortExpression};

/// Maximum declarations of a function whose results are tried.
const MAX_OVERLOADS: usize = 8;

impl SymbolGraph {
    pub(super) fn target_values(&self, file: FileIndex, target: NameTarget) -> Values {
        let value = match target {
            NameTarget::Definition(id, receiver) => return self.definition_values(id, receiver),
            NameTarget::Binding(index, place) => {
                return self.binding_values(ScopeId { file, index }, place);
            }
            NameTarget::Module(module) => ExpressionValue::Module(module),
            NameTarget::Folder(folder) => ExpressionValue::Folder(folder),
            NameTarget::External => ExpressionValue::External,
        };
        vec![(value, ResolutionRule::Scope)]
    }

    fn binding_values(&self, scope: ScopeId, place: u32) -> Values {
        let binding = self.scope(scope).and_then(|scope| scope.bindings.get(place as usize));
        let Some(binding) = binding else { return Values::new() };
        self.remember_values(ValueKey::Binding(scope, place), || {
            self.bound_values(scope, &binding.value)
        })
    }

    fn bound_values(&self, scope: ScopeId, bound: &BoundValue) -> Values {
        match bound {
            BoundValue::Typed(annotation) => {
                self.evaluate_annotation(scope, annotation, ResolutionRule::Receiver)
            }
            BoundValue::Assigned(value) => {
                let mut values = self.evaluate(scope, value);
                if !matches!(value, ShortExpression::This | ShortExpression::ThisType) {
                    weaken(&mut values, ResolutionRule::Receiver);
                }
                values
            }
            BoundValue::Element(source) => {
                let mut values = Values::new();
                for (value, rule) in self.evaluate(scope, source) {
                    match value {
                        ExpressionValue::Holder(held) => {
                            add_held(&mut values, held, rule.max(ResolutionRule::Receiver));
                        }
                        container
                        @ (ExpressionValue::Mapping(_) | ExpressionValue::Instance(_))
                            if self.module_system(scope.file) == ModuleSystem::Go =>
                        {
                            let held = self.list_held(container);
                            add_held(&mut values, held, rule.max(ResolutionRule::Receiver));
                        }
                        ExpressionValue::Instance(id) => {
                            for (iterator, step) in self.call_method(id, "__iter__") {
                                if let ExpressionValue::Holder(held) = iterator {
                                    add_held(&mut values, held, rule.max(step));
                                }
                            }
                        }
                        // Arrays of PHP do not tell what they hold.
                        ExpressionValue::External
                            if self.module_system(scope.file) != ModuleSystem::Php =>
                        {
                            add_value(&mut values, ExpressionValue::External, rule);
                        }
                        _ => {}
                    }
                }
                values
            }
            BoundValue::Definition(_)
            | BoundValue::Import(_)
            | BoundValue::Alias(_)
            | BoundValue::Unknown => Values::new(),
        }
    }

    fn definition_values(&self, id: DefinitionId, receiver: Option<DefinitionId>) -> Values {
        let Some(fact) = self.definition(id) else { return Values::new() };
        let value = match fact.kind {
            DefinitionKind::Function if fact.traits.is_property => {
                return self.call_function(id, receiver);
            }
            DefinitionKind::Function => ExpressionValue::Function(id, receiver),
            DefinitionKind::Type => ExpressionValue::Type(id),
            DefinitionKind::Variable if is_type_variable(fact) => ExpressionValue::Variable(id),
            DefinitionKind::TypeAlias | DefinitionKind::Variable | DefinitionKind::Field => {
                let key = ValueKey::Definition(id, None);
                return self.remember_values(key, || self.held_values(id, fact));
            }
        };
        vec![(value, ResolutionRule::Scope)]
    }

    /// Returns the values that a variable, field or alias holds.
    fn held_values(&self, id: DefinitionId, fact: &DefinitionFact) -> Values {
        let scope = ScopeId { file: id.file, index: fact.scope };
        let rule = match fact.kind {
            DefinitionKind::Field => ResolutionRule::Field,
            DefinitionKind::Variable => ResolutionRule::Receiver,
            _ => ResolutionRule::Scope,
        };
        if let Some(result) = &fact.result {
            if fact.kind == DefinitionKind::TypeAlias {
                return self.evaluate(scope, result);
            }
            let values = self.evaluate_annotation(scope, result, rule);
            if values.is_empty() && fact.kind == DefinitionKind::Field && fact.body.is_none() {
                return self.evaluate_in_extensions(scope, result, rule);
            }
            if fact.body.is_none() || is_known(&values) {
                return values;
            }
        }
        if fact.body.is_some() {
            return vec![(ExpressionValue::Object(id), rule)];
        }
        let mut values = Values::new();
        for (index, value) in &fact.values {
            for (value, step) in self.evaluate(scope.with_index(*index), value) {
                // Another name of a type, function or module is as certain as the first one.
                let is_name = matches!(
                    value,
                    ExpressionValue::Type(_)
                        | ExpressionValue::Function(..)
                        | ExpressionValue::Module(_)
                );
                add_value(&mut values, value, if is_name { step } else { rule.max(step) });
            }
        }
        values
    }

    /// Evaluates the type of a field where its owner is extended; bounds may be written there only.
    fn evaluate_in_extensions(
        &self,
        scope: ScopeId,
        annotation: &ShortExpression,
        rule: ResolutionRule,
    ) -> Values {
        let mut values = Values::new();
        let owner = self.find_enclosing_type(scope);
        for extension in owner.map(|id| self.list_extensions(id)).unwrap_or_default() {
            let Some(fact) = self.extension(extension) else { continue };
            let body = ScopeId { file: extension.file, index: fact.body };
            add_values(&mut values, self.evaluate_annotation(body, annotation, rule), rule);
        }
        values
    }

    fn remember_values(&self, key: ValueKey, compute: impl FnOnce() -> Values) -> Values {
        self.memory.get_or_compute(&self.memory.values, key, compute)
    }

    /// Returns the result of a function that was found through a type.
    pub(super) fn call_function(&self, id: DefinitionId, receiver: Option<DefinitionId>) -> Values {
        let Some(fact) = self.definition(id) else { return Values::new() };
        self.remember_values(ValueKey::Definition(id, receiver), || {
            if let Some(result) = &fact.result {
                return self.annotated_result(id, fact, result, receiver);
            }
            let results = self.overload_results(id, fact, receiver);
            if results.is_empty() { self.returned_values(id, fact, receiver) } else { results }
        })
    }

    /// Returns the declarations of a function that are beside its definition.
    pub(super) fn list_overloads(
        &self,
        id: DefinitionId,
        fact: &DefinitionFact,
    ) -> impl Iterator<Item = (DefinitionId, &DefinitionFact)> {
        let scope = self.scope(ScopeId { file: id.file, index: fact.scope });
        let bindings = scope.map(|scope| scope.list_bindings(&fact.name)).into_iter().flatten();
        let overloads = bindings.take(MAX_OVERLOADS).filter_map(move |binding| {
            let BoundValue::Definition(index) = binding.value else { return None };
            let overload = DefinitionId { file: id.file, index };
            self.definition(overload).map(|fact| (overload, fact))
        });
        overloads.filter(|(_, fact)| fact.traits.is_declaration)
    }

    /// Returns the annotated result of the first declaration of a function that has a known one.
    fn overload_results(
        &self,
        id: DefinitionId,
        fact: &DefinitionFact,
        receiver: Option<DefinitionId>,
    ) -> Values {
        let mut results =
            self.list_overloads(id, fact).map(|(overload, fact)| match &fact.result {
                Some(result) => self.annotated_result(overload, fact, result, receiver),
                None => Values::new(),
            });
        results.find(|values| !values.is_empty()).unwrap_or_default()
    }

    pub(super) fn annotated_result(
        &self,
        id: DefinitionId,
        fact: &DefinitionFact,
        result: &ShortExpression,
        receiver: Option<DefinitionId>,
    ) -> Values {
        if let Some(receiver) = receiver.filter(|_| self.is_receiver_type(id, result)) {
            return vec![(ExpressionValue::Instance(receiver), ResolutionRule::Result)];
        }
        let scope = ScopeId { file: id.file, index: fact.body.unwrap_or(fact.scope) };
        self.evaluate_annotation(scope, result, ResolutionRule::Result)
    }

    fn returned_values(
        &self,
        id: DefinitionId,
        fact: &DefinitionFact,
        receiver: Option<DefinitionId>,
    ) -> Values {
        let mut values = Values::new();
        for (index, value) in &fact.values {
            if let Some(receiver) = receiver.filter(|_| *value == ShortExpression::This) {
                add_value(&mut values, ExpressionValue::Instance(receiver), ResolutionRule::Result);
                continue;
            }
            let scope = ScopeId { file: id.file, index: *index };
            for (value, step) in self.evaluate(scope, value) {
                add_value(&mut values, value, step.max(ResolutionRule::Inferred));
            }
        }
        values
    }

    fn is_receiver_type(&self, method: DefinitionId, result: &ShortExpression) -> bool {
        match result {
            ShortExpression::This => true,
            ShortExpression::Name(name) if name == "Self" => true,
            ShortExpression::Name(_) if !self.is_parameter_type(method, result) => {
                let values = self.evaluate(ScopeId { file: method.file, index: 0 }, result);
                matches!(values.as_slice(), [(ExpressionValue::Variable(_), _)])
            }
            _ => false,
        }
    }

    /// Returns true if a parameter of a function other than its receiver has a type.
    fn is_parameter_type(&self, function: DefinitionId, kind: &ShortExpression) -> bool {
        let body = self.definition(function).and_then(|fact| fact.body);
        let scope = body.and_then(|index| self.scope(ScopeId { file: function.file, index }));
        scope.is_some_and(|scope| {
            scope.bindings.iter().any(|binding| match &binding.value {
                BoundValue::Typed(annotation) => annotation == kind,
                _ => false,
            })
        })
    }
}

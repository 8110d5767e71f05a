//! Evaluates calls and context managers.

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    collections::{call_collection, gives_receiver},
    containers::{call_container, is_known, list_callback_values},
    value::{ExpressionValue, NameTarget, ScopeId, Values, add_held, add_value, add_values},
};
use codeinfo_facts::{DefinitionFact, ModuleSystem, ShortExpression};

/// Methods of types of Rust that macros derive, and that return the type.
const DERIVED_CONSTRUCTORS: [&str; 2] = ["default", "parse"];

/// Methods whose result is the value that a context manager gives.
const ENTER_METHODS: [&str; 2] = ["__enter__", "__aenter__"];

impl SymbolGraph {
    pub(super) fn evaluate_call(
        &self,
        scope: ScopeId,
        function: &ShortExpression,
        arguments: &[ShortExpression],
    ) -> Values {
        // `cast(Type, value)`
        let is_cast = matches!(
            function,
            ShortExpression::Name(name) | ShortExpression::Member(_, name) if name == "cast"
        );
        if is_cast && let Some(annotation) = arguments.first() {
            return self.evaluate_annotation(scope, annotation, ResolutionRule::Receiver);
        }
        if let ShortExpression::Member(receiver, method) = function {
            let values = self.call_containers(scope, receiver, method);
            if !values.is_empty() {
                return values;
            }
        }
        let mut values = Values::new();
        let mut functions = self.evaluate(scope, function);
        // A method from outside of the repository may give any object of Ruby.
        if self.module_system(scope.file) == ModuleSystem::Ruby
            && matches!(function, ShortExpression::Member(..))
        {
            functions.retain(|(value, _)| *value != ExpressionValue::External);
        }
        if let ShortExpression::Member(receiver, method) = function
            && gives_receiver(self.module_system(scope.file), method)
            && !functions.iter().any(|(value, _)| matches!(value, ExpressionValue::Function(..)))
        {
            return self.evaluate(scope, receiver);
        }
        // `A::default()` may be derived.
        if let ShortExpression::Member(receiver, method) = function
            && self.module_system(scope.file) == ModuleSystem::Rust
            && DERIVED_CONSTRUCTORS.contains(&method.as_str())
            && !functions.iter().any(|(value, _)| matches!(value, ExpressionValue::Function(..)))
        {
            return self.evaluate_annotation(scope, receiver, ResolutionRule::Result);
        }
        for (value, rule) in functions {
            let mut results = self.call_value(&value);
            if let ExpressionValue::Function(id, receiver) = value
                && !arguments.is_empty()
            {
                results = self.bind_arguments(results, id, scope, arguments);
                if !is_known(&results) {
                    let chosen = self.call_overloads(id, receiver, scope, arguments);
                    results = chosen.unwrap_or(results);
                }
            }
            add_values(&mut values, results, rule);
        }
        values
    }

    fn call_containers(&self, scope: ScopeId, receiver: &ShortExpression, method: &str) -> Values {
        let mut values = Values::new();
        let system = self.module_system(scope.file);
        for (container, rule) in self.evaluate(scope, receiver) {
            let results = match system {
                ModuleSystem::Python | ModuleSystem::Script => call_container(container, method),
                system => call_collection(system, &container, method),
            };
            for value in results {
                add_value(&mut values, value, rule);
            }
        }
        values
    }

    /// Returns the known results of the first declaration of a function whose parameters tell the
    /// variables in them.
    fn call_overloads(
        &self,
        id: DefinitionId,
        receiver: Option<DefinitionId>,
        scope: ScopeId,
        arguments: &[ShortExpression],
    ) -> Option<Values> {
        let fact = self.definition(id)?;
        self.list_overloads(id, fact).find_map(|(overload, fact)| {
            let declared = self.annotated_result(overload, fact, fact.result.as_ref()?, receiver);
            let results = self.bind_arguments(declared, overload, scope, arguments);
            is_known(&results).then_some(results)
        })
    }

    pub(super) fn call_value(&self, value: &ExpressionValue) -> Values {
        match value {
            ExpressionValue::Type(id) => {
                vec![(ExpressionValue::Instance(*id), ResolutionRule::Scope)]
            }
            ExpressionValue::Function(id, receiver) => self.call_function(*id, *receiver),
            ExpressionValue::Signature(_, result) => {
                result.iter().map(|value| (value.clone(), ResolutionRule::Result)).collect()
            }
            ExpressionValue::Instance(id)
                if self.module_system(id.file) == ModuleSystem::Python =>
            {
                self.call_method(*id, "__call__")
            }
            // The construction of a container, a conversion, or a record's field read by a call.
            ExpressionValue::Instance(_)
            | ExpressionValue::Holder(_)
            | ExpressionValue::Mapping(_) => vec![(value.clone(), ResolutionRule::Scope)],
            ExpressionValue::External | ExpressionValue::Variable(_) => {
                vec![(ExpressionValue::External, ResolutionRule::Scope)]
            }
            _ => Values::new(),
        }
    }

    /// Returns what a function expects as its argument at a place.
    pub(super) fn evaluate_argument(
        &self,
        scope: ScopeId,
        function: &ShortExpression,
        place: usize,
    ) -> Values {
        let mut values = Values::new();
        if let ShortExpression::Member(receiver, method) = function
            && place == 0
        {
            for (container, rule) in self.evaluate(scope, receiver) {
                if let Some(held) = list_callback_values(&container, method) {
                    let callback = ExpressionValue::Signature(vec![held.clone(), held], Vec::new());
                    add_value(&mut values, callback, rule);
                }
            }
        }
        for (value, value_rule) in self.evaluate(scope, function) {
            let rule = value_rule.max(ResolutionRule::Argument);
            match value {
                ExpressionValue::Function(id, _) => {
                    add_values(&mut values, self.parameter_values(id, place), rule);
                }
                ExpressionValue::Type(id) => {
                    for (target, _) in self.find_type_member(id, "constructor") {
                        if let NameTarget::Definition(constructor, _) = target {
                            add_values(
                                &mut values,
                                self.parameter_values(constructor, place),
                                rule,
                            );
                        }
                    }
                }
                ExpressionValue::Signature(mut parameters, _) if place < parameters.len() => {
                    add_held(&mut values, parameters.swap_remove(place), rule);
                }
                _ => {}
            }
        }
        values
    }

    fn parameter_values(&self, function: DefinitionId, place: usize) -> Values {
        let Some(fact) = self.definition(function) else { return Values::new() };
        let mut values = self.annotated_parameter(function, fact, place);
        for (overload, fact) in self.list_overloads(function, fact) {
            values.extend(self.annotated_parameter(overload, fact, place));
        }
        values
    }

    fn annotated_parameter(
        &self,
        function: DefinitionId,
        fact: &DefinitionFact,
        place: usize,
    ) -> Values {
        let Some(annotation) = fact.parameters.get(place) else { return Values::new() };
        let scope = ScopeId { file: function.file, index: fact.body.unwrap_or(fact.scope) };
        self.evaluate_annotation(scope, annotation, ResolutionRule::Argument)
    }

    pub(super) fn call_method(&self, id: DefinitionId, method: &str) -> Values {
        let mut values = Values::new();
        for (target, _) in self.find_type_member(id, method) {
            if let NameTarget::Definition(method, receiver) = target {
                values.extend(self.call_function(method, receiver));
            }
        }
        values
    }

    pub(super) fn enter_context(&self, manager: ExpressionValue) -> Values {
        match manager {
            ExpressionValue::Instance(id) => self.enter_instance(id),
            ExpressionValue::Holder(held) => {
                held.into_iter().map(|value| (value, ResolutionRule::Result)).collect()
            }
            ExpressionValue::External => vec![(ExpressionValue::External, ResolutionRule::Scope)],
            _ => Values::new(),
        }
    }

    fn enter_instance(&self, id: DefinitionId) -> Values {
        for method in ENTER_METHODS {
            let mut values = Values::new();
            for (target, _) in self.find_type_member(id, method) {
                match target {
                    NameTarget::Definition(method, receiver) => {
                        values.extend(self.call_function(method, receiver));
                    }
                    NameTarget::External => {
                        values.push((ExpressionValue::External, ResolutionRule::Own));
                    }
                    _ => {}
                }
            }
            if !values.is_empty() {
                return values;
            }
        }
        Values::new()
    }
}

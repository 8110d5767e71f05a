//! Evaluates calls and context managers.

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    containers::call_container,
    value::{ScopeId, Target, Value, Values, add_value, add_values},
};
use crate::facts::Expression;

/// Methods whose result is the value that a context manager gives.
const ENTER_METHODS: [&str; 2] = ["__enter__", "__aenter__"];

impl SymbolGraph {
    pub(super) fn evaluate_call(
        &self,
        scope: ScopeId,
        function: &Expression,
        arguments: &[Expression],
    ) -> Values {
        // `cast(Type, value)`
        let is_cast = matches!(
            function,
            Expression::Name(name) | Expression::Member(_, name) if name == "cast"
        );
        if is_cast && let Some(annotation) = arguments.first() {
            return self.evaluate_annotation(scope, annotation, ResolutionRule::Receiver);
        }
        if let Expression::Member(receiver, method) = function {
            let values = self.call_containers(scope, receiver, method);
            if !values.is_empty() {
                return values;
            }
        }
        let mut values = Values::new();
        for (value, rule) in self.evaluate(scope, function) {
            add_values(&mut values, self.call_value(&value), rule);
        }
        values
    }

    /// Calls a method of the containers that a receiver may be.
    fn call_containers(&self, scope: ScopeId, receiver: &Expression, method: &str) -> Values {
        let mut values = Values::new();
        for (container, rule) in self.evaluate(scope, receiver) {
            for value in call_container(container, method) {
                add_value(&mut values, value, rule);
            }
        }
        values
    }

    fn call_value(&self, value: &Value) -> Values {
        match value {
            Value::Type(id) => vec![(Value::Instance(*id), ResolutionRule::Scope)],
            Value::Function(id, receiver) => self.call_function(*id, *receiver),
            Value::Instance(id) => self.call_method(*id, "__call__"),
            Value::External => vec![(Value::External, ResolutionRule::Scope)],
            _ => Values::new(),
        }
    }

    /// Returns the results of a method of a type.
    pub(super) fn call_method(&self, id: DefinitionId, method: &str) -> Values {
        let mut values = Values::new();
        for (target, _) in self.find_type_member(id, method) {
            if let Target::Definition(method, receiver) = target {
                values.extend(self.call_function(method, receiver));
            }
        }
        values
    }

    /// Returns the value that a context manager gives.
    pub(super) fn enter_context(&self, manager: Value) -> Values {
        match manager {
            Value::Instance(id) => self.enter_instance(id),
            Value::Holder(held) => {
                held.into_iter().map(|value| (value, ResolutionRule::Result)).collect()
            }
            Value::External => vec![(Value::External, ResolutionRule::Scope)],
            _ => Values::new(),
        }
    }

    fn enter_instance(&self, id: DefinitionId) -> Values {
        for method in ENTER_METHODS {
            let mut values = Values::new();
            for (target, _) in self.find_type_member(id, method) {
                match target {
                    Target::Definition(method, receiver) => {
                        values.extend(self.call_function(method, receiver));
                    }
                    Target::External => values.push((Value::External, ResolutionRule::Own)),
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

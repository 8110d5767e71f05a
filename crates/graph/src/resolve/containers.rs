//! Evaluates containers: types with arguments, their items and their methods.

use super::{
    FileIndex, ResolutionRule, SymbolGraph,
    collections::is_pointer,
    value::{ExpressionValue, NameTarget, ScopeId, Values, add_held, add_value, add_values},
};
use codeinfo_facts::{DefinitionKind, ModuleSystem, ShortExpression};

/// Types that are their first argument, or that only add to it; `Union` is any of its arguments.
const WRAPPERS: [&str; 14] = [
    "Omit", "Pick", "Required", "Optional", "Union", "Annotated", "ClassVar", "Final", "Required",
    "NotRequired", "Readonly", "Partial", "NonNullable", "TypeIs",
];

/// Types whose second argument is the type of the values.
const MAPPINGS: [&str; 26] = [
    "dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict",
    "Map", "WeakMap", "Record", "ReadonlyMap", "map", "HashMap", "BTreeMap", "IndexMap",
    "LinkedHashMap", "TreeMap", "ConcurrentMap", "ConcurrentHashMap", "SortedMap", "EnumMap",
    "Dictionary", "IDictionary", "ConcurrentDictionary", "IReadOnlyDictionary", "unordered_map",
];

/// Types with several arguments that hold values of the first one.
const GENERATORS: [&str; 2] = ["Generator", "AsyncGenerator"];

/// Methods of arrays and promises that call their argument with a value.
const HOLDER_CALLBACKS: [&str; 11] = [
    "forEach", "map", "filter", "find", "findIndex", "findLast", "some", "every", "flatMap",
    "sort", "then",
];

/// Types whose values are the type that is their argument.
const TYPES_OF_TYPES: [&str; 2] = ["type", "Type"];

impl SymbolGraph {
    pub(super) fn evaluate_item(
        &self,
        scope: ScopeId,
        base: &ShortExpression,
        arguments: &[ShortExpression],
    ) -> Values {
        let name = match base {
            ShortExpression::Name(name) | ShortExpression::Member(_, name) => name.as_str(),
            _ => "",
        };
        let mut values = Values::new();
        let mut bases = self.evaluate(scope, base);
        // An alias is most often its first argument with something added or left out.
        if !is_known(&bases) && self.is_alias(scope, base) {
            bases = arguments.first().map(|first| self.evaluate(scope, first)).unwrap_or_default();
            if is_known(&bases) {
                return bases;
            }
        }
        for (value, rule) in bases {
            match value {
                ExpressionValue::Type(id) => {
                    add_value(&mut values, ExpressionValue::Type(id), rule);
                }
                ExpressionValue::External
                    if is_wrapper(self.module_system(scope.file), name)
                        && !arguments.is_empty() =>
                {
                    for (value, step) in self.evaluate_wrapped(scope, name, arguments) {
                        add_value(&mut values, value, step);
                    }
                }
                ExpressionValue::External => {
                    for value in self.make_container(scope, name, arguments) {
                        add_value(&mut values, value, rule);
                    }
                }
                ExpressionValue::Signature(..) | ExpressionValue::Members(_) => {
                    add_value(&mut values, value, rule);
                }
                value => add_values(&mut values, self.item_values(scope.file, value), rule),
            }
        }
        values
    }

    pub(super) fn item_values(&self, file: FileIndex, container: ExpressionValue) -> Values {
        let rule = ResolutionRule::Scope;
        let mut values = Values::new();
        match container {
            ExpressionValue::Holder(held) | ExpressionValue::Mapping(held) => {
                add_held(&mut values, held, rule);
            }
            ExpressionValue::Instance(id) => {
                add_values(&mut values, self.call_method(id, "__getitem__"), rule);
                for value in self.list_held(ExpressionValue::Instance(id)) {
                    add_value(&mut values, value, rule);
                }
                // In C, arrays and pointers have the type of their items.
                if self.module_system(file).has_includes() {
                    add_value(&mut values, ExpressionValue::Instance(id), rule);
                }
            }
            _ => {}
        }
        values
    }

    fn is_alias(&self, scope: ScopeId, base: &ShortExpression) -> bool {
        self.find_targets(scope, base).iter().any(|(target, _)| match target {
            NameTarget::Definition(id, _) => {
                self.definition(*id).is_some_and(|fact| fact.kind == DefinitionKind::TypeAlias)
            }
            _ => false,
        })
    }

    /// Returns the values that a container holds, or an instance of a type that is one.
    pub(super) fn list_held(&self, container: ExpressionValue) -> Vec<ExpressionValue> {
        match container {
            ExpressionValue::Holder(held) | ExpressionValue::Mapping(held) => held,
            ExpressionValue::Instance(id) => {
                let Some(fact) = self.definition(id) else { return Vec::new() };
                let Some(kind) = &fact.result else { return Vec::new() };
                let scope = ScopeId { file: id.file, index: fact.scope };
                let values = self.evaluate_annotation(scope, kind, ResolutionRule::Receiver);
                let is_container = |value: &ExpressionValue| {
                    matches!(value, ExpressionValue::Holder(_) | ExpressionValue::Mapping(_))
                };
                let containers = values.into_iter().map(|(value, _)| value).filter(is_container);
                containers.flat_map(|container| self.list_held(container)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn evaluate_wrapped(
        &self,
        scope: ScopeId,
        name: &str,
        arguments: &[ShortExpression],
    ) -> Values {
        let max_arguments = if name == "Union" { arguments.len() } else { 1 };
        let mut values = Values::new();
        for argument in arguments.iter().take(max_arguments) {
            values.extend(self.evaluate(scope, argument));
        }
        values
    }

    /// Returns the values of a type from outside of the graph, which its name tells.
    fn make_container(
        &self,
        scope: ScopeId,
        name: &str,
        arguments: &[ShortExpression],
    ) -> Vec<ExpressionValue> {
        match arguments {
            [kind] if TYPES_OF_TYPES.contains(&name) => self.evaluate_held(scope, kind),
            [held, others @ ..] if matches!(name, "tuple" | "Tuple") && !others.is_empty() => {
                if others.contains(&ShortExpression::Unknown) {
                    return vec![ExpressionValue::Holder(self.evaluate_instances(scope, held))];
                }
                let parts = arguments.iter().map(|part| self.evaluate_instances(scope, part));
                vec![ExpressionValue::Tuple(parts.collect())]
            }
            [_, result] if name == "Callable" => {
                let result = self.evaluate_instances(scope, result);
                vec![ExpressionValue::Signature(Vec::new(), result)]
            }
            // The second argument of `Result` is the type of the error.
            [held, _] if name == "Result" => {
                vec![ExpressionValue::Holder(self.evaluate_instances(scope, held))]
            }
            [held, others @ ..] if others.is_empty() || GENERATORS.contains(&name) => {
                vec![ExpressionValue::Holder(self.evaluate_instances(scope, held))]
            }
            [_, held, ..] if MAPPINGS.contains(&name) => {
                vec![ExpressionValue::Mapping(self.evaluate_instances(scope, held))]
            }
            _ => vec![ExpressionValue::External],
        }
    }

    fn evaluate_held(&self, scope: ScopeId, argument: &ShortExpression) -> Vec<ExpressionValue> {
        self.evaluate(scope, argument).into_iter().map(|(value, _)| value).collect()
    }

    pub(super) fn evaluate_instances(
        &self,
        scope: ScopeId,
        argument: &ShortExpression,
    ) -> Vec<ExpressionValue> {
        let values = self.evaluate_annotation(scope, argument, ResolutionRule::Receiver);
        values.into_iter().map(|(value, _)| value).collect()
    }
}

/// Returns true if a value is known to be one of the graph.
pub(super) fn is_known(values: &Values) -> bool {
    values.iter().any(|(value, _)| {
        !matches!(value, ExpressionValue::External | ExpressionValue::Variable(_))
    })
}

fn is_wrapper(system: ModuleSystem, name: &str) -> bool {
    match system {
        ModuleSystem::Python | ModuleSystem::Script => WRAPPERS.contains(&name),
        system => is_pointer(system, name),
    }
}

/// Returns true for the annotation of a type itself: `type[A]`.
pub(super) fn is_type_of_type(annotation: &ShortExpression) -> bool {
    let ShortExpression::Item(base, _) = annotation else { return false };
    matches!(
        &**base,
        ShortExpression::Name(name) | ShortExpression::Member(_, name) if TYPES_OF_TYPES.contains(&name.as_str())
    )
}

/// Returns the function that a method of a container takes, if it calls it with the values.
pub(super) fn list_callback_values(
    container: &ExpressionValue,
    method: &str,
) -> Option<Vec<ExpressionValue>> {
    match container {
        ExpressionValue::Holder(held) if HOLDER_CALLBACKS.contains(&method) => Some(held.clone()),
        ExpressionValue::Mapping(held) if method == "forEach" => Some(held.clone()),
        _ => None,
    }
}

/// Returns the values that a method of a container gives; none for other values and methods.
pub(super) fn call_container(container: ExpressionValue, method: &str) -> Vec<ExpressionValue> {
    match (container, method) {
        (ExpressionValue::Mapping(held), "get" | "pop" | "setdefault")
        | (ExpressionValue::Holder(held), "pop" | "popleft" | "shift" | "find" | "at") => held,
        (ExpressionValue::Mapping(held), "values")
        | (ExpressionValue::Holder(held), "copy" | "filter" | "slice" | "reverse" | "concat") => {
            vec![ExpressionValue::Holder(held)]
        }
        (ExpressionValue::Mapping(held), "items") => {
            let item = ExpressionValue::Tuple(vec![vec![ExpressionValue::External], held]);
            vec![ExpressionValue::Holder(vec![item])]
        }
        (ExpressionValue::Mapping(held), "copy") => vec![ExpressionValue::Mapping(held)],
        _ => Vec::new(),
    }
}

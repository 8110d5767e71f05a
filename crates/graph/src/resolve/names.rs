//! Finds names in the scopes around a reference.

use super::{
    DefinitionId, FileIndex, ResolutionRule, SymbolGraph,
    value::{MAX_VALUES, NameTarget, ScopeId, Targets, weaken},
};
use codeinfo_facts::{
    BoundValue, DefinitionKind, DefinitionTraits, ModuleSystem, ScopeKind, ShortExpression,
    to_index,
};

/// Maximum targets of one name in one scope, before overloads are joined.
const MAX_TARGETS: usize = 3 * MAX_VALUES;
/// Maximum bindings of one name in one scope that are followed.
pub(super) const MAX_BINDINGS: usize = 256;
const MAX_GLOBAL_FILES: usize = 32;

impl SymbolGraph {
    pub(super) fn find_targets(&self, scope: ScopeId, expression: &ShortExpression) -> Targets {
        match expression {
            ShortExpression::Name(name) => self.find_name(scope, name),
            ShortExpression::Root(path) => self.find_root(scope, path),
            ShortExpression::Member(receiver, name) => {
                let mut targets = self.find_variant_field(scope, receiver, name);
                if !targets.is_empty() {
                    return targets;
                }
                for (value, rule) in self.evaluate(scope, receiver) {
                    for (target, step) in self.find_member(&value, name) {
                        targets.push((target, rule.max(step)));
                    }
                }
                targets
            }
            _ => Vec::new(),
        }
    }

    /// Finds a field of a variant of an enumeration, which is no field of its type.
    fn find_variant_field(&self, scope: ScopeId, variant: &ShortExpression, name: &str) -> Targets {
        let is_path = matches!(variant, ShortExpression::Name(_) | ShortExpression::Member(..));
        if !name.starts_with('.') || !is_path {
            return Vec::new();
        }
        let mut fields = Vec::new();
        for (target, rule) in self.find_targets(scope, variant) {
            if let NameTarget::Definition(id, _) = target
                && self.definition(id).is_some_and(|fact| fact.kind == DefinitionKind::Field)
                && let Some(body) = self.body_scope(id)
            {
                let found = self.find_bound(body, name).into_iter();
                fields.extend(found.map(|(target, step)| (target, rule.max(step))));
            }
        }
        fields
    }

    /// Finds a name in the scopes around it, then among the star imports of the file.
    fn find_name(&self, scope: ScopeId, name: &str) -> Targets {
        let module_system = self.module_system(scope.file);
        if module_system == ModuleSystem::Rust && name == "Self" {
            let owner = self.find_enclosing_type(scope);
            let target = owner.map(|id| (NameTarget::Definition(id, None), ResolutionRule::Own));
            return target.into_iter().collect();
        }
        let mut index = Some(scope.index);
        while let Some(current) = index.map(|index| scope.with_index(index)) {
            let Some(entry) = self.scope(current) else { break };
            // The body of a class is no scope of its methods.
            let sees_body = current == scope && module_system == ModuleSystem::Python;
            let is_visible = entry.kind != ScopeKind::Type || sees_body;
            if is_visible {
                let targets = self.find_bound(current, name);
                if !targets.is_empty() || entry.list_bindings(name).next().is_some() {
                    return self.widen_namespace(scope, targets);
                }
            } else {
                let targets = self.find_in_type_body(current, name, module_system);
                if !targets.is_empty() {
                    return targets;
                }
            }
            index = entry.parent;
        }
        let mut found = self.find_starred(scope.file, name);
        if found.is_empty() && module_system == ModuleSystem::Script {
            found = self.find_global(name);
        }
        if found.is_empty() {
            found = self.find_in_unit(scope.file, name);
        }
        // A variable that is bound nowhere has an unknown value.
        if found.is_empty() && !name.starts_with('$') {
            found.push((NameTarget::External, ResolutionRule::Scope));
        }
        self.widen_namespace(scope, found)
    }

    /// Finds a name that a declaration file of scripts gives to all files.
    fn find_global(&self, name: &str) -> Targets {
        let files = self.global_files.get_or_init(|| {
            let paths = (0..).zip(&self.files).filter(|(_, file)| file.path.ends_with(".d.ts"));
            let candidates = paths.map(|(index, _)| index).take(MAX_GLOBAL_FILES);
            let is_global = |file: &FileIndex| {
                self.file_facts(*file)
                    .is_some_and(|facts| !facts.has_exports && facts.imports.is_empty())
            };
            candidates.filter(is_global).collect()
        });
        let mut found =
            files.iter().map(|file| self.find_bound(ScopeId { file: *file, index: 0 }, name));
        found.find(|targets| !targets.is_empty()).unwrap_or_default()
    }

    /// Returns what the file of a scope sees of a namespace that was found in one of its files.
    fn widen_namespace(&self, scope: ScopeId, mut targets: Targets) -> Targets {
        if self.module_system(scope.file) == ModuleSystem::Words {
            weaken(&mut targets, ResolutionRule::Word);
        }
        let is_namespace =
            targets.iter().any(|(target, _)| matches!(target, NameTarget::Module(_)));
        if is_namespace && self.module_system(scope.file) == ModuleSystem::Cpp {
            return vec![(NameTarget::Module(scope.file), ResolutionRule::Scope)];
        }
        targets
    }

    pub(super) fn find_bound(&self, scope: ScopeId, name: &str) -> Targets {
        let mut targets = Vec::new();
        let Some(entry) = self.scope(scope) else { return targets };
        let first = entry.find_first_binding(name);
        for (place, binding) in entry.list_bindings(name).enumerate().take(MAX_BINDINGS) {
            match &binding.value {
                BoundValue::Definition(index) => {
                    let id = DefinitionId { file: scope.file, index: *index };
                    targets.push((NameTarget::Definition(id, None), ResolutionRule::Scope));
                }
                BoundValue::Alias(expression) => {
                    let mut found = self.memory.descend(|| self.find_targets(scope, expression));
                    weaken(&mut found, ResolutionRule::Import);
                    targets.extend(found);
                }
                BoundValue::Import(index) => targets.extend(self.find_imported(scope.file, *index)),
                // An export with another name.
                BoundValue::Assigned(ShortExpression::Name(other))
                    if scope.index == 0 && other != name =>
                {
                    targets.extend(self.memory.descend(|| self.find_name(scope, other)));
                }
                _ => {
                    let target = NameTarget::Binding(scope.index, to_index(first + place));
                    targets.push((target, ResolutionRule::Scope));
                }
            }
            if targets.len() > MAX_TARGETS {
                break;
            }
        }
        self.join_definitions(&mut targets);
        targets
    }

    /// Finds a type parameter, or a member of the type around a scope where its name is enough.
    fn find_in_type_body(&self, body: ScopeId, name: &str, system: ModuleSystem) -> Targets {
        let mut targets = match system {
            ModuleSystem::Python | ModuleSystem::Script => Vec::new(),
            _ => self.find_bound(body, name),
        };
        if sees_members(system) {
            if targets.is_empty()
                && let Some(id) = self.find_body_owner(body)
            {
                targets = self.find_type_member(id, name);
                targets.retain(|(target, _)| !matches!(target, NameTarget::External));
            }
        } else {
            targets.retain(|(target, _)| matches!(target, NameTarget::Binding(..)));
        }
        targets
    }

    /// Leaves one of several definitions and bindings that are the same thing.
    pub(super) fn join_definitions(&self, targets: &mut Targets) {
        let has_trait = |target: &NameTarget, accepts: fn(DefinitionTraits) -> bool| match target {
            NameTarget::Definition(id, _) => {
                self.definition(*id).is_some_and(|fact| accepts(fact.traits))
            }
            _ => false,
        };
        // A property is one definition, though each of its accessors has its name.
        let is_property = |target: &NameTarget| has_trait(target, |traits| traits.is_property);
        if targets.iter().any(|(target, _)| is_property(target)) {
            targets.retain(|(target, _)| is_property(target));
            targets.truncate(1);
        }
        // Overloads are one definition with the function that has a body.
        let is_declaration =
            |target: &NameTarget| has_trait(target, |traits| traits.is_declaration);
        if !targets.is_empty() && targets.iter().all(|(target, _)| is_declaration(target)) {
            targets.truncate(1);
        } else {
            targets.retain(|(target, _)| !is_declaration(target));
        }
        // Names bound both as definition and otherwise are found as the definition.
        if targets.iter().any(|(target, _)| matches!(target, NameTarget::Definition(..))) {
            targets.retain(|(target, _)| {
                !matches!(target, NameTarget::Binding(..) | NameTarget::External)
            });
        }
    }
}

/// Returns true if methods see the members of their types without a receiver.
fn sees_members(system: ModuleSystem) -> bool {
    matches!(system, ModuleSystem::Java | ModuleSystem::Csharp | ModuleSystem::Cpp)
}

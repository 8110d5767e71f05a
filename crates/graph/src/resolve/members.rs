//! Finds members of values, through the types that a type inherits from.

use std::iter;

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    value::{ExpressionValue, NameTarget, ScopeId, Targets, weaken},
};
use codeinfo_facts::{ModuleSystem, ShortExpression};

/// Maximum types that a type inherits from.
const MAX_ANCESTORS: usize = 64;

/// Types that a type inherits from, nearest first.
#[derive(Debug, Clone, Default)]
pub(super) struct TypeAncestors {
    pub(super) types: Vec<DefinitionId>,
    /// True if some are defined elsewhere, so that a missing member may be theirs.
    is_open: bool,
}

impl SymbolGraph {
    pub(super) fn find_member(&self, value: &ExpressionValue, name: &str) -> Targets {
        match value {
            ExpressionValue::Type(id) if self.module_system(id.file) == ModuleSystem::Ruby => {
                self.find_own_member(*id, name)
            }
            ExpressionValue::Instance(id) | ExpressionValue::Type(id) => {
                self.find_type_member(*id, name)
            }
            ExpressionValue::Bases(id) => self.find_member_of(*id, self.list_ancestors(*id), name),
            ExpressionValue::Object(id) => match self.body_scope(*id) {
                Some(body) => self.find_bound(body, name),
                None => Vec::new(),
            },
            ExpressionValue::Members(scope) => self.find_bound(*scope, name),
            ExpressionValue::Module(module)
                if name == "super" && self.module_system(*module) == ModuleSystem::Rust =>
            {
                let parent = self.modules.find_rust_parent(self.file_path(*module));
                let target = parent.map(|file| (NameTarget::Module(file), ResolutionRule::Scope));
                target.into_iter().collect()
            }
            ExpressionValue::Module(module) => {
                let mut targets = self.find_exported(*module, name);
                weaken(&mut targets, ResolutionRule::ModuleMember);
                targets
            }
            ExpressionValue::Folder(folder) => {
                let module = self.modules.find_submodule(folder, name).map(NameTarget::Module);
                let targets: Vec<NameTarget> = match module {
                    Some(module) => vec![module],
                    None => self.find_package_member(folder, name),
                };
                let with_rule = |target| (target, ResolutionRule::ModuleMember);
                targets.into_iter().map(with_rule).collect()
            }
            ExpressionValue::External
            | ExpressionValue::Variable(_)
            | ExpressionValue::Holder(_)
            | ExpressionValue::Mapping(_)
            | ExpressionValue::Signature(..)
            | ExpressionValue::Tuple(_)
            | ExpressionValue::Function(..) => {
                vec![(NameTarget::External, ResolutionRule::Scope)]
            }
        }
    }

    /// Finds a constant or method of a type of Ruby itself, or one of a module that it extends itself with.
    fn find_own_member(&self, id: DefinitionId, name: &str) -> Targets {
        let is_found = |(target, _): &(NameTarget, _)| matches!(target, NameTarget::Definition(..));
        let is_constant = name.starts_with(char::is_uppercase);
        let own_name = if is_constant { name.to_owned() } else { format!("self.{name}") };
        let own = self.find_type_member(id, &own_name);
        if own.iter().any(is_found) {
            return own;
        }
        let modules = self.find_type_member(id, "extend").into_iter();
        let mut extending = modules.filter_map(|(module, _)| match module {
            NameTarget::Definition(module, _) => Some(self.find_type_member(module, name)),
            _ => None,
        });
        extending.find(|targets| targets.iter().any(is_found)).unwrap_or(own)
    }

    /// Finds a member of a type, or of those that it inherits from if it has none of that name.
    pub(super) fn find_type_member(&self, id: DefinitionId, name: &str) -> Targets {
        let mut holders = self.list_ancestors(id);
        holders.types.insert(0, id);
        self.find_member_of(id, holders, name)
    }

    /// Finds a member that `receiver` has from the first of several types with one.
    fn find_member_of(
        &self,
        receiver: DefinitionId,
        holders: TypeAncestors,
        name: &str,
    ) -> Targets {
        for holder in holders.types {
            let mut members = Vec::new();
            for (body, is_inherited) in self.list_bodies(holder) {
                // Members of a type hide those that it has for a base.
                if !is_inherited || members.is_empty() {
                    members.extend(self.find_bound(body, name));
                }
            }
            members.retain(|(target, _)| {
                !matches!(target, NameTarget::Binding(..) | NameTarget::External)
            });
            self.join_definitions(&mut members);
            for (target, _) in &mut members {
                if let NameTarget::Definition(_, through) = target {
                    *through = Some(receiver);
                }
            }
            weaken(&mut members, ResolutionRule::Own);
            if !members.is_empty() {
                return members;
            }
        }
        // All types of Java have the methods of one outside of the repository.
        let is_open = holders.is_open || self.module_system(receiver.file) == ModuleSystem::Java;
        if is_open { vec![(NameTarget::External, ResolutionRule::Own)] } else { Vec::new() }
    }

    /// Returns the scopes with members of a type: its body, then its extensions, each with true if of a base.
    pub(super) fn list_bodies(&self, id: DefinitionId) -> Vec<(ScopeId, bool)> {
        let mut bodies: Vec<_> =
            self.body_scope(id).map(|body| (body, false)).into_iter().collect();
        for extension in self.list_extensions(id) {
            let Some(fact) = self.extension(extension) else { continue };
            let body = ScopeId { file: extension.file, index: fact.body };
            let is_part = self.scope(body).is_some_and(|scope| scope.definition.is_some());
            // Extensions differ from one another.
            if bodies.first().is_none_or(|(known, _)| *known != body) {
                bodies.push((body, !fact.bases.is_empty() && !is_part));
            }
        }
        bodies.sort_by_key(|(_, is_inherited)| *is_inherited);
        bodies
    }

    pub(super) fn body_scope(&self, id: DefinitionId) -> Option<ScopeId> {
        let body = self.definition(id)?.body?;
        Some(ScopeId { file: id.file, index: body })
    }

    pub(super) fn list_ancestors(&self, id: DefinitionId) -> TypeAncestors {
        let ancestors = &self.memory.ancestors;
        self.memory.get_or_compute(ancestors, id, || self.collect_ancestors(id))
    }

    fn collect_ancestors(&self, id: DefinitionId) -> TypeAncestors {
        let mut ancestors = TypeAncestors::default();
        let Some(fact) = self.definition(id) else { return ancestors };
        let scope = ScopeId { file: id.file, index: fact.scope };
        let mut bases: Vec<_> = fact.bases.iter().map(|base| (scope, base)).collect();
        let is_ruby = self.module_system(id.file) == ModuleSystem::Ruby;
        if is_ruby {
            bases.clear();
        }
        for extension in self.list_extensions(id) {
            let Some(fact) = self.extension(extension) else { continue };
            let body = ScopeId { file: extension.file, index: fact.body };
            // Each part of a type of Ruby has bases, which it may define itself.
            let index = self.scope(body).and_then(|entry| entry.definition).filter(|_| is_ruby);
            let part =
                index.and_then(|index| self.definition(DefinitionId { file: body.file, index }));
            let added = part.map_or(&fact.bases, |part| &part.bases);
            let scope = if is_ruby { body } else { self.find_outer_scope(body) };
            bases.extend(added.iter().map(|base| (scope, base)));
        }
        for (scope, base) in bases {
            let values = match base {
                // The constants that a type inherits are not known yet.
                ShortExpression::Root(path) if is_ruby => {
                    let found = self.find_lexical_constant(scope, path).into_iter();
                    found.flat_map(|target| self.target_values(scope.file, target)).collect()
                }
                base => self.evaluate(scope, base),
            };
            ancestors.is_open |= values.is_empty();
            for (value, _) in values {
                let ExpressionValue::Type(base) = value else {
                    ancestors.is_open = true;
                    continue;
                };
                let inherited = self.list_ancestors(base);
                ancestors.is_open |= inherited.is_open;
                for ancestor in iter::once(base).chain(inherited.types) {
                    // A type comes after all that inherit from it.
                    ancestors.types.retain(|known| *known != ancestor);
                    if ancestor != id && ancestors.types.len() < MAX_ANCESTORS {
                        ancestors.types.push(ancestor);
                    }
                }
            }
        }
        ancestors
    }
}

//! Answers questions about definitions: their names, bodies, references and types around them.

use std::{collections::HashSet, iter};

use serde::Serialize;

use super::{DefinitionId, ResolutionRule, SymbolGraph, members::TypeAncestors, value::ScopeId};
use crate::modules::FileIndex;
use codeinfo_facts::{DefinitionFact, ModuleSystem, ScopeKind, to_index};

/// Measured likelihood that a resolved reference is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// At least 97 of 100 are right.
    Certain,
    /// At least 9 of 10 are right.
    Likely,
    Possible,
}

impl ResolutionRule {
    /// Returns how certain the results of a rule are, by the measured shares of [`ResolutionRule`].
    pub fn certainty(self) -> Certainty {
        match self {
            Self::Argument => Certainty::Likely,
            Self::Word => Certainty::Possible,
            Self::Compiler
            | Self::Scope
            | Self::Import
            | Self::ModuleMember
            | Self::Own
            | Self::Receiver
            | Self::Field
            | Self::Result
            | Self::Inferred => Certainty::Certain,
        }
    }
}

impl SymbolGraph {
    /// Returns the types that a type extends or implements, with those of its bases, nearest first.
    pub fn list_base_types(&self, id: DefinitionId) -> Vec<DefinitionId> {
        self.memory.begin_reference();
        let TypeAncestors { types, .. } = self.list_ancestors(id);
        types
    }

    /// Returns the members of a type with a name, those that other files add included.
    pub fn list_members(&self, id: DefinitionId, name: &str) -> Vec<DefinitionId> {
        self.memory.begin_reference();
        let mut members = Vec::new();
        for (body, is_inherited) in self.list_bodies(id) {
            let definitions = self.file_facts(body.file).map(|facts| facts.definitions.as_slice());
            let numbered = definitions.unwrap_or_default().iter().enumerate();
            let matching =
                numbered.filter(|(_, fact)| fact.scope == body.index && fact.name == name);
            let found =
                matching.map(|(index, _)| DefinitionId { file: body.file, index: to_index(index) });
            if !is_inherited || members.is_empty() {
                members.extend(found);
            }
        }
        members
    }

    /// Returns the type that a definition is a member of, also where another file adds it.
    pub fn enclosing_type(&self, id: DefinitionId) -> Option<DefinitionId> {
        let scope = ScopeId { file: id.file, index: self.definition(id)?.scope };
        let holder = self.scope(scope).filter(|scope| scope.kind == ScopeKind::Type)?;
        if let Some(index) = holder.definition {
            return Some(self.unify_parts(DefinitionId { file: id.file, index }));
        }
        self.memory.begin_reference();
        self.find_body_owner(scope)
    }

    /// Returns the types to which a file adds a type as base, outside of their definitions: `impl A for B`.
    pub fn list_extended_types(&self, file: FileIndex, base: DefinitionId) -> Vec<DefinitionId> {
        let Some(facts) = self.file_facts(file) else { return Vec::new() };
        let mut types = Vec::new();
        for extension in facts.extensions.iter().filter(|extension| !extension.bases.is_empty()) {
            self.memory.begin_reference();
            let body = ScopeId { file, index: extension.body };
            let owner = self.find_body_owner(body);
            let Some(owner) = owner.filter(|owner| !types.contains(owner)) else { continue };
            if self.list_base_types(owner).contains(&base) {
                types.push(owner);
            }
        }
        types
    }

    /// Returns true if a call of a method may call one of a subtype: in Go only if an interface declares it.
    pub fn may_be_replaced(&self, id: DefinitionId) -> bool {
        self.module_system(id.file) != ModuleSystem::Go
            || self.definition(id).is_some_and(|fact| fact.traits.is_declaration)
    }

    /// Returns the methods that an interface of Go declares, those of embedded ones included.
    pub fn list_interface_methods(&self, id: DefinitionId) -> Vec<&DefinitionFact> {
        if self.module_system(id.file) != ModuleSystem::Go {
            return Vec::new();
        }
        let types = iter::once(id).chain(self.list_base_types(id));
        let bodies = types.filter_map(|id| self.body_scope(id));
        let members = bodies.flat_map(|body| {
            let definitions = self.file_facts(body.file).map(|facts| facts.definitions.iter());
            definitions.into_iter().flatten().filter(move |fact| fact.scope == body.index)
        });
        members.filter(|fact| fact.traits.is_declaration).collect()
    }

    /// Returns the types with methods in a file that have all methods of an interface of Go.
    pub fn list_implementing_types(
        &self,
        file: FileIndex,
        interface: DefinitionId,
    ) -> Vec<DefinitionId> {
        let methods = self.list_interface_methods(interface);
        let Some(facts) = self.file_facts(file).filter(|_| !methods.is_empty()) else {
            return Vec::new();
        };
        let mut seen = HashSet::new();
        let owners = facts.extensions.iter().filter_map(|extension| {
            self.memory.begin_reference();
            let owner = self.find_body_owner(ScopeId { file, index: extension.body })?;
            seen.insert(owner).then_some(owner)
        });
        owners
            .take_while(|_| !self.memory.is_late())
            .filter(|id| self.has_methods(*id, &methods))
            .collect()
    }

    /// Returns true if a type has all methods of an interface of Go, which has some.
    pub fn implements_interface(&self, id: DefinitionId, interface: DefinitionId) -> bool {
        let methods = self.list_interface_methods(interface);
        !methods.is_empty() && self.has_methods(id, &methods)
    }

    fn has_methods(&self, id: DefinitionId, methods: &[&DefinitionFact]) -> bool {
        let count = |member: DefinitionId| self.definition(member)?.traits.parameter_count;
        methods.iter().all(|method| {
            let holders = iter::once(id).chain(self.list_base_types(id));
            let mut members = holders.flat_map(|holder| self.list_members(holder, &method.name));
            members.any(|member| count(member) == method.traits.parameter_count)
        })
    }

    /// Returns the definitions of a file that have a name.
    pub fn find_definitions(&self, file: FileIndex, name: &str) -> Vec<DefinitionId> {
        let definitions = self.file_facts(file).map(|facts| facts.definitions.as_slice());
        let numbered = definitions.unwrap_or_default().iter().enumerate();
        let named = numbered.filter(|(_, fact): &(usize, &DefinitionFact)| fact.name == name);
        let found = named.map(|(index, _)| DefinitionId { file, index: to_index(index) });
        found.filter(|id| !self.is_local_variable(*id)).collect()
    }
}

//! Answers questions about definitions: their names, bodies, references and types around them.

use serde::Serialize;

use super::{DefinitionId, ResolutionRule, SymbolGraph, members::TypeAncestors};
use crate::{
    facts::{
        BoundValue, DefinitionFact, DefinitionIndex, DefinitionKind, ReferenceFact, ScopeIndex,
        ScopeKind, ShortExpression, SourceFacts, to_index,
    },
    modules::FileIndex,
};

/// Name under which a script exports its default value.
const DEFAULT_EXPORT: &str = "default";

/// How often a resolved reference is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// At least 97 of 100 are right.
    Certain,
    /// At least 9 of 10 are right.
    Likely,
    /// One of several that fit.
    Possible,
}

impl ResolutionRule {
    /// Returns how certain the results of a rule are, by the measured shares of [`ResolutionRule`].
    pub fn certainty(self) -> Certainty {
        match self {
            Self::Argument => Certainty::Likely,
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

impl SourceFacts {
    /// Returns the innermost function or type whose body contains a scope.
    pub fn enclosing_definition(&self, scope: ScopeIndex) -> Option<DefinitionIndex> {
        let mut current = Some(scope);
        while let Some(scope) = current.and_then(|index| self.scopes.get(index as usize)) {
            if scope.definition.is_some() {
                return scope.definition;
            }
            current = scope.parent;
        }
        None
    }

    /// Returns the innermost function or type that contains a line, else the definition that
    /// starts in it.
    pub fn definition_at(&self, line: u32) -> Option<DefinitionIndex> {
        let numbered = self.definitions.iter().enumerate();
        let around = numbered.filter(|(_, fact)| {
            let (first, last) = fact.lines;
            let has_body = fact.body.is_some() || fact.kind == DefinitionKind::Function;
            (first..=last).contains(&line) && (has_body || fact.name_at.0 == line)
        });
        let smallest = around.min_by_key(|(_, fact)| (fact.lines.1 - fact.lines.0, fact.lines.0));
        smallest.map(|(index, _)| to_index(index))
    }

    /// Returns the name of a definition after those of the definitions around it, outermost first.
    pub fn qualified_name(&self, index: DefinitionIndex) -> Vec<&str> {
        let mut names = Vec::new();
        let mut current = self.definitions.get(index as usize);
        while let Some(fact) = current {
            names.push(fact.name.as_str());
            let around = self.enclosing_definition(fact.scope);
            let outer = around.and_then(|around| self.definitions.get(around as usize));
            // A scope follows those around it, so that this ends.
            current = outer.filter(|outer| outer.scope < fact.scope);
        }
        names.reverse();
        names
    }

    /// Returns the references in the body of a definition, those of nested definitions included.
    pub fn references_in(&self, index: DefinitionIndex) -> impl Iterator<Item = &ReferenceFact> {
        let body = self.definitions.get(index as usize).and_then(|fact| fact.body);
        self.references
            .iter()
            .filter(move |reference| body.is_some_and(|body| self.is_within(reference.scope, body)))
    }

    fn is_within(&self, scope: ScopeIndex, outer: ScopeIndex) -> bool {
        let mut current = Some(scope);
        while let Some(index) = current.filter(|index| *index >= outer) {
            if index == outer {
                return true;
            }
            current = self.scopes.get(index as usize).and_then(|scope| scope.parent);
        }
        false
    }

    /// Returns the names by which the file may refer to something called `name`: that name, and
    /// those that its imports and exports give it.
    pub fn list_local_names<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        let mut names = vec![name];
        for binding in self.scopes.iter().flat_map(|scope| &scope.bindings) {
            let means_name = match &binding.value {
                BoundValue::Import(index) => self
                    .imports
                    .get(*index as usize)
                    .is_some_and(|import| import.name.as_deref() == Some(name)),
                BoundValue::Assigned(ShortExpression::Name(assigned)) => assigned == name,
                _ => false,
            };
            if means_name && !names.contains(&binding.name.as_str()) {
                names.push(&binding.name);
            }
        }
        names
    }

    /// Returns true if importers may give a definition any name.
    pub fn is_default_export(&self, index: DefinitionIndex) -> bool {
        let Some(fact) = self.definitions.get(index as usize) else { return false };
        let exports = self.scopes.first().map(|scope| scope.bindings.as_slice());
        exports.unwrap_or_default().iter().any(|binding| {
            binding.name == DEFAULT_EXPORT
                && match &binding.value {
                    BoundValue::Definition(exported) => *exported == index,
                    BoundValue::Assigned(ShortExpression::Name(name)) => *name == fact.name,
                    _ => false,
                }
        })
    }
}

impl ReferenceFact {
    /// Returns the name that is referred to, without its receiver.
    pub fn name(&self) -> Option<&str> {
        match &self.target {
            ShortExpression::Name(name) | ShortExpression::Member(_, name) => Some(name),
            _ => None,
        }
    }
}

impl SymbolGraph {
    /// Returns the types that a type extends or implements, nearest first, those of its bases
    /// included.
    pub fn list_base_types(&self, id: DefinitionId) -> Vec<DefinitionId> {
        self.memory.begin_reference();
        let TypeAncestors { types, .. } = self.list_ancestors(id);
        types
    }

    /// Returns the members of a type with a name.
    pub fn list_members(&self, id: DefinitionId, name: &str) -> Vec<DefinitionId> {
        let Some(facts) = self.file_facts(id.file) else { return Vec::new() };
        let body = self.definition(id).and_then(|fact| fact.body);
        let numbered = facts.definitions.iter().enumerate();
        let members = numbered.filter(|(_, fact)| Some(fact.scope) == body && fact.name == name);
        members.map(|(index, _)| DefinitionId { file: id.file, index: to_index(index) }).collect()
    }

    /// Returns the type that a definition is a member of.
    pub fn enclosing_type(&self, id: DefinitionId) -> Option<DefinitionId> {
        let facts = self.file_facts(id.file)?;
        let scope = facts.scopes.get(facts.definitions.get(id.index as usize)?.scope as usize)?;
        let index = scope.definition.filter(|_| scope.kind == ScopeKind::Type)?;
        Some(DefinitionId { file: id.file, index })
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

//! Tells definitions of which a compiler reads one at a time from those that differ.

use super::{DefinitionId, SymbolGraph};
use codeinfo_facts::{DefinitionKind, ModuleSystem};

impl SymbolGraph {
    /// Returns true if definitions are alternatives of one, such as those in the branches of `#if`.
    ///
    /// C, Go and Rust allow one definition of a name in a scope: where there are several, conditions
    /// choose. In C++, and variables of C, are alternatives if they are in different branches.
    pub fn are_alternatives(&self, definitions: &[DefinitionId]) -> bool {
        let [first, others @ ..] = definitions else { return false };
        others.iter().all(|other| self.is_alternative(*first, *other))
    }

    fn is_alternative(&self, one: DefinitionId, other: DefinitionId) -> bool {
        let Some(facts) = self.file_facts(one.file) else { return false };
        let (Some(first), Some(second)) = (self.definition(one), self.definition(other)) else {
            return false;
        };
        let is_same_scope = one.file == other.file && first.scope == second.scope;
        let is_exclusive = || facts.are_exclusive(first.name_at.0, second.name_at.0);
        // Several variables of a file may be those of functions that cannot be parsed.
        let is_variable = first.kind == DefinitionKind::Variable && first.result.is_some();
        match facts.module_system {
            ModuleSystem::C => is_same_scope && (!is_variable || is_exclusive()),
            ModuleSystem::Rust => is_same_scope && first.kind == second.kind,
            ModuleSystem::Cpp => is_same_scope && is_exclusive(),
            ModuleSystem::Go => {
                let unit = |file| self.modules.find_unit(self.file_path(file));
                let holders = [one, other].map(|id| self.enclosing_type(id));
                unit(one.file) == unit(other.file) && holders[0] == holders[1]
            }
            _ => false,
        }
    }
}

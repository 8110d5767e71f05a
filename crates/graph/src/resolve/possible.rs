//! Tells which members a reference with an unknown receiver may mean.

use std::{collections::VecDeque, sync::Arc};

use super::{
    DefinitionId, SymbolGraph,
    value::{NameTarget, ScopeId},
};
use crate::modules::{FileIndex, ImportedModule};
use codeinfo_facts::{ModuleSystem, ReferenceFact, ShortExpression, to_index};

/// Maximum files that are followed from one through imports, nearest first.
const MAX_REACHED_FILES: usize = 256;

impl SymbolGraph {
    /// Returns true if a member whose receiver is unknown may be a given definition: of its name,
    /// and in one of the 256 files nearest by imports. A receiver that is a literal, global, known
    /// value or from outside of the graph is not unknown.
    pub fn may_refer_to_member(
        &self,
        file: FileIndex,
        reference: &ReferenceFact,
        definition: DefinitionId,
    ) -> bool {
        let ShortExpression::Member(receiver, _) = &reference.target else { return false };
        let is_named =
            self.definition(definition).is_some_and(|fact| reference.name() == Some(&fact.name));
        if !is_named || self.enclosing_type(definition).is_none() {
            return false;
        }
        self.memory.begin_reference();
        let scope = ScopeId { file, index: reference.scope };
        // These files see one another without imports, and methods may be of an including type.
        let system = self.module_system(file);
        if matches!(system, ModuleSystem::Php | ModuleSystem::Ruby) {
            return self.module_system(definition.file) == system;
        }
        self.evaluate(scope, receiver).is_empty()
            && self.list_reached_files(file).contains(&definition.file)
    }

    /// Returns at most `max_members` definitions that a member whose receiver is unknown may be, those
    /// in files that fewer imports lead to first.
    pub fn list_possible_members(
        &self,
        file: FileIndex,
        reference: &ReferenceFact,
        max_members: usize,
    ) -> Vec<DefinitionId> {
        let ShortExpression::Member(..) = &reference.target else { return Vec::new() };
        let Some(name) = reference.name() else { return Vec::new() };
        let files = match self.module_system(file) {
            ModuleSystem::Php | ModuleSystem::Ruby => {
                let unit = self.modules.find_unit(self.file_path(file)).unwrap_or_default();
                Arc::new(self.modules.list_unit_files(&unit).to_vec())
            }
            _ => self.list_reached_files(file),
        };
        let named = files.iter().flat_map(|file| self.find_definitions(*file, name));
        let is_possible = |id: &DefinitionId| self.may_refer_to_member(file, reference, *id);
        named.filter(is_possible).take(max_members).collect()
    }

    fn list_reached_files(&self, from: FileIndex) -> Arc<Vec<FileIndex>> {
        let known = self.memory.reached_files.borrow().get(&from).cloned();
        known.unwrap_or_else(|| {
            let reached = Arc::new(self.follow_imports(from));
            self.memory.reached_files.borrow_mut().insert(from, Arc::clone(&reached));
            reached
        })
    }

    fn follow_imports(&self, from: FileIndex) -> Vec<FileIndex> {
        let mut reached = vec![from];
        let mut next = VecDeque::from([from]);
        while let Some(file) = next.pop_front() {
            for imported in self.list_imported_files(file) {
                if reached.len() < MAX_REACHED_FILES && !reached.contains(&imported) {
                    reached.push(imported);
                    next.push_back(imported);
                }
            }
        }
        reached
    }

    fn list_imported_files(&self, file: FileIndex) -> Vec<FileIndex> {
        let Some(facts) = self.file_facts(file) else { return Vec::new() };
        let modules = facts.imports.iter().map(|import| &import.module).chain(&facts.star_imports);
        let mut files = Vec::new();
        for module in modules {
            if let ImportedModule::File(module) = self.find_module(file, module) {
                files.push(module);
            }
        }
        for index in 0..to_index(facts.imports.len()) {
            self.memory.begin_reference();
            for (target, _) in self.find_imported(file, index) {
                match target {
                    NameTarget::Definition(id, _) => files.push(id.file),
                    NameTarget::Module(module) => files.push(module),
                    NameTarget::Folder(_) | NameTarget::Binding(..) | NameTarget::External => {}
                }
            }
        }
        files
    }
}

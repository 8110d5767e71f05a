//! Finds imported names and what modules export.

use std::{collections::HashSet, sync::Arc};

use super::{
    ResolutionRule, SymbolGraph,
    memory::ExportKey,
    value::{NameTarget, ScopeId, Targets, weaken},
};
use crate::modules::{FileIndex, ImportedModule};
use codeinfo_facts::{DEFAULT_EXPORT, MODULE_EXPORTS, ModuleSystem};

/// Maximum files that a file includes, with those that they include.
const MAX_INCLUDED: usize = 1_000;

/// Ends of files that shells and Ruby read by a path without them.
const SOURCE_SUFFIXES: [&str; 4] = ["", ".rb", ".bash", ".sh"];

impl SymbolGraph {
    pub(super) fn find_imported(&self, file: FileIndex, index: u32) -> Targets {
        let import = self.file_facts(file).and_then(|facts| facts.imports.get(index as usize));
        let Some(import) = import else { return Vec::new() };
        let target = match (&import.name, self.find_module(file, &import.module)) {
            (_, ImportedModule::Outside) => Some(NameTarget::External),
            (None, ImportedModule::File(module)) => {
                let mut targets =
                    self.find_bound(ScopeId { file: module, index: 0 }, MODULE_EXPORTS);
                targets.push((NameTarget::Module(module), ResolutionRule::Import));
                weaken(&mut targets, ResolutionRule::Import);
                return targets;
            }
            (None, ImportedModule::Folder(folder)) => Some(NameTarget::Folder(folder)),
            (Some(name), ImportedModule::File(module)) => {
                let mut targets = self.find_exported(module, name);
                if targets.is_empty() && name == DEFAULT_EXPORT {
                    targets = self.find_bound(ScopeId { file: module, index: 0 }, MODULE_EXPORTS);
                }
                weaken(&mut targets, ResolutionRule::Import);
                return targets;
            }
            (Some(name), ImportedModule::Folder(folder)) => {
                self.modules.find_submodule(&folder, name).map(NameTarget::Module)
            }
        };
        target.map(|target| (target, ResolutionRule::Import)).into_iter().collect()
    }

    pub(super) fn find_module(&self, file: FileIndex, module: &str) -> ImportedModule {
        let importer = self.file_path(file);
        match self.module_system(file) {
            ModuleSystem::Python => self.modules.find_python(importer, module),
            ModuleSystem::Script => self.modules.find_script(importer, module),
            ModuleSystem::C | ModuleSystem::Cpp => self.modules.find_include(importer, module),
            ModuleSystem::Rust => self.modules.find_rust_child(importer, module),
            ModuleSystem::Bash | ModuleSystem::Ruby => {
                let paths = SOURCE_SUFFIXES.iter().map(|suffix| format!("{module}{suffix}"));
                let mut found = paths.map(|path| self.modules.find_include(importer, &path));
                let is_found = |file: &ImportedModule| *file != ImportedModule::Outside;
                found.find(is_found).unwrap_or(ImportedModule::Outside)
            }
            _ => ImportedModule::Outside,
        }
    }

    /// Finds a name that a module exports: one of its own, of its star imports, or a submodule.
    pub(super) fn find_exported(&self, module: FileIndex, name: &str) -> Targets {
        let key = ExportKey { module, name: name.to_owned() };
        self.memory.get_or_compute(&self.memory.exports, key, || {
            self.memory.descend(|| self.search_exports(module, name))
        })
    }

    fn search_exports(&self, module: FileIndex, name: &str) -> Targets {
        let bound = self.find_bound(ScopeId { file: module, index: 0 }, name);
        if !bound.is_empty() {
            return bound;
        }
        let starred = self.find_starred(module, name);
        if !starred.is_empty() {
            return starred;
        }
        if self.module_system(module) == ModuleSystem::Cpp {
            let linked = self.find_linked(name).into_iter();
            return linked.map(|target| (target, ResolutionRule::Import)).collect();
        }
        if self.module_system(module) == ModuleSystem::Rust {
            let macros = self.find_macros(module, name).into_iter();
            return macros.map(|target| (target, ResolutionRule::Import)).collect();
        }
        let submodule = self.modules.find_submodule(self.file_path(module), name);
        submodule
            .map(|module| (NameTarget::Module(module), ResolutionRule::Import))
            .into_iter()
            .collect()
    }

    /// Finds a name in the first module that has it, of those that a file imports all names of.
    pub(super) fn find_starred(&self, file: FileIndex, name: &str) -> Targets {
        let Some(facts) = self.file_facts(file) else { return Vec::new() };
        if facts.module_system.has_includes() {
            return self.find_included(file, name);
        }
        for module in &facts.star_imports {
            if let ImportedModule::File(module) = self.find_module(file, module) {
                let mut targets = self.find_exported(module, name);
                if !targets.is_empty() {
                    weaken(&mut targets, ResolutionRule::Import);
                    return targets;
                }
            }
        }
        for (index, source) in &facts.glob_imports {
            for (value, _) in self.evaluate(ScopeId { file, index: *index }, source) {
                let mut targets = self.find_member(&value, name);
                targets.retain(|(target, _)| !matches!(target, NameTarget::External));
                if !targets.is_empty() {
                    weaken(&mut targets, ResolutionRule::Import);
                    return targets;
                }
            }
        }
        Vec::new()
    }

    /// Finds a name in the first file that has it, of those that a file includes.
    fn find_included(&self, file: FileIndex, name: &str) -> Targets {
        for included in self.list_included(file).iter() {
            let mut targets = self.find_bound(ScopeId { file: *included, index: 0 }, name);
            if !targets.is_empty() {
                weaken(&mut targets, ResolutionRule::Import);
                return targets;
            }
        }
        Vec::new()
    }

    /// Returns the files that a file includes, directly or not, in the order of a compiler.
    pub(super) fn list_included(&self, file: FileIndex) -> Arc<Vec<FileIndex>> {
        if let Some(known) = self.memory.included.borrow().get(&file) {
            return Arc::clone(known);
        }
        let mut included = Vec::new();
        let mut is_known = HashSet::from([file]);
        let mut waiting = vec![file];
        while let Some(current) = waiting.pop() {
            if current != file {
                included.push(current);
            }
            if included.len() == MAX_INCLUDED {
                break;
            }
            let paths = self.file_facts(current).map(|facts| facts.star_imports.as_slice());
            for path in paths.unwrap_or_default().iter().rev() {
                if let ImportedModule::File(next) = self.find_module(current, path)
                    && is_known.insert(next)
                {
                    waiting.push(next);
                }
            }
        }
        let included = Arc::new(included);
        self.memory.included.borrow_mut().insert(file, Arc::clone(&included));
        included
    }
}

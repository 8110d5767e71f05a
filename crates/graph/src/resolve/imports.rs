//! Finds imported names and what modules export.

use super::{
    ResolutionRule, SymbolGraph,
    memory::ExportKey,
    value::{NameTarget, ScopeId, Targets, weaken},
};
use crate::{
    extract::{DEFAULT_EXPORT, MODULE_EXPORTS},
    facts::ModuleSystem,
    modules::{FileIndex, ImportedModule},
};

impl SymbolGraph {
    /// Finds what an import of a file leads to.
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
        match self.file_facts(file).map(|facts| facts.module_system) {
            Some(ModuleSystem::Python) => self.modules.find_python(importer, module),
            Some(ModuleSystem::Script) => self.modules.find_script(importer, module),
            None => ImportedModule::Outside,
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
        let submodule = self.modules.find_submodule(self.file_path(module), name);
        submodule
            .map(|module| (NameTarget::Module(module), ResolutionRule::Import))
            .into_iter()
            .collect()
    }

    /// Finds a name in the first module that has it, of those that a file imports all names of.
    pub(super) fn find_starred(&self, file: FileIndex, name: &str) -> Targets {
        let Some(facts) = self.file_facts(file) else { return Vec::new() };
        for module in &facts.star_imports {
            if let ImportedModule::File(module) = self.find_module(file, module) {
                let mut targets = self.find_exported(module, name);
                if !targets.is_empty() {
                    weaken(&mut targets, ResolutionRule::Import);
                    return targets;
                }
            }
        }
        Vec::new()
    }
}

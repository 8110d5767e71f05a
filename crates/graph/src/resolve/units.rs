//! Finds names and members that no import leads to: those of the unit that a file is part of.
//!
//! A unit is what the compiler of a language joins without imports: a folder in Go, a crate in Rust.

use std::sync::Arc;

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    memory::ExtendedType,
    value::{ExpressionValue, ExtensionId, NameTarget, ScopeId, Targets, UnitIndex},
};
use crate::modules::{BASH_UNIT, C_UNIT, CSHARP_UNIT, FileIndex, ImportedModule, RUBY_UNIT};
use codeinfo_facts::{
    BoundValue, ModuleSystem, NameBinding, ScopeIndex, ShortExpression, TypeExtension, to_index,
};

/// Maximum definitions of one name in a unit that are kept.
const MAX_SAME_NAME: usize = 64;
/// Maximum extensions of types of one name in a unit that are searched.
const MAX_EXTENSIONS: usize = 2_000;

impl SymbolGraph {
    /// Finds a name of the other files of the unit that a file is part of.
    pub(super) fn find_unit_names(&self, unit: &str, name: &str) -> Vec<DefinitionId> {
        self.unit_index(unit).names.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn extension(&self, id: ExtensionId) -> Option<&TypeExtension> {
        self.file_facts(id.file)?.extensions.get(id.index as usize)
    }

    pub(super) fn list_extensions(&self, id: DefinitionId) -> Vec<ExtensionId> {
        let Some(fact) = self.definition(id) else { return Vec::new() };
        if let Some(name) = self.full_name(id) {
            let parts = self.unit_index(RUBY_UNIT).extensions.get(name).cloned();
            return parts.unwrap_or_default();
        }
        let Some(unit) = self.modules.find_unit(self.file_path(id.file)) else { return Vec::new() };
        let extensions = &self.memory.extensions;
        self.memory.get_or_compute(extensions, ExtendedType(id), || {
            let index = self.unit_index(&unit);
            let same_name = index.extensions.get(&fact.name).map(Vec::as_slice).unwrap_or_default();
            let is_extended = |extension: &&ExtensionId| self.extends_type(**extension, id);
            same_name.iter().filter(is_extended).copied().collect()
        })
    }

    /// Returns the full name of a type of Ruby; `None` for other definitions.
    pub(super) fn full_name(&self, id: DefinitionId) -> Option<&str> {
        let body =
            self.body_scope(id).filter(|_| self.module_system(id.file) == ModuleSystem::Ruby)?;
        match &self.find_body_extension(body)?.target {
            ShortExpression::Root(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the first part of a type of Ruby, which represents all, by its full name.
    pub(super) fn find_first_part(&self, full_name: &str) -> Option<DefinitionId> {
        let index = self.unit_index(RUBY_UNIT);
        index.extensions.get(full_name)?.iter().find_map(|part| {
            let body = ScopeId { file: part.file, index: self.extension(*part)?.body };
            Some(DefinitionId { file: part.file, index: self.scope(body)?.definition? })
        })
    }

    /// Returns the definition that represents a type: the first of its parts in Ruby.
    pub(super) fn unify_parts(&self, id: DefinitionId) -> DefinitionId {
        self.full_name(id).and_then(|name| self.find_first_part(name)).unwrap_or(id)
    }

    fn extends_type(&self, extension: ExtensionId, id: DefinitionId) -> bool {
        let Some(body) = self.extension(extension).map(|fact| fact.body) else { return false };
        let body = ScopeId { file: extension.file, index: body };
        if self.scope(body).is_some_and(|scope| scope.definition.is_some()) {
            // A part of a type of the same name.
            let namespace = self.file_facts(id.file).map(|facts| facts.namespace.as_str());
            return self.has_namespace(extension.file, namespace.unwrap_or_default());
        }
        self.evaluate_target(body).contains(&id)
    }

    /// Returns the type that an extension with a body adds members to, or the trait that it implements
    /// for a type from outside of the repository.
    pub(super) fn find_extended_type(&self, body: ScopeId) -> Option<DefinitionId> {
        if let Some(id) = self.evaluate_target(body).first() {
            return Some(*id);
        }
        let bases = &self.find_body_extension(body)?.bases;
        let outer = self.find_outer_scope(body);
        bases.iter().find_map(|base| self.list_types(outer, base).first().copied())
    }

    /// Returns the scope around the body of an extension, in which its type is named.
    pub(super) fn find_outer_scope(&self, body: ScopeId) -> ScopeId {
        let outer = self.scope(body).and_then(|scope| scope.parent);
        outer.map_or(body, |outer| body.with_index(outer))
    }

    fn evaluate_target(&self, body: ScopeId) -> Vec<DefinitionId> {
        let target = self.find_body_extension(body).map(|extension| &extension.target);
        let outer = self.find_outer_scope(body);
        target.map(|target| self.list_types(outer, target)).unwrap_or_default()
    }

    fn list_types(&self, scope: ScopeId, expression: &ShortExpression) -> Vec<DefinitionId> {
        let values = self.evaluate(scope, expression).into_iter();
        let types = values.filter_map(|(value, _)| match value {
            ExpressionValue::Type(id) => Some(id),
            _ => None,
        });
        types.collect()
    }

    fn find_body_extension(&self, body: ScopeId) -> Option<&TypeExtension> {
        let extensions = &self.file_facts(body.file)?.extensions;
        let find_body = |extension: &TypeExtension| -> ScopeIndex { extension.body };
        let place = extensions.binary_search_by_key(&body.index, find_body).ok()?;
        extensions.get(place)
    }

    /// Returns the index of a unit, which reads the facts of all its files once.
    pub(super) fn unit_index(&self, unit: &str) -> Arc<UnitIndex> {
        if let Some(known) = self.memory.units.borrow().get(unit) {
            return Arc::clone(known);
        }
        let mut index = UnitIndex::default();
        for file in self.modules.list_unit_files(unit) {
            self.add_to_unit(&mut index, *file);
        }
        let index = Arc::new(index);
        self.memory.units.borrow_mut().insert(unit.to_owned(), Arc::clone(&index));
        index
    }

    fn add_to_unit(&self, index: &mut UnitIndex, file: FileIndex) {
        let Some(facts) = self.file_facts(file) else { return };
        if !facts.star_imports.is_empty() {
            index.global_importers.push(file);
        }
        for binding in facts.scopes.first().map(|scope| &scope.bindings).into_iter().flatten() {
            if let BoundValue::Definition(definition) = binding.value {
                let same_name = index.names.entry(binding.name.clone()).or_default();
                if same_name.len() < MAX_SAME_NAME {
                    same_name.push(DefinitionId { file, index: definition });
                }
            }
        }
        for (place, extension) in facts.extensions.iter().enumerate() {
            let Some(mut name) = find_last_name(&extension.target) else { continue };
            // The type may be imported by another name.
            let bound = facts.scopes.first().and_then(|scope| scope.list_bindings(name).next());
            if let Some(NameBinding { value: BoundValue::Alias(source), .. }) = bound {
                name = find_last_name(source).unwrap_or(name);
            }
            let same_name = index.extensions.entry(name.to_owned()).or_default();
            if same_name.len() < MAX_EXTENSIONS {
                same_name.push(ExtensionId { file, index: to_index(place) });
            }
        }
    }

    /// Finds a name that a file sees without an import.
    pub(super) fn find_in_unit(&self, file: FileIndex, name: &str) -> Targets {
        let Some(facts) = self.file_facts(file) else { return Vec::new() };
        let mut rule = ResolutionRule::Scope;
        let names = match facts.module_system {
            ModuleSystem::Go => self.find_in_folder(file, &facts.namespace, name),
            ModuleSystem::Rust => self.find_in_crate(file, name),
            ModuleSystem::C | ModuleSystem::Cpp => self.find_linked(name),
            ModuleSystem::Bash | ModuleSystem::Ruby | ModuleSystem::Words => {
                let unit = self.modules.find_unit(self.file_path(file)).unwrap_or_default();
                let mut found = self.find_unit_names(&unit, name);
                // Alternatives of one file are one function.
                let first = found.first().map(|id| id.file);
                if found.iter().any(|id| Some(id.file) != first) {
                    found.clear();
                } else if unit != BASH_UNIT || !first.is_some_and(|file| self.is_sourced(file)) {
                    rule = ResolutionRule::Word;
                }
                found.into_iter().map(|id| NameTarget::Definition(id, None)).collect()
            }
            ModuleSystem::Csharp => {
                let found = self.find_in_namespaces(&facts.namespace, name);
                if found.is_empty() { self.find_in_global_imports(file, name) } else { found }
            }
            ModuleSystem::Java => self.find_java_type(file, &facts.namespace, name),
            _ => Vec::new(),
        };
        let mut targets = names.into_iter().map(|target| (target, rule)).collect();
        self.join_definitions(&mut targets);
        targets
    }

    /// Finds the only definition of a name that other files of C see.
    pub(super) fn find_linked(&self, name: &str) -> Vec<NameTarget> {
        let mut found = self.find_unit_names(C_UNIT, name);
        found.retain(|id| {
            let traits = self.definition(*id).map(|fact| fact.traits).unwrap_or_default();
            !traits.is_private && !traits.is_declaration
        });
        // Alternatives of one file depend on how it is compiled.
        let first = found.first().map(|id| id.file);
        if found.iter().any(|id| Some(id.file) != first) {
            return Vec::new();
        }
        found.into_iter().map(|id| NameTarget::Definition(id, None)).collect()
    }

    /// Replaces the only declaration of a name by the only definition that a linker finds for it.
    pub(super) fn link_declaration(&self, targets: &mut Targets) {
        let [(NameTarget::Definition(id, _), rule)] = targets.as_slice() else { return };
        let (id, rule) = (*id, *rule);
        let Some(fact) = self.definition(id) else { return };
        if fact.traits.is_declaration
            && self.module_system(id.file).has_includes()
            && let linked = self.find_linked(&fact.name)
            && !linked.is_empty()
        {
            *targets = linked.into_iter().map(|target| (target, rule)).collect();
        }
    }

    /// Returns true if a script of the shell sources a file.
    fn is_sourced(&self, file: FileIndex) -> bool {
        let sourced = self.memory.sourced.get_or_init(|| {
            let scripts = self.modules.list_unit_files(BASH_UNIT).iter();
            let sourced = scripts.flat_map(|script| {
                let paths = self.file_facts(*script).map(|facts| facts.star_imports.as_slice());
                let modules = paths.unwrap_or_default().iter();
                modules.filter_map(|path| match self.find_module(*script, path) {
                    ImportedModule::File(file) => Some(file),
                    _ => None,
                })
            });
            sourced.collect()
        });
        sourced.contains(&file)
    }

    fn find_in_namespaces(&self, namespace: &str, name: &str) -> Vec<NameTarget> {
        let mut current = namespace;
        loop {
            let found = self.find_in_namespace(CSHARP_UNIT, current, name);
            if !found.is_empty() || current.is_empty() {
                return found;
            }
            current = current.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }

    /// Finds a name that `global using` imports into the files below its folder.
    fn find_in_global_imports(&self, file: FileIndex, name: &str) -> Vec<NameTarget> {
        let path = self.file_path(file);
        for importer in &self.unit_index(CSHARP_UNIT).global_importers {
            let folder =
                self.file_path(*importer).rsplit_once('/').map_or("", |(folder, _)| folder);
            let imports = self.file_facts(*importer).filter(|_| path.starts_with(folder));
            for namespace in imports.map(|facts| facts.star_imports.as_slice()).unwrap_or_default()
            {
                let mut found = self.find_in_namespace(CSHARP_UNIT, namespace, name);
                if found.is_empty()
                    && let Some((outer, kind)) = namespace.rsplit_once('.')
                {
                    found = self.find_static_members(outer, kind, name);
                }
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    fn find_static_members(&self, namespace: &str, kind: &str, name: &str) -> Vec<NameTarget> {
        let types = self.find_in_namespace(CSHARP_UNIT, namespace, kind).into_iter();
        let members = types.flat_map(|target| match target {
            NameTarget::Definition(id, _) => self.find_type_member(id, name),
            _ => Vec::new(),
        });
        let found = members.map(|(target, _)| target);
        found.filter(|target| !matches!(target, NameTarget::External)).collect()
    }

    pub(super) fn find_in_namespace(
        &self,
        unit: &str,
        namespace: &str,
        name: &str,
    ) -> Vec<NameTarget> {
        let mut found = self.find_unit_names(unit, name);
        found.retain(|id| self.has_namespace(id.file, namespace));
        found.into_iter().map(|id| NameTarget::Definition(id, None)).collect()
    }

    /// Finds a macro of a crate, or another crate of the repository.
    fn find_in_crate(&self, file: FileIndex, name: &str) -> Vec<NameTarget> {
        let Some(macro_name) = name.strip_suffix('!') else {
            return self.find_crate(name).map(NameTarget::Module).into_iter().collect();
        };
        let found = self.find_macros(file, macro_name);
        if !found.is_empty() {
            return found;
        }
        // A macro of another crate is imported without the mark.
        let imported = self.find_bound(ScopeId { file, index: 0 }, macro_name);
        let is_macro = |target: &NameTarget| match target {
            NameTarget::Definition(id, _) => self.list_macros(id.file, macro_name).contains(id),
            _ => false,
        };
        imported.into_iter().map(|(target, _)| target).filter(is_macro).collect()
    }

    pub(super) fn find_macros(&self, file: FileIndex, name: &str) -> Vec<NameTarget> {
        let found = self.list_macros(file, name).into_iter();
        found.map(|id| NameTarget::Definition(id, None)).collect()
    }

    fn list_macros(&self, file: FileIndex, name: &str) -> Vec<DefinitionId> {
        let unit = self.modules.find_unit(self.file_path(file));
        unit.map(|unit| self.find_unit_names(&unit, &format!("{name}!"))).unwrap_or_default()
    }

    fn find_in_folder(&self, file: FileIndex, package: &str, name: &str) -> Vec<NameTarget> {
        let Some(unit) = self.modules.find_unit(self.file_path(file)) else { return Vec::new() };
        let mut found = self.find_unit_names(&unit, name);
        found.retain(|id| self.has_namespace(id.file, package));
        found.into_iter().map(|id| NameTarget::Definition(id, None)).collect()
    }

    pub(super) fn has_namespace(&self, file: FileIndex, namespace: &str) -> bool {
        self.file_facts(file).is_some_and(|facts| facts.namespace == namespace)
    }

    pub(super) fn find_package_member(&self, folder: &str, name: &str) -> Vec<NameTarget> {
        if !self.modules.has_unit(folder) {
            let found = self.find_in_namespace(CSHARP_UNIT, folder, name);
            if !found.is_empty() {
                return found;
            }
            return self.find_java_type(0, &folder.replace('/', "."), name);
        }
        let mut found = self.find_unit_names(folder, name);
        // Tests outside of the package lie in its folder.
        found.retain(|id| {
            self.file_facts(id.file).is_some_and(|facts| !facts.namespace.ends_with("_test"))
        });
        found.into_iter().map(|id| NameTarget::Definition(id, None)).collect()
    }
}

fn find_last_name(kind: &ShortExpression) -> Option<&str> {
    match kind {
        ShortExpression::Name(name)
        | ShortExpression::Root(name)
        | ShortExpression::Member(_, name) => Some(name),
        ShortExpression::Item(base, _) => find_last_name(base),
        _ => None,
    }
}

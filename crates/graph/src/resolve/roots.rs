//! Finds modules, packages and types by the paths that imports write.

use super::{
    DefinitionId, ResolutionRule, SymbolGraph,
    names::MAX_BINDINGS,
    value::{NameTarget, ScopeId, Targets},
};
use crate::modules::{CSHARP_UNIT, FileIndex, PHP_UNIT, RUBY_UNIT};
use codeinfo_facts::{BoundValue, ModuleSystem, ScopeKind, ShortExpression};

impl SymbolGraph {
    /// Finds what a path of an import leads to.
    pub(super) fn find_root(&self, scope: ScopeId, path: &str) -> Targets {
        let targets = match self.module_system(scope.file) {
            ModuleSystem::Rust => self.find_rust_root(scope, path),
            ModuleSystem::Go => {
                self.find_go_package(path).map(NameTarget::Folder).into_iter().collect()
            }
            // A namespace has the names of the file.
            ModuleSystem::Cpp => vec![NameTarget::Module(scope.file)],
            ModuleSystem::Php => {
                let (namespace, name) = path.rsplit_once('\\').unwrap_or(("", path));
                let found = self.find_in_namespace(PHP_UNIT, namespace, name);
                if found.is_empty() { self.find_in_namespace(PHP_UNIT, "", name) } else { found }
            }
            ModuleSystem::Ruby => self.find_constant(scope, path),
            ModuleSystem::Csharp => {
                let (namespace, name) = path.rsplit_once('.').unwrap_or(("", path));
                let found = self.find_in_namespace(CSHARP_UNIT, namespace, name);
                if found.is_empty() { vec![NameTarget::Folder(path.to_owned())] } else { found }
            }
            ModuleSystem::Java => match path.rsplit_once('.') {
                Some((package, name)) if name.starts_with(char::is_uppercase) => {
                    self.find_java_type(scope.file, package, name)
                }
                _ => vec![NameTarget::Folder(path.replace('.', "/"))],
            },
            _ => Vec::new(),
        };
        let with_rule = |target| (target, ResolutionRule::Import);
        if targets.is_empty() {
            return vec![with_rule(NameTarget::External)];
        }
        targets.into_iter().map(with_rule).collect()
    }

    /// Finds a constant of Ruby that the type around a scope sees, also one that it inherits.
    fn find_constant(&self, scope: ScopeId, path: &str) -> Vec<NameTarget> {
        let found = self.find_lexical_constant(scope, path);
        if !found.is_empty() || path.starts_with("::") {
            return found;
        }
        let owner = self.find_enclosing_type(scope);
        let ancestors = owner.map(|id| self.list_ancestors(id).types).unwrap_or_default();
        // Modules that files include give their constants to all.
        let index = self.unit_index(RUBY_UNIT);
        let object = index.extensions.get("Object").into_iter().flatten().take(MAX_BINDINGS);
        let included = object.filter_map(|part| self.extension(*part)).flat_map(|part| &part.bases);
        let own_names = ancestors.iter().filter_map(|id| self.full_name(*id));
        let names = own_names.chain(included.filter_map(|module| match module {
            ShortExpression::Root(name) => Some(name.as_str()),
            _ => None,
        }));
        let mut inherited = names
            .map(|name| self.memory.descend(|| self.find_constant_of(&format!("{name}::{path}"))));
        inherited.find(|targets| !targets.is_empty()).unwrap_or_default()
    }

    /// Finds a constant of the types around a scope, innermost first, or of the top level.
    pub(super) fn find_lexical_constant(&self, scope: ScopeId, path: &str) -> Vec<NameTarget> {
        let owner = self.find_enclosing_type(scope).filter(|_| !path.starts_with("::"));
        let mut around = owner.and_then(|id| self.full_name(id)).unwrap_or_default();
        let relative = path.trim_start_matches(':');
        while !around.is_empty() {
            let found = self.find_constant_of(&format!("{around}::{relative}"));
            if !found.is_empty() {
                return found;
            }
            around = around.rsplit_once("::").map_or("", |(outer, _)| outer);
        }
        self.find_constant_of(relative)
    }

    /// Finds a constant by its full name: a type, or a value that a type or file binds.
    fn find_constant_of(&self, full_name: &str) -> Vec<NameTarget> {
        if let Some(id) = self.find_first_part(full_name) {
            return vec![NameTarget::Definition(id, None)];
        }
        let Some((owner, name)) = full_name.rsplit_once("::") else {
            let found = self.find_unit_names(RUBY_UNIT, full_name).into_iter();
            let values = found.filter(|id| self.full_name(*id).is_none());
            return values.map(|id| NameTarget::Definition(id, None)).collect();
        };
        let holder = self.find_first_part(owner);
        let bodies = holder.map(|id| self.list_bodies(id)).unwrap_or_default().into_iter();
        let bound = bodies.flat_map(|(body, _)| self.find_bound(body, name));
        bound.map(|(target, _)| target).collect()
    }

    /// Finds a type of Java by its package and name, in the file that has its name.
    pub(super) fn find_java_type(
        &self,
        importer: FileIndex,
        package: &str,
        name: &str,
    ) -> Vec<NameTarget> {
        let separator = if package.is_empty() { "" } else { "/" };
        let end = format!("{}{separator}{name}.java", package.replace('.', "/"));
        let mut files = self.modules.list_path_ends(self.file_path(importer), &end).into_iter();
        let file = files.find(|file| self.has_namespace(*file, package));
        let targets = file.map(|file| self.find_bound(ScopeId { file, index: 0 }, name));
        targets.into_iter().flatten().map(|(target, _)| target).collect()
    }

    /// Finds the first part of a path of Rust.
    fn find_rust_root(&self, scope: ScopeId, name: &str) -> Vec<NameTarget> {
        let path = self.file_path(scope.file);
        let modules = self.list_inline_modules(scope);
        match name {
            "crate" => {
                self.modules.find_rust_crate(path).map(NameTarget::Module).into_iter().collect()
            }
            "self" => vec![self.make_module(scope.file, modules.first())],
            "super" if modules.is_empty() => {
                let parent = self.modules.find_rust_parent(path);
                parent.map(NameTarget::Module).into_iter().collect()
            }
            "super" => vec![self.make_module(scope.file, modules.get(1))],
            _ => self.find_module_or_crate(scope, modules.first(), name),
        }
    }

    /// Returns the scopes of modules without their own file around a scope, innermost first.
    fn list_inline_modules(&self, scope: ScopeId) -> Vec<ScopeId> {
        let mut modules = Vec::new();
        let mut index = Some(scope.index);
        while let Some(current) = index.map(|index| scope.with_index(index))
            && let Some(entry) = self.scope(current)
        {
            if entry.kind == ScopeKind::Namespace {
                modules.push(current);
            }
            index = entry.parent;
        }
        modules
    }

    fn make_module(&self, file: FileIndex, inline: Option<&ScopeId>) -> NameTarget {
        let definition = inline.and_then(|scope| self.scope(*scope)?.definition);
        match definition {
            Some(index) => NameTarget::Definition(DefinitionId { file, index }, None),
            None => NameTarget::Module(file),
        }
    }

    /// Finds the first name of a path: of the module around it, else a crate of the repository.
    fn find_module_or_crate(
        &self,
        scope: ScopeId,
        inline: Option<&ScopeId>,
        name: &str,
    ) -> Vec<NameTarget> {
        let module = inline.copied().unwrap_or(scope.with_index(0));
        let entries = self.scope(module).into_iter();
        let bindings = entries.flat_map(|entry| entry.list_bindings(name));
        let mut found = Targets::new();
        for binding in bindings.take(MAX_BINDINGS) {
            match &binding.value {
                BoundValue::Definition(index) => {
                    let id = DefinitionId { file: scope.file, index: *index };
                    found.push((NameTarget::Definition(id, None), ResolutionRule::Scope));
                }
                BoundValue::Import(index) => found.extend(self.find_imported(scope.file, *index)),
                // `use a::b` does not find itself.
                BoundValue::Alias(source) if find_first_part(source) != Some(name) => {
                    found.extend(self.memory.descend(|| self.find_targets(module, source)));
                }
                _ => {}
            }
        }
        if !found.is_empty() {
            return found.into_iter().map(|(target, _)| target).collect();
        }
        self.find_crate(name).map(NameTarget::Module).into_iter().collect()
    }

    pub(super) fn find_crate(&self, name: &str) -> Option<FileIndex> {
        let crates = self.memory.crates.get_or_init(|| {
            let manifests = self.modules.list_crates().iter();
            let named = manifests.filter_map(|(manifest, root)| {
                let package = &self.file_facts(*manifest)?.namespace;
                Some((package.replace('-', "_"), *root))
            });
            named.collect()
        });
        crates.get(name).copied()
    }

    /// Finds the folder of a package of Go: the path below that of its module.
    fn find_go_package(&self, path: &str) -> Option<String> {
        let mut has_module = false;
        for (folder, manifest) in self.modules.list_go_modules() {
            let Some(module) = self.file_facts(*manifest).map(|facts| facts.namespace.as_str())
            else {
                continue;
            };
            has_module = true;
            if let Some(below) = path.strip_prefix(module)
                && (below.is_empty() || below.starts_with('/'))
            {
                let joined = format!("{folder}{below}");
                return Some(joined.trim_start_matches('/').to_owned());
            }
        }
        if has_module { None } else { self.guess_go_package(path) }
    }

    /// Guesses the folder of a package without `go.mod`: the longest end of its path that is one,
    /// without host, owner and name of a repository, or without the first part.
    fn guess_go_package(&self, path: &str) -> Option<String> {
        let first = path.split('/').next().unwrap_or_default();
        let skipped = if first.contains('.') { 3 } else { 1 };
        let parts: Vec<&str> = path.split('/').collect();
        let ends = (skipped..parts.len()).filter_map(|start| parts.get(start..));
        let mut folders = ends.map(|end| end.join("/"));
        folders
            .find(|folder| (skipped == 3 || folder.contains('/')) && self.modules.has_unit(folder))
    }
}

fn find_first_part(path: &ShortExpression) -> Option<&str> {
    match path {
        ShortExpression::Root(name) => Some(name),
        ShortExpression::Member(inner, _) => find_first_part(inner),
        _ => None,
    }
}

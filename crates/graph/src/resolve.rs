//! Resolves references to definitions, across the files of a graph.
//!
//! A reference is evaluated step by step: a name by the scopes around it and the imports, a member by the type of
//! its receiver. Each step has a [`ResolutionRule`]; a result is as certain as its weakest step.

mod alternatives;
mod calls;
mod collections;
mod containers;
mod definitions;
mod expressions;
mod imports;
mod members;
mod memory;
mod names;
mod possible;
mod queries;
mod roots;
mod units;
mod value;
mod variables;

use std::{
    cell::OnceCell,
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

pub use crate::modules::FileIndex;
use crate::{manifests::ImportNames, modules::ModuleIndex, scip::ScipIndex};
use codeinfo_facts::{
    DefinitionFact, DefinitionIndex, DefinitionKind, ModuleSystem, NameScope, ReferenceFact,
    ScopeKind, SourceFacts, to_index,
};
use memory::ResolutionMemory;
pub use queries::Certainty;
use value::{NameTarget, ScopeId, Targets};

/// A definition of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionId {
    /// Index of the file in the graph.
    pub file: FileIndex,
    /// Index of the definition in the facts of the file.
    pub index: DefinitionIndex,
}

/// The step by which a reference was resolved, from the most to the least certain.
///
/// A name is searched in the order of the first three rows. A member is searched in the values of its receiver,
/// and how these were found decides the rule. A reference has the weakest rule of all its steps.
///
/// | Reference | Where its definition is searched | Rule | Right, percent |
/// |---|---|---|---|
/// | any, in a file that a compiler's index describes | that index | `Compiler` | |
/// | name that a scope binds | scopes around it, innermost first; in Python, bodies of types only from directly inside | `Scope` | 99.7 |
/// | name that an import binds | exports of its module, through re-exports | `Import` | 100.0 |
/// | name that no scope binds | star imports of the file, in order; else it is external | `Import` | 100.0 |
/// | member of a module | its names, then its star imports, then its submodules | `ModuleMember` | 100.0 |
/// | member of a type, of `self`, `this`, `super` or `A()` | body of the type, then its bases, nearest first | `Own` | 98.0 |
/// | member of a variable or parameter | type of its annotation, or of the value assigned to it | `Receiver` | 98.6 |
/// | member of a field's value | the same | `Field` | 99.0 |
/// | member of a call's value | annotated result; for `with`, what `__enter__` returns or the generator yields | `Result` | 98.4 |
/// | member of an argument of a call, or of a parameter of a function that is one | parameter of the called function, by its annotation | `Argument` | 98.4 |
/// | member of a call's value without annotation | values that the function returns | `Inferred` | 100.0 |
/// | name before `(` in a language that is read by its layout | the file, else the only file of the language that defines it | `Word` | |
/// | command that no sourced script defines | the only script that defines it | `Word` | |
///
/// The last column is what a compiler confirmed in five repositories before a rule was made with one of
/// them, which `benches/measurements.md` names. [`Self::certainty`] says it in three steps. `Argument` is only
/// likely, because 95.5 percent are right in vuejs/core, where it was made.
///
/// Definitions win over other bindings of a name in the same scope, the function with a body over
/// its overloads, and the first accessor of a property over the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResolutionRule {
    Compiler,
    /// A name of the same scope or of one around it.
    Scope,
    /// An imported name, through re-exports.
    Import,
    ModuleMember,
    /// A member of a type or of the types that it inherits from.
    Own,
    /// A member of a receiver that was assigned or annotated.
    Receiver,
    /// A member of what a field holds.
    Field,
    Result,
    /// A member of what a called function expects as an argument.
    Argument,
    /// A member of what a function without annotation returns.
    Inferred,
    /// A name that only its spelling leads to.
    Word,
}

/// Result of resolving a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolutionResult {
    Found(Vec<DefinitionId>, ResolutionRule),
    Local,
    /// Defined outside of the graph's files.
    External,
    /// Not resolved: the facts do not tell the receiver, or it has no such member.
    Unknown,
}

struct GraphFile {
    path: String,
    /// Facts once they were needed; `None` in the cell if the file has none.
    facts: OnceCell<Option<Box<SourceFacts>>>,
}

/// Reads the facts of the file at a path; `None` if its language has no rules.
pub type FactLoader = Box<dyn Fn(&str) -> Option<SourceFacts> + Send>;

/// Facts of many files, joined. A file is read once a reference leads to it, and remembered with what was computed
/// of it. Results do not depend on the order of references.
pub struct SymbolGraph {
    files: Vec<GraphFile>,
    modules: ModuleIndex,
    memory: ResolutionMemory,
    /// Declaration files of scripts whose names are global, once they were needed.
    global_files: OnceCell<Vec<FileIndex>>,
    load_facts: FactLoader,
    /// Records of a compiler for the files whose present texts are confirmed.
    compiler: Option<SharedScipIndex>,
}

/// An index in which the loader of facts confirms each file that it reads.
pub type SharedScipIndex = Arc<Mutex<ScipIndex>>;

impl SymbolGraph {
    /// Joins the files with some paths from the repository's root.
    pub fn new(paths: Vec<String>, load_facts: FactLoader) -> Self {
        let numbered = paths.iter().enumerate();
        let modules = ModuleIndex::new(numbered.map(|(at, path)| (to_index(at), path.as_str())));
        let files = paths.into_iter().map(|path| GraphFile { path, facts: OnceCell::new() });
        let memory = ResolutionMemory::default();
        let global_files = OnceCell::new();
        Self { files: files.collect(), modules, memory, global_files, load_facts, compiler: None }
    }

    /// Believes what a compiler recorded of the files that its index describes.
    #[must_use]
    pub fn with_compiler(self, compiler: Option<SharedScipIndex>) -> Self {
        Self { compiler, ..self }
    }

    /// Sets the time after which nothing is resolved.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        self.memory.deadline.set(deadline);
    }

    /// Adds what manifests, given by path and text, say of the names of modules; see [`crate::is_manifest`].
    #[must_use]
    pub fn with_manifests(mut self, manifests: &[(String, String)]) -> Self {
        self.modules.add_import_names(ImportNames::new(manifests));
        self
    }

    /// Joins files whose facts are known, given by path from the repository's root.
    pub fn from_facts(files: Vec<(String, SourceFacts)>) -> Self {
        let paths = files.iter().map(|(path, _)| path.clone()).collect();
        // Facts are taken once, so that they are not in memory twice.
        let known: Mutex<HashMap<String, SourceFacts>> = Mutex::new(files.into_iter().collect());
        Self::new(paths, Box::new(move |path| known.lock().ok()?.remove(path)))
    }

    /// Returns the index of a file.
    pub fn find_file(&self, path: &str) -> Option<FileIndex> {
        self.modules.find_path(path)
    }

    /// Returns the facts of a file, if any, with the bindings of each scope sorted by name.
    pub fn file_facts(&self, file: FileIndex) -> Option<&SourceFacts> {
        let file = self.files.get(file as usize)?;
        let load = || {
            let mut facts = (self.load_facts)(&file.path)?;
            for scope in &mut facts.scopes {
                scope.bindings.sort_by(|one, other| one.name.cmp(&other.name));
            }
            facts.extensions.sort_by_key(|extension| extension.body);
            Some(Box::new(facts))
        };
        file.facts.get_or_init(load).as_deref()
    }

    /// Returns the paths and facts of the files that were needed.
    pub fn into_facts(self) -> impl Iterator<Item = (String, Option<SourceFacts>)> {
        self.files.into_iter().filter_map(|file| {
            let facts = file.facts.into_inner()?;
            Some((file.path, facts.map(|facts| *facts)))
        })
    }

    /// Returns true if the facts of a file were needed.
    pub fn is_loaded(&self, file: FileIndex) -> bool {
        self.files.get(file as usize).is_some_and(|file| file.facts.get().is_some())
    }

    /// Returns the path of a file; blank for an index of another graph.
    pub fn file_path(&self, file: FileIndex) -> &str {
        self.files.get(file as usize).map(|file| file.path.as_str()).unwrap_or_default()
    }

    /// Returns a definition; `None` for an id of another graph.
    pub fn definition(&self, id: DefinitionId) -> Option<&DefinitionFact> {
        self.file_facts(id.file)?.definitions.get(id.index as usize)
    }

    /// Resolves a reference of a file. Its work is bounded; what exceeds the bound is `Unknown` or incomplete.
    pub fn resolve(&self, file: FileIndex, reference: &ReferenceFact) -> ResolutionResult {
        if let Some(definition) = self.find_recorded(file, reference.at) {
            return ResolutionResult::Found(vec![definition], ResolutionRule::Compiler);
        }
        self.memory.begin_reference();
        let scope = ScopeId { file, index: reference.scope };
        let mut targets = self.find_targets(scope, &reference.target);
        // Functions of C with one name are alternatives, not overloads.
        if self.module_system(file) != ModuleSystem::C {
            self.choose_overloads(&mut targets, reference.argument_count);
        }
        self.link_declaration(&mut targets);
        self.summarize_targets(targets)
    }

    /// Leaves the functions with as many parameters as a call has arguments, if there are any.
    fn choose_overloads(&self, targets: &mut Targets, argument_count: Option<u8>) {
        let accepts = |(target, _): &(NameTarget, ResolutionRule)| match target {
            NameTarget::Definition(id, _) => {
                let fact = self.definition(*id);
                fact.is_some_and(|fact| fact.traits.parameter_count == argument_count)
            }
            _ => false,
        };
        if argument_count.is_some() && targets.iter().any(accepts) {
            targets.retain(accepts);
        }
    }

    /// Returns the definition that a compiler recorded for the name at a place.
    fn find_recorded(&self, file: FileIndex, position: (u32, u32)) -> Option<DefinitionId> {
        let (line, column) = position;
        let compiler = self.compiler.as_ref()?;
        let lock = || compiler.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.file_path(file);
        let defining = lock().defining_path(path, line, column)?.to_owned();
        // Reading the file confirms what the index says of it.
        let target = self.find_file(&defining)?;
        let definitions = &self.file_facts(target)?.definitions;
        let index = lock();
        let place = index.definition_of(path, line, column)?;
        let is_there = |fact: &DefinitionFact| fact.name_at == (place.line, place.column);
        let found = definitions.iter().position(is_there)?;
        Some(DefinitionId { file: target, index: to_index(found) })
    }

    fn summarize_targets(&self, targets: Targets) -> ResolutionResult {
        let mut found = Vec::new();
        let mut weakest = ResolutionRule::Scope;
        let mut is_external = false;
        let mut is_local = false;
        for (target, rule) in targets {
            match target {
                NameTarget::Definition(id, _) if self.is_local_variable(id) => is_local = true,
                NameTarget::Definition(id, _) => {
                    if !found.contains(&id) {
                        found.push(id);
                    }
                    weakest = weakest.max(rule);
                }
                NameTarget::External => is_external = true,
                NameTarget::Binding(..) => is_local = true,
                NameTarget::Module(_) | NameTarget::Folder(_) => {}
            }
        }
        if !found.is_empty() {
            ResolutionResult::Found(found, weakest)
        } else if is_external {
            ResolutionResult::External
        } else if is_local {
            ResolutionResult::Local
        } else {
            ResolutionResult::Unknown
        }
    }

    fn is_local_variable(&self, id: DefinitionId) -> bool {
        self.definition(id).is_some_and(|fact| {
            let scope = self.scope(ScopeId { file: id.file, index: fact.scope });
            fact.kind == DefinitionKind::Variable
                && scope.is_some_and(|scope| {
                    matches!(scope.kind, ScopeKind::Function | ScopeKind::Block)
                })
        })
    }

    fn module_system(&self, file: FileIndex) -> ModuleSystem {
        self.file_facts(file).map(|facts| facts.module_system).unwrap_or_default()
    }

    fn scope(&self, id: ScopeId) -> Option<&NameScope> {
        self.file_facts(id.file)?.scopes.get(id.index as usize)
    }
}

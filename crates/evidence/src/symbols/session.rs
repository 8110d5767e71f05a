//! Finds definitions and what refers to them in one tree. Runs on blocking threads.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap, HashSet},
    slice,
    time::Instant,
};

use codeinfo_core::{FileRecord, Root};
use codeinfo_facts::{DefinitionKind, ModuleSystem, ReferenceFact, ReferenceKind};
use codeinfo_graph::resolve::{Certainty, DefinitionId, FileIndex, ResolutionResult, SymbolGraph};
use codeinfo_lang::{
    StructureReader, detect,
    role::{FileRole, detect_roles},
};
use codeinfo_store::Store;
use tokio::runtime::Handle;

use super::{
    super::{Evidence, IndexedFile, word::WordMatcher},
    FoundDefinition, SymbolPlace,
    graph_cache::{FactReader, GraphCache, GraphLease, TreeGraph},
    name::SymbolName,
};

/// Maximum other names that re-exports give a definition.
const MAX_ALIASES: usize = 8;
/// Maximum definitions with one name that are distinguished.
pub(super) const MAX_DEFINITIONS: usize = 50;
/// Maximum definitions that a member of an unknown value may be.
const MAX_POSSIBLE: usize = 5;
/// Maximum types whose methods may replace one that is called.
const MAX_SUBTYPES: usize = 20;
/// Names of constructors, which are called by the name of their type.
pub(super) const CONSTRUCTORS: [&str; 5] =
    ["__init__", "__new__", "constructor", "__construct", "initialize"];
const DEFAULT_EXPORT: &str = "default";

pub(super) struct GraphSession<'a> {
    evidence: &'a Evidence,
    pub(super) root: &'a Root,
    tree: TreeGraph,
    lease: GraphLease,
    /// Methods that replace others, once they were needed.
    overriding: RefCell<HashMap<DefinitionId, Vec<DefinitionId>>>,
}

/// The graph of a tree, and the files of the tree if they may be others than those of the graph.
pub(super) type LeasedTree = (GraphLease, Option<Vec<FileRecord>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundReference {
    pub(super) file: FileIndex,
    /// Line, counted from 1, and column in bytes, counted from 0.
    pub(super) at: (u32, u32),
    pub(super) kind: ReferenceKind,
    pub(super) certainty: Certainty,
    /// The function or type around it; `None` at the top level of the file.
    pub(super) enclosing: Option<DefinitionId>,
    pub(super) target: DefinitionId,
}

impl<'a> GraphSession<'a> {
    pub(super) fn open(
        evidence: &'a Evidence,
        root: &'a Root,
        leased: LeasedTree,
        deadline: Instant,
    ) -> Self {
        let (mut lease, files) = leased;
        let tree = GraphCache::take_graph(&mut lease, evidence, root, files.as_deref(), deadline);
        Self { evidence, root, tree, lease, overriding: RefCell::default() }
    }

    /// Ends the request. Returns true if some files were not read.
    pub(super) fn close(self) -> bool {
        let is_incomplete = self.reader().is_incomplete() || self.reader().is_spent();
        self.evidence.graphs.put_back(self.lease, &self.evidence.store, self.tree);
        is_incomplete
    }

    pub(super) fn graph(&self) -> &SymbolGraph {
        &self.tree.graph
    }

    pub(super) fn reader(&self) -> &FactReader {
        &self.tree.reader
    }

    /// Finds the definitions that a name may mean, at most [`MAX_DEFINITIONS`].
    pub(super) fn find_definitions(&self, name: &SymbolName) -> Vec<DefinitionId> {
        let named = match name {
            SymbolName::AtLine { path, line } => {
                return self.find_definition_at(path, *line).into_iter().collect();
            }
            SymbolName::Named { name, .. } => name,
        };
        let mut found = Vec::new();
        for file in self.find_files_with(named) {
            let fits =
                |id: &DefinitionId| name.fits(self.graph().file_path(file), &self.names(*id));
            found.extend(self.graph().find_definitions(file, named).into_iter().filter(fits));
        }
        if let (true, SymbolName::Named { qualifiers, .. }) = (found.is_empty(), name) {
            found = self.find_inherited(qualifiers, named);
        }
        // A declaration without a body counts only if nothing else has the name.
        let is_declaration = |id: &DefinitionId| {
            self.graph().definition(*id).is_some_and(|fact| fact.traits.is_declaration)
        };
        if !found.iter().all(is_declaration) {
            found.retain(|id| !is_declaration(id));
        }
        found.truncate(MAX_DEFINITIONS);
        found
    }

    /// Finds the members with a name that types inherit, which have the last qualifier as name.
    fn find_inherited(&self, qualifiers: &[String], name: &str) -> Vec<DefinitionId> {
        let Some((type_name, outer)) = qualifiers.split_last() else { return Vec::new() };
        let type_name =
            SymbolName::Named { path: None, qualifiers: outer.to_vec(), name: type_name.clone() };
        let mut found = Vec::new();
        for holder in self.find_definitions(&type_name) {
            let bases = self.graph().list_base_types(holder).into_iter();
            let mut members = bases.map(|base| self.graph().list_members(base, name));
            found.extend(members.find(|members| !members.is_empty()).unwrap_or_default());
        }
        found
    }

    /// Finds the definition around a line of the file at a path below the root.
    pub(super) fn find_definition_at(&self, path: &str, line: u32) -> Option<DefinitionId> {
        let file = self.graph().find_file(path)?;
        let index = self.graph().file_facts(file)?.definition_at(line)?;
        Some(DefinitionId { file, index })
    }

    /// Returns the files with facts that contain a word, and reads them.
    pub(super) fn find_files_with(&self, word: &str) -> Vec<FileIndex> {
        self.read_files_with(word, usize::MAX, || {
            let matcher = WordMatcher::new(word).ok()?;
            let finding = self.evidence.find_candidate_files(&matcher, slice::from_ref(self.root));
            let found = Handle::current().block_on(finding).ok()?.files.into_iter();
            Some(found.map(|(_, record)| record.path).collect())
        })
    }

    /// Reads the files that a search of at most `max_chunks` finds for a word. Returns those whose
    /// language has rules.
    pub(super) fn read_files_with(
        &self,
        word: &str,
        max_chunks: usize,
        search: impl FnOnce() -> Option<Vec<String>>,
    ) -> Vec<FileIndex> {
        let files = self.tree.find_files(word, max_chunks, search);
        let graph = self.graph();
        let unread = files.iter().filter(|file| !graph.is_loaded(**file));
        let paths: Vec<String> = unread.map(|file| graph.file_path(*file).to_owned()).collect();
        self.reader().read_ahead(&paths);
        files
    }

    pub(super) fn store(&self) -> &Store {
        &self.evidence.store
    }

    /// Finds the references that may lead to some definitions, ordered by file and place.
    pub(super) fn find_references(&self, targets: &[DefinitionId]) -> Vec<FoundReference> {
        self.find_references_in(targets, |word| self.find_files_with(word))
    }

    /// Finds such references in the files that a word leads to.
    pub(super) fn find_references_in(
        &self,
        targets: &[DefinitionId],
        find_files: impl Fn(&str) -> Vec<FileIndex>,
    ) -> Vec<FoundReference> {
        let search = ReferenceSearch::new(self, targets);
        let mut words: Vec<(String, String)> = search.words.clone();
        let mut seen: BTreeSet<(String, String)> = words.iter().cloned().collect();
        let mut found: Vec<FoundReference> = Vec::new();
        let mut places = HashSet::new();
        while let Some((word, name)) = words.pop() {
            for file in find_files(&word) {
                let Some(facts) = self.graph().file_facts(file) else { continue };
                let local_names = facts.list_local_names(&name);
                for reference in &facts.references {
                    let is_named = reference.name().is_some_and(|name| local_names.contains(&name));
                    if is_named
                        && !places.contains(&(file, reference.at))
                        && !self.reader().skip_if_spent(self.graph().file_path(file))
                        && let Some(reference) = search.judge(file, reference)
                    {
                        places.insert((file, reference.at));
                        found.push(reference);
                    }
                }
                for alias in local_names.into_iter().filter(|alias| *alias != DEFAULT_EXPORT) {
                    let alias = (alias.to_owned(), alias.to_owned());
                    if seen.len() < search.words.len() + MAX_ALIASES && seen.insert(alias.clone()) {
                        words.push(alias);
                    }
                }
            }
        }
        let order = |one: &FoundReference| (self.graph().file_path(one.file), one.at);
        found.sort_by(|one, other| order(one).cmp(&order(other)));
        found
    }

    /// Returns the definitions that a definition refers to, in the order of its references.
    pub(super) fn find_referenced(&self, from: DefinitionId) -> Vec<FoundReference> {
        let Some(facts) = self.graph().file_facts(from.file) else { return Vec::new() };
        let references = facts.references_in(from.index);
        let mut found: Vec<FoundReference> =
            references.flat_map(|reference| self.resolve_reference(from.file, reference)).collect();
        found.sort_by_key(|reference| reference.at);
        found
    }

    pub(super) fn resolve_reference(
        &self,
        file: FileIndex,
        reference: &ReferenceFact,
    ) -> Vec<FoundReference> {
        let ResolutionResult::Found(targets, rule) = self.graph().resolve(file, reference) else {
            return Vec::new();
        };
        let certainty = self.weaken_ambiguous(rule.certainty(), &targets);
        let enclosing = self.enclosing_definition(file, reference);
        let (kind, at) = (reference.kind, reference.at);
        let found = |target| FoundReference { file, at, kind, certainty, enclosing, target };
        targets.into_iter().map(found).collect()
    }

    /// Returns the methods that replace a method in the types that extend or implement its own.
    pub(super) fn find_overriding(&self, id: DefinitionId) -> Vec<DefinitionId> {
        if let Some(known) = self.overriding.borrow().get(&id) {
            return known.clone();
        }
        let fact = self.graph().definition(id).filter(|fact| fact.kind == DefinitionKind::Function);
        let fact = fact.filter(|_| self.graph().may_be_replaced(id));
        let holder = self.graph().enclosing_type(id).zip(fact);
        let found: Vec<DefinitionId> = holder.map_or_else(Vec::new, |(holder, fact)| {
            let subtypes = self.find_subtypes(holder, MAX_SUBTYPES).into_iter();
            let types = subtypes.filter_map(|subtype| subtype.enclosing);
            types.flat_map(|subtype| self.graph().list_members(subtype, &fact.name)).collect()
        });
        self.overriding.borrow_mut().insert(id, found.clone());
        found
    }

    /// Returns where the name at a place leads; where a member of an unknown value may lead.
    pub(super) fn find_definitions_at(&self, path: &str, at: (u32, u32)) -> Vec<FoundDefinition> {
        let Some(file) = self.graph().find_file(path) else { return Vec::new() };
        let Some(facts) = self.graph().file_facts(file) else { return Vec::new() };
        let is_at = |start: (u32, u32), name: &str| {
            let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
            start.0 == at.0 && (start.1..start.1.saturating_add(length)).contains(&at.1)
        };
        let definitions = (0u32..).zip(&facts.definitions);
        let mut found: Vec<(DefinitionId, Certainty)> = definitions
            .filter(|(_, fact)| is_at(fact.name_at, &fact.name))
            .map(|(index, _)| (DefinitionId { file, index }, Certainty::Certain))
            .collect();
        let here = facts
            .references
            .iter()
            .filter(|reference| reference.name().is_some_and(|name| is_at(reference.at, name)));
        for reference in here {
            let targets = self.resolve_reference(file, reference).into_iter();
            found.extend(targets.map(|reference| (reference.target, reference.certainty)));
            if matches!(self.graph().resolve(file, reference), ResolutionResult::Unknown) {
                let possible = self.graph().list_possible_members(file, reference, MAX_POSSIBLE);
                found.extend(possible.into_iter().map(|id| (id, Certainty::Possible)));
            }
        }
        let mut seen = HashSet::new();
        found.retain(|(id, _)| seen.insert(*id));
        let describe =
            |(id, certainty)| Some(FoundDefinition { place: self.place(id)?, certainty });
        found.into_iter().filter_map(describe).collect()
    }

    /// Finds the types that extend or implement a type, directly or through others, nearest first.
    pub(super) fn find_subtypes(&self, of: DefinitionId, max_types: usize) -> Vec<FoundReference> {
        let mut found: Vec<FoundReference> = Vec::new();
        let mut next = vec![of];
        while let Some(target) = next.pop() {
            found.extend(self.find_implementing(target));
            found.truncate(max_types);
            for reference in self.find_references(&[target]) {
                let facts = self.graph().file_facts(reference.file);
                let is_type = matches!(reference.kind, ReferenceKind::Base | ReferenceKind::Type);
                let around =
                    facts.filter(|_| is_type).and_then(|facts| facts.definition_at(reference.at.0));
                let around = around.map(|index| DefinitionId { file: reference.file, index });
                let extended = if reference.kind == ReferenceKind::Base {
                    self.graph().list_extended_types(reference.file, target)
                } else {
                    Vec::new()
                };
                for subtype in around.into_iter().chain(extended) {
                    let is_known =
                        subtype == of || found.iter().any(|known| known.enclosing == Some(subtype));
                    let is_subtype = self.graph().list_base_types(subtype).contains(&target);
                    if is_subtype && !is_known && found.len() < max_types {
                        found.push(FoundReference { enclosing: Some(subtype), ..reference });
                        next.insert(0, subtype);
                    }
                }
            }
        }
        found
    }

    /// Finds the types that have the methods of an interface of Go without naming it.
    fn find_implementing(&self, interface: DefinitionId) -> Vec<FoundReference> {
        let methods = self.graph().list_interface_methods(interface);
        let Some(method) = methods.first() else { return Vec::new() };
        let mut files = self.find_files_with(&method.name);
        files.retain(|file| !self.reader().skip_if_spent(self.graph().file_path(*file)));
        let types =
            files.iter().flat_map(|file| self.graph().list_implementing_types(*file, interface));
        let describe = |subtype: DefinitionId| FoundReference {
            file: subtype.file,
            at: self.graph().definition(subtype).map(|fact| fact.name_at).unwrap_or_default(),
            kind: ReferenceKind::Base,
            certainty: Certainty::Likely,
            enclosing: Some(subtype),
            target: interface,
        };
        let mut seen = HashSet::new();
        types.filter(|subtype| seen.insert(*subtype)).map(describe).collect()
    }

    /// Returns the methods that a method may be called by through interfaces of Go.
    fn find_declaring(&self, method: DefinitionId, holder: DefinitionId) -> Vec<DefinitionId> {
        let graph = self.graph();
        let facts = graph.file_facts(method.file);
        let is_go = facts.is_some_and(|facts| facts.module_system == ModuleSystem::Go);
        let Some(fact) = graph.definition(method).filter(|_| is_go) else { return Vec::new() };
        let is_declared = |id: &DefinitionId| {
            let is_declaration =
                graph.definition(*id).is_some_and(|fact| fact.traits.is_declaration);
            let interface = graph.enclosing_type(*id).filter(|_| is_declaration);
            interface.is_some_and(|interface| {
                !self.reader().skip_if_spent(graph.file_path(method.file))
                    && graph.implements_interface(holder, interface)
            })
        };
        let files = self.find_files_with(&fact.name).into_iter();
        files
            .flat_map(|file| graph.find_definitions(file, &fact.name))
            .filter(is_declared)
            .collect()
    }

    /// Returns the names of the definitions around a definition, outermost first, and its own.
    pub(super) fn names(&self, id: DefinitionId) -> Vec<&str> {
        let Some(facts) = self.graph().file_facts(id.file) else { return Vec::new() };
        let names = facts.qualified_name(id.index);
        // Facts do not name the type of members that are added to it from outside.
        let holder = self.graph().enclosing_type(id).filter(|_| names.len() == 1);
        let outer = holder.map(|holder| {
            let facts = self.graph().file_facts(holder.file);
            facts.map(|facts| facts.qualified_name(holder.index)).unwrap_or_default()
        });
        outer.unwrap_or_default().into_iter().chain(names).collect()
    }

    pub(super) fn place(&self, id: DefinitionId) -> Option<SymbolPlace> {
        let fact = self.graph().definition(id)?;
        let names = self.names(id);
        Some(self.describe_place(
            self.graph().file_path(id.file),
            &names,
            fact.name_at.0,
            fact.lines,
        ))
    }

    pub(super) fn top_level_place(&self, file: FileIndex, line: u32) -> SymbolPlace {
        self.describe_place(self.graph().file_path(file), &[], line, (line, line))
    }

    /// Describes a definition by its names, outermost first.
    pub(super) fn describe_place(
        &self,
        path: &str,
        names: &[&str],
        line: u32,
        lines: (u32, u32),
    ) -> SymbolPlace {
        let reader = detect::detect_by_path(path).map(|language| language.reader);
        let separator = match reader {
            Some(StructureReader::Grammar(grammar)) => grammar.separator,
            _ => ".",
        };
        let is_test = self.is_test(path, line);
        let file = self.evidence.to_indexed_file(self.root, path);
        SymbolPlace { file, line, lines, name: names.join(separator), is_test }
    }

    pub(super) fn file(&self, file: FileIndex) -> IndexedFile {
        self.evidence.to_indexed_file(self.root, self.graph().file_path(file))
    }

    /// Returns true for a line of a file of tests, or of an item that only tests compile.
    pub(super) fn is_test(&self, path: &str, line: u32) -> bool {
        let file = self.graph().find_file(path).filter(|file| self.graph().is_loaded(*file));
        let facts = file.and_then(|file| self.graph().file_facts(file));
        facts.is_some_and(|facts| facts.is_test_line(line))
            || detect_roles(path).any(|role| role == FileRole::Test)
    }

    /// Returns how certain one of several definitions is; alternatives of one are as certain as it.
    fn weaken_ambiguous(&self, certainty: Certainty, found: &[DefinitionId]) -> Certainty {
        let is_one = self.graph().are_alternatives(found);
        if is_one { certainty } else { certainty.max(Certainty::Likely) }
    }

    pub(super) fn enclosing_definition(
        &self,
        file: FileIndex,
        reference: &ReferenceFact,
    ) -> Option<DefinitionId> {
        let index = self.graph().file_facts(file)?.enclosing_definition(reference.scope)?;
        Some(DefinitionId { file, index })
    }
}

struct ReferenceSearch<'a> {
    session: &'a GraphSession<'a>,
    targets: &'a [DefinitionId],
    /// Other definitions that may lead to a target: types that it constructs, methods it overrides.
    indirect: HashMap<DefinitionId, (DefinitionId, IndirectTarget)>,
    /// Words that the files contain, each with the name that imports there give a target.
    words: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IndirectTarget {
    /// A call of the type calls its constructor.
    ConstructedType,
    /// A call of the method may call what overrides it.
    OverriddenMethod,
}

impl<'a> ReferenceSearch<'a> {
    fn new(session: &'a GraphSession<'a>, targets: &'a [DefinitionId]) -> Self {
        let graph = session.graph();
        let mut indirect = HashMap::new();
        let mut words = BTreeSet::new();
        for target in targets {
            let Some(fact) = graph.definition(*target) else { continue };
            words.insert((fact.name.clone(), fact.name.clone()));
            let facts = graph.file_facts(target.file);
            if facts.is_some_and(|facts| facts.is_default_export(target.index)) {
                let stem = file_stem(graph.file_path(target.file)).to_owned();
                words.insert((stem, DEFAULT_EXPORT.to_owned()));
            }
            let Some(holder) = graph.enclosing_type(*target) else { continue };
            if CONSTRUCTORS.contains(&fact.name.as_str()) {
                if let Some(holder_fact) = graph.definition(holder) {
                    words.insert((holder_fact.name.clone(), holder_fact.name.clone()));
                }
                indirect.insert(holder, (*target, IndirectTarget::ConstructedType));
            }
            for member in session.find_declaring(*target, holder) {
                indirect.insert(member, (*target, IndirectTarget::OverriddenMethod));
            }
            for base in graph.list_base_types(holder) {
                let mut members = graph.list_members(base, &fact.name);
                members.retain(|member| graph.may_be_replaced(*member));
                for member in members {
                    indirect.insert(member, (*target, IndirectTarget::OverriddenMethod));
                }
            }
        }
        Self { session, targets, indirect, words: words.into_iter().collect() }
    }

    /// Decides whether a reference may lead to a target.
    fn judge(&self, file: FileIndex, reference: &ReferenceFact) -> Option<FoundReference> {
        let (target, certainty) = match self.session.graph().resolve(file, reference) {
            ResolutionResult::Found(found, rule) => {
                let certainty = self.session.weaken_ambiguous(rule.certainty(), &found);
                self.find_target(&found, reference.kind, certainty)?
            }
            ResolutionResult::Unknown => {
                (self.find_possible_target(file, reference)?, Certainty::Possible)
            }
            ResolutionResult::Local | ResolutionResult::External => return None,
        };
        let enclosing = self.session.enclosing_definition(file, reference);
        let (kind, at) = (reference.kind, reference.at);
        Some(FoundReference { file, at, kind, certainty, enclosing, target })
    }

    fn find_target(
        &self,
        found: &[DefinitionId],
        kind: ReferenceKind,
        certainty: Certainty,
    ) -> Option<(DefinitionId, Certainty)> {
        if let Some(target) = found.iter().find(|id| self.targets.contains(id)) {
            return Some((*target, certainty));
        }
        found.iter().find_map(|id| match self.indirect.get(id)? {
            (target, IndirectTarget::ConstructedType) => {
                (kind == ReferenceKind::Call).then_some((*target, certainty))
            }
            (target, IndirectTarget::OverriddenMethod) => Some((*target, Certainty::Possible)),
        })
    }

    /// Returns the target that a member of an unknown value may be.
    fn find_possible_target(
        &self,
        file: FileIndex,
        reference: &ReferenceFact,
    ) -> Option<DefinitionId> {
        let graph = self.session.graph();
        let may_be_meant =
            |target: &&DefinitionId| graph.may_refer_to_member(file, reference, **target);
        self.targets.iter().find(may_be_meant).copied()
    }
}

/// Returns the name by which imports know a file: `door` of `src/door.ts` and `door/index.ts`.
pub(super) fn file_stem(path: &str) -> &str {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    if matches!(stem, "index" | "__init__") {
        folder.rsplit('/').next().unwrap_or(stem)
    } else {
        stem
    }
}

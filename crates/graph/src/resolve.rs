//! Resolves references to definitions.
//!
//! A reference is evaluated step by step: a name by the scopes around it and the imports, a member
//! by the type of its receiver. Each step has a [`ResolutionRule`]; a result is as good as the weakest of
//! its steps.

use std::{cell::RefCell, collections::HashMap, iter};

use crate::{
    facts::{
        BoundValue, DefinitionFact, DefinitionIndex, DefinitionKind, Expression, FileFacts,
        ReferenceFact, Scope, ScopeIndex, ScopeKind,
    },
    modules::{FileIndex, ImportedModule, ModuleIndex},
};

/// Maximum depth of expressions that lead to one another while a reference is resolved.
const MAX_DEPTH: u32 = 40;
/// Maximum expressions that are evaluated for one reference.
const MAX_EVALUATIONS: u32 = 20_000;
/// Maximum types that a type inherits from.
const MAX_ANCESTORS: usize = 64;
/// Maximum alternatives that are followed.
const MAX_VALUES: usize = 6;

/// A definition of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionId {
    pub file: FileIndex,
    pub index: DefinitionIndex,
}

/// The step by which a reference was resolved, from the most to the least certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResolutionRule {
    /// A name of the same scope or of one around it.
    Scope,
    /// An imported name, through re-exports.
    Import,
    /// A member of a module.
    ModuleMember,
    /// A member of the enclosing type or its bases.
    Own,
    /// A member of a receiver that was constructed or annotated.
    Receiver,
    /// A member of what a field holds.
    Field,
    /// A member of an annotated result.
    Result,
    /// A member of what a function without annotation returns.
    Inferred,
    /// The only member with its name.
    Unique,
}

/// What a reference leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// Definitions, with the weakest rule on the way.
    Found(Vec<DefinitionId>, ResolutionRule),
    /// A local variable or parameter.
    Local,
    /// Defined outside of the graph's files.
    External,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Function(DefinitionId, Option<DefinitionId>),
    Type(DefinitionId),
    Instance(DefinitionId),
    /// The members of the bases of a type.
    Bases(DefinitionId),
    /// An object whose members the body of its definition has.
    Object(DefinitionId),
    /// A container or promise of values.
    Holder(Vec<Value>),
    /// A container of values with keys.
    Mapping(Vec<Value>),
    Module(FileIndex),
    Folder(String),
    External,
}

/// Values of an expression with the weakest rule that led to them.
type Values = Vec<(Value, ResolutionRule)>;

/// Types that a type inherits from, nearest first.
#[derive(Debug, Clone, Default)]
struct Ancestors {
    types: Vec<DefinitionId>,
    /// True if some are defined elsewhere, so that a missing member may be theirs.
    is_open: bool,
}

#[derive(Debug, Clone)]
enum Target {
    Definition(DefinitionId, Option<DefinitionId>),
    Module(FileIndex),
    Folder(String),
    /// A binding of a scope.
    Local(ScopeIndex, u32),
    External,
}

/// Targets of an expression with the weakest rule that led to them.
type Targets = Vec<(Target, ResolutionRule)>;

struct GraphFile {
    path: String,
    facts: FileFacts,
}

/// Facts of many files, joined.
pub struct SymbolGraph {
    files: Vec<GraphFile>,
    modules: ModuleIndex,
    members: HashMap<String, Vec<DefinitionId>>,
    /// Values that were computed.
    values: RefCell<HashMap<ValueKey, Values>>,
    /// What modules export.
    exports: RefCell<HashMap<(FileIndex, String), Targets>>,
    /// Types that types inherit from.
    ancestors: RefCell<HashMap<DefinitionId, Ancestors>>,
    progress: RefCell<Progress>,
}

/// State of the resolution of one reference.
///
/// Results that depend on one another depend on which of them is computed first. They are not
/// remembered, so that each reference is resolved as if it were the first.
#[derive(Default)]
struct Progress {
    /// Results being computed, outermost first.
    open: Vec<ResultKey>,
    /// Place in `open` of the outermost unfinished result that was needed; the maximum if none was.
    lowest: usize,
    /// True if something was left out because there was too much.
    is_cut: bool,
    depth: u32,
    /// Expressions that may still be evaluated.
    fuel: u32,
}

/// A result that is computed once.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ResultKey {
    Value(ValueKey),
    Export(FileIndex, String),
    Ancestors(DefinitionId),
}

/// What a remembered value belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ValueKey {
    /// A definition, as a member of a type.
    Definition(DefinitionId, Option<DefinitionId>),
    /// A binding of a scope of a file.
    Binding(FileIndex, ScopeIndex, u32),
}

impl SymbolGraph {
    /// Joins files, given by path and facts.
    pub fn new(files: Vec<(String, FileFacts)>) -> Self {
        let sorted = |(path, mut facts): (String, FileFacts)| {
            for scope in &mut facts.scopes {
                scope.bindings.sort_by(|one, other| one.name.cmp(&other.name));
            }
            GraphFile { path, facts }
        };
        let files: Vec<GraphFile> = files.into_iter().map(sorted).collect();
        let paths = files.iter().enumerate().map(|(at, file)| (to_index(at), file.path.as_str()));
        let modules = ModuleIndex::new(paths);
        let mut members: HashMap<String, Vec<DefinitionId>> = HashMap::new();
        for (file, entry) in files.iter().enumerate() {
            for (index, definition) in entry.facts.definitions.iter().enumerate() {
                let scope = entry.facts.scopes.get(definition.scope as usize);
                if scope.is_some_and(|scope| scope.kind == ScopeKind::Type) {
                    let id = DefinitionId { file: to_index(file), index: to_index(index) };
                    members.entry(definition.name.clone()).or_default().push(id);
                }
            }
        }
        Self {
            files,
            modules,
            members,
            values: RefCell::default(),
            exports: RefCell::default(),
            ancestors: RefCell::default(),
            progress: RefCell::default(),
        }
    }

    /// Returns the paths and facts of the files, in their order.
    pub fn files(&self) -> impl Iterator<Item = (&str, &FileFacts)> {
        self.files.iter().map(|file| (file.path.as_str(), &file.facts))
    }

    /// Returns the path of a definition's file and the definition.
    pub fn definition(&self, id: DefinitionId) -> Option<(&str, &DefinitionFact)> {
        let file = self.files.get(id.file as usize)?;
        Some((file.path.as_str(), file.facts.definitions.get(id.index as usize)?))
    }

    /// Resolves a reference of a file.
    pub fn resolve(&self, file: FileIndex, reference: &ReferenceFact) -> Resolution {
        *self.progress.borrow_mut() =
            Progress { lowest: usize::MAX, fuel: MAX_EVALUATIONS, ..Progress::default() };
        let targets = self.find(file, reference.scope, &reference.target);
        let mut found = Vec::new();
        let mut weakest = ResolutionRule::Scope;
        let mut is_external = false;
        let mut is_local = false;
        for (target, rule) in targets {
            match target {
                Target::Definition(id, _) if self.is_local_variable(id) => is_local = true,
                Target::Definition(id, _) => {
                    if !found.contains(&id) {
                        found.push(id);
                    }
                    weakest = weakest.max(rule);
                }
                Target::External => is_external = true,
                Target::Local(..) => is_local = true,
                Target::Module(_) | Target::Folder(_) => {}
            }
        }
        if !found.is_empty() {
            Resolution::Found(found, weakest)
        } else if is_external {
            Resolution::External
        } else if is_local {
            Resolution::Local
        } else {
            Resolution::Unknown
        }
    }

    fn facts(&self, file: FileIndex) -> Option<&FileFacts> {
        self.files.get(file as usize).map(|file| &file.facts)
    }

    fn scope(&self, file: FileIndex, scope: ScopeIndex) -> Option<&Scope> {
        self.facts(file)?.scopes.get(scope as usize)
    }

    fn fact(&self, id: DefinitionId) -> Option<&DefinitionFact> {
        self.facts(id.file)?.definitions.get(id.index as usize)
    }

    fn is_local_variable(&self, id: DefinitionId) -> bool {
        self.fact(id).is_some_and(|fact| {
            let scope = self.scope(id.file, fact.scope).map(|scope| scope.kind);
            fact.kind == DefinitionKind::Variable
                && matches!(scope, Some(ScopeKind::Function | ScopeKind::Block))
        })
    }

    /// Finds what an expression names.
    fn find(&self, file: FileIndex, scope: ScopeIndex, expression: &Expression) -> Targets {
        match expression {
            Expression::Name(name) => self.find_name(file, scope, name),
            Expression::Member(receiver, name) => {
                let values = self.evaluate(file, scope, receiver);
                let mut targets = Vec::new();
                for (value, rule) in values {
                    for (target, step) in self.find_member(&value, name) {
                        targets.push((target, rule.max(step)));
                    }
                }
                targets
            }
            _ => Vec::new(),
        }
    }

    fn find_name(&self, file: FileIndex, scope: ScopeIndex, name: &str) -> Targets {
        let mut at = Some(scope);
        while let Some(index) = at {
            let Some(entry) = self.scope(file, index) else { break };
            let is_visible =
                entry.kind != ScopeKind::Type || (index == scope && self.is_python(file));
            if is_visible {
                let targets = self.find_bound(file, index, name);
                if !targets.is_empty() || is_bound(entry, name) {
                    return targets;
                }
            }
            at = entry.parent;
        }
        let starred = self.find_starred(file, name);
        if starred.is_empty() { vec![(Target::External, ResolutionRule::Scope)] } else { starred }
    }

    fn is_python(&self, file: FileIndex) -> bool {
        self.files.get(file as usize).is_some_and(|file| {
            [".py", ".pyi", ".pyx", ".pyw"].iter().any(|suffix| file.path.ends_with(suffix))
        })
    }

    /// Finds a name among the bindings of one scope.
    fn find_bound(&self, file: FileIndex, scope: ScopeIndex, name: &str) -> Targets {
        let mut targets = Vec::new();
        let Some(entry) = self.scope(file, scope) else { return targets };
        let first = first_binding(entry, name);
        let same = entry.bindings.get(first..).unwrap_or_default();
        for (at, binding) in same.iter().take_while(|binding| binding.name == name).enumerate() {
            match &binding.value {
                BoundValue::Definition(index) => {
                    let id = DefinitionId { file, index: *index };
                    targets.push((Target::Definition(id, None), ResolutionRule::Scope));
                }
                BoundValue::Import(index) => {
                    targets.extend(self.find_imported(file, *index));
                }
                // An export with another name.
                BoundValue::Assigned(Expression::Name(other)) if scope == 0 && other != name => {
                    targets.extend(self.find_name(file, 0, other));
                }
                _ => {
                    let target = Target::Local(scope, to_index(first + at));
                    targets.push((target, ResolutionRule::Scope));
                }
            }
            if targets.len() > 3 * MAX_VALUES {
                break;
            }
        }
        // A property is one definition, though each of its accessors has its name.
        let is_property = |target: &Target| match target {
            Target::Definition(id, _) => self.fact(*id).is_some_and(|fact| fact.traits.is_property),
            _ => false,
        };
        if targets.iter().any(|(target, _)| is_property(target)) {
            targets.retain(|(target, _)| is_property(target));
            targets.truncate(1);
        }
        // Overloads are one definition with the function that has a body.
        let is_declared = |target: &Target| match target {
            Target::Definition(id, _) => {
                self.fact(*id).is_some_and(|fact| fact.traits.is_declaration)
            }
            _ => false,
        };
        if targets.iter().any(|(target, _)| is_declared(target)) {
            if targets.iter().all(|(target, _)| is_declared(target)) {
                targets.truncate(1);
            } else {
                targets.retain(|(target, _)| !is_declared(target));
            }
        }
        // Names bound both as definition and otherwise are found as the definition.
        if targets.iter().any(|(target, _)| matches!(target, Target::Definition(..))) {
            targets.retain(|(target, _)| !matches!(target, Target::Local(..) | Target::External));
        }
        targets
    }

    fn find_module(&self, file: FileIndex, module: &str) -> ImportedModule {
        let Some(entry) = self.files.get(file as usize) else { return ImportedModule::Outside };
        if self.is_python(file) {
            self.modules.find_python(&entry.path, module)
        } else {
            self.modules.find_script(&entry.path, module)
        }
    }

    fn find_imported(&self, file: FileIndex, index: u32) -> Targets {
        let import = self.facts(file).and_then(|facts| facts.imports.get(index as usize));
        let Some(import) = import else { return Vec::new() };
        let module = self.find_module(file, &import.module);
        match (&import.name, module) {
            (_, ImportedModule::Outside) => vec![(Target::External, ResolutionRule::Import)],
            (None, ImportedModule::File(module)) => {
                vec![(Target::Module(module), ResolutionRule::Import)]
            }
            (None, ImportedModule::Folder(folder)) => {
                vec![(Target::Folder(folder), ResolutionRule::Import)]
            }
            (Some(name), ImportedModule::File(module)) => {
                let mut targets = self.find_exported(module, name);
                for (_, rule) in &mut targets {
                    *rule = (*rule).max(ResolutionRule::Import);
                }
                targets
            }
            (Some(name), ImportedModule::Folder(folder)) => self
                .modules
                .find_submodule(&folder, name)
                .map(|module| (Target::Module(module), ResolutionRule::Import))
                .into_iter()
                .collect(),
        }
    }

    /// Finds a name that a module exports.
    fn find_exported(&self, module: FileIndex, name: &str) -> Targets {
        let key = (module, name.to_owned());
        if let Some(known) = self.exports.borrow().get(&key) {
            return known.clone();
        }
        self.compute(
            ResultKey::Export(module, name.to_owned()),
            || self.descend(|| self.search_exports(module, name)),
            |targets| {
                self.exports.borrow_mut().insert(key, targets.clone());
            },
        )
    }

    fn search_exports(&self, module: FileIndex, name: &str) -> Targets {
        let bound = self.find_bound(module, 0, name);
        if !bound.is_empty() {
            return bound;
        }
        let starred = self.find_starred(module, name);
        if !starred.is_empty() {
            return starred;
        }
        let path =
            self.files.get(module as usize).map(|file| file.path.as_str()).unwrap_or_default();
        let submodule = self.modules.find_submodule(path, name);
        submodule
            .map(|module| (Target::Module(module), ResolutionRule::Import))
            .into_iter()
            .collect()
    }

    fn find_starred(&self, file: FileIndex, name: &str) -> Targets {
        let Some(facts) = self.facts(file) else { return Vec::new() };
        for module in &facts.star_imports {
            if let ImportedModule::File(module) = self.find_module(file, module) {
                let mut targets = self.find_exported(module, name);
                if !targets.is_empty() {
                    for (_, rule) in &mut targets {
                        *rule = (*rule).max(ResolutionRule::Import);
                    }
                    return targets;
                }
            }
        }
        Vec::new()
    }

    /// Finds a member of a value.
    fn find_member(&self, value: &Value, name: &str) -> Targets {
        match value {
            Value::Instance(id) | Value::Type(id) => self.find_type_member(*id, name, false),
            Value::Bases(id) => self.find_type_member(*id, name, true),
            Value::Object(id) => {
                let body = self.fact(*id).and_then(|fact| fact.body);
                body.map(|body| self.find_bound(id.file, body, name)).unwrap_or_default()
            }
            Value::Module(module) => {
                let mut targets = self.find_exported(*module, name);
                for (_, rule) in &mut targets {
                    *rule = (*rule).max(ResolutionRule::ModuleMember);
                }
                targets
            }
            Value::Folder(folder) => self
                .modules
                .find_submodule(folder, name)
                .map(|module| (Target::Module(module), ResolutionRule::ModuleMember))
                .into_iter()
                .collect(),
            Value::External | Value::Holder(_) | Value::Mapping(_) | Value::Function(..) => {
                vec![(Target::External, ResolutionRule::Scope)]
            }
        }
    }

    /// Finds a member of a type, or of those that it inherits from if it has none of that name.
    fn find_type_member(&self, id: DefinitionId, name: &str, skips_own: bool) -> Targets {
        let ancestors = self.ancestors_of(id);
        let own = (!skips_own).then_some(id);
        for holder in own.into_iter().chain(ancestors.types) {
            let Some(body) = self.fact(holder).and_then(|fact| fact.body) else { continue };
            let mut members = self.find_bound(holder.file, body, name);
            members.retain(|(target, _)| matches!(target, Target::Definition(..)));
            for (target, rule) in &mut members {
                if let Target::Definition(_, receiver) = target {
                    *receiver = Some(id);
                }
                *rule = (*rule).max(ResolutionRule::Own);
            }
            if !members.is_empty() {
                return members;
            }
        }
        if ancestors.is_open { vec![(Target::External, ResolutionRule::Own)] } else { Vec::new() }
    }

    fn ancestors_of(&self, id: DefinitionId) -> Ancestors {
        if let Some(known) = self.ancestors.borrow().get(&id) {
            return known.clone();
        }
        self.compute(
            ResultKey::Ancestors(id),
            || self.list_ancestors(id),
            |ancestors| {
                self.ancestors.borrow_mut().insert(id, ancestors.clone());
            },
        )
    }

    fn list_ancestors(&self, id: DefinitionId) -> Ancestors {
        let mut ancestors = Ancestors::default();
        let Some(fact) = self.fact(id) else { return ancestors };
        for base in &fact.bases {
            let values = self.evaluate(id.file, fact.scope, base);
            ancestors.is_open |= values.is_empty();
            for (value, _) in values {
                let Value::Type(base) = value else {
                    ancestors.is_open = true;
                    continue;
                };
                let inherited = self.ancestors_of(base);
                ancestors.is_open |= inherited.is_open;
                for kind in iter::once(base).chain(inherited.types) {
                    let is_new = kind != id && !ancestors.types.contains(&kind);
                    if is_new && ancestors.types.len() < MAX_ANCESTORS {
                        ancestors.types.push(kind);
                    }
                }
            }
        }
        ancestors
    }

    /// Computes a result and remembers it, unless it is one of several that depend on one another.
    /// A result that depends on itself is empty there.
    fn compute<T: Default>(
        &self,
        key: ResultKey,
        compute: impl FnOnce() -> T,
        remember: impl FnOnce(&T),
    ) -> T {
        let (place, lowest_before) = {
            let mut progress = self.progress.borrow_mut();
            if let Some(place) = progress.open.iter().position(|open| *open == key) {
                progress.lowest = progress.lowest.min(place);
                return T::default();
            }
            let before = progress.lowest;
            progress.open.push(key);
            let place = progress.open.len() - 1;
            progress.lowest = usize::MAX;
            (place, before)
        };
        let result = compute();
        let mut progress = self.progress.borrow_mut();
        progress.open.pop();
        let needed = progress.lowest;
        progress.lowest = if needed < place { needed.min(lowest_before) } else { lowest_before };
        let is_complete = needed == usize::MAX && !progress.is_cut;
        drop(progress);
        if is_complete {
            remember(&result);
        }
        result
    }

    /// Computes a part of a result, unless there have been too many or they lie too deep.
    fn descend<T: Default>(&self, compute: impl FnOnce() -> T) -> T {
        {
            let mut progress = self.progress.borrow_mut();
            if progress.fuel == 0 || progress.depth == MAX_DEPTH {
                progress.is_cut = true;
                return T::default();
            }
            progress.fuel -= 1;
            progress.depth += 1;
        }
        let result = compute();
        self.progress.borrow_mut().depth -= 1;
        result
    }

    /// Evaluates an expression.
    fn evaluate(&self, file: FileIndex, scope: ScopeIndex, expression: &Expression) -> Values {
        self.descend(|| self.evaluate_parts(file, scope, expression))
    }

    fn evaluate_parts(
        &self,
        file: FileIndex,
        scope: ScopeIndex,
        expression: &Expression,
    ) -> Values {
        match expression {
            Expression::Name(_) | Expression::Member(..) => {
                let mut values = Values::new();
                for (target, rule) in self.find(file, scope, expression) {
                    for (value, step) in self.value_of(file, target) {
                        add_value(&mut values, value, rule.max(step));
                    }
                }
                values
            }
            Expression::Call(function, arguments) => {
                self.evaluate_call(file, scope, function, arguments)
            }
            Expression::Item(base, arguments) => self.evaluate_item(file, scope, base, arguments),
            Expression::Entered(inner) => {
                let mut values = Values::new();
                for (value, rule) in self.evaluate(file, scope, inner) {
                    for (value, step) in self.enter(value) {
                        add_value(&mut values, value, rule.max(step));
                    }
                }
                values
            }
            Expression::Awaited(inner) => {
                let mut values = Values::new();
                for (value, rule) in self.evaluate(file, scope, inner) {
                    match value {
                        Value::Holder(held) => {
                            for value in held {
                                add_value(&mut values, value, rule);
                            }
                        }
                        value => add_value(&mut values, value, rule),
                    }
                }
                values
            }
            Expression::This | Expression::ThisType | Expression::Super => {
                let Some(id) = self.enclosing_type(file, scope) else { return Values::new() };
                let is_object =
                    self.fact(id).is_some_and(|fact| fact.kind == DefinitionKind::Variable);
                let value = match expression {
                    _ if is_object => Value::Object(id),
                    Expression::This => Value::Instance(id),
                    Expression::ThisType => Value::Type(id),
                    _ => Value::Bases(id),
                };
                vec![(value, ResolutionRule::Own)]
            }
            Expression::Either(one, other) => {
                let mut values = self.evaluate(file, scope, one);
                for (value, rule) in self.evaluate(file, scope, other) {
                    add_value(&mut values, value, rule);
                }
                values
            }
            Expression::Outside => vec![(Value::External, ResolutionRule::Scope)],
            Expression::Unknown => Values::new(),
        }
    }

    fn enclosing_type(&self, file: FileIndex, scope: ScopeIndex) -> Option<DefinitionId> {
        let mut at = Some(scope);
        while let Some(index) = at {
            let entry = self.scope(file, index)?;
            if entry.kind == ScopeKind::Type {
                return entry.definition.map(|index| DefinitionId { file, index });
            }
            at = entry.parent;
        }
        None
    }

    /// Returns the values that a target has.
    fn value_of(&self, file: FileIndex, target: Target) -> Values {
        match target {
            Target::Definition(id, receiver) => self.definition_value(id, receiver),
            Target::Module(module) => vec![(Value::Module(module), ResolutionRule::Scope)],
            Target::Folder(folder) => vec![(Value::Folder(folder), ResolutionRule::Scope)],
            Target::External => vec![(Value::External, ResolutionRule::Scope)],
            Target::Local(scope, at) => {
                let binding =
                    self.scope(file, scope).and_then(|scope| scope.bindings.get(at as usize));
                let Some(binding) = binding else { return Values::new() };
                self.remembered(ValueKey::Binding(file, scope, at), || {
                    self.bound_value(file, scope, &binding.value)
                })
            }
        }
    }

    fn bound_value(&self, file: FileIndex, scope: ScopeIndex, bound: &BoundValue) -> Values {
        match bound {
            BoundValue::Typed(annotated) => {
                self.instances(file, scope, annotated, None, ResolutionRule::Receiver)
            }
            BoundValue::Assigned(value) => {
                let mut values = self.evaluate(file, scope, value);
                let is_own = matches!(value, Expression::This | Expression::ThisType);
                for (_, rule) in &mut values {
                    if !is_own {
                        *rule = (*rule).max(ResolutionRule::Receiver);
                    }
                }
                values
            }
            BoundValue::Element(source) => {
                let mut values = Values::new();
                for (value, rule) in self.evaluate(file, scope, source) {
                    if let Value::Holder(held) = value {
                        for value in held {
                            add_value(&mut values, value, rule.max(ResolutionRule::Receiver));
                        }
                    } else if value == Value::External {
                        add_value(&mut values, Value::External, rule);
                    }
                }
                values
            }
            BoundValue::Definition(_) | BoundValue::Import(_) | BoundValue::Unknown => {
                Values::new()
            }
        }
    }

    fn definition_value(&self, id: DefinitionId, receiver: Option<DefinitionId>) -> Values {
        let Some(fact) = self.fact(id) else { return Values::new() };
        match fact.kind {
            DefinitionKind::Function if fact.traits.is_property => {
                self.function_result(id, receiver)
            }
            DefinitionKind::Function => {
                vec![(Value::Function(id, receiver), ResolutionRule::Scope)]
            }
            DefinitionKind::Type => vec![(Value::Type(id), ResolutionRule::Scope)],
            DefinitionKind::TypeAlias | DefinitionKind::Variable | DefinitionKind::Field => {
                self.remembered(ValueKey::Definition(id, None), || self.held_value(id, fact))
            }
        }
    }

    /// Returns what a variable, field or alias holds.
    fn held_value(&self, id: DefinitionId, fact: &DefinitionFact) -> Values {
        let rule = match fact.kind {
            DefinitionKind::Field => ResolutionRule::Field,
            DefinitionKind::Variable => ResolutionRule::Receiver,
            _ => ResolutionRule::Scope,
        };
        if let Some(result) = &fact.result {
            if fact.kind == DefinitionKind::TypeAlias {
                return self.evaluate(id.file, fact.scope, result);
            }
            return self.instances(id.file, fact.scope, result, None, rule);
        }
        if fact.body.is_some() {
            return vec![(Value::Object(id), rule)];
        }
        let mut values = Values::new();
        for (scope, value) in &fact.values {
            for (value, step) in self.evaluate(id.file, *scope, value) {
                let is_class =
                    matches!(value, Value::Type(_) | Value::Function(..) | Value::Module(_));
                add_value(&mut values, value, if is_class { step } else { rule.max(step) });
            }
        }
        values
    }

    fn remembered(&self, key: ValueKey, compute: impl FnOnce() -> Values) -> Values {
        if let Some(known) = self.values.borrow().get(&key) {
            return known.clone();
        }
        self.compute(ResultKey::Value(key), compute, |values| {
            self.values.borrow_mut().insert(key, values.clone());
        })
    }

    fn function_result(&self, id: DefinitionId, receiver: Option<DefinitionId>) -> Values {
        let Some(fact) = self.fact(id) else { return Values::new() };
        self.remembered(ValueKey::Definition(id, receiver), || {
            let scope = fact.body.unwrap_or(fact.scope);
            if let Some(result) = &fact.result {
                let mut values =
                    self.instances(id.file, scope, result, receiver, ResolutionRule::Result);
                if let Some(receiver) = receiver.filter(|_| self.is_own_type(id, result)) {
                    values = vec![(Value::Instance(receiver), ResolutionRule::Result)];
                }
                // A context manager is entered for what it yields.
                return values;
            }
            let mut values = Values::new();
            for (scope, value) in &fact.values {
                let is_this = matches!(value, Expression::This);
                if let Some(receiver) = receiver.filter(|_| is_this) {
                    add_value(&mut values, Value::Instance(receiver), ResolutionRule::Result);
                    continue;
                }
                for (value, step) in self.evaluate(id.file, *scope, value) {
                    add_value(&mut values, value, step.max(ResolutionRule::Inferred));
                }
            }
            values
        })
    }

    /// Returns true if the result of a method is a type variable that no parameter but the receiver
    /// has: `def __enter__(self: T) -> T`.
    fn is_own_type(&self, id: DefinitionId, result: &Expression) -> bool {
        let Expression::Name(name) = result else { return false };
        let Some(facts) = self.facts(id.file) else { return false };
        let is_variable = facts.definitions.iter().any(|fact| {
            let value = fact.values.first().map(|(_, value)| value);
            let is_call = matches!(
                value,
                Some(Expression::Call(function, _)) if matches!(
                    &**function,
                    Expression::Name(name) | Expression::Member(_, name) if name == "TypeVar"
                )
            );
            fact.name == *name && fact.scope == 0 && is_call
        });
        let body = self.fact(id).and_then(|fact| fact.body);
        let parameters = body.and_then(|body| self.scope(id.file, body));
        let is_handed_in = parameters.is_some_and(|scope| {
            scope.bindings.iter().any(|binding| match &binding.value {
                BoundValue::Typed(kind) => kind == result,
                _ => false,
            })
        });
        is_variable && !is_handed_in
    }

    /// Returns the values that an annotation allows.
    fn instances(
        &self,
        file: FileIndex,
        scope: ScopeIndex,
        annotation: &Expression,
        receiver: Option<DefinitionId>,
        rule: ResolutionRule,
    ) -> Values {
        if let (Some(receiver), Expression::Name(name)) = (receiver, annotation)
            && name == "Self"
        {
            return vec![(Value::Instance(receiver), rule)];
        }
        if let (Some(receiver), Expression::This) = (receiver, annotation) {
            return vec![(Value::Instance(receiver), rule)];
        }
        let mut values = Values::new();
        for (value, step) in self.evaluate(file, scope, annotation) {
            let value = match value {
                Value::Type(id) => Value::Instance(id),
                other => other,
            };
            // How the type was found says less than how the receiver was.
            let step = if step <= ResolutionRule::Own { rule } else { rule.max(step) };
            add_value(&mut values, value, step);
        }
        values
    }

    fn evaluate_call(
        &self,
        file: FileIndex,
        scope: ScopeIndex,
        function: &Expression,
        arguments: &[Expression],
    ) -> Values {
        // `cast(Type, value)` and `Type(value)` of a class handed in.
        let is_cast = matches!(function, Expression::Name(name) if name == "cast")
            || matches!(function, Expression::Member(_, name) if name == "cast");
        if is_cast && let Some(kind) = arguments.first() {
            return self.instances(file, scope, kind, None, ResolutionRule::Receiver);
        }
        let mut values = Values::new();
        if let Expression::Member(receiver, method) = function {
            for (value, rule) in self.evaluate(file, scope, receiver) {
                for value in call_container(value, method) {
                    add_value(&mut values, value, rule);
                }
            }
            if !values.is_empty() {
                return values;
            }
        }
        for (value, rule) in self.evaluate(file, scope, function) {
            let called = match value {
                Value::Type(id) => vec![(Value::Instance(id), ResolutionRule::Scope)],
                Value::Function(id, receiver) => self.function_result(id, receiver),
                Value::Instance(id) => {
                    // `as` makes a value of a type that is one already.
                    let call = self.find_type_member(id, "__call__", false);
                    let mut results = Values::new();
                    for (target, _) in call {
                        if let Target::Definition(call, receiver) = target {
                            results.extend(self.function_result(call, receiver));
                        }
                    }
                    results
                }
                Value::External => vec![(Value::External, ResolutionRule::Scope)],
                _ => Values::new(),
            };
            for (value, step) in called {
                add_value(&mut values, value, rule.max(step));
            }
        }
        values
    }

    fn evaluate_item(
        &self,
        file: FileIndex,
        scope: ScopeIndex,
        base: &Expression,
        arguments: &[Expression],
    ) -> Values {
        let name = match base {
            Expression::Name(name) | Expression::Member(_, name) => name.as_str(),
            _ => "",
        };
        let mut values = Values::new();
        for (value, rule) in self.evaluate(file, scope, base) {
            match value {
                Value::Type(id) => add_value(&mut values, Value::Type(id), rule),
                Value::Holder(held) | Value::Mapping(held) => {
                    for value in held {
                        add_value(&mut values, value, rule);
                    }
                }
                Value::External if !arguments.is_empty() => {
                    let unwraps = matches!(
                        name,
                        "Optional"
                            | "Union"
                            | "Annotated"
                            | "ClassVar"
                            | "Final"
                            | "Required"
                            | "NotRequired"
                            | "Readonly"
                            | "Partial"
                            | "NonNullable"
                            | "TypeIs"
                    );
                    let used = if name == "Union" {
                        arguments
                    } else {
                        arguments.get(..1).unwrap_or_default()
                    };
                    let inner: Values = used
                        .iter()
                        .flat_map(|argument| self.evaluate(file, scope, argument))
                        .collect();
                    if unwraps {
                        for (value, step) in inner {
                            add_value(&mut values, value, step);
                        }
                    } else if arguments.len() == 1 || matches!(name, "Generator" | "AsyncGenerator")
                    {
                        let held = inner.into_iter().map(|(value, _)| match value {
                            Value::Type(id) if !matches!(name, "type" | "Type") => {
                                Value::Instance(id)
                            }
                            other => other,
                        });
                        let held: Vec<Value> = held.collect();
                        if matches!(name, "type" | "Type") {
                            for value in held {
                                add_value(&mut values, value, rule);
                            }
                        } else {
                            add_value(&mut values, Value::Holder(held), rule);
                        }
                    } else if MAPPINGS.contains(&name)
                        && let Some(held) = arguments.get(1)
                    {
                        let held =
                            self.instances(file, scope, held, None, ResolutionRule::Receiver);
                        let held = held.into_iter().map(|(value, _)| value).collect();
                        add_value(&mut values, Value::Mapping(held), rule);
                    } else {
                        add_value(&mut values, Value::External, rule);
                    }
                }
                Value::External => add_value(&mut values, Value::External, rule),
                Value::Instance(id) => {
                    for (target, _) in self.find_type_member(id, "__getitem__", false) {
                        if let Target::Definition(getter, receiver) = target {
                            for (value, step) in self.function_result(getter, receiver) {
                                add_value(&mut values, value, rule.max(step));
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        values
    }

    /// Returns the value that a context manager gives.
    fn enter(&self, value: Value) -> Values {
        match value {
            Value::Instance(id) => {
                for name in ["__enter__", "__aenter__"] {
                    let entered = self.find_type_member(id, name, false);
                    let mut values = Values::new();
                    for (target, _) in entered {
                        match target {
                            Target::Definition(enter, receiver) => {
                                values.extend(self.function_result(enter, receiver));
                            }
                            Target::External => values.push((Value::External, ResolutionRule::Own)),
                            _ => {}
                        }
                    }
                    if !values.is_empty() {
                        return values;
                    }
                }
                Values::new()
            }
            Value::Holder(held) => {
                held.into_iter().map(|value| (value, ResolutionRule::Result)).collect()
            }
            Value::External => vec![(Value::External, ResolutionRule::Scope)],
            _ => Values::new(),
        }
    }

    /// Returns the definitions of members with a name, in all types.
    pub fn members_named(&self, name: &str) -> &[DefinitionId] {
        self.members.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Types whose second argument is the type of the values.
const MAPPINGS: [&str; 11] = [
    "dict",
    "Dict",
    "Mapping",
    "MutableMapping",
    "OrderedDict",
    "defaultdict",
    "DefaultDict",
    "Map",
    "WeakMap",
    "Record",
    "ReadonlyMap",
];

/// Returns what a method of a container gives; nothing for other values and methods.
fn call_container(value: Value, method: &str) -> Vec<Value> {
    match (value, method) {
        (Value::Mapping(held), "get" | "pop" | "setdefault") => held,
        (Value::Mapping(held), "values") => vec![Value::Holder(held)],
        (Value::Mapping(held), "copy") => vec![Value::Mapping(held)],
        (Value::Holder(held), "pop" | "popleft" | "shift" | "find" | "at") => held,
        (Value::Holder(held), "copy" | "filter" | "slice" | "reverse" | "concat") => {
            vec![Value::Holder(held)]
        }
        _ => Vec::new(),
    }
}

/// Returns the place of the first binding of a name, or where it would be.
fn first_binding(scope: &Scope, name: &str) -> usize {
    scope.bindings.partition_point(|binding| binding.name.as_str() < name)
}

fn is_bound(scope: &Scope, name: &str) -> bool {
    scope.bindings.get(first_binding(scope, name)).is_some_and(|binding| binding.name == name)
}

fn add_value(values: &mut Values, value: Value, rule: ResolutionRule) {
    if let Some((_, known)) = values.iter_mut().find(|(known, _)| *known == value) {
        *known = (*known).min(rule);
    } else if values.len() < MAX_VALUES {
        values.push((value, rule));
    }
}

fn to_index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

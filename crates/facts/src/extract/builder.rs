//! Collects the facts of a file while its syntax tree is visited.

mod conditions;
mod rules;

use std::{
    collections::{HashMap, HashSet},
    mem,
};

use tree_sitter::Node;

use crate::{
    BoundValue, DefinitionFact, DefinitionIndex, DefinitionKind, ImportFact, NameBinding,
    NameScope, ReferenceFact, ReferenceKind, ScopeIndex, ScopeKind, ShortExpression, SourceFacts,
    TypeExtension, to_index,
};

pub(super) use rules::{NodeRole, SyntaxRules};

/// Maximum depth of nodes that are visited; deeper ones are skipped.
const MAX_DEPTH: u32 = 300;
/// Maximum facts of a kind in a file; the rest is skipped.
pub(super) const MAX_FACTS: usize = 200_000;
/// Maximum modules of which a file imports all names.
const MAX_STAR_IMPORTS: usize = 1_000;
/// Maximum bytes of a name; longer ones are skipped.
pub(super) const MAX_NAME_BYTES: usize = 200;
/// Maximum texts inside one another that are parsed on their own.
const MAX_PIECE_DEPTH: u32 = 3;
pub(super) const FILE_SCOPE: ScopeIndex = 0;
/// Maximum values of a function, field or variable.
const MAX_VALUES: usize = 8;

/// Facts of the nodes already visited, and the position of the visitor.
pub(super) struct FactBuilder<'text> {
    syntax: &'static SyntaxRules,
    text: &'text str,
    /// Row of the text's first line in the file.
    first_row: usize,
    /// Number of texts around the current one that are being read.
    piece_depth: u32,
    facts: SourceFacts,
    /// First definition of each name in each scope.
    first_definitions: HashMap<(ScopeIndex, String), DefinitionIndex>,
    global_names: HashSet<(ScopeIndex, &'text str)>,
    /// Scopes of objects and types without a name, by the id of their node.
    member_scopes: HashMap<usize, ScopeIndex>,
    /// Names that a language has to know as local variables before it reads a name.
    local_names: HashSet<(ScopeIndex, &'text str)>,
    /// Full names of imported ones, for languages in which these are known.
    full_names: HashMap<&'text str, String>,
    /// Files that are included on other systems only.
    foreign_includes: Vec<String>,
    next_value: ValueContext,
    /// Names that a condition gives a type, where it holds; the last one counts.
    narrowed: Vec<(&'text str, ShortExpression)>,
    scope: ScopeIndex,
    depth: u32,
}

/// Context that the code around a value gives it.
#[derive(Default)]
pub(super) struct ValueContext {
    pub(super) expected: Option<ShortExpression>,
    pub(super) is_returned: bool,
}

#[derive(Clone, Copy)]
pub(super) struct DefinitionNodes<'tree> {
    pub(super) name: Node<'tree>,
    pub(super) definition: Node<'tree>,
}

impl<'text> FactBuilder<'text> {
    pub(super) fn new(syntax: &'static SyntaxRules, text: &'text str) -> Self {
        let file = NameScope::default();
        let facts = SourceFacts {
            module_system: syntax.module_system,
            scopes: vec![file],
            ..SourceFacts::default()
        };
        Self {
            syntax,
            text,
            first_row: 0,
            piece_depth: 0,
            facts,
            first_definitions: HashMap::new(),
            global_names: HashSet::new(),
            member_scopes: HashMap::new(),
            local_names: HashSet::new(),
            full_names: HashMap::new(),
            foreign_includes: Vec::new(),
            next_value: ValueContext::default(),
            narrowed: Vec::new(),
            scope: 0,
            depth: 0,
        }
    }

    pub(super) fn begin_piece(&mut self, piece: &'text str, first_row: usize) {
        self.text = piece;
        self.first_row = first_row;
        self.member_scopes.clear();
    }

    /// Calls `visit` for a piece of the text that begins in a row of it, unless nested too deeply.
    pub(super) fn visit_piece(
        &mut self,
        piece: &'text str,
        row: usize,
        visit: impl FnOnce(&mut Self, &'text str),
    ) {
        if self.piece_depth < MAX_PIECE_DEPTH {
            let outer = (self.text, self.first_row);
            self.begin_piece(piece, self.first_row + row);
            self.piece_depth += 1;
            visit(self, piece);
            self.piece_depth -= 1;
            (self.text, self.first_row) = outer;
        }
    }

    /// Returns the facts without spare memory, which would be a third of them.
    pub(super) fn into_facts(self) -> SourceFacts {
        let mut facts = self.facts;
        facts.star_imports.extend(self.foreign_includes);
        facts.scopes.iter_mut().for_each(|scope| scope.bindings.shrink_to_fit());
        facts.definitions.iter_mut().for_each(|definition| definition.values.shrink_to_fit());
        facts.scopes.shrink_to_fit();
        facts.definitions.shrink_to_fit();
        facts.references.shrink_to_fit();
        facts
    }

    pub(super) fn syntax(&self) -> &'static SyntaxRules {
        self.syntax
    }

    pub(super) fn text(&self, node: Node<'_>) -> &'text str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub(super) fn field_text(&self, node: Node<'_>, field: &str) -> &'text str {
        node.child_by_field_name(field).map(|child| self.text(child)).unwrap_or_default()
    }

    pub(super) fn read_name(&self, node: Node<'_>) -> ShortExpression {
        let name = self.text(node);
        if name.len() > MAX_NAME_BYTES {
            ShortExpression::Unknown
        } else {
            ShortExpression::Name(name.to_owned())
        }
    }

    pub(super) fn set_next_value(&mut self, context: ValueContext) {
        self.next_value = context;
    }

    pub(super) fn take_next_value(&mut self) -> ValueContext {
        mem::take(&mut self.next_value)
    }

    /// Calls `visit`, unless the nesting is too deep.
    pub(super) fn descend(&mut self, visit: impl FnOnce(&mut Self)) {
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            visit(self);
            self.depth -= 1;
        }
    }

    /// Calls `visit` with a new scope inside the current one, the body of `definition` if given.
    pub(super) fn visit_in_scope(
        &mut self,
        kind: ScopeKind,
        definition: Option<DefinitionIndex>,
        visit: impl FnOnce(&mut Self),
    ) {
        if self.facts.scopes.len() >= MAX_FACTS {
            return;
        }
        let outer = self.scope;
        self.scope = to_index(self.facts.scopes.len());
        let parent = Some(outer);
        self.facts.scopes.push(NameScope { parent, kind, definition, ..NameScope::default() });
        let body = self.scope;
        let narrowed_before = self.narrowed.len();
        if let Some(definition) = self.definition_mut(definition) {
            definition.body = Some(body);
        }
        visit(self);
        self.narrowed.truncate(narrowed_before);
        self.scope = outer;
    }

    /// Calls `visit` with a scope for the members of an object or type without a name.
    pub(super) fn visit_members(
        &mut self,
        node: Node<'_>,
        holder: Option<DefinitionIndex>,
        visit: impl FnOnce(&mut Self),
    ) {
        self.member_scopes.insert(node.id(), to_index(self.facts.scopes.len()));
        self.visit_in_scope(ScopeKind::Type, holder, visit);
    }

    pub(super) fn read_members(&self, node: Node<'_>) -> ShortExpression {
        let scope = self.member_scopes.get(&node.id());
        scope.map_or(ShortExpression::Unknown, |scope| ShortExpression::Members(*scope))
    }

    /// Adds the members of a type to all types of its name in its namespace.
    pub(super) fn extend_with_itself(&mut self, definition: Option<DefinitionIndex>) {
        let Some(fact) = self.definition_mut(definition) else { return };
        let (target, bases) = (ShortExpression::Name(fact.name.clone()), fact.bases.clone());
        if let Some(body) = fact.body {
            self.facts.extensions.push(TypeExtension { target, bases, body });
        }
    }

    pub(super) fn scope_index(&self) -> ScopeIndex {
        self.scope
    }

    pub(super) fn scope(&self, index: ScopeIndex) -> Option<&NameScope> {
        self.facts.scopes.get(index as usize)
    }

    pub(super) fn scope_kind(&self, index: ScopeIndex) -> Option<ScopeKind> {
        self.scope(index).map(|scope| scope.kind)
    }

    /// Returns the innermost scope of a kind around the current one, or the file's.
    pub(super) fn enclosing_scope(&self, kind: ScopeKind) -> ScopeIndex {
        let mut index = self.scope;
        while let Some(scope) = self.scope(index)
            && let Some(parent) = scope.parent
        {
            if scope.kind == kind {
                break;
            }
            index = parent;
        }
        index
    }

    /// Returns the body of the innermost type around the current scope.
    pub(super) fn enclosing_type_body(&self) -> Option<ScopeIndex> {
        let index = self.enclosing_scope(ScopeKind::Type);
        (self.scope_kind(index) == Some(ScopeKind::Type)).then_some(index)
    }

    pub(super) fn bind(&mut self, name: &str, value: BoundValue) {
        self.bind_in(self.scope, name, value);
    }

    /// Leaves a name of the current scope to the file.
    pub(super) fn add_global_name(&mut self, name: &'text str) {
        if self.global_names.len() < MAX_FACTS {
            self.global_names.insert((self.scope, name));
        }
    }

    pub(super) fn bind_in(&mut self, scope: ScopeIndex, name: &str, value: BoundValue) {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return;
        }
        if !self.global_names.contains(&(scope, name))
            && let Some(scope) = self.facts.scopes.get_mut(scope as usize)
            && scope.bindings.len() < MAX_FACTS
        {
            scope.bindings.push(NameBinding { name: name.to_owned(), value });
        }
    }

    pub(super) fn bind_import(&mut self, local: &str, module: &str, name: Option<&str>) {
        let is_short = module.len().max(name.map_or(0, str::len)) <= MAX_NAME_BYTES;
        if is_short && self.facts.imports.len() < MAX_FACTS {
            let index = to_index(self.facts.imports.len());
            let import = ImportFact { module: module.to_owned(), name: name.map(str::to_owned) };
            self.facts.imports.push(import);
            self.bind(local, BoundValue::Import(index));
        }
    }

    pub(super) fn add_star_import(&mut self, module: &str) {
        if module.len() <= MAX_NAME_BYTES && self.facts.star_imports.len() < MAX_STAR_IMPORTS {
            self.facts.star_imports.push(module.to_owned());
        }
    }

    /// Notes that something is exported: by the file, unless a module is declared around it.
    pub(super) fn mark_exports(&mut self) {
        self.facts.has_exports |= self.scope == 0;
    }

    /// Adds a definition in the current scope and binds its name there.
    pub(super) fn define(
        &mut self,
        kind: DefinitionKind,
        name: &str,
        nodes: DefinitionNodes<'_>,
    ) -> Option<DefinitionIndex> {
        self.define_in(self.scope, kind, name, nodes)
    }

    fn define_in(
        &mut self,
        scope: ScopeIndex,
        kind: DefinitionKind,
        name: &str,
        nodes: DefinitionNodes<'_>,
    ) -> Option<DefinitionIndex> {
        let index = self.add_definition(scope, kind, name, nodes)?;
        self.first_definitions.entry((scope, name.to_owned())).or_insert(index);
        self.bind_in(scope, name, BoundValue::Definition(index));
        Some(index)
    }

    /// Adds a definition in a scope, which expressions know by another name.
    pub(super) fn define_as(
        &mut self,
        scope: ScopeIndex,
        bound_name: &str,
        kind: DefinitionKind,
        name: &str,
        nodes: DefinitionNodes<'_>,
    ) -> Option<DefinitionIndex> {
        let index = self.add_definition(scope, kind, name, nodes)?;
        self.bind_in(scope, bound_name, BoundValue::Definition(index));
        Some(index)
    }

    fn add_definition(
        &mut self,
        scope: ScopeIndex,
        kind: DefinitionKind,
        name: &str,
        nodes: DefinitionNodes<'_>,
    ) -> Option<DefinitionIndex> {
        let is_nameable = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
        if !is_nameable || self.facts.definitions.len() >= MAX_FACTS {
            return None;
        }
        let index = to_index(self.facts.definitions.len());
        let rows = [nodes.definition.start_position().row, nodes.definition.end_position().row];
        let [first_line, last_line] = rows.map(|row| to_index(self.first_row + row + 1));
        self.facts.definitions.push(DefinitionFact {
            name: name.to_owned(),
            kind,
            scope,
            lines: (first_line, last_line),
            name_at: self.position(nodes.name),
            ..DefinitionFact::default()
        });
        Some(index)
    }

    pub(super) fn find_first_definition(
        &self,
        scope: ScopeIndex,
        name: &str,
    ) -> Option<DefinitionIndex> {
        self.first_definitions.get(&(scope, name.to_owned())).copied()
    }

    /// Returns the first definition of a name in a scope, else defines a field or variable.
    pub(super) fn define_once(
        &mut self,
        scope: ScopeIndex,
        name: &str,
        nodes: DefinitionNodes<'_>,
    ) -> Option<DefinitionIndex> {
        if let Some(known) = self.find_first_definition(scope, name) {
            return Some(known);
        }
        let is_field = self.scope_kind(scope)? == ScopeKind::Type;
        let kind = if is_field { DefinitionKind::Field } else { DefinitionKind::Variable };
        self.define_in(scope, kind, name, nodes)
    }

    pub(super) fn definition_mut(
        &mut self,
        index: Option<DefinitionIndex>,
    ) -> Option<&mut DefinitionFact> {
        self.facts.definitions.get_mut(index? as usize)
    }

    /// Adds a reference to a name or member whose name is at a node.
    pub(super) fn add_reference(
        &mut self,
        kind: ReferenceKind,
        target: ShortExpression,
        name: Node<'_>,
    ) {
        self.add_reference_at(kind, target, name, 0);
    }

    /// Adds a reference whose name begins some bytes after the start of a node, in the same line.
    pub(super) fn add_reference_at(
        &mut self,
        kind: ReferenceKind,
        target: ShortExpression,
        node: Node<'_>,
        offset: usize,
    ) {
        let is_named = matches!(
            target,
            ShortExpression::Name(_) | ShortExpression::Root(_) | ShortExpression::Member(..)
        );
        if is_named && self.facts.references.len() < MAX_FACTS {
            let (scope, (line, column)) = (self.scope, self.position(node));
            let at = (line, column.saturating_add(to_index(offset)));
            let argument_count = None;
            self.facts.references.push(ReferenceFact { kind, target, scope, at, argument_count });
        }
    }

    /// Sets the number of arguments of the call whose reference was added last.
    pub(super) fn set_argument_count(&mut self, count: usize) {
        if let Some(reference) = self.facts.references.last_mut() {
            reference.argument_count = u8::try_from(count).ok();
        }
    }

    pub(super) fn import_name(&mut self, local: &'text str, full_name: String) {
        if self.full_names.len() < MAX_FACTS && full_name.len() <= MAX_NAME_BYTES {
            self.full_names.insert(local, full_name);
        }
    }

    /// Returns the full name of a name of PHP: an imported one, or one of the namespace of the file.
    pub(super) fn full_name(&self, name: &str) -> String {
        let (first, rest) = name.split_at(name.find('\\').unwrap_or(name.len()));
        match self.full_names.get(first) {
            _ if first.is_empty() => rest.trim_start_matches('\\').to_owned(),
            Some(full_name) => format!("{full_name}{rest}"),
            None => format!("{}\\{name}", self.facts.namespace).trim_start_matches('\\').to_owned(),
        }
    }

    /// Sets the package or namespace of the file, unless it has one.
    pub(super) fn set_namespace(&mut self, namespace: &str) {
        if self.facts.namespace.is_empty() && namespace.len() <= MAX_NAME_BYTES {
            namespace.clone_into(&mut self.facts.namespace);
        }
    }

    /// Adds a module, package or type of which all names are imported.
    pub(super) fn add_glob_import(&mut self, source: ShortExpression) {
        if self.facts.glob_imports.len() < MAX_STAR_IMPORTS {
            self.facts.glob_imports.push((self.scope, source));
        }
    }

    /// Calls `visit` with a scope whose names are members of a type, of which it may be a part.
    pub(super) fn visit_extension(
        &mut self,
        target: ShortExpression,
        bases: Vec<ShortExpression>,
        part: Option<DefinitionIndex>,
        visit: impl FnOnce(&mut Self),
    ) {
        if self.facts.scopes.len() < MAX_FACTS {
            let body = to_index(self.facts.scopes.len());
            self.facts.extensions.push(TypeExtension { target, bases, body });
            self.visit_in_scope(ScopeKind::Type, part, visit);
        }
    }

    /// Adds a type before the bases of the one whose body is the current scope.
    pub(super) fn add_base(&mut self, base: ShortExpression) {
        let body = self.scope(self.scope).filter(|scope| scope.kind == ScopeKind::Type);
        let holder = body.and_then(|scope| scope.definition);
        if let Some(definition) = self.definition_mut(holder) {
            definition.bases.insert(0, base);
        }
    }

    /// Returns the type that the innermost type body around the current scope extends.
    pub(super) fn enclosing_extension(&self) -> Option<&ShortExpression> {
        let body = self.enclosing_type_body()?;
        let extensions = &self.facts.extensions;
        let place = extensions.binary_search_by_key(&body, |extension| extension.body).ok()?;
        extensions.get(place).map(|extension| &extension.target)
    }

    /// Binds a local variable as `$name`.
    pub(super) fn bind_local(&mut self, name: &'text str, value: BoundValue) {
        if self.local_names.len() < MAX_FACTS {
            self.local_names.insert((self.scope, name));
            self.bind(&format!("${name}"), value);
        }
    }

    /// Returns true if a local variable is bound here or in the blocks around, up to the function.
    pub(super) fn is_local(&self, name: &'text str) -> bool {
        let mut index = Some(self.scope);
        while let Some(current) = index {
            if self.local_names.contains(&(current, name)) {
                return true;
            }
            let scope = self.scope(current).filter(|scope| scope.kind == ScopeKind::Block);
            index = scope.and_then(|scope| scope.parent);
        }
        false
    }

    /// Returns the line of a node, counted from 1, and its column in bytes, counted from 0.
    pub(super) fn position(&self, node: Node<'_>) -> (u32, u32) {
        let start = node.start_position();
        (to_index(self.first_row + start.row + 1), to_index(start.column))
    }

    pub(super) fn add_returned_value(&mut self, value: ShortExpression) {
        self.add_value(self.enclosing_function_index(), value);
    }

    fn enclosing_function_index(&self) -> Option<DefinitionIndex> {
        let function = self.enclosing_scope(ScopeKind::Function);
        self.scope(function).and_then(|scope| scope.definition)
    }

    /// Returns the innermost function around the current scope, if it has a name.
    pub(super) fn enclosing_function(&self) -> Option<&DefinitionFact> {
        self.facts.definitions.get(self.enclosing_function_index()? as usize)
    }

    /// Adds what is written about the type of a variable or field: its annotation, else its value.
    pub(super) fn add_type(
        &mut self,
        definition: Option<DefinitionIndex>,
        annotation: Option<ShortExpression>,
        value: Option<ShortExpression>,
    ) {
        if let Some(annotation) = annotation {
            if let Some(definition) = self.definition_mut(definition) {
                definition.result.get_or_insert(annotation);
            }
        } else if let Some(value) = value {
            self.add_value(definition, value);
        }
    }

    fn add_value(&mut self, definition: Option<DefinitionIndex>, value: ShortExpression) {
        let scope = self.scope;
        if let Some(definition) = self.definition_mut(definition)
            && definition.values.len() < MAX_VALUES
        {
            definition.values.push((scope, value));
        }
    }
}

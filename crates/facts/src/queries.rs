//! Answers questions about the facts of one file.

use super::{
    BoundValue, DEFAULT_EXPORT, DefinitionIndex, DefinitionKind, NameBinding, NameScope,
    ReferenceFact, ScopeIndex, ShortExpression, SourceFacts, to_index,
};

impl SourceFacts {
    /// Returns true for a line of an item that only tests compile.
    pub fn is_test_line(&self, line: u32) -> bool {
        let after = self.tests.partition_point(|(first, _)| *first <= line);
        let before = after.checked_sub(1).and_then(|place| self.tests.get(place));
        before.is_some_and(|(_, last)| line <= *last)
    }

    /// Returns true if lines are in different branches of a condition, of which one is compiled.
    pub fn are_exclusive(&self, one: u32, other: u32) -> bool {
        let (first, second) = (one.min(other), one.max(other));
        self.branches.iter().any(|(before, branch, last)| {
            (*before..*branch).contains(&first) && (*branch..=*last).contains(&second)
        })
    }

    /// Returns the innermost function or type whose body contains a scope.
    pub fn enclosing_definition(&self, scope: ScopeIndex) -> Option<DefinitionIndex> {
        let mut current = Some(scope);
        while let Some(scope) = current.and_then(|index| self.scopes.get(index as usize)) {
            if scope.definition.is_some() {
                return scope.definition;
            }
            current = scope.parent;
        }
        None
    }

    /// Returns the innermost function or type around a line, else the definition that starts in it.
    pub fn definition_at(&self, line: u32) -> Option<DefinitionIndex> {
        let numbered = self.definitions.iter().enumerate();
        let around = numbered.filter(|(_, fact)| {
            let (first, last) = fact.lines;
            let has_body = fact.body.is_some() || fact.kind == DefinitionKind::Function;
            (first..=last).contains(&line) && (has_body || fact.name_at.0 == line)
        });
        let smallest = around.min_by_key(|(_, fact)| (fact.lines.1 - fact.lines.0, fact.lines.0));
        smallest.map(|(index, _)| to_index(index))
    }

    /// Returns the name of a definition after those of the definitions around it, outermost first.
    pub fn qualified_name(&self, index: DefinitionIndex) -> Vec<&str> {
        let mut names = Vec::new();
        let mut current = self.definitions.get(index as usize);
        while let Some(fact) = current {
            names.push(fact.name.as_str());
            let around = self.enclosing_definition(fact.scope);
            let outer = around.and_then(|around| self.definitions.get(around as usize));
            // A scope follows those around it, so that this ends.
            current = outer.filter(|outer| outer.scope < fact.scope);
        }
        names.reverse();
        names
    }

    /// Returns the references in the body of a definition, those of nested definitions included.
    pub fn references_in(&self, index: DefinitionIndex) -> impl Iterator<Item = &ReferenceFact> {
        let body = self.definitions.get(index as usize).and_then(|fact| fact.body);
        self.references
            .iter()
            .filter(move |reference| body.is_some_and(|body| self.is_within(reference.scope, body)))
    }

    fn is_within(&self, scope: ScopeIndex, outer: ScopeIndex) -> bool {
        let mut current = Some(scope);
        while let Some(index) = current.filter(|index| *index >= outer) {
            if index == outer {
                return true;
            }
            current = self.scopes.get(index as usize).and_then(|scope| scope.parent);
        }
        false
    }

    /// Returns the names for `name` in the file: itself, and those that imports and exports give.
    pub fn list_local_names<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        let mut names = vec![name];
        for binding in self.scopes.iter().flat_map(|scope| &scope.bindings) {
            let means_name = match &binding.value {
                BoundValue::Import(index) => self
                    .imports
                    .get(*index as usize)
                    .is_some_and(|import| import.name.as_deref() == Some(name)),
                BoundValue::Assigned(ShortExpression::Name(assigned)) => assigned == name,
                _ => false,
            };
            if means_name && !names.contains(&binding.name.as_str()) {
                names.push(&binding.name);
            }
        }
        names
    }

    /// Returns true if importers may give a definition any name.
    pub fn is_default_export(&self, index: DefinitionIndex) -> bool {
        let Some(fact) = self.definitions.get(index as usize) else { return false };
        let exports = self.scopes.first().map(|scope| scope.bindings.as_slice());
        exports.unwrap_or_default().iter().any(|binding| {
            binding.name == DEFAULT_EXPORT
                && match &binding.value {
                    BoundValue::Definition(exported) => *exported == index,
                    BoundValue::Assigned(ShortExpression::Name(name)) => *name == fact.name,
                    _ => false,
                }
        })
    }
}

impl ReferenceFact {
    /// Returns the name that is referred to, without its receiver.
    pub fn name(&self) -> Option<&str> {
        match &self.target {
            // `run()` and `.run` tell methods from fields, `self.run` those of a type itself.
            ShortExpression::Name(name) | ShortExpression::Member(_, name) => {
                let own = name.strip_prefix("self.").unwrap_or(name);
                let plain = own.strip_suffix("()").unwrap_or(own);
                let is_setter = |name: &&str| name.ends_with(char::is_alphanumeric);
                let read = plain.strip_suffix('=').filter(is_setter).unwrap_or(plain);
                Some(read.strip_prefix('.').unwrap_or(read))
            }
            ShortExpression::Root(path) => path.rsplit(['\\', ':']).next(),
            _ => None,
        }
    }
}

impl NameScope {
    /// Returns the place of the first binding of a name, or where it would be.
    pub fn find_first_binding(&self, name: &str) -> usize {
        self.bindings.partition_point(|binding| binding.name.as_str() < name)
    }

    /// Returns the bindings of a name in a scope whose bindings are sorted.
    pub fn list_bindings(&self, name: &str) -> impl Iterator<Item = &NameBinding> {
        let first = self.find_first_binding(name);
        let bindings = self.bindings.get(first..).unwrap_or_default();
        bindings.iter().take_while(move |binding| binding.name == name)
    }
}

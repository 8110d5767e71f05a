//! Keeps what conditions say: types of names, branches, tests and files for other systems.

use tree_sitter::Node;

use super::{FactBuilder, MAX_FACTS, MAX_NAME_BYTES, MAX_STAR_IMPORTS};
use crate::{ShortExpression, to_index};

/// Maximum names that have the type of a condition at a time.
const MAX_NARROWED: usize = 16;

impl FactBuilder<'_> {
    /// Gives a name a type up to the end of the current scope or of [`Self::visit_narrowed`].
    pub(in crate::extract) fn narrow(&mut self, name: Node<'_>, kind: ShortExpression) {
        if self.narrowed.len() < MAX_NARROWED {
            self.narrowed.push((self.text(name), ShortExpression::Typed(Box::new(kind))));
        }
    }

    /// Calls `narrow` and `visit`, and forgets the types that names were given.
    pub(in crate::extract) fn visit_narrowed(
        &mut self,
        narrow: impl FnOnce(&mut Self),
        visit: impl FnOnce(&mut Self),
    ) {
        let narrowed_before = self.narrowed.len();
        narrow(self);
        visit(self);
        self.narrowed.truncate(narrowed_before);
    }

    /// Reads a name as the type that a condition gives it, else as a name.
    pub(in crate::extract) fn read_narrowed(&self, node: Node<'_>) -> ShortExpression {
        self.find_narrowed(node).unwrap_or_else(|| self.read_name(node))
    }

    pub(in crate::extract) fn find_narrowed(&self, node: Node<'_>) -> Option<ShortExpression> {
        let text = self.text(node);
        let found = self.narrowed.iter().rev().find(|(narrowed, _)| *narrowed == text);
        found.map(|(_, kind)| kind.clone())
    }

    /// Adds the lines of an item that only tests compile.
    pub(in crate::extract) fn add_test(&mut self, item: Node<'_>) {
        let (first, last) =
            (self.position(item).0, to_index(self.first_row + item.end_position().row + 1));
        let tests = &mut self.facts.tests;
        // One of the last item is one of its lines already.
        if tests.last().is_none_or(|former| former.1 < first) && tests.len() < MAX_FACTS {
            tests.push((first, last));
        }
    }

    /// Adds a branch of a condition after the branch that a node begins with.
    pub(in crate::extract) fn add_branch(&mut self, before: Node<'_>, branch: Node<'_>) {
        let last = to_index(self.first_row + before.end_position().row + 1);
        self.facts.branches.push((self.position(before).0, self.position(branch).0, last));
        self.facts.branches.truncate(MAX_FACTS);
    }

    /// Adds a file that is included on other systems only, after all others.
    pub(in crate::extract) fn add_foreign_include(&mut self, path: &str) {
        if path.len() <= MAX_NAME_BYTES && self.foreign_includes.len() < MAX_STAR_IMPORTS {
            self.foreign_includes.push(path.to_owned());
        }
    }
}

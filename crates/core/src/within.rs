//! Selection of the indexed roots that a request concerns.

use super::{Root, RootId};

/// Filter for roots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RootFilter {
    /// All roots.
    #[default]
    Everything,
    /// Only the root with this id.
    Only(RootId),
    /// All roots except the other trees of this root's repository.
    Tree(RootId),
}

impl RootFilter {
    /// Returns the roots that pass the filter. `roots` must be all roots of the index.
    pub fn select_roots(self, roots: &[Root]) -> Vec<Root> {
        let tree = match self {
            Self::Tree(tree) => roots.iter().find(|root| root.id == tree),
            Self::Everything | Self::Only(_) => None,
        };
        let is_seen = |root: &&Root| match self {
            Self::Only(only) => root.id == only,
            Self::Everything | Self::Tree(_) => tree.is_none_or(|tree| !tree.has_other(root)),
        };
        roots.iter().filter(is_seen).cloned().collect()
    }
}

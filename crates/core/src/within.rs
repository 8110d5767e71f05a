//! Which of the indexed roots something is about.

use super::{Root, RootId};

/// Which roots are looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RootFilter {
    /// All.
    #[default]
    Everything,
    /// This one alone.
    Only(RootId),
    /// All, except for the other trees of the repository that this one is of.
    Tree(RootId),
}

impl RootFilter {
    /// Returns those of `roots`, all that there are, which are looked at.
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

//! Which roots are trees of which repository.

use std::sync::{Arc, PoisonError, RwLock};

use crate::domain::{Root, RootId};

/// A root, as far as its repository goes.
#[derive(Debug, Clone)]
struct Tree {
    id: RootId,
    owner: RootId,
    name: String,
    is_of_repository: bool,
}

/// All roots of one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Family {
    /// The main tree of a repository before its others, which are in order of name.
    trees: Vec<Tree>,
}

impl Family {
    fn of_roots(roots: &[Root]) -> Self {
        let mut trees: Vec<Tree> = roots.iter().map(Tree::of).collect();
        trees.sort_by(|a, b| a.place().cmp(&b.place()));
        Self { trees }
    }

    /// Returns the owner of what a root has; of one that is not known, itself.
    pub(super) fn owner(&self, root: RootId) -> RootId {
        let own = self.trees.iter().find(|tree| tree.id == root).map(|tree| tree.owner);
        let of_former = || {
            self.trees.iter().map(|tree| tree.owner).find(|owner| RootId::former(*owner) == root)
        };
        own.or_else(of_former).unwrap_or(root)
    }

    /// Whether a root is a tree of a git repository.
    pub(super) fn is_repository(&self, root: RootId) -> bool {
        self.trees.iter().any(|tree| tree.id == root && tree.is_of_repository)
    }

    /// Returns the trees of an owner.
    pub(super) fn of(&self, owner: RootId) -> impl Iterator<Item = RootId> {
        self.trees.iter().filter(move |tree| tree.owner == owner).map(|tree| tree.id)
    }
}

impl Tree {
    fn of(root: &Root) -> Self {
        let (id, owner, name) = (root.id, root.owner(), root.name.clone());
        Self { id, owner, name, is_of_repository: root.repository.is_some() }
    }

    fn place(&self) -> (RootId, bool, &str) {
        (self.owner, self.id != self.owner, &self.name)
    }
}

/// The roots as they were last read or written.
#[derive(Debug)]
pub(super) struct Families {
    now: RwLock<Option<Arc<Family>>>,
    is_shared: bool,
}

impl Families {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { now: RwLock::default(), is_shared }
    }

    /// Whether other processes change them, too.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns them, unless they were never read.
    pub(super) fn get(&self) -> Option<Arc<Family>> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes over all roots.
    pub(super) fn learn(&self, roots: &[Root]) -> Arc<Family> {
        let family = Arc::new(Family::of_roots(roots));
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&family));
        family
    }

    /// Notes that a root was written.
    pub(super) fn wrote(&self, root: &Root) {
        self.change(root.id, Some(Tree::of(root)));
    }

    /// Notes that a root was removed.
    pub(super) fn removed(&self, root: RootId) {
        self.change(root, None);
    }

    fn change(&self, root: RootId, to: Option<Tree>) {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(family) = now.as_mut() {
            let trees = &mut Arc::make_mut(family).trees;
            trees.retain(|tree| tree.id != root);
            trees.extend(to);
            trees.sort_by(|a, b| a.place().cmp(&b.place()));
        }
    }
}

//! Which roots are trees of which repository.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use codeinfo_core::{Root, RootId};

/// A root, as far as its repository goes.
#[derive(Debug, Clone)]
struct Tree {
    id: RootId,
    owner: RootId,
    name: String,
    is_of_repository: bool,
    /// How many chunks it had when it was last written.
    chunks: u64,
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
            self.trees
                .iter()
                .map(|tree| tree.owner)
                .find(|owner| RootId::former_record_ids(*owner).contains(&root))
        };
        own.or_else(of_former).unwrap_or(root)
    }

    /// Whether a root is a tree of a git repository.
    pub(super) fn is_repository(&self, root: RootId) -> bool {
        self.trees.iter().any(|tree| tree.id == root && tree.is_of_repository)
    }

    /// Whether a root is known.
    pub(super) fn knows(&self, root: RootId) -> bool {
        self.trees.iter().any(|tree| tree.id == root)
    }

    /// Returns how many chunks the trees of an owner have, each by itself.
    pub(super) fn chunks(&self, owner: RootId) -> u64 {
        self.trees.iter().filter(|tree| tree.owner == owner).map(|tree| tree.chunks).sum()
    }

    /// Returns what share of the chunks of its repository's trees a root has.
    #[expect(clippy::cast_precision_loss, reason = "it is shown as an estimate")]
    pub(super) fn share(&self, root: RootId) -> f64 {
        let owner = self.owner(root);
        let trees = self.trees.iter().filter(|tree| tree.owner == owner);
        let (mut own, mut all) = (0, 0);
        for tree in trees {
            all += tree.chunks;
            own += if tree.id == root { tree.chunks } else { 0 };
        }
        if all == 0 { 1.0 } else { own as f64 / all as f64 }
    }

    /// Returns the trees of an owner.
    pub(super) fn of(&self, owner: RootId) -> impl Iterator<Item = RootId> {
        self.trees.iter().filter(move |tree| tree.owner == owner).map(|tree| tree.id)
    }
}

impl Tree {
    fn of(root: &Root) -> Self {
        let (id, owner, name) = (root.id, root.chunk_owner(), root.name.clone());
        let (is_of_repository, chunks) = (root.repository.is_some(), root.counts.chunks);
        Self { id, owner, name, is_of_repository, chunks }
    }

    fn place(&self) -> (RootId, bool, &str) {
        (self.owner, self.id != self.owner, &self.name)
    }
}

/// The roots as they were last read or written.
#[derive(Debug)]
pub(super) struct Families {
    now: RwLock<Option<Arc<Family>>>,
    /// How many changes were noted.
    changes: AtomicU64,
    is_shared: bool,
}

impl Families {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { now: RwLock::default(), changes: AtomicU64::new(0), is_shared }
    }

    /// Whether other processes change them, too.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns them, unless they were never read.
    pub(super) fn get(&self) -> Option<Arc<Family>> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a number that is another one after each change.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Takes over all roots, as they were read after so many changes. Of what changed since, they say nothing sure, and
    /// are not kept.
    pub(super) fn learn(&self, roots: &[Root], changes: u64) -> Arc<Family> {
        let family = Arc::new(Family::of_roots(roots));
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        if self.changes() == changes {
            *now = Some(Arc::clone(&family));
        }
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
        self.changes.fetch_add(1, Ordering::Release);
        if let Some(family) = now.as_mut() {
            let trees = &mut Arc::make_mut(family).trees;
            trees.retain(|tree| tree.id != root);
            trees.extend(to);
            trees.sort_by(|a, b| a.place().cmp(&b.place()));
        }
    }
}

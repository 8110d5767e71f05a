//! Repositories and the roots that are their worktrees.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use codeinfo_core::{Root, RootId};

#[derive(Debug, Clone)]
struct FamilyTree {
    id: RootId,
    owner: RootId,
    name: String,
    has_repository: bool,
    /// Number of chunks when the root was last written.
    chunks: u64,
}

/// All roots at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct RootFamily {
    /// The main tree of a repository before its others, which are in order of name.
    trees: Vec<FamilyTree>,
}

impl RootFamily {
    fn from_roots(roots: &[Root]) -> Self {
        let mut trees: Vec<FamilyTree> = roots.iter().map(FamilyTree::from_root).collect();
        trees.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        Self { trees }
    }

    /// Returns the owner of a root's chunks; an unknown root owns its own.
    pub(super) fn owner(&self, root: RootId) -> RootId {
        let own = self.trees.iter().find(|tree| tree.id == root).map(|tree| tree.owner);
        let former_owner = || {
            self.trees
                .iter()
                .map(|tree| tree.owner)
                .find(|owner| RootId::former_record_ids(*owner).contains(&root))
        };
        own.or_else(former_owner).unwrap_or(root)
    }

    pub(super) fn is_in_repository(&self, root: RootId) -> bool {
        self.trees.iter().any(|tree| tree.id == root && tree.has_repository)
    }

    pub(super) fn contains(&self, root: RootId) -> bool {
        self.trees.iter().any(|tree| tree.id == root)
    }

    pub(super) fn count_chunks(&self, owner: RootId) -> u64 {
        self.trees.iter().filter(|tree| tree.owner == owner).map(|tree| tree.chunks).sum()
    }

    #[expect(clippy::cast_precision_loss, reason = "it is shown as an estimate")]
    pub(super) fn chunk_share(&self, root: RootId) -> f64 {
        let owner = self.owner(root);
        let trees = self.trees.iter().filter(|tree| tree.owner == owner);
        let (mut own, mut all) = (0, 0);
        for tree in trees {
            all += tree.chunks;
            own += if tree.id == root { tree.chunks } else { 0 };
        }
        if all == 0 { 1.0 } else { own as f64 / all as f64 }
    }

    pub(super) fn has_siblings(&self, owner: RootId) -> bool {
        self.trees_of(owner).count() > 1
    }

    pub(super) fn trees_of(&self, owner: RootId) -> impl Iterator<Item = RootId> {
        self.trees.iter().filter(move |tree| tree.owner == owner).map(|tree| tree.id)
    }
}

impl FamilyTree {
    fn from_root(root: &Root) -> Self {
        let (id, owner, name) = (root.id, root.chunk_owner(), root.name.clone());
        let (has_repository, chunks) = (root.repository.is_some(), root.counts.chunks);
        Self { id, owner, name, has_repository, chunks }
    }

    fn sort_key(&self) -> (RootId, bool, &str) {
        (self.owner, self.id != self.owner, &self.name)
    }
}

/// The roots as they were last read or written.
#[derive(Debug)]
pub(super) struct RootFamilies {
    current: RwLock<Option<Arc<RootFamily>>>,
    changes: AtomicU64,
    is_shared: bool,
}

impl RootFamilies {
    pub(super) fn new(is_shared: bool) -> Self {
        Self { current: RwLock::default(), changes: AtomicU64::new(0), is_shared }
    }

    /// Returns whether other processes change them as well.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns them, unless they were never read.
    pub(super) fn get(&self) -> Option<Arc<RootFamily>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a number that differs after each change.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Stores all roots as they were read after `changes` changes, unless there were more since.
    pub(super) fn learn(&self, roots: &[Root], changes: u64) -> Arc<RootFamily> {
        let family = Arc::new(RootFamily::from_roots(roots));
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if self.changes() == changes {
            *current = Some(Arc::clone(&family));
        }
        family
    }

    pub(super) fn note_written(&self, root: &Root) {
        self.replace_tree(root.id, Some(FamilyTree::from_root(root)));
    }

    pub(super) fn note_removed(&self, root: RootId) {
        self.replace_tree(root, None);
    }

    fn replace_tree(&self, root: RootId, replacement: Option<FamilyTree>) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        self.changes.fetch_add(1, Ordering::Release);
        if let Some(family) = current.as_mut() {
            let trees = &mut Arc::make_mut(family).trees;
            trees.retain(|tree| tree.id != root);
            trees.extend(replacement);
            trees.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        }
    }
}

//! Defines the scope of a search: all roots, one root, or all except the other trees of one
//! repository.

use std::collections::HashSet;

use codeinfo_core::{Root, RootId};
use codeinfo_store::{ChunkQuery, QueryTarget, ScoredChunk, Store, StoreError};

#[derive(Debug, Clone, Default)]
pub(super) struct SearchScope {
    only: Option<RootId>,
    /// The selected tree of a repository, and the other trees.
    tree: Option<(RootId, HashSet<RootId>)>,
}

impl SearchScope {
    /// Limits the scope to one root.
    pub(super) fn for_root(root: RootId) -> Self {
        Self { only: Some(root), tree: None }
    }

    /// Includes all of `roots` except the other trees of the repository of `tree`.
    pub(super) fn for_tree(tree: Option<RootId>, roots: &[Root]) -> Self {
        let tree_root = tree.and_then(|tree| roots.iter().find(|root| root.id == tree));
        let tree_and_others = tree_root.map(|tree| {
            let others = roots.iter().filter(|root| tree.is_other_tree(root));
            (tree.id, others.map(|root| root.id).collect::<HashSet<_>>())
        });
        Self { only: None, tree: tree_and_others.filter(|(_, others)| !others.is_empty()) }
    }

    /// Returns true if a root is in scope.
    pub(super) fn contains_root(&self, root: RootId) -> bool {
        let is_out = self.tree.as_ref().is_some_and(|(_, others)| others.contains(&root));
        !is_out && self.only.is_none_or(|only| only == root)
    }

    /// Reads the best `limit` chunks in scope.
    pub(super) async fn read_best_chunks(
        &self,
        store: &Store,
        target: QueryTarget,
        limit: usize,
    ) -> Result<Vec<ScoredChunk>, StoreError> {
        let query = ChunkQuery { target, scope: self.only.into(), limit };
        let found = store.search(query.clone()).await?;
        let count = found.len();
        let is_all = found.len() < limit;
        let mut seen: Vec<ScoredChunk> =
            found.into_iter().filter_map(|chunk| self.map_to_tree(chunk)).collect();
        // Chunks of other trees took the place of some of this tree.
        if let Some((tree, _)) = self.tree.as_ref().filter(|_| !is_all && seen.len() < count) {
            let known: HashSet<_> = seen.iter().map(|chunk| chunk.id).collect();
            let tree_query = ChunkQuery { scope: Some(*tree).into(), ..query };
            let tree_chunks = store.search(tree_query).await?;
            seen.extend(tree_chunks.into_iter().filter(|chunk| !known.contains(&chunk.id)));
            seen.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
            seen.truncate(limit);
        }
        Ok(seen)
    }

    /// Returns a chunk as one of the selected tree; `None` if only other trees contain it.
    fn map_to_tree(&self, mut found: ScoredChunk) -> Option<ScoredChunk> {
        let Some((tree, others)) = &self.tree else { return Some(found) };
        let root = found.record.root;
        if others.contains(&root) {
            let at = found.also.iter().position(|also| also == tree)?;
            found.also.remove(at);
            found.also.push(root);
            found.record.root = *tree;
        }
        Some(found)
    }
}

//! Chunks of the files that a query names, as candidates.

use std::collections::{BTreeSet, HashMap, HashSet};

use uuid::Uuid;

use super::{Search, SearchError, candidate::Candidate, intent::Intent};
use crate::domain::{ChunkRecord, Parts, Root, RootId};

/// No more chunks of such files are read: a name may be that of very many.
const MOST: usize = 400;

impl Search {
    /// Adds the chunks of files that the query names: those whose whole path it says, and those among the
    /// candidates, of which only some chunks were found: the name of a file is a term of its chunks. `of` is
    /// the root that is searched, or all of `roots`.
    pub(super) async fn add_named_files(
        &self,
        candidates: &mut Vec<Candidate>,
        intent: &Intent,
        of: Option<RootId>,
        roots: &[Root],
    ) -> Result<(), SearchError> {
        if intent.paths.is_empty() {
            return Ok(());
        }
        let found = candidates.iter().map(|candidate| &candidate.record.path);
        let named = found.filter(|path| intent.paths.iter().any(|asked| asked.is(path)));
        let asked = intent.paths.iter().map(|asked| &asked.path);
        let paths: BTreeSet<String> = named.chain(asked).cloned().collect();
        let known: HashSet<Uuid> = candidates.iter().map(|candidate| candidate.id).collect();
        let (mut wanted, mut of_root) = (Vec::new(), HashMap::new());
        for root in roots.iter().filter(|root| of.is_none_or(|of| of == root.id)) {
            let files = self.store.files_at(root.id, paths.iter().cloned().collect()).await?;
            let ids = files.iter().flat_map(|file| file.chunk_ids(root.owner(), 0..file.chunks));
            for id in ids {
                // The trees of a repository share chunks.
                of_root.entry(id).or_insert_with(|| {
                    wanted.push(id);
                    root.id
                });
            }
        }
        wanted.retain(|id| !known.contains(id));
        wanted.truncate(MOST);
        for chunk in self.store.chunks_with(wanted).await? {
            let root = of_root.get(&chunk.id).copied().unwrap_or(chunk.record.root);
            candidates.push(Candidate {
                id: chunk.id,
                record: ChunkRecord { root, ..chunk.record },
                score: 0.0,
                parts: Parts::default(),
                also: Vec::new(),
            });
        }
        Ok(())
    }
}

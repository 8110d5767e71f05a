//! Finds candidates in the files that a query names.

use std::collections::{BTreeSet, HashMap, HashSet};

use codeinfo_core::{ChunkRecord, Root, RootId, ScoreParts};
use codeinfo_store::StoredChunk;
use futures_util::future::try_join_all;
use uuid::Uuid;

use super::{
    Search, SearchError, candidate::SearchCandidate, intent::QueryIntent, sight::SearchScope,
};

/// Maximum chunks read, because a file name may be very frequent.
const MAX_CHUNKS: usize = 400;

impl Search {
    /// Finds the chunks of files that the query names, in the `roots` within scope: files whose
    /// whole path it has, and files of candidates, because the search found only some of their
    /// chunks.
    pub(super) async fn find_named_files(
        &self,
        intent: &QueryIntent,
        sight: &SearchScope,
        roots: &[Root],
        candidates: &[SearchCandidate],
    ) -> Result<Vec<SearchCandidate>, SearchError> {
        if intent.paths.is_empty() {
            return Ok(Vec::new());
        }
        let found = candidates.iter().map(|candidate| &candidate.record.path);
        let named = found.filter(|path| intent.paths.iter().any(|asked| asked.matches_path(path)));
        let asked = intent.paths.iter().map(|asked| &asked.path);
        let distinct: BTreeSet<&String> = named.chain(asked).collect();
        let paths: &Vec<String> = &distinct.into_iter().cloned().collect();
        let known: HashSet<Uuid> = candidates.iter().map(|candidate| candidate.id).collect();
        let mut wanted = Vec::new();
        let mut roots_by_chunk: HashMap<Uuid, Vec<RootId>> = HashMap::new();
        let reading =
            roots.iter().filter(|root| sight.contains_root(root.id)).map(|root| async move {
                let files = self.store.files_at(root.id, paths.clone()).await?;
                Ok::<_, SearchError>((root, files))
            });
        for (root, files) in try_join_all(reading).await? {
            let ids =
                files.iter().flat_map(|file| file.chunk_ids(root.chunk_owner(), 0..file.chunks));
            for id in ids {
                // The trees of a repository share chunks.
                let holders = roots_by_chunk.entry(id).or_default();
                if holders.is_empty() {
                    wanted.push(id);
                }
                holders.push(root.id);
            }
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        wanted.retain(|id| !known.contains(id));
        wanted.truncate(MAX_CHUNKS);
        let chunks = self.store.chunks_by_id(wanted).await?.into_iter();
        let candidate = |chunk: StoredChunk| {
            let mut holders = roots_by_chunk.remove(&chunk.id).unwrap_or_default().into_iter();
            let root = holders.next().unwrap_or(chunk.record.root);
            SearchCandidate {
                id: chunk.id,
                record: ChunkRecord { root, ..chunk.record },
                score: 0.0,
                parts: ScoreParts::default(),
                also: holders.collect(),
                copies: Vec::new(),
            }
        };
        Ok(chunks.map(candidate).collect())
    }
}

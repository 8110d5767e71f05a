//! Chunks of the files that a query names, as candidates.

use std::collections::BTreeSet;

use super::{Search, SearchError, candidate::Candidate, intent::Intent};
use crate::store::{Collection, Field, Filter, Scored, StoreError};

/// No more chunks of such files are read: a name may be that of very many.
const MOST: usize = 400;

impl Search {
    /// Adds the chunks of files that the query names: those whose whole path it says, and those among the
    /// candidates, of which only some chunks were found.
    pub(super) async fn add_named_files(
        &self,
        candidates: &mut Vec<Candidate>,
        intent: &Intent,
        filter: Filter,
    ) -> Result<(), SearchError> {
        if intent.paths.is_empty() {
            return Ok(());
        }
        let found = candidates.iter().map(|candidate| &candidate.record.path);
        let named = found.filter(|path| intent.paths.iter().any(|asked| asked.is(path)));
        let asked = intent.paths.iter().map(|asked| &asked.path);
        let paths: BTreeSet<String> = named.chain(asked).cloned().collect();
        let filter = filter.with(Field::Path, paths);
        let chunks = self.store.scroll(Collection::Chunks, filter, None, MOST).await?;
        for chunk in chunks {
            if candidates.iter().all(|known| known.id != chunk.id) {
                let scored = Scored { id: chunk.id, score: 0.0, payload: chunk.payload };
                candidates.push(Candidate::new(scored, 0.0).map_err(StoreError::Malformed)?);
            }
        }
        Ok(())
    }
}

//! What a query names that is nowhere: who asks for it should hear that first.

use std::collections::HashSet;

use super::{
    Search, SearchError,
    candidate::Candidate,
    intent::{AskedPath, Intent},
};
use crate::{domain::RootId, embed::lexical};

/// No more names of a query are looked up.
const MOST: usize = 8;

impl Search {
    /// Returns the names and files of a query that no indexed chunk has. `of` is the root that is searched,
    /// or all. A name counts as there if any chunk has it as a word, whatever its case and underscores.
    pub(super) async fn absent(
        &self,
        candidates: &[Candidate],
        intent: &Intent,
        of: Option<RootId>,
    ) -> Result<Vec<String>, SearchError> {
        let mut absent = Vec::new();
        let mut seen = HashSet::new();
        let names = intent.names.iter().filter(|name| seen.insert(&name.folded));
        for name in names.take(MOST) {
            let is_shown = |candidate: &Candidate| candidate.record.text.contains(&name.spelled);
            let term = lexical::name(&name.spelled);
            if term.indices.is_empty() || candidates.iter().any(is_shown) {
                continue;
            }
            if self.store.lexical(term, of, 1).await?.is_empty() {
                absent.push(name.spelled.clone());
            }
        }
        let is_shown = |asked: &&AskedPath| {
            candidates.iter().any(|candidate| asked.is(&candidate.record.path))
        };
        let paths = intent.paths.iter().filter(|asked| !is_shown(asked));
        absent.extend(paths.take(MOST).map(|asked| asked.path.clone()));
        Ok(absent)
    }
}

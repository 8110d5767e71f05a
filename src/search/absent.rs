//! What a query names that is nowhere: who asks for it should hear that first.

use std::collections::HashSet;

use super::{
    Search, SearchError,
    candidate::Candidate,
    intent::{AskedPath, Intent},
    sight::Sight,
};
use crate::embed::lexical;

/// No more names of a query are looked up.
const MOST: usize = 8;

impl Search {
    /// Returns the names and files of a query that no chunk in sight has. A name counts as there if any chunk has it as a word, whatever its case, underscores and ending,
    /// and a file also if any has its name without the extension.
    pub(super) async fn absent(
        &self,
        candidates: &[Candidate],
        intent: &Intent,
        sight: &Sight,
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
            if self.lexical(term, sight, 1).await?.is_empty() {
                absent.push(name.spelled.clone());
            }
        }
        for AskedPath { path, .. } in intent.paths.iter().take(MOST) {
            // A route, a folder or an address is no file, and `Next.js` may only be spoken of.
            let Some(term) = lexical::file(path).filter(|_| !path.contains("://")) else {
                continue;
            };
            let is_said = |candidate: &Candidate| candidate.record.text.contains(path);
            if !candidates.iter().any(is_said) && self.lexical(term, sight, 1).await?.is_empty() {
                absent.push(path.clone());
            }
        }
        Ok(absent)
    }
}

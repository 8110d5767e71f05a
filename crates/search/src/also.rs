//! Finds further definitions of the name that a query consists of, so that the reader learns of all
//! of them.

use codeinfo_core::RootId;
use uuid::Uuid;

use super::{
    candidate::SearchCandidate,
    intent::{QueryIntent, QueryKind},
    rank,
};

/// Location of a name that is not among the results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameLocation {
    /// Absolute path as the client sees it.
    pub path: String,
    /// Line of the name, or the first line of the chunk that defines it.
    pub line: u32,
}

/// A chunk that defines the name of the query.
#[derive(Debug)]
pub(super) struct DefiningChunk {
    pub(super) id: Uuid,
    pub(super) root: RootId,
    pub(super) path: String,
    pub(super) line: u32,
}

/// Returns the candidates that define the only name of a query, in the same spelling, ordered by
/// path and line.
pub(super) fn find_defining_chunks(
    candidates: &[SearchCandidate],
    intent: &QueryIntent,
) -> Vec<DefiningChunk> {
    let ([name], QueryKind::Symbol) = (intent.names.as_slice(), intent.kind) else {
        return Vec::new();
    };
    let defining = candidates.iter().filter(|candidate| {
        rank::asked_symbol(&candidate.record, intent).is_some_and(|symbol| {
            symbol.trim_end_matches(['?', '!', '=', '\'']).ends_with(&name.spelled)
        })
    });
    let mut definitions: Vec<DefiningChunk> = defining
        .map(|SearchCandidate { id, record, .. }| DefiningChunk {
            id: *id,
            root: record.root,
            path: record.path.clone(),
            line: record.start_line,
        })
        .collect();
    definitions.sort_by(|a, b| (&a.path, a.line, a.id).cmp(&(&b.path, b.line, b.id)));
    definitions
}

//! Repositories that a request searched.

use std::time::Duration;

use codeinfo_core::{Root, Timestamp};

/// A repository that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedRepository {
    /// Name of the repository.
    pub name: String,
    /// Time since it was indexed.
    pub age: Option<Duration>,
}

pub(super) fn list_searched_repositories(roots: &[Root]) -> Vec<SearchedRepository> {
    let searched = |root: &Root| SearchedRepository {
        name: root.name.clone(),
        age: root.last_ingest_at.map(Timestamp::age),
    };
    roots.iter().map(searched).collect()
}

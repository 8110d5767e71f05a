//! The repositories that are indexed, as tools show them.

use super::Services;
use crate::{
    domain::{Root, UnknownRoot},
    ingest::IngestError,
    replies::{Repo, Repos},
    search::SearchError,
};

impl Services {
    /// Returns the repository that a name, an id or a path means.
    pub(super) async fn root(&self, named: &str) -> Result<Root, SearchError> {
        let roots = self.search.roots().await?;
        let root = self.path_map.root(&roots, named).cloned();
        Ok(root.ok_or_else(|| UnknownRoot::new(named, &roots))?)
    }
}

/// Lists what is indexed, ordered by name.
pub(super) async fn repos(services: &Services) -> Result<Repos, IngestError> {
    let repos: Vec<Repo> = services
        .ingest
        .roots()
        .await?
        .into_iter()
        .map(|status| repo(status.root, services))
        .collect();
    let locked_model_id = (!repos.is_empty()).then(|| services.embedder.model().id());
    Ok(Repos { repos, locked_model_id })
}

fn repo(root: Root, services: &Services) -> Repo {
    Repo {
        id: root.id,
        name: root.name,
        description: root.description,
        path: services.path_map.shown(&root.path),
        last_ingest_at: root.last_ingest_at.map(|time| time.to_string()),
        model_id: root.model_id,
        counts: root.counts,
        last_error: root.last_run.error().map(str::to_owned),
    }
}

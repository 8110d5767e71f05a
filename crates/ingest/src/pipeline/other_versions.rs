//! Versions of files in other trees of the repository, which need no chunking and embedding.

use std::{collections::HashMap, sync::Arc};

use codeinfo_core::{
    FileRecord, LastRun, RootId,
    hash::{self, ChunkingMethod},
};

use super::RunTarget;
use crate::{discover::DiscoveredFile, error::IngestError};

/// Maximum number of files looked up by path; for more, all records of a root are read.
const MAX_LOOKUPS: usize = 2000;

/// File versions of other trees with their chunk counts, by path. Clones share the map.
#[derive(Debug, Clone, Default)]
pub(super) struct OtherTreeVersions {
    versions: Arc<HashMap<String, Vec<(String, u32)>>>,
}

impl OtherTreeVersions {
    /// Returns the version under which another tree has the content of a file, and its chunk count.
    /// `version` is the usual version of `content`.
    pub(super) fn find_version(
        &self,
        path: &str,
        version: &str,
        content: &[u8],
    ) -> Option<(String, u32)> {
        let versions = self.versions.get(path)?;
        let find = |version: &str| versions.iter().find(|(known, _)| known == version).cloned();
        find(version)
            .or_else(|| find(&hash::compute_file_version(content, ChunkingMethod::Fallback)))
    }
}

/// Loads the versions of `files` that other trees have, or had; none if a tree's index is damaged.
pub(super) async fn load_other_versions(
    target: &RunTarget,
    files: &[DiscoveredFile],
) -> Result<OtherTreeVersions, IngestError> {
    let roots = target.store.roots().await?;
    let mut trees: Vec<RootId> = Vec::new();
    let others =
        roots.iter().filter(|root| root.chunk_owner() == target.owner && root.id != target.root);
    for other in others {
        if other.last_run == LastRun::Damaged {
            return Ok(OtherTreeVersions::default());
        }
        // A tree whose removal was killed has records of deleted chunks.
        if other.last_run.is_completed() {
            trees.push(other.id);
        }
    }
    trees.extend(RootId::former_record_ids(target.owner));
    let mut versions: HashMap<String, Vec<(String, u32)>> = HashMap::new();
    for tree in trees {
        for FileRecord { path, version, chunks, .. } in load_records(target, tree, files).await? {
            if version.is_empty() {
                continue;
            }
            let known = versions.entry(path).or_default();
            if known.iter().all(|(other, _)| *other != version) {
                known.push((version, chunks));
            }
        }
    }
    Ok(OtherTreeVersions { versions: Arc::new(versions) })
}

async fn load_records(
    target: &RunTarget,
    tree: RootId,
    files: &[DiscoveredFile],
) -> Result<Vec<FileRecord>, IngestError> {
    if MAX_LOOKUPS < files.len() {
        return Ok(target.store.files(tree).await?);
    }
    let paths = files.iter().map(|file| file.path.clone()).collect();
    Ok(target.store.files_at(tree, paths).await?)
}

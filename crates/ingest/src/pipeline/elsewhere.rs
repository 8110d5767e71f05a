//! What other trees of the same repository have already, which need not be cut and embedded again.

use std::{collections::HashMap, sync::Arc};

use codeinfo_core::{FileRecord, LastRun, RootId};

use super::RunTarget;
use crate::{discover::DiscoveredFile, error::IngestError};

/// With fewer files to read, records are looked up by path; with more, all records of a root are read.
const FEW: usize = 2000;

/// Versions of files that other trees have: by path, with the number of chunks. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct OtherTreeVersions {
    versions: Arc<HashMap<String, Vec<(String, u32)>>>,
}

impl OtherTreeVersions {
    /// Returns how many chunks a version of a path has, if some tree has it.
    pub(super) fn chunk_count(&self, path: &str, version: &str) -> Option<u32> {
        let versions = self.versions.get(path)?.iter();
        versions.clone().find(|(known, _)| known == version).map(|(_, chunks)| *chunks)
    }

    /// Whether any tree has this path.
    pub(super) fn has_path(&self, path: &str) -> bool {
        self.versions.contains_key(path)
    }
}

/// Reads what other trees have, or had, of these files. One whose index is not whole proves nothing.
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
        // One that a kill left in the middle of its removal has records of chunks that are gone.
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
    if FEW < files.len() {
        return Ok(target.store.files(tree).await?);
    }
    let paths = files.iter().map(|file| file.path.clone()).collect();
    Ok(target.store.files_at(tree, paths).await?)
}

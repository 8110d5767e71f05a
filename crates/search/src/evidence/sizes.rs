//! How much of a repository is indexed, folder by folder.

use std::collections::BTreeMap;

use codeinfo_core::{FileRecord, Root};

use super::{Evidence, EvidenceError, snapshot::with_content};

/// How much is in a folder, without the folders in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FolderSize {
    /// Files of which something is indexed.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Evidence {
    /// Measures the folders of a repository, each by its path below the root, which has the empty one.
    pub async fn measure_folders(
        &self,
        root: &Root,
    ) -> Result<BTreeMap<String, FolderSize>, EvidenceError> {
        let files = with_content(self.store.files(root.id).await?, root);
        self.run_blocking(move || sum_folder_sizes(&files)).await
    }
}

fn sum_folder_sizes(files: &[FileRecord]) -> BTreeMap<String, FolderSize> {
    let mut sizes: BTreeMap<String, FolderSize> = BTreeMap::new();
    for file in files {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let size = match sizes.get_mut(folder) {
            Some(size) => size,
            None => sizes.entry(folder.to_owned()).or_default(),
        };
        size.files += 1;
        size.bytes += file.size;
    }
    sizes
}

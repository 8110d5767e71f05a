//! Measures the indexed content of a repository by folder.

use std::collections::BTreeMap;

use codeinfo_core::{FileRecord, Root};

use super::{Evidence, EvidenceError, snapshot::with_content};

/// Content of a folder, without its subfolders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FolderSize {
    /// Number of files with indexed content.
    pub files: usize,
    /// Bytes of these files.
    pub bytes: u64,
}

impl Evidence {
    /// Measures the folders of a repository by their paths below the root; the root itself has the
    /// empty path.
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

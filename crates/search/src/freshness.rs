//! Determines the freshness of results: the age of their index, and whether their files changed.

use std::{
    collections::{BTreeMap, HashMap},
    fs::Metadata,
    io::ErrorKind,
    path::Path,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use codeinfo_core::{FileRecord, Timestamp};
use tokio::{task::spawn_blocking, time::timeout};

use super::{Search, SearchError, SearchResults};

/// Maximum time for checking the files of one search, because a folder on a network may hang.
const CHECK_TIMEOUT: Duration = Duration::from_millis(300);

/// Maximum searches that check files concurrently. Each takes a thread, for ever if a folder hangs.
pub(super) const MAX_CHECKS: usize = 16;

/// Freshness of results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultFreshness {
    /// Time since each repository of a result was last indexed completely, by name.
    pub(super) ages: BTreeMap<String, Duration>,
    /// Files that changed since they were indexed, by their path as the client sees it.
    pub(super) stale: HashMap<String, FileStaleness>,
}

/// Change of a file since it was indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileStaleness {
    Changed,
    Deleted,
}

impl Search {
    /// Compares the files of the results with the disk, by size and modification time. Files that
    /// cannot be checked in time count as fresh.
    pub async fn check_freshness(
        &self,
        results: &SearchResults,
    ) -> Result<ResultFreshness, SearchError> {
        let mut freshness = ResultFreshness::default();
        let mut checks = Vec::new();
        for root in self.store.roots().await? {
            let files: HashMap<&str, &str> = results
                .files
                .iter()
                .filter(|file| file.repo == root.name)
                .map(|file| (file.rel_path.as_str(), file.path.as_str()))
                .collect();
            if files.is_empty() {
                continue;
            }
            let indexed = root.last_ingest_at;
            if let Some(indexed) = indexed {
                freshness.ages.insert(root.name.clone(), indexed.age());
            }
            // A commit does not change, and files on another host cannot be seen.
            let Some(folder) = root.local_folder() else { continue };
            let paths = files.keys().map(|path| (*path).to_owned()).collect();
            for record in self.store.files_at(root.id, paths).await? {
                if let Some(shown) = files.get(record.path.as_str()) {
                    let path = folder.join(&record.path);
                    checks.push(((*shown).to_owned(), path, record, indexed));
                }
            }
        }
        let permits = Arc::clone(&self.checks);
        let checking = async {
            let permit = permits.acquire_owned().await.ok()?;
            let check_all = move || {
                let changed = checks.into_iter().filter_map(|(shown, path, record, indexed)| {
                    Some((shown, check_file(&path, &record, indexed)?))
                });
                let stale: HashMap<String, FileStaleness> = changed.collect();
                drop(permit);
                stale
            };
            spawn_blocking(check_all).await.ok()
        };
        if let Ok(Some(stale)) = timeout(CHECK_TIMEOUT, checking).await {
            freshness.stale = stale;
        }
        Ok(freshness)
    }
}

/// Checks one file without opening it. A file that became a link has changed, whatever its target.
/// A link in a folder above is followed, but only the change of the file is reported.
fn check_file(
    path: &Path,
    record: &FileRecord,
    indexed: Option<Timestamp>,
) -> Option<FileStaleness> {
    match path.symlink_metadata() {
        Ok(metadata) => is_changed(&metadata, record, indexed).then_some(FileStaleness::Changed),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(FileStaleness::Deleted),
        Err(_) => None,
    }
}

/// Returns true if a file differs from the indexed one. A record without a time comes from a file
/// that had just changed; then only a modification after the index run counts.
fn is_changed(metadata: &Metadata, record: &FileRecord, indexed: Option<Timestamp>) -> bool {
    if !metadata.is_file() {
        return true;
    }
    let is_later = match (record.modified_ns, codeinfo_core::modified_ns(metadata)) {
        (0, now) => indexed.is_some_and(|indexed| {
            indexed.to_system_time() < UNIX_EPOCH + Duration::from_nanos(now)
        }),
        (known, now) => known != now,
    };
    metadata.len() != record.size || is_later
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn freshness_compares_size_and_modification_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // As after unpacking or copying.
        let long_ago = UNIX_EPOCH + Duration::from_hours(438_288);
        file.as_file().set_modified(long_ago).unwrap();
        let metadata = file.as_file().metadata().unwrap();
        let known = codeinfo_core::modified_ns(&metadata);
        let now = SystemTime::now();
        let is_changed = |modified_ns, size, indexed: SystemTime| {
            let root = codeinfo_core::RootId::from_path(file.path());
            let path = String::new();
            let version = String::new();
            let record = FileRecord { root, path, version, size, modified_ns, chunks: 0 };
            is_changed(&metadata, &record, Some(indexed.into()))
        };
        assert!(!is_changed(known, 0, now));
        assert!(is_changed(known - 1, 0, now) && is_changed(known, 1, now));
        // A record without a time is compared with the time of the index run.
        assert!(!is_changed(0, 0, now + Duration::from_secs(1)) && is_changed(0, 0, long_ago));
    }
}

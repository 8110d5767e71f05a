//! How fresh results are: when their repositories were indexed, and whether their files changed.

use std::{
    collections::{BTreeMap, HashMap},
    fs::Metadata,
    io::ErrorKind,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::{task::spawn_blocking, time::timeout};

use super::{Found, Search, SearchError};
use crate::domain::{self, FileRecord};

/// Looking at the files of one search takes at most this long; a folder on a network may hang.
const LOOK_LIMIT: Duration = Duration::from_millis(300);

/// So many searches look at files at a time: each takes a thread, for ever if a folder hangs.
pub(super) const MAX_LOOKS: usize = 16;

/// How fresh results are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Freshness {
    /// How long ago each repository of a result was indexed, by name; without those that never
    /// were to the end.
    pub(super) ages: BTreeMap<String, Duration>,
    /// The files that are no longer as indexed, by their path as the client sees it.
    pub(super) stale: HashMap<String, Stale>,
}

/// What became of a file since it was indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stale {
    Changed,
    Deleted,
}

impl Search {
    /// Compares the files of what was found with what is on disk now, by size and modification
    /// time. Files that cannot be looked at in time count as fresh: nothing is known of them.
    pub async fn freshness(&self, found: &Found) -> Result<Freshness, SearchError> {
        let mut freshness = Freshness::default();
        let now = SystemTime::now();
        let mut looks = Vec::new();
        for root in self.catalog.roots().await? {
            let files: HashMap<&str, &str> = found
                .files
                .iter()
                .filter(|file| file.repo == root.name)
                .map(|file| (file.rel_path.as_str(), file.path.as_str()))
                .collect();
            if files.is_empty() {
                continue;
            }
            let indexed = root.last_ingest_at.as_deref().and_then(time_of);
            if let Some(indexed) = indexed {
                let age = now.duration_since(indexed).unwrap_or_default();
                freshness.ages.insert(root.name.clone(), age);
            }
            for record in self.catalog.files_at(root.id, files.keys()).await? {
                if let Some(shown) = files.get(record.path.as_str()) {
                    let path = root.path.join(&record.path);
                    looks.push(((*shown).to_owned(), path, record, indexed));
                }
            }
        }
        let room = Arc::clone(&self.looks);
        let looking = async {
            let room = room.acquire_owned().await.ok()?;
            let look_at_all = move || {
                let looks = looks.into_iter();
                let stale = looks.filter_map(|(shown, path, record, indexed)| {
                    Some((shown, look(&path, &record, indexed)?))
                });
                let stale: HashMap<String, Stale> = stale.collect();
                drop(room);
                stale
            };
            spawn_blocking(look_at_all).await.ok()
        };
        if let Ok(Some(stale)) = timeout(LOOK_LIMIT, looking).await {
            freshness.stale = stale;
        }
        Ok(freshness)
    }
}

/// Looks at one file, without opening it. One that became a link has changed, wherever that leads; a
/// folder above it that became one is followed, but no more than whether the file changed is said.
fn look(path: &Path, record: &FileRecord, indexed: Option<SystemTime>) -> Option<Stale> {
    match path.symlink_metadata() {
        Ok(metadata) => is_changed(&metadata, record, indexed).then_some(Stale::Changed),
        Err(error) if error.kind() == ErrorKind::NotFound => Some(Stale::Deleted),
        Err(_) => None,
    }
}

/// Whether a file is not what was indexed. A record without a time was made of a file that had
/// just changed; then only what changed after the index did counts.
fn is_changed(metadata: &Metadata, record: &FileRecord, indexed: Option<SystemTime>) -> bool {
    if !metadata.is_file() {
        return true;
    }
    let is_later = match (record.modified_ns, domain::modified_ns(metadata)) {
        (0, now) => indexed.is_some_and(|indexed| indexed < UNIX_EPOCH + Duration::from_nanos(now)),
        (known, now) => known != now,
    };
    metadata.len() != record.size || is_later
}

/// Reads `2026-11-20T08:05:09.120Z`. Dates become days by Howard Hinnant's `days_from_civil`.
fn time_of(text: &str) -> Option<SystemTime> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let year = year.checked_sub(u64::from(month <= 2))?;
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day.checked_sub(1)?;
    let day_of_era = year % 400 * 365 + year % 400 / 4 - year % 400 / 100 + day_of_year;
    let days = (year / 400 * 146_097 + day_of_era).checked_sub(719_468)?;
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    let ms = (days * 86_400 + seconds) * 1000 + number(20, 23)?;
    UNIX_EPOCH.checked_add(Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_time_are_read_as_they_are_written() {
        let ms = |text: &str| {
            time_of(text).map(|time| time.duration_since(UNIX_EPOCH).unwrap().as_millis())
        };
        assert_eq!(ms("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(ms("2000-02-29T00:00:00.000Z"), Some(951_782_400_000));
        assert_eq!(ms("2025-12-31T23:59:59.000Z"), Some(1_767_225_599_000));
        assert_eq!(ms("2026-11-20T08:05:09.120Z"), Some(1_795_161_909_120));
        assert_eq!(ms("yesterday"), None);
    }

    #[test]
    fn a_file_is_as_indexed_however_its_own_time_was_set() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // As unpacking and copying leave it.
        let long_ago = UNIX_EPOCH + Duration::from_hours(438_288);
        file.as_file().set_modified(long_ago).unwrap();
        let metadata = file.as_file().metadata().unwrap();
        let known = domain::modified_ns(&metadata);
        let is_changed = |modified_ns, size, indexed| {
            let root = domain::RootId::of(file.path());
            let (path, version) = (String::new(), String::new());
            let record = FileRecord { root, path, version, size, modified_ns, chunks: 0 };
            is_changed(&metadata, &record, Some(indexed))
        };
        let now = SystemTime::now();
        assert!(!is_changed(known, 0, now));
        assert!(is_changed(known - 1, 0, now) && is_changed(known, 1, now));
        // Of no known time: by when it was indexed.
        assert!(!is_changed(0, 0, now + Duration::from_secs(1)) && is_changed(0, 0, long_ago));
    }
}

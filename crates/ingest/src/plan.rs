//! Plan of a run: which files to read, which are gone and which are unchanged.

use std::collections::{HashMap, HashSet};

use codeinfo_core::{FileRecord, hash};

use super::discover::DiscoveredFile;

/// Stored records of a root's files, by path.
pub type FileRecords = HashMap<String, FileRecord>;

/// Which files of a root a run processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMode {
    Changes,
    /// All files, changed or not.
    Everything,
}

/// Work of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RunPlan {
    /// Files to read, in path order: new or possibly changed files, or all files.
    pub read: Vec<DiscoveredFile>,
    /// Stored paths of files that no longer exist, in order.
    pub gone: Vec<String>,
    /// Number of files that need no reading.
    pub unchanged: usize,
}

/// Compares the discovered files with the stored ones.
///
/// A file of the same size and modification time is unchanged; a time of 0 is unreliable. Paths in
/// `unreadable`, and below them, exist but could not be read; their stored records remain.
pub fn plan_run(
    files: Vec<DiscoveredFile>,
    known: &FileRecords,
    unreadable: &[String],
    mode: RunMode,
) -> RunPlan {
    let mut plan = RunPlan::default();
    let mut present: HashSet<&str> = HashSet::with_capacity(files.len());
    for file in &files {
        present.insert(&file.path);
    }
    plan.gone = known
        .keys()
        .filter(|path| !present.contains(path.as_str()) && !is_unreadable(path, unreadable))
        .cloned()
        .collect();
    plan.gone.sort_unstable();
    for file in files {
        let is_same = known.get(&file.path).is_some_and(|record| {
            record.size == file.size
                && record.modified_ns == file.modified_ns
                && record.modified_ns != 0
                && hash::is_current(&record.version)
                && !(file.is_requested && hash::split_omitted(&record.version).1.is_some())
        });
        match mode {
            RunMode::Changes if is_same => plan.unchanged += 1,
            RunMode::Changes | RunMode::Everything => plan.read.push(file),
        }
    }
    plan
}

fn is_unreadable(path: &str, unreadable: &[String]) -> bool {
    unreadable.iter().any(|unread| {
        let below = path.strip_prefix(unread.as_str());
        unread.is_empty() || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use codeinfo_core::RootId;

    use super::*;

    fn build_discovered_file(path: &str, size: u64, modified_ns: u64) -> DiscoveredFile {
        DiscoveredFile { path: path.to_owned(), size, modified_ns, is_requested: false }
    }

    fn build_records(files: &[(&str, u64, u64)]) -> FileRecords {
        let root = RootId::from_path(std::path::Path::new("/r"));
        let record = |&(path, size, modified_ns): &(&str, u64, u64)| {
            let version = hash::compute_file_version(b"", hash::ChunkingMethod::Planned);
            let path = path.to_owned();
            (path.clone(), FileRecord { root, path, version, size, modified_ns, chunks: 1 })
        };
        files.iter().map(record).collect()
    }

    #[test]
    fn new_and_changed_files_are_read_and_missing_ones_are_gone() {
        let known = build_records(&[
            ("gone", 1, 1),
            ("same", 1, 1),
            ("size", 1, 1),
            ("time", 1, 1),
            ("racy", 1, 0),
        ]);
        let files = vec![
            build_discovered_file("new", 1, 1),
            build_discovered_file("racy", 1, 0),
            build_discovered_file("same", 1, 1),
            build_discovered_file("size", 2, 1),
            build_discovered_file("time", 1, 2),
        ];
        let plan = plan_run(files, &known, &[], RunMode::Changes);
        let read: Vec<&str> = plan.read.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(read, ["new", "racy", "size", "time"]);
        assert_eq!(plan.gone, ["gone"]);
        assert_eq!(plan.unchanged, 1);
    }

    #[test]
    fn mode_everything_reads_all_files() {
        let known = build_records(&[("same", 1, 1)]);
        let plan =
            plan_run(vec![build_discovered_file("same", 1, 1)], &known, &[], RunMode::Everything);
        assert_eq!(
            plan,
            RunPlan { read: vec![build_discovered_file("same", 1, 1)], gone: vec![], unchanged: 0 }
        );
    }

    #[test]
    fn unreadable_files_are_not_gone() {
        let known = build_records(&[("a/b", 1, 1), ("ab", 1, 1), ("c", 1, 1)]);
        let unread = ["a".to_owned(), "c".to_owned()];
        assert_eq!(plan_run(vec![], &known, &unread, RunMode::Changes).gone, ["ab"]);
        assert!(plan_run(vec![], &known, &[String::new()], RunMode::Changes).gone.is_empty());
    }
}

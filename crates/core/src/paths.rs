//! Normalization and comparison of paths.

use std::{
    fs::Metadata,
    path::{Component, Path, PathBuf},
};

/// Removes `.` and `..` from a path. Returns `None` if the path leads above its start.
pub fn normalize_path(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => clean.push(part),
        }
    }
    Some(clean)
}

/// Returns whether a file is in a folder. An empty folder path is the root itself.
pub fn is_below(file: &str, folder: &str) -> bool {
    folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns whether the last parts of a path are the parts of `end`.
pub fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Returns whether a file is executable, judged by its rights.
#[cfg(unix)]
pub fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

/// Returns whether the path is a file. On this platform file names, not rights, mark executables.
#[cfg(not(unix))]
pub fn is_executable(metadata: &Metadata) -> bool {
    metadata.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_is_none() {
        let clean = |path: &str| normalize_path(Path::new(path));
        assert_eq!(clean("a/./b/../c/"), Some(PathBuf::from("a/c")));
        assert_eq!(clean("/a/../b"), Some(PathBuf::from("/b")));
        assert!(clean("../a").is_none() && clean("a/../../b").is_none() && clean("/..").is_none());
    }

    #[test]
    fn paths_begin_and_end_with_whole_parts() {
        assert!(is_below("a/b", "a") && !is_below("ab/c", "a") && is_below("a", ""));
        assert!(ends_with("a/b/c.rs", "b/c.rs") && ends_with("c.rs", "c.rs"));
        assert!(!ends_with("ab/c.rs", "b/c.rs"));
    }
}

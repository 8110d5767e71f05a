//! Finds the repository around a folder.

use std::path::{Path, PathBuf};

use super::GIT;

/// Returns the innermost folder, from `folder` upwards, that contains a `.git` folder or file.
pub fn find_work_tree(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(GIT).symlink_metadata().is_ok())
}

/// Returns the canonical path of the repository around `folder`.
///
/// Returns `None` if that is the home folder or a folder above it, because such a repository holds settings.
pub fn find_repository(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let canonical = folder.canonicalize().ok()?;
    let home = home.and_then(|path| path.canonicalize().ok());
    let found = find_work_tree(&canonical)?;
    let is_home = home.is_some_and(|home| home.starts_with(found));
    (!is_home).then(|| found.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::find_repository;

    #[test]
    fn the_innermost_repository_is_meant_and_never_a_home() {
        let temporary = tempfile::tempdir().unwrap();
        let home = temporary.path().canonicalize().unwrap();
        let inner = home.join("outer/inner");
        fs::create_dir_all(inner.join("src")).unwrap();
        assert_eq!(find_repository(&inner, Some(&home)), None);
        fs::create_dir(home.join(".git")).unwrap();
        assert_eq!(find_repository(&inner, Some(&home)), None);
        fs::create_dir(home.join("outer/.git")).unwrap();
        assert_eq!(find_repository(&inner.join("src"), Some(&home)), Some(home.join("outer")));
        // A worktree has a file.
        fs::write(inner.join(".git"), "gitdir: elsewhere").unwrap();
        assert_eq!(find_repository(&inner.join("src"), Some(&home)), Some(inner));
    }
}

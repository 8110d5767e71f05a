//! The repository around a folder.

use std::path::{Path, PathBuf};

use super::GIT;

/// Returns the innermost folder from `folder` upwards that has a `.git`, a folder or a file.
pub fn find_work_tree(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(GIT).symlink_metadata().is_ok())
}

/// Returns the same without links on the way. A home folder that is a repository, for settings, is none to index.
pub fn find_repository(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let home = home.and_then(|home| home.canonicalize().ok());
    let found = find_work_tree(&folder)?;
    let is_home = home.is_some_and(|home| home.starts_with(found));
    (!is_home).then(|| found.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::find_repository;

    #[test]
    fn the_innermost_repository_is_meant_and_never_a_home() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
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

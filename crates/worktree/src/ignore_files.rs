//! Decides by the ignore files of a root whether they exclude a path, without walking the root.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    io,
    path::Path,
};

use codeinfo_core::Root;

use crate::{
    beneath::{self, RootDir},
    ignored::{self, IgnoreRules, IgnoreVerdict, PatternUsage},
};

/// Maximum folders whose ignore files are looked for; real commits change files of a tenth of it.
const MAX_FOLDERS: usize = 20_000;

/// Ignore files of a root for paths that may no longer exist. Each file is read once.
#[derive(Debug)]
pub struct IgnoreFiles {
    root: RootDir,
    /// Rules of folders by their paths below the root.
    known: RefCell<HashMap<String, IgnoreRules>>,
    usage: Cell<PatternUsage>,
}

impl IgnoreFiles {
    /// Opens a folder.
    pub fn open(root: &Path) -> io::Result<Self> {
        RootDir::open(root).map(Self::new)
    }

    /// Opens a root, which may be a commit.
    pub fn open_root(root: &Root) -> io::Result<Self> {
        RootDir::open_root(root).map(Self::new)
    }

    fn new(root: RootDir) -> Self {
        Self { root, known: RefCell::default(), usage: Cell::default() }
    }

    /// Returns true if the ignore files exclude a path or are too many. Blocks on the file system.
    pub fn is_ignored(&self, path: &str) -> bool {
        let (mut rules, mut folder) = (IgnoreRules::default(), String::new());
        for part in path.split('/') {
            let Some(own) = self.load_rules(&folder, &rules) else { return true };
            rules = own;
            let next = if folder.is_empty() { part.to_owned() } else { format!("{folder}/{part}") };
            // The path may have been a file or a folder.
            let is_left_out = |is_folder| {
                let verdict = rules.match_path(&next, is_folder);
                matches!(verdict, IgnoreVerdict::Ignored | IgnoreVerdict::IgnoredByGit)
            };
            if is_left_out(true) || is_left_out(false) {
                return true;
            }
            folder = next;
        }
        false
    }

    /// Returns the rules of a folder; `None` if a limit was reached before.
    fn load_rules(&self, folder: &str, above: &IgnoreRules) -> Option<IgnoreRules> {
        let mut known = self.known.borrow_mut();
        if let Some(rules) = known.get(folder) {
            return Some(rules.clone());
        }
        let mut usage = self.usage.get();
        if known.len() >= MAX_FOLDERS || usage.fills_folder() {
            return None;
        }
        let read = |name: &str| {
            let (file, _) = self.root.open_file(&Path::new(folder).join(name)).ok()?;
            beneath::read_to_limit(file, ignored::MAX_BYTES as u64 + 1, || ()).ok()
        };
        let contents = ignored::NAMES.map(read);
        let has_own = contents.iter().any(Option::is_some);
        let rules =
            if has_own { above.with_ignore_files(folder, &contents).0 } else { above.clone() };
        usage.add_folder(&rules, above);
        self.usage.set(usage);
        known.insert(folder.to_owned(), rules.clone());
        Some(rules)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_beyond_a_limit_counts_as_ignored() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/.codeinfoignore"), "x\n".repeat(ignored::MAX_PATTERNS))
            .unwrap();
        let ignore_files = IgnoreFiles::open(folder.path()).unwrap();
        assert!(!ignore_files.is_ignored("gone/a.rs"));
        assert!(ignore_files.is_ignored("src/x") && !ignore_files.is_ignored("src/a.rs"));
        // As many patterns are compiled as a folder may have.
        assert!(ignore_files.is_ignored("other/a.rs") && !ignore_files.is_ignored("gone/b.rs"));
        fs::remove_dir_all(folder.path().join("src")).unwrap();
        let many = IgnoreFiles::open(folder.path()).unwrap();
        let ignored = (0..MAX_FOLDERS).filter(|number| many.is_ignored(&format!("{number}/a.rs")));
        // The root is a folder, too.
        assert_eq!(ignored.collect::<Vec<_>>(), [MAX_FOLDERS - 1]);
    }
}
